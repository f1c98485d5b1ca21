"""Seeds that are trained together: the same runs, whoever is with them and wherever they are killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recollect.experiments.bundles import MOST, bundles
from recollect.experiments.file import parse
from recollect.experiments.grid import Job, build_stream, grid
from recollect.experiments.pool import _LocalTeam
from recollect.experiments.running import run_experiment
from recollect.experiments.worker import Report, run_bundle, run_job
from recollect.learners import Setting, batched, make_learner
from recollect.protocol import run_protocol
from recollect.runs.reading import read_run
from recollect.runs.seeds import derive

# Class orders, and with them the number of batches a task, differ from seed to seed.
TEXT = "{name: demo, streams: [{name: digits, classes_per_task: [5, 3, 2]}], learners: [LEARNERS], seeds: SEEDS}"
ER = "{er: {memory: 50}}"


def jobs_of(place: Path, learners: str = ER, seeds: str = "3") -> list[Job]:
    return grid(parse(TEXT.replace("LEARNERS", learners).replace("SEEDS", seeds)), place)


def rows_of(jobs: Sequence[Job]) -> list[bytes]:
    return [(job.folder / "rows.jsonl").read_bytes() for job in jobs]


def said_nothing(job: Job, report: Report) -> None:
    assert report.kind != "failed", report.message


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The rows of three seeds of ER, trained together and never disturbed."""
    jobs = jobs_of(tmp_path_factory.mktemp("together"))
    run_bundle(jobs, said_nothing)
    return rows_of(jobs)


def test_seeds_that_gain_are_bundled_and_the_rest_is_not(tmp_path: Path) -> None:
    jobs = jobs_of(tmp_path, f"{ER}, {{gdumb: {{memory: 50}}}}, {{er: {{momentum: 0.5}}, label: heavy}}", "3")
    made = bundles(jobs, workers=2)
    assert sorted((bundle[0].learner_label, len(bundle)) for bundle in made) == [
        ("er", 3),
        *[("gdumb", 1)] * 3,
        *[("heavy", 1)] * 3,
    ]
    assert sorted(job.name for bundle in made for job in bundle) == sorted(job.name for job in jobs)


@pytest.mark.parametrize(
    ("seeds", "workers", "sizes"),
    [(5, 1, [5]), (5, 2, [3, 2]), (5, 9, [1] * 5), (MOST + 3, 1, [MOST, 3]), (1, 2, [1])],
)
def test_bundles_are_cut_for_the_workers(tmp_path: Path, seeds: int, workers: int, sizes: list[int]) -> None:
    assert [len(bundle) for bundle in bundles(jobs_of(tmp_path, seeds=str(seeds)), workers)] == sizes


def test_alone_or_in_any_company_the_run_is_the_same_to_the_bit(tmp_path: Path, together: list[bytes]) -> None:
    jobs = jobs_of(tmp_path)
    run_job(jobs[1], lambda report: said_nothing(jobs[1], report))
    run_bundle([jobs[2], jobs[0]], said_nothing)
    assert rows_of(jobs) == together


def test_the_run_is_that_of_the_protocol_to_float_tolerance(tmp_path: Path, together: list[bytes]) -> None:
    jobs = jobs_of(tmp_path)
    run_bundle(jobs, said_nothing)
    for job in jobs:
        stream = build_stream(job.stream, job.stream_options, job.seed, job.data)
        learner = make_learner(job.learner, job.learner_options, Setting.of(stream), derive(job.seed))
        alone = run_protocol(learner, stream, tmp_path / "alone" / job.name, name="er", seed=job.seed)
        for mine, other in zip(read_run(job.folder).rows, alone.rows, strict=True):
            assert (mine.after, mine.step, mine.n) == (other.after, other.step, other.n)
            assert mine.correct is not None
            assert other.correct is not None
            # A tie that rounding decides may fall either way.
            assert all(abs(a - b) <= 1 for a, b in zip(mine.correct, other.correct, strict=True))  # type: ignore[operator]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("moments", [[1], [3, 1], [5, 4], [8], [11], [2, 2, 2]])
def test_killed_and_resumed_in_other_company(tmp_path: Path, together: list[bytes], moments: list[int]) -> None:
    """Killed after so many rows (of 12), each time with the jobs in another order."""
    jobs = jobs_of(tmp_path)
    for turn, moment in enumerate(moments):
        killed_after(moment, jobs[turn:] + jobs[:turn])
    run_job(jobs[1], lambda report: said_nothing(jobs[1], report))
    run_bundle([jobs[2], jobs[0]], said_nothing)
    assert rows_of(jobs) == together
    assert not list(tmp_path.rglob("checkpoint*"))


