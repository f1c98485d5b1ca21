"""What a folder of an experiment refuses, and how it is started over."""

from __future__ import annotations

import contextlib
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import RecollectError, UsageError
from recollect.experiments.agreement import move_away
from recollect.experiments.file import parse
from recollect.experiments.running import checked
from recollect.experiments.worker import Probe, run_job
from recollect.runs import load, sources
from recollect.runs.lock import Lock
from recollect.runs.reading import read_run
from recollect.runs.store import RunFolder

MINE = """
import numpy as np
from helper import SHIFT

class Mine:
    stored_samples = stored_bytes = 0
    def __init__(self, setting, seeds, rate=0.5):
        self.n, self.rate = setting.n_classes, rate
    def learn(self, batch): pass
    def score(self, x, task=None): return np.tile(np.arange(self.n) * self.rate + SHIFT, (len(x), 1))
    def end_task(self): pass
    def state(self): return {}
    def restore(self, state): pass
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "helper.py").write_text("SHIFT = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    data(tmp_path)
    fresh()
    return tmp_path


def data(place: Path, shift: float = 0, test_only: bool = False) -> None:
    """Ten classes in training and test files; the training samples may be others."""
    y = np.repeat(np.arange(10), 20)
    x = np.arange(200, dtype=np.float32)[:, None]
    train = x.copy()
    train[137] += shift
    np.savez(place / "toy.npz", X=train, y=y, X_test=x[::2], y_test=y[::2])


BASE: dict[str, Any] = {
    "name": "e",
    "streams": [{"name": "toy.npz", "label": "toy", "tasks": 5}],
    "learners": ["random", {"mine:Mine": {}, "label": "mine"}],
    "seeds": 1,
}


def command(place: Path, experiment: dict[str, Any], *more: str) -> subprocess.CompletedProcess[str]:
    (place / "e.yaml").write_text(json.dumps(experiment))
    call = [sys.executable, "-m", "recollect", "run", "e.yaml", "-o", "out", "--workers", "1", *more]
    return subprocess.run(call, cwd=place, capture_output=True, text=True, timeout=120)


def files(place: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in (place / "out").rglob("*") if file.is_file()}


def stopped(place: Path, rows: int) -> None:
    """The runs of the experiment, each stopped after so many rows, in this process."""
    for job in checked(parse(json.dumps(BASE)), place / "out"):
        with contextlib.suppress(KeyboardInterrupt):
            run_job(job, Stop(rows))


class Stop:
    def __init__(self, rows: int) -> None:
        self.left = rows

    def __call__(self, report: Any) -> None:
        self.left -= report.kind == "row"
        if self.left == 0:
            raise KeyboardInterrupt


def fresh() -> None:
    """Forget what was imported, as another process would."""
    for name in ("mine", "helper"):
        sys.modules.pop(name, None)
    sources._code_of_one.cache_clear()
    importlib.invalidate_caches()


@pytest.mark.parametrize("rows", [99, 2])
def test_other_code_data_options_and_batches_are_refused_and_nothing_is_touched(place: Path, rows: int) -> None:
    stopped(place, rows)
    before = files(place)

    def refused(said: str, **change: Any) -> None:
        fresh()
        with pytest.raises(UsageError, match="holds another run") as caught:
            checked(parse(json.dumps({**BASE, **change})), place / "out")
        assert said in str(caught.value)
        assert files(place) == before

    def stream(**options: int) -> dict[str, Any]:
        return {"streams": [{"name": "toy.npz", "label": "toy", "tasks": 5, **options}]}

    (place / "mine.py").write_text(MINE.replace("* self.rate", "/ self.rate"))
    refused("the code of mine was changed")
    (place / "mine.py").write_text(MINE.replace("rate=0.5", "rate=0.7"))
    refused("the option rate was 0.5 and is 0.7 now")
    (place / "mine.py").write_text(MINE + "# a remark\n")
    (place / "helper.py").write_text("SHIFT = 2\n")
    refused("the code of helper was changed")
    (place / "helper.py").write_text("SHIFT = 1\n")
    refused("the option rate", learners=[{"mine:Mine": {"rate": 0.9}, "label": "mine"}])
    refused("the learner was mine:Mine", learners=[{"random": {}, "label": "mine"}])
    refused("batch was 10 and is 5 now", **stream(batch=5))
    refused("passes was 1 and is 2 now", **stream(passes=2))
    refused("the stream had 5 tasks and has 2 now", **stream(tasks=2))
    refused("the plan's rows", plan={"rows": 2})
    data(place, shift=0.5)
    refused("the training samples are others")
    data(place)
    fresh()
    assert len(checked(parse(json.dumps(BASE)), place / "out")) == 2


def test_anew_starts_over_and_keeps_what_was_there(place: Path) -> None:
    stopped(place, rows=99)
    before = (place / "out/e/mine-toy-s0/rows.jsonl").read_bytes()
    (place / "helper.py").write_text("SHIFT = 2\n")
    told = command(place, BASE, "--dry-run")
    assert told.returncode == 2
    assert "the code of helper was changed" in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1
    again = command(place, BASE, "--anew")
    assert again.returncode == 0, again.stderr
    assert "2 of 2 runs finished:" in again.stdout
    kept = list((place / "out/e/.before").glob("mine-toy-s0-*"))
    assert [(folder / "rows.jsonl").read_bytes() for folder in kept] == [before]
    assert not list(kept[0].glob(".lock"))
    assert len(load(place / "out")) == 2


def test_anew_moves_run_folders_only_and_none_that_is_written_to(place: Path) -> None:
    job = checked(parse(json.dumps(BASE)), place / "out")[0]
    job.folder.mkdir(parents=True)
    (job.folder / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match="holds no run, but other files"):
        move_away(job)
    (job.folder / "thesis.tex").unlink()
    (job.folder / "run.json").write_text("{}")
    lock = Lock(job.folder)
    with pytest.raises(RecollectError, match="Another process"):
        move_away(job)
    lock.release()
    job.folder.rename(place / "elsewhere")
    job.folder.symlink_to(place / "elsewhere")
    with pytest.raises(UsageError, match="is no folder of a run"):
        move_away(job)
    assert (place / "elsewhere/run.json").exists()


def test_a_record_of_an_earlier_version_is_compared_by_what_it_says(place: Path) -> None:
    stopped(place, rows=2)
    folder = place / "out/e/mine-toy-s0"
    run = read_run(folder)
    with RunFolder.open(folder, run) as saved:
        saved.update(identity=None, learner_config={"learner": "mine:Mine"})
    config = {
        "learner": {"name": "mine:Mine", "options": {}},
        "stream": {"name": "toy.npz", "options": {"tasks": 5}},
        "seed": 0,
        "plan": {"rows": None, "columns": "all", "every": None, "subsample": None},
    }
    (folder / "config.json").write_text(json.dumps(config))
    only = {**BASE, "learners": BASE["learners"][1:]}
    other = {**only, "streams": [{"name": "toy.npz", "label": "toy", "tasks": 5, "batch": 5}]}
    with pytest.raises(UsageError, match=r"stream\.options\.batch is 5 and was not given then"):
        checked(parse(json.dumps(other)), place / "out")
    for job in checked(parse(json.dumps(only)), place / "out"):
        run_job(job, lambda report: None)
    assert (read_run(folder).status, read_run(folder).identity) == ("finished", None)


def test_all_options_with_their_defaults_are_in_the_record(place: Path) -> None:
    stopped(place, rows=99)
    run = read_run(place / "out/e/mine-toy-s0")
    assert run.learner_config == {"learner": "mine:Mine", "rate": 0.5}
    assert run.identity is not None
    assert run.identity.options == {"rate": 0.5}
    assert sorted(run.identity.code) == ["helper", "mine"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"learners": ["mine:Yours"]}, "the module mine has no 'Yours'"),
        ({"learners": [{"mine:Mine": {"rte": 1}}]}, "rte"),
        ({"learners": [{"er": {"network": "mine:net"}}]}, "the module mine has no 'net'"),
        ({"learners": ["sklearn.svm:SVC"]}, "SVC has no partial_fit"),
        ({"learners": ["mine:Broken"]}, "cannot be made (ValueError: not today)"),
        ({"learners": [{"er": {"normalise": [[0.5, 0.5], [1, 1]]}}]}, "cannot begin"),
        ({"learners": ["er"], "device": "cuda:7"}, "cuda"),
    ],
)
def test_what_does_not_fit_is_found_before_anything_runs(place: Path, change: dict[str, Any], said: str) -> None:
    (place / "mine.py").write_text(
        MINE + "class Broken:\n    def __init__(self, setting, seeds): raise ValueError('not today')\n"
    )
    experiment = {**BASE, **change}
    experiment["learners"] = ["random", *experiment["learners"]]
    jobs = checked(parse(json.dumps(experiment)), place / "out")
    assert Probe(tuple(jobs[:1])).misfit() == ""
    told = Probe(tuple(jobs)).misfit()
    assert told.startswith(f"The run {jobs[1].name} cannot begin")
    assert said in told


def test_a_misfit_ends_the_command_before_anything_is_on_disk(place: Path) -> None:
    told = command(place, {**BASE, "learners": ["random", "mine:Yours"]})
    assert told.returncode == 2
    assert "the module mine has no 'Yours'" in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1
    assert not (place / "out").exists()
