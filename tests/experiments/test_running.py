"""Experiments on worker processes: failures, deaths, resuming, interrupting."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.experiments.file import parse
from recollect.experiments.grid import Job, grid
from recollect.experiments.progress import Progress
from recollect.experiments.running import run_experiment
from recollect.experiments.worker import Report, average, run_job
from recollect.runs.lock import Lock
from recollect.runs.reading import read_run
from recollect.runs.run import Row

TextOf = Callable[..., str]

LEARNERS = """
import os
import numpy as np

class Fails:
    stored_samples = stored_bytes = 0
    def __init__(self, setting, seeds, at=3, how="raise", marker=""):
        self.n_classes, self.at, self.how, self.marker, self.seen = setting.n_classes, at, how, marker, 0
    def learn(self, batch):
        self.seen += 1
        if self.seen == self.at and not (self.marker and os.path.exists(self.marker)):
            if self.marker:
                open(self.marker, "w").close()
            if self.how == "raise":
                raise ValueError("no luck today")
            os.kill(os.getpid(), 9)
    def score(self, x, task=None):
        return np.tile(np.arange(self.n_classes, dtype=np.float32), (len(x), 1))
    def end_task(self): pass
    def state(self): return {"seen": self.seen}
    def restore(self, state): self.seen = state["seen"]
"""


@pytest.fixture
def own_learners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_learners.py").write_text(LEARNERS)
    monkeypatch.syspath_prepend(tmp_path)  # worker processes are given the path of their parent
    monkeypatch.delitem(sys.modules, "own_learners", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set that loads in no time: 10 classes of 30 samples."""
    y = np.repeat(np.arange(10), 30)
    file = tmp_path_factory.mktemp("data") / "toy.npz"
    np.savez(file, X=np.arange(300, dtype=np.float32)[:, None], y=y)
    return file


@pytest.fixture
def text_of(toy: Path) -> TextOf:
    def text(*learners: str, seeds: str = "1") -> str:
        stream = f'{{name: "{toy}", label: toy, tasks: 5}}'
        return f"{{name: demo, streams: [{stream}], learners: [{', '.join(learners)}], seeds: {seeds}}}"

    return text


def test_all_runs_finish_and_again_is_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text_of: TextOf
) -> None:
    experiment = parse(text_of("random", seeds="[5, 6]"))
    outcome = run_experiment(experiment, tmp_path, workers=2)
    assert not outcome.failures
    assert "finished random-toy-s5" in capsys.readouterr().err
    run = read_run(tmp_path / "demo/random-toy-s5")
    assert (run.status, run.seed, run.experiment, run.learner) == ("finished", 5, "demo", "random")
    assert run.stream == "toy"  # its label: tables tell the streams of a file apart
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    again = run_experiment(experiment, tmp_path, workers=2)
    assert len(again.skipped) == 2
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before


def test_a_failure_is_listed_and_the_rest_goes_on(own_learners: Path, text_of: TextOf) -> None:
    experiment = parse(text_of('{"own_learners:Fails": {at: 14}, label: fails}', "random"))
    outcome = run_experiment(experiment, own_learners / "out", workers=1)
    assert [failure.job.learner_label for failure in outcome.failures] == ["fails"]
    failure = outcome.failures[0]
    assert failure.message == "ValueError: no luck today"
    assert failure.file is not None
    assert "Traceback" in failure.file.read_text()
    failed = read_run(failure.job.folder)
    assert failed.status == "failed"
    assert [row.after for row in failed.rows] == [-1, 0, 1]
    assert read_run(own_learners / "out/demo/random-toy-s0").status == "finished"


def test_a_worker_that_dies_once_is_resumed(own_learners: Path, text_of: TextOf) -> None:
    marker = own_learners / "died"
    text = text_of(f'{{"own_learners:Fails": {{at: 14, how: kill, marker: "{marker}"}}, label: dies}}')
    outcome = run_experiment(parse(text), own_learners / "out", workers=1)
    assert marker.exists()
    assert not outcome.failures
    run = read_run(own_learners / "out/demo/dies-toy-s0")
    assert [row.after for row in run.rows] == [-1, 0, 1, 2, 3, 4]


def test_a_worker_that_always_dies_is_one_failed_run(own_learners: Path, text_of: TextOf) -> None:
    text = text_of('{"own_learners:Fails": {how: kill}, label: dies}', "random")
    outcome = run_experiment(parse(text), own_learners / "out", workers=1)
    assert ["died twice" in failure.message for failure in outcome.failures] == [True]
    assert read_run(own_learners / "out/demo/random-toy-s0").status == "finished"


def test_two_processes_on_one_experiment_both_end_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text_of: TextOf
) -> None:
    experiment = parse(text_of("random", seeds="3"))
    folder = tmp_path / "demo/random-toy-s0"
    folder.mkdir(parents=True)
    other = Lock(folder)  # another process is writing the first run, and is done with it a little later
    timer = threading.Timer(4.0, other.release)
    timer.start()
    outcome = run_experiment(experiment, tmp_path, workers=1)
    timer.join()
    assert not outcome.failures
    said = capsys.readouterr().err.splitlines()
    assert [line.split()[0:2] for line in said] == [
        ["later", "random-toy-s0:"],
        ["finished", "random-toy-s1"],
        ["finished", "random-toy-s2"],
        ["finished", "random-toy-s0"],
    ]
    assert f"Another process (id {os.getpid()} on" in said[0]