def killed_after(rows: int, jobs: Sequence[Job]) -> None:
    child = os.fork()
    if child == 0:
        told = 0

        def tell(job: Job, report: Report) -> None:
            nonlocal told
            told += report.kind == "row"
            if told == rows:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            run_bundle(jobs, tell)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)


def test_one_that_fails_leaves_the_others(tmp_path: Path, together: list[bytes]) -> None:
    jobs = jobs_of(tmp_path)
    jobs[1].folder.mkdir(parents=True)
    (jobs[1].folder / "rows.jsonl").write_text("{}")
    said: list[tuple[str, str]] = []
    run_bundle(jobs, lambda job, report: said.append((job.name, report.kind)))
    assert [name for name, kind in said if kind == "failed"] == [jobs[1].name]
    assert "has a rows.jsonl but no run.json" in (jobs[1].folder / "error.txt").read_text()
    assert rows_of([jobs[0], jobs[2]]) == [together[0], together[2]]


def test_each_run_has_its_own_share_of_the_time(tmp_path: Path) -> None:
    jobs = jobs_of(tmp_path)
    wall, processor = time.perf_counter(), time.process_time()
    run_bundle(jobs, said_nothing)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    timings = [read_run(job.folder).timings for job in jobs]
    for key, all_of_it in (("seconds", wall), ("cpu_seconds", processor)):
        parts = [timing[f"{phase}_{key}"] for timing in timings for phase in ("train", "evaluate", "save")]
        assert min(parts) > 0
        assert sum(parts) <= all_of_it


def test_training_that_was_put_off_is_not_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that ticks once a step of the batched network, and never else."""
    ticks = 0
    learn = batched.Together.learn

    def step(self: batched.Together, batches: Any) -> None:
        nonlocal ticks
        ticks += 1
        learn(self, batches)

    monkeypatch.setattr(batched.Together, "learn", step)
    monkeypatch.setattr(batched, "_now", lambda: np.array([ticks, ticks], float))
    jobs = jobs_of(tmp_path)
    run_bundle(jobs, said_nothing)
    timings = [read_run(job.folder).timings for job in jobs]
    batches = [build_stream(job.stream, job.stream_options, job.seed, job.data).n_batches for job in jobs]
    assert max(batches) <= ticks < max(batches) + 5
    assert sum(timing["train_seconds"] for timing in timings) == pytest.approx(ticks)
    assert [timing["evaluate_seconds"] for timing in timings] == [0, 0, 0]
    for timing, count in zip(timings, batches, strict=True):
        assert timing["train_cpu_seconds"] == pytest.approx(ticks * count / sum(batches), rel=0.02)


def test_an_experiment_of_bundles_on_workers(tmp_path: Path, together: list[bytes]) -> None:
    text = TEXT.replace("LEARNERS", f"{ER}, random").replace("SEEDS", "3")
    outcome = run_experiment(parse(text), tmp_path, workers=2)
    assert not outcome.failures
    assert rows_of([job for job in outcome.jobs if job.learner == "er"]) == together
    assert len(run_experiment(parse(text), tmp_path, workers=2).skipped) == 6


def test_a_dead_worker_takes_its_runs_along_once(tmp_path: Path) -> None:
    """Each is resumed alone; the one whose worker dies again has failed, the others have not."""
    jobs = jobs_of(tmp_path)
    team = _LocalTeam([], 1)
    dead = dead_worker(jobs)
    team.workers = [dead]
    assert [(job.name, report.kind) for job, report in team.hear(dead)] == [(job.name, "died") for job in jobs]
    assert list(team.waiting) == [(job,) for job in jobs]
    dead = dead_worker(jobs[1:2])
    team.workers = [dead]
    assert [(job.name, report.kind) for job, report in team.hear(dead)] == [(jobs[1].name, "failed")]
    assert list(team.waiting) == [(job,) for job in jobs]


def dead_worker(jobs: Sequence[Job]) -> Any:
    return SimpleNamespace(
        jobs={job.name: job for job in jobs},
        receive=lambda: None,
        stop=lambda at_once: None,
        join=lambda: None,
        cause_of_death=lambda: "exit code -9",
        is_to_blame=True,
    )
