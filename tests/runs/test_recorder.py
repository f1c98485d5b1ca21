"""Recording from anybody's loop."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import recollect as rc
from recollect.errors import UsageError
from recollect.runs import Plan, Recorder, Task, derive, load
from recollect.runs.reading import read_run
from recollect.runs.recorder import as_tasks

R = [[0.8, 0.1, 0.2], [0.6, 0.9, 0.3], [0.5, 0.7, 0.95]]


def recorder(folder, **fields):
    return Recorder(folder, **{"learner": "er", "stream": "toy", "tasks": 3, "seed": 0} | fields)


def record(folder, rows=range(3), **fields):
    with recorder(folder, **fields) as rec:
        for i in rows:
            for j in range(3):
                rec.log(after=i, on=j, score=R[i][j], n=100)
    return rec


def test_a_loop_becomes_a_matrix(tmp_path):
    record(tmp_path / "x")
    run = read_run(tmp_path / "x")
    assert_array_equal(run.matrix.R, R)
    assert_array_equal(run.matrix.n_samples, [100] * 3)
    assert run.status == "finished"
    assert run.seeds == derive(0)
    assert {"python", "numpy"} <= set(run.versions)


def test_it_resumes_after_the_last_finished_row(tmp_path):
    record(tmp_path / "x", rows=[0, 1])
    assert read_run(tmp_path / "x").status == "running"
    with recorder(tmp_path / "x") as rec:
        assert rec.finished_rows == (0, 1)
        assert [rec.is_done(i) for i in range(3)] == [True, True, False]
        for j in range(3):
            rec.log(after=2, on=j, score=R[2][j], n=100)
    assert_array_equal(read_run(tmp_path / "x").matrix.R, R)
    assert read_run(tmp_path / "x").status == "finished"


def test_the_same_loop_again_changes_nothing(tmp_path):
    record(tmp_path / "x")
    before = (tmp_path / "x/run.json").read_bytes()
    record(tmp_path / "x")
    assert (tmp_path / "x/run.json").read_bytes() == before


def test_a_row_is_on_disk_when_the_next_begins_or_at_end_row(tmp_path):
    def on_disk():
        return len((tmp_path / "x/rows.jsonl").read_bytes().splitlines())

    with recorder(tmp_path / "x") as rec:
        rec.log(after=-1, on=0, score=0.1)
        assert on_disk() == 0
        rec.log(after=0, on=0, score=0.1)
        assert on_disk() == 1
        rec.end_row(seconds=1.5)
        assert on_disk() == 2
        rec.end_row()
        assert on_disk() == 2
    lines = [json.loads(line) for line in (tmp_path / "x/rows.jsonl").read_text().splitlines()]
    assert lines[1]["notes"] == {"seconds": 1.5}


def break_in_row_1(folder, error):
    with recorder(folder) as rec:
        for j in range(3):
            rec.log(after=0, on=j, score=0.5)
        rec.log(after=1, on=0, score=0.5)
        raise error


def test_an_error_keeps_the_finished_rows_and_drops_the_open_one(tmp_path):
    with pytest.raises(ZeroDivisionError):
        break_in_row_1(tmp_path / "x", ZeroDivisionError())
    run = read_run(tmp_path / "x")
    assert [row.after for row in run.rows] == [0]
    assert run.status == "failed"
    assert "ZeroDivisionError" in run.error


def test_an_interrupted_run_is_still_running(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        break_in_row_1(tmp_path / "x", KeyboardInterrupt())
    assert read_run(tmp_path / "x").status == "running"
    recorder(tmp_path / "x").close()  # and its lock is free


def test_a_cell_is_logged_once(tmp_path):
    with recorder(tmp_path / "x") as rec:
        rec.log(after=0, on=1, score=0.5)
        rec.log(after=0, on=1, score=0.5)
        with pytest.raises(UsageError, match=r"on task 1 is 0\.5; now 0\.6 came"):
            rec.log(after=0, on=1, score=0.6)
        rec.log(after=1, on=0, score=0.5)
        rec.log(after=0, on=1, score=0.5)
        for cell in ({"on": 1, "score": 0.6}, {"on": 2, "score": 0.5}):
            with pytest.raises(UsageError, match="finished and on disk"):
                rec.log(after=0, **cell)
    assert [row.scores["accuracy"] for row in rec.run.rows] == [(None, 0.5), (0.5,)]


def test_an_earlier_row_cannot_be_added(tmp_path):
    with recorder(tmp_path / "x") as rec:
        rec.log(after=1, on=0, score=0.5)
        rec.end_row()
        rec.log(after=0, on=0, score=0.5)
        with pytest.raises(UsageError, match="order of time"):
            rec.end_row()


def test_counts_numpy_numbers_and_names(tmp_path):
    tasks = ["a", Task("b", n_classes=2, n_samples=20)]
    with recorder(tmp_path / "x", tasks=tasks) as rec:
        rec.log(after=np.int64(0), on="a", correct=np.int32(7), n=np.uint8(10))
        rec.log(after=1, on="a", correct=6, n=10)
        rec.log(after=1, on="b", correct=15, n=20)
    matrix = read_run(tmp_path / "x").matrix
    assert_array_equal(matrix.R, [[0.7, np.nan], [0.6, 0.75]])
    assert_array_equal(matrix.correct, [[7, np.nan], [6, 15]])
    assert matrix.names == ("a", "b")


def test_rows_inside_tasks(tmp_path):
    with recorder(tmp_path / "x", tasks=2) as rec:
        for after, step, end in ((-1, 5, False), (0, 10, True), (0, 15, False), (1, 20, True)):
            for j in range(2):
                rec.log(after=after, on=j, score=step / 100, step=step, task_end=end)
    matrix = read_run(tmp_path / "x").matrix
    assert_array_equal(matrix.steps, [5, 10, 15, 20])
    assert_array_equal(matrix.learned_at, [1, 3])


def test_a_plan_decides_when_the_run_is_finished(tmp_path):
    record(tmp_path / "x", rows=[0, 2], plan=Plan(rows=(0, 2)))
    assert read_run(tmp_path / "x").status == "finished"


def test_nan_is_not_evaluated(tmp_path):
    with recorder(tmp_path / "x", tasks=1) as rec:
        rec.log(after=0, on=0, score=float("nan"), n=5)
    assert np.isnan(read_run(tmp_path / "x").matrix.R).all()


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ({"on": 0}, "score=, or with correct="),
        ({"on": 0, "score": 0.5, "correct": 1, "n": 2}, "one of the two"),
        ({"on": 0, "score": 73}, "unit='percent'"),
        ({"on": 0, "score": -0.5}, "unit='raw'"),
        ({"on": 3, "score": 0.5}, "numbered 0 to 2"),
        ({"on": "z", "score": 0.5}, "no task 'z'"),
    ],
)
def test_wrong_cells_are_refused_at_once(tmp_path, cell, words):
    with recorder(tmp_path / "x") as rec, pytest.raises(UsageError) as caught:
        rec.log(after=0, **cell)
    assert words in str(caught.value)


def test_units(tmp_path):
    with recorder(tmp_path / "p", tasks=1, unit="percent") as rec:
        rec.log(after=0, on=0, score=73)
    assert read_run(tmp_path / "p").matrix.R[0, 0] == 0.73
    with recorder(tmp_path / "r", tasks=1, unit="raw", higher_is_better=False, metric="RMSE") as rec:
        rec.log(after=0, on=0, score=12.5)
    assert read_run(tmp_path / "r").matrix.R[0, 0] == 12.5


def test_unknown_fields_name_the_nearest(tmp_path):
    with pytest.raises(UsageError, match="Did you mean scenario"):
        recorder(tmp_path / "x", scenari="class-incremental")
    with pytest.raises(UsageError, match="does not know rows"):
        recorder(tmp_path / "x", rows=())


@pytest.mark.parametrize("tasks", [0, [], ["a", "a"]])
def test_tasks_have_names_of_their_own(tasks):
    with pytest.raises(UsageError, match="at least one task"):
        as_tasks(tasks)


def test_class_scores_give_the_whole_split(tmp_path):
    """A learner with fixed evidence and a bonus for the newest task's classes, logged from a loop of one's own."""
    rng = np.random.default_rng(0)
    T, n = 3, 60
    tasks = [Task(str(j), n_classes=2, classes=(2 * j, 2 * j + 1)) for j in range(T)]
    labels = rng.integers(0, 2 * T, n * T)
    evidence = rng.normal(size=(n * T, 2 * T))
    evidence[np.arange(n * T), labels] += 2
    with Recorder(tmp_path / "mine", learner="mine", stream="toy", tasks=tasks) as rec:
        for i in range(T):
            scores = evidence + np.repeat(np.arange(T) == i, 2) * 3.0
            for j in range(T):
                mine = labels // 2 == j
                rec.log_scores(after=i, on=j, scores=scores[mine], labels=labels[mine], probe=0.9 - 0.1 * (i > j))
    matrix = load(tmp_path / "mine")[0].matrix
    parts = [rc.score(matrix, f"split.{part}") for part in ("within", "older", "newer")]
    assert sum(parts) == pytest.approx(rc.score(matrix, "AF"), abs=1e-15)
    assert parts[0] == 0
    assert parts[2] > 0.2
    assert rc.score(matrix, "probe.forgetting") == pytest.approx(0.1)
    among = scores[:, :4].argmax(1) == labels
    assert matrix.restricted[2, 0, 1] == pytest.approx(among[labels // 2 == 0].mean())


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([[1, 0]], [0, 1], "as many labels as samples"),
        ([1, 0], [0], "one row per sample"),
        ([[1, 0, 0, 0]], [2], "must be of its classes"),
        ([[1, 0, 0, 0]], [9], "columns of the scores"),
        ([[1, 0, 0, 0]], [0.5], "whole numbers"),
        ([["a", 0, 0, 0]], [0], "class scores are numbers"),
        ([[1, 0]], [0], "which columns are whose"),
    ],
)
def test_class_scores_that_do_not_fit_are_refused(tmp_path, scores, labels, message):
    tasks = [Task("a", classes=(0, 1)), Task("b", classes=(2, 3))]
    rec = Recorder(tmp_path / "mine", learner="mine", stream="toy", tasks=tasks)
    with pytest.raises(UsageError, match=message):
        rec.log_scores(after=0, on="a", scores=scores, labels=labels)


def test_nan_scores_are_never_right(tmp_path):
    tasks = [Task("a", classes=(0, 1))]
    with Recorder(tmp_path / "mine", learner="mine", stream="toy", tasks=tasks) as rec:
        rec.log_scores(after=0, on="a", scores=[[np.nan, 0.0], [1.0, np.nan], [0.5, 0.5]], labels=[0, 0, 1])
    assert rec.run.rows[0].correct == (1,)
    assert rec.run.rows[0].masked == (1,)