def test_a_run_that_another_process_finishes_meanwhile_is_finished(tmp_path: Path, text_of: TextOf) -> None:
    jobs = grid(parse(text_of("random")), tmp_path)
    told: list[str] = []
    run_job(jobs[0], lambda report: told.append(report.kind))
    run_job(jobs[0], lambda report: told.append(report.kind))
    assert told == ["row"] * 6 + ["finished"] * 2


def test_a_changed_experiment_touches_nothing(tmp_path: Path, text_of: TextOf) -> None:
    run_experiment(parse(text_of("random")), tmp_path, workers=1)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    changed = text_of("random", seeds="2").replace("tasks: 5", "tasks: 2")
    with pytest.raises(UsageError, match="the stream had 5 tasks and has 2 now"):
        run_experiment(parse(changed), tmp_path, workers=1)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_the_job_alone_reports_rows(tmp_path: Path, text_of: TextOf) -> None:
    reports: list[Report] = []
    job = grid(parse(text_of("random")), tmp_path)[0]
    run_job(job, reports.append)
    assert [report.after for report in reports if report.kind == "row"] == [-1, 0, 1, 2, 3, 4]
    assert reports[-1].kind == "finished"
    assert read_run(job.folder).learner_config == {}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_command_killed_leaves_no_worker_and_goes_on(own_learners: Path, number: int, text_of: TextOf) -> None:
    script = own_learners / "go.py"
    script.write_text(
        textwrap.dedent(
            """
            from pathlib import Path
            import typer
            from recollect.cli.run import run
            if __name__ == "__main__":
                typer.run(run)
            """
        )
    )
    pause = "import time; time.sleep(float(os.environ.get('PAUSE', 0)))"
    slow = LEARNERS.replace("def learn(self, batch):", f"def learn(self, batch):\n        {pause}")
    (own_learners / "own_learners.py").write_text(slow)
    file = own_learners / "e.yaml"
    file.write_text(text_of('{"own_learners:Fails": {at: -1}, label: slow}'))
    rows = own_learners / "out/demo/slow-toy-s0/rows.jsonl"
    command = [sys.executable, str(script), str(file), "-o", str(own_learners / "out"), "-w", "1"]
    environment = {**os.environ, "PYTHONPATH": str(own_learners), "PAUSE": "0.05"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (rows.exists() and rows.read_bytes().count(b"\n") >= 2):
        assert time.monotonic() < deadline, "no rows in a minute"
        time.sleep(0.02)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    if number == signal.SIGINT:
        assert "the same command goes on" in said
    lock = own_learners / "out/demo/slow-toy-s0/.lock"
    worker = int(lock.read_text().split()[0]) if lock.exists() else 0
    while worker and os.path.exists(f"/proc/{worker}"):
        assert time.monotonic() < deadline, "the worker outlives the command"
        time.sleep(0.02)
    outcome = run_experiment(parse(file.read_text()), own_learners / "out", workers=1)
    assert not outcome.failures
    assert len(read_run(rows.parent).rows) == 6


def test_progress_lines_without_a_terminal(tmp_path: Path, text_of: TextOf) -> None:
    now = [0.0]
    lines: list[str] = []
    jobs: list[Job] = grid(parse(text_of("random", seeds="2")), tmp_path)
    with Progress(jobs, live=False, say=lines.append, clock=lambda: now[0]) as progress:
        progress.hear(jobs[0], Report("started"))
        progress.hear(jobs[0], Report("row", 0, -1))
        now[0] = 40.0
        progress.hear(jobs[0], Report("row", 120, 1, 0.5))
        now[0] = 41.0
        progress.hear(jobs[0], Report("row", 200, 2, 0.25))
        now[0] = 80.0
        progress.hear(jobs[0], Report("finished"))
        progress.hear(jobs[1], Report("started"))
        progress.hear(jobs[1], Report("died", message="its worker process died"))
        progress.hear(jobs[1], Report("started"))
        progress.hear(jobs[1], Report("failed", message="ValueError: x"))
    assert lines == [
        "  random-toy-s0: task 2/5, accuracy 0.500, 0:40 left",
        "finished random-toy-s0 (1/2) in 1:20: task 3/5, accuracy 0.250; about 1:20 left",
        "resuming random-toy-s1: its worker process died",
        "failed random-toy-s1 (2/2) in 0:00: ValueError: x",
    ]


def test_the_live_table_draws(tmp_path: Path, text_of: TextOf) -> None:
    from rich.console import Console

    jobs = grid(parse(text_of("random")), tmp_path)
    progress = Progress(jobs, live=True, clock=lambda: 5.0)
    progress.hear(jobs[0], Report("started"))
    progress.hear(jobs[0], Report("row", 120, 1, 0.5))
    console = Console(width=100, file=io.StringIO())
    with console.capture() as captured:
        console.print(progress._table())
    shown = captured.get()
    assert "random-toy-s0" in shown
    assert "task 2/5, accuracy 0.500" in shown


def test_accuracy_of_a_row_is_over_learned_tasks() -> None:
    assert average(Row(1, correct=(5, 10, 0), n=(10, 10, 10))) == 0.75
    assert average(Row(-1, correct=(5,), n=(10,))) is None
    assert average(Row(0, correct=(None,), n=(None,))) is None
