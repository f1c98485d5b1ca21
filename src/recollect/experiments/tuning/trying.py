"""Settings tried: runs on validation samples, up to some place of the stream, and their score there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from recollect.errors import NotComputable, UsageError
from recollect.experiments.file import Experiment, LearnerEntry, explain
from recollect.experiments.grid import Job
from recollect.experiments.pool import LocalWorker
from recollect.experiments.running import dismiss, run_experiment
from recollect.experiments.tuning.search import Search
from recollect.experiments.tuning.settings import Trial
from recollect.metrics import score
from recollect.metrics.registry import better_direction, get
from recollect.runs import Run
from recollect.runs.reading import read_run
from recollect.stats import estimate


@dataclass
class Trying:
    """Where settings are tried. A run that was made is not made again: the same call goes on where it was."""

    experiment: Experiment
    search: Search
    out: Path | str
    data: Path | None = None
    workers: int | None = None
    ray: str | None = None
    folder: Path = field(default_factory=Path)
    _kept: list[LocalWorker] = field(default_factory=list)

    def __post_init__(self) -> None:
        held: dict[str, Any] = {"validation": self.search.validation}
        self._streams = self.search.streams or tuple(
            entry.model_copy(update={"options": {**entry.options, **held}}) for entry in self.experiment.streams
        )

    def upto(self, trials: Sequence[Trial], place: float) -> list[Trial]:
        """The settings after `place` seeds, 1.25 for all of the first and a quarter of the second one's rows."""
        seeds = self.search.seeds[: math.ceil(place)]
        part = 1.0 - (len(seeds) - place)
        known = {entry.label: entry for entry in self.experiment.learners}
        trying = self.experiment.model_copy(
            update={
                "name": f"{self.experiment.name}-tuning",
                "seeds": seeds,
                "learners": tuple({t.label: _entry(known[t.learner], t) for t in trials}.values()),
                "streams": self._streams,
            }
        )

        def pause(job: Job) -> int | None:
            return section_at(job, part) if job.seed == seeds[-1] and part < 1 else None

        outcome = run_experiment(
            trying, self.out, data=self.data, workers=self.workers, ray=self.ray, pause=pause, kept=self._kept
        )
        self.folder = outcome.folder
        failed = {failure.job.learner_label: failure.message for failure in reversed(outcome.failures)}
        jobs: dict[str, list[Job]] = {}
        for job in outcome.jobs:
            jobs.setdefault(job.learner_label, []).append(job)
        return [self._scored(trial, jobs[trial.label], failed, len(seeds)) for trial in trials]

    def __enter__(self) -> Trying:
        return self

    def __exit__(self, *_: object) -> None:
        """Let the workers go."""
        while self._kept:
            dismiss(self._kept.pop())

    def _scored(self, trial: Trial, jobs: Sequence[Job], failed: Mapping[str, str], seeds: int) -> Trial:
        values, seconds, better = reached(jobs, self.search.metric)
        trial = replace(trial, better=better)
        if trial.label in failed:
            return replace(trial, state="failed", message=failed[trial.label], seconds=seconds, seeds=seeds)
        return replace(trial, value=estimate(values), seconds=seconds, seeds=seeds)


def section_at(job: Job, part: float) -> int:
    """The planned section after this part of a run's rows.

    >>> from recollect.runs.run import Plan
    >>> job = Job("e", "er", "er", {}, "contestant", "s", "s", {}, 0, Plan((1, 4, 9)), "cpu", Path(), sections=10)
    >>> [section_at(job, part) for part in (0.1, 1 / 3, 0.5, 1.0)]
    [1, 1, 4, 9]
    """
    rows = range(job.sections) if job.plan.rows is None else job.plan.rows
    return rows[max(1, math.ceil(round(part * len(rows), 6))) - 1]


def reached(jobs: Sequence[Job], metric: str) -> tuple[NDArray[np.float64], float, str]:
    """The mean over streams of each seed's score so far, the CPU seconds, and which direction is better."""
    scores: dict[int, list[float]] = {}
    seconds, better = 0.0, "higher"
    for job in jobs:
        if not (job.folder / "run.json").exists():
            continue
        run = read_run(job.folder)
        seconds += sum(run.timings.get(f"{what}_cpu_seconds", 0.0) for what in ("train", "evaluate"))
        better = better_direction(get(metric), run.higher_is_better)
        scores.setdefault(job.seed, []).append(score_at(run, metric, job))
    return np.array([sum(values) / len(values) for values in scores.values()]), seconds, better


def score_at(run: Run, metric: str, job: Job) -> float:
    """The score of a run; of one that was to pause, at the last row up to there that has one.

    A run that went on since then is looked at as it was: the same search over it comes to the same settings.
    """
    try:
        if job.until is None:
            return float(score(run.matrix, metric))
        curve = np.asarray(score(upto_section(run, job).matrix, metric, curve=True), dtype=float)
    except NotComputable:
        return math.nan
    known = curve[np.isfinite(curve)]
    return float(known[-1]) if len(known) else math.nan


def upto_section(run: Run, job: Job) -> Run:
    """The run as it was after the section where it paused."""
    assert job.until is not None
    wanted = 1 + sum(section <= job.until for section in job.plan.rows or range(job.sections))
    ends = [k for k, row in enumerate(run.rows) if job.plan.every is None or row.task_end]
    return replace(run, rows=run.rows[: ends[wanted - 1] + 1]) if wanted <= len(ends) else run


def _entry(entry: LearnerEntry, trial: Trial) -> LearnerEntry:
    given = {entry.name: {**entry.options, **trial.options}, "label": trial.label}
    try:
        checked = LearnerEntry.model_validate(given)
    except ValidationError as error:
        raise UsageError(f"tune.over.{trial.learner}: {explain(error)}") from None
    return checked.model_copy(update={"plan": entry.plan})
