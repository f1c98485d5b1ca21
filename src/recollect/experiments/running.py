"""Run an experiment: what is finished stays, what was begun goes on, what fails is listed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.errors import UsageError
from recollect.experiments.agreement import is_finished, move_away, refuse_changed
from recollect.experiments.file import Experiment
from recollect.experiments.grid import Job, Streams, grid
from recollect.experiments.pool import LocalWorker, cores, probed, run_jobs
from recollect.experiments.progress import Progress
from recollect.experiments.ray_pool import run_jobs_on_ray
from recollect.experiments.slurm_pool import refuse_slurm, run_jobs_on_slurm
from recollect.experiments.worker import ERROR, Report, run_job
from recollect.runs.remote import Storage, address_of, mirror_folder, pull, stays_in_process
from recollect.runs.store import CHECKPOINT


@dataclass(frozen=True)
class Failure:
    """A run that failed: why, in a line, and the file with the traceback if there is one."""

    job: Job
    message: str
    file: Path | str | None


@dataclass(frozen=True)
class Outcome:
    """How an experiment went: all its runs, those that were finished before, and the failed ones."""

    jobs: tuple[Job, ...]
    skipped: tuple[Job, ...]
    failures: tuple[Failure, ...]

    @property
    def folder(self) -> Path:
        """The folder of the experiment; that of its mirror on this machine if it is on object storage."""
        return self.jobs[0].folder.parent

    @property
    def place(self) -> str:
        """Where the experiment is: its folder, or its address on object storage."""
        first = self.jobs[0]
        return str(self.folder) if first.remote is None else first.remote.rpartition("/")[0]


def run_experiment(
    experiment: Experiment,
    out: Path | str = "runs",
    *,
    data: Path | str | None = None,
    workers: int | None = None,
    ray: str | None = None,
    slurm: str | None = None,
    gpus: float | None = None,
    live: bool | None = None,
    anew: bool = False,
    pause: Callable[[Job], int | None] | None = None,
    kept: list[LocalWorker] | None = None,
) -> Outcome:
    """Run or resume an experiment on local worker processes (as many as there are cores), or on Ray.

    `ray` is "local" (a Ray started for this experiment and stopped with it) or the address of a cluster whose
    machines share `out`: "auto", "HOST:PORT", "ray://HOST:PORT". `slurm` holds options of sbatch, "time=240,..."
    (or is "local"): the runs are one array job of a cluster that shares `out`. Where a run is made changes nothing.
    Before anything starts, the data are found and every run folder that exists is compared with the
    experiment; one that holds another run (other options, data or code) is a UsageError, and nothing is touched.
    `anew` starts every run over; what was there is moved to the folder `.before` beside it. `out` may be an address
    on object storage ("s3://bucket/runs"), which then all machines share. `gpus` is what each worker on Ray asks for;
    local workers have one GPU each as far as they reach. `pause` says after which section a run
    pauses, if it does; local workers are taken from `kept` and left there for the next call (`dismiss` ends them).
    """
    if ray is not None and slurm is not None:
        raise UsageError("An experiment runs on Ray or on Slurm, not on both: give --ray or --slurm.")
    if slurm is not None:
        refuse_slurm(slurm)
    if gpus is not None and (ray is None or not 0 <= gpus <= 64):
        raise UsageError(f"--gpus is what a worker on Ray asks for, such as 1 or 0.5, with --ray; got {gpus:g}.")
    jobs = checked(experiment, out, data, anew=anew)
    if pause is not None:
        jobs = [replace(job, until=pause(job)) for job in jobs]
    skipped = [] if anew else [job for job in jobs if is_finished(job)]
    names = {job.name for job in skipped}
    todo = [job for job in jobs if job.name not in names]
    first = probed(todo, kept.pop() if kept else None) if todo else None
    if anew:
        for job in jobs:
            move_away(job)
    for job in skipped:
        for left in job.folder.glob(f"{CHECKPOINT}.*"):  # by a kill after the last header
            left.unlink(missing_ok=True)
    failures: list[Failure] = []
    reports: Iterator[tuple[Job, Report]]
    if slurm is not None:
        dismiss(first)
        reports = run_jobs_on_slurm(todo, slurm, workers)
    elif ray is not None:
        dismiss(first)
        reports = run_jobs_on_ray(todo, ray, workers, gpus)
    elif todo and todo[0].remote is not None and stays_in_process(todo[0].remote):
        dismiss(first)
        reports = run_in_process(todo)
    else:
        reports = run_jobs(todo, cores() if workers is None else workers, first=first, kept=kept)
    with Progress(todo, live=live) as progress:
        for job, report in reports:
            progress.hear(job, report)
            if report.kind == "failed":
                file = job.folder / ERROR
                there = file if job.remote is None else f"{job.remote}/{ERROR}"
                failures.append(Failure(job, report.message, there if file.exists() else None))
    return Outcome(tuple(jobs), tuple(skipped), tuple(failures))


def checked(
    experiment: Experiment, out: Path | str = "runs", data: Path | str | None = None, *, anew: bool = False
) -> list[Job]:
    """The runs of an experiment, after every look that can be had before anything is run."""
    streams = Streams(data)
    address = address_of(out)
    jobs = grid(experiment, mirror_folder() if address is not None else out, data, streams)
    if address is not None:
        place = Storage(f"{address}/{jobs[0].folder.parent.name}")
        jobs = [replace(job, remote=f"{place.address}/{job.name}") for job in jobs]
        pull(place, jobs[0].folder.parent, checkpoint=False)
    if not anew:
        for job in jobs:
            refuse_changed(job, streams)
    return jobs


def run_in_process(jobs: Sequence[Job]) -> Iterator[tuple[Job, Report]]:
    """Run jobs one after the other in this process, for what no other process can see."""
    for job in jobs:
        yield job, Report("started")
        told: list[Report] = []
        run_job(job, told.append)
        yield from ((job, report) for report in told)


def dry_run(
    experiment: Experiment, out: Path | str = "runs", data: Path | str | None = None, *, anew: bool = False
) -> str:
    """The table of what would be run, after all that can be found wrong has been looked for."""
    jobs = checked(experiment, out, data, anew=anew)
    todo = [job for job in jobs if anew or not is_finished(job)]
    dismiss(probed(todo) if todo else None)
    return cost_table(jobs)


def dismiss(worker: LocalWorker | None) -> None:
    """Let a worker go that is not needed."""
    if worker is not None:
        worker.stop(at_once=False)
        worker.join()


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
