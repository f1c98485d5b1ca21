"""Complete runs as folders: whole or not at all, and never elsewhere."""

import errno
import os

import numpy as np
import pytest

from recollect.errors import RecollectError, UsageError
from recollect.runs import Row, Run, Task, load, save
from recollect.runs.saving import with_joint_rows


def run(learner="er", seed=0, **fields):
    return Run(
        learner=learner,
        stream="toy",
        seed=seed,
        tasks=(Task("a"),),
        rows=(Row(0, scores={"accuracy": (0.5,)}),),
        **fields,
    )


def test_runs_are_named_after_what_they_are(tmp_path):
    runs = [run(), run(seed=1), run(seed=1, learner_config={"memory": 5}), run(metric="F1"), run(seed=None)]
    names = [path.name for path in save(runs, tmp_path / "out")]
    assert names[:3] == ["er-toy-seed0", "er-toy-seed1", "er-toy-seed1-2"]
    assert names[3].startswith("er-toy-F1-seed0")
    assert names[4] == "er-toy"
    assert len(load(tmp_path / "out")) == 5


@pytest.mark.parametrize("hostile", ["../../x", "/tmp/x", "..", "CON", "a\0b", "x" * 5000, "\ud800", "é\n\u202e"])
def test_a_hostile_name_stays_in_the_output_folder(tmp_path, hostile):
    root = tmp_path / "deep" / "out"
    if hostile == "\ud800":
        with pytest.raises(UsageError, match="cannot be written"):
            save([run(hostile)], root)
        assert not root.exists()
        return
    (folder,) = save([run(hostile)], root)
    assert folder.resolve().parent == root.resolve()
    assert os.listdir(tmp_path / "deep") == ["out"]
    assert os.listdir(tmp_path) == ["deep"]
    assert load(root)[0].learner == hostile


def test_nothing_is_overwritten_and_nothing_is_begun(tmp_path):
    save([run(seed=1)], tmp_path)
    with pytest.raises(UsageError, match="not overwritten"):
        save([run(seed=0), run(seed=1)], tmp_path)
    assert os.listdir(tmp_path) == ["er-toy-seed1"]


def test_a_full_disk_leaves_no_half_folder(tmp_path, monkeypatch):
    def full_disk(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(RecollectError, match="No space left"):
        save([run()], tmp_path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("unit", "scale"), [("percent", 100), ("fraction", 1)])
def test_the_joint_learners_scores_are_written_into_the_rows_that_end_tasks(unit, scale, tmp_path):
    """In the unit of the run; rows inside tasks have none, and a run that has them in its rows is left alone."""
    tasks = (Task("a"), Task("b"))
    rows = tuple(
        Row(after, step=k, task_end=end, scores={"accuracy": (0.5 * scale, 0.4 * scale)})
        for k, (after, end) in enumerate([(0, True), (0, False), (1, True)])
    )
    about = {"stream": "toy", "tasks": tasks, "unit": unit, "seed": 0}
    joint_rows = (
        Row(0, scores={"accuracy": (0.9 * scale, None)}),
        Row(1, scores={"accuracy": (0.8 * scale, 0.7 * scale)}),
    )
    joint = Run(learner="joint", role="joint", rows=joint_rows, **about)
    run = Run(learner="er", rows=rows, joint_run=joint, created="2020-01-01T00:00:00+00:00", **about)
    alone = with_joint_rows(run)
    assert alone.joint_run is None
    assert [row.joint is None for row in alone.rows] == [False, True, False]
    assert alone.rows[0].joint == (pytest.approx(0.9 * scale), None)
    assert alone.rows[2].joint == pytest.approx((0.8 * scale, 0.7 * scale))
    (folder,) = save([run], tmp_path)
    (read,) = load(folder)
    np.testing.assert_allclose(read.matrix.joint, run.matrix.joint)
    assert read.created == "2020-01-01T00:00:00+00:00"
