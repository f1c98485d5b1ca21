"""Run an experiment: what is finished stays, what was begun goes on, what fails is listed at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.experiments.file import Experiment
from recollect.experiments.grid import Job, grid, is_finished, refuse_changed
from recollect.experiments.pool import cores, run_jobs
from recollect.experiments.progress import Progress
from recollect.experiments.ray_pool import run_jobs_on_ray
from recollect.experiments.worker import ERROR
from recollect.runs.store import CHECKPOINT


@dataclass(frozen=True)
class Failure:
    """A run that failed: why, in a line, and the file with the traceback if there is one."""

    job: Job
    message: str
    file: Path | None


@dataclass(frozen=True)
class Outcome:
    """How an experiment went: all its runs, those that were finished before, and the failed ones."""

    jobs: tuple[Job, ...]
    skipped: tuple[Job, ...]
    failures: tuple[Failure, ...]

    @property
    def folder(self) -> Path:
        """The folder of the experiment."""
        return self.jobs[0].folder.parent


def run_experiment(
    experiment: Experiment,
    out: Path | str = "runs",
    *,
    data: Path | str | None = None,
    workers: int | None = None,
    ray: str | None = None,
    live: bool | None = None,
) -> Outcome:
    """Run or resume an experiment on local worker processes (as many as there are cores), or on Ray.

    `ray` is "local" (a Ray started for this experiment and stopped with it) or the address of a cluster whose
    machines share `out`: "auto", "HOST:PORT", "ray://HOST:PORT". Where a run is made changes nothing in it.
    Before anything starts, the data are found and every run folder that exists is compared with the
    experiment; one that was begun with another configuration is a UsageError, and nothing is touched.
    """
    jobs = grid(experiment, out, data)
    for job in jobs:
        refuse_changed(job)
    skipped = [job for job in jobs if is_finished(job)]
    for job in skipped:
        for left in job.folder.glob(f"{CHECKPOINT}.*"):  # by a kill after the last header
            left.unlink(missing_ok=True)
    names = {job.name for job in skipped}
    failures: list[Failure] = []
    todo = [job for job in jobs if job.name not in names]
    reports = (
        run_jobs(todo, cores() if workers is None else workers) if ray is None else run_jobs_on_ray(todo, ray, workers)
    )
    with Progress(todo, live=live) as progress:
        for job, report in reports:
            progress.hear(job, report)
            if report.kind == "failed":
                file = job.folder / ERROR
                failures.append(Failure(job, report.message, file if file.exists() else None))
    return Outcome(tuple(jobs), tuple(skipped), tuple(failures))


def cost_table(jobs: Sequence[Job]) -> str:
    """The grid of an experiment and its cost in samples, as text.

    Learners that train anew before an evaluation (GDumb, joint) cost more than the samples say.
    """
    head = ("run", "train samples", "test samples", "state")
    lines = [(job.name, f"{job.samples:,}", f"{job.test_samples:,}", _state(job)) for job in jobs]
    total = ("total", _sum(job.samples for job in jobs), _sum(job.test_samples for job in jobs), "")
    rows = [head, *lines, total]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    return "\n".join(
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip() for row in rows
    )


def _state(job: Job) -> str:
    if is_finished(job):
        return "finished"
    return "to resume" if (job.folder / "run.json").exists() else "new"


def _sum(values: Iterable[int]) -> str:
    return f"{sum(values):,}"
