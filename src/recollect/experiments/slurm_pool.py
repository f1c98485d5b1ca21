"""Runs as an array job of Slurm, by submitit: the workers write to the shared folder, and this process reads along."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from recollect.errors import MissingExtra, RecollectError, UsageError
from recollect.experiments.agreement import is_finished
from recollect.experiments.grid import Job, absolute
from recollect.experiments.pool import cores
from recollect.experiments.team import WORKERS_ENVIRONMENT
from recollect.experiments.worker import ERROR, Report, average, run_job
from recollect.runs.files import make_folder, write_atomic
from recollect.runs.reading import ROWS, read_regular, read_run
from recollect.runs.remote import Storage, pull

LOCAL = "local"
# Beside the runs of an experiment: what submitit writes, and which run has which job.
PLACE = ".slurm"
_JOBS = "jobs.json"
# In seconds: between two looks at the folders, and at the queue, which other people ask too.
_LOOK = 2.0
_ASK = 30.0
# In seconds: what a job is told before its time is over, so that it ends between two rows or is killed there.
_WARNED = 60
# In seconds: for a network file system to show what another machine has written.
_TO_APPEAR = 30.0
_DEATHS = 2
_WAITS = ("PENDING", "RUNNING", "REQUEUED", "REQUEUE_HOLD", "CONFIGURING", "SUSPENDED", "COMPLETING", "RESIZING")
_USE = (
    "--slurm takes options of sbatch, time (in minutes) among them, such as time=240,partition=short,mem=8GB; or local"
)


def run_jobs_on_slurm(
    jobs: Iterable[Job], asked: str, workers: int | None = None
) -> Generator[tuple[Job, Report], None, None]:
    """Run jobs as one array job, with the contract of `pool.run_jobs`; at most `workers` of them at a time.

    `asked` holds options of sbatch ("time=240,partition=short"), or is "local": processes on this machine. Jobs
    that an earlier call has left in the queue are followed, not given again. A run whose job is taken away by Slurm
    (its time is over, somebody else goes first) is queued again and goes on after its last row.
    """
    todo = list(jobs)
    if not todo:
        return
    beside = todo[0].folder.parent if todo[0].remote is None else Path(todo[0].folder.parent.name)
    array = _Array(beside / PLACE, asked, workers)
    array.follow(todo)
    array.waiting += [job for job in todo if job.name not in array.jobs]
    try:
        yield from _watch(array, todo)
    except BaseException:
        array.leave()
        raise


def refuse_slurm(asked: str) -> None:
    """Raise UsageError, before anything is done, if there is no Slurm here or its options cannot be used."""
    if asked != LOCAL:
        _slurm_executor(_import_submitit(), Path(PLACE), asked, None)


class Work:
    """What one job of the array does; submitit asks for `checkpoint` when Slurm takes the machine back."""

    def __init__(self, home: str) -> None:
        self.home = home

    def __call__(self, job: Job) -> None:
        os.environ.update(WORKERS_ENVIRONMENT)
        if os.path.isdir(self.home):  # a relative path to data means what the user meant
            os.chdir(self.home)
        run_job(job, lambda report: print(report.kind, report.after, report.message, flush=True))

    def checkpoint(self, job: Job) -> Any:
        """The same again: every finished row is on disk."""
        return import_module("submitit.helpers").DelayedSubmission(self, job)


class _Array:
    """The jobs of Slurm that belong to an experiment, by the names of their runs."""

    def __init__(self, place: Path, asked: str, workers: int | None) -> None:
        self.submitit = _import_submitit()
        self.place = Path(os.path.abspath(place))
        self.is_local = asked == LOCAL
        self.jobs: dict[str, Any] = {}
        self.waiting: list[Job] = []
        self.ended: dict[str, float] = {}
        self.at_once = (workers or cores()) if self.is_local else None  # a cluster has a queue of its own
        self.executor = self._executor(asked, workers)

    def _executor(self, asked: str, workers: int | None) -> Any:
        logs = self.place / "%j"
        if self.is_local:
            executor = self.submitit.LocalExecutor(folder=logs)
            executor.update_parameters(timeout_min=60 * 24 * 365, signal_delay_s=_WARNED)
            return executor
        return _slurm_executor(self.submitit, logs, asked, workers)

    def follow(self, todo: Sequence[Job]) -> None:
        """Take up the jobs of an earlier call that still wait or run."""
        if self.is_local:
            return
        known = _known(self.place / _JOBS)
        for job in todo:
            if job.name in known:
                there = self.submitit.SlurmJob(self.place / "%j", known[job.name])
                if there.watcher.get_state(there.job_id, mode="force").split()[0] in _WAITS:
                    self.jobs[job.name] = there

    def submit(self) -> Sequence[Job]:
        """Queue the runs that wait as one array job, write down which is which, and give them."""
        room = len(self.waiting)
        if self.at_once is not None:
            room = max(0, self.at_once - sum(not one.done() for one in self.jobs.values()))
        jobs, self.waiting = self.waiting[:room], self.waiting[room:]
        if not jobs:
            return jobs
        for job in jobs:
            (job.folder / ERROR).unlink(missing_ok=True)  # of an earlier try
        make_folder(self.place)
        work = Work(os.getcwd())
        try:
            given = self.executor.map_array(work, [absolute(job) for job in jobs])
        except (self.submitit.core.utils.FailedJobError, OSError) as error:
            raise RecollectError(f"Slurm has not taken the jobs: {error}") from None
        self.jobs |= {job.name: one for job, one in zip(jobs, given, strict=True)}
        ids = {name: one.job_id for name, one in self.jobs.items()}
        write_atomic(self.place / _JOBS, (json.dumps(ids, indent=1) + "\n").encode())
        return jobs

    def has_ended(self, job: Job) -> bool:
        """Whether its process is gone, as far as Slurm has said, and what it wrote has had time to appear here."""
        if not self.jobs[job.name].done():
            return False
        ended = self.ended.setdefault(self.jobs[job.name].job_id, time.monotonic())
        return self.is_local or is_finished(job) or time.monotonic() - ended > _TO_APPEAR

    def state(self, job: Job) -> str:
        """Slurm's word for how a job is."""
        return str(self.jobs[job.name].state)

    def leave(self) -> None:
        """Local processes end with the command; what is in the queue of a cluster stays there."""
        if self.is_local:
            for job in self.jobs.values():
                job.cancel()


def _slurm_executor(submitit: Any, logs: Path, asked: str, workers: int | None) -> Any:
    options = _options(asked)
    if workers is not None:
        options["array_parallelism"] = workers
    try:
        executor = submitit.SlurmExecutor(folder=logs)
        executor.update_parameters(**{"job_name": "recollect", "signal_delay_s": _WARNED, **options})
    except RuntimeError as error:
        raise UsageError(f"Slurm is not found here ({error}). {_USE}, which needs no Slurm.") from None
    except (ValueError, TypeError) as error:
        raise UsageError(f"Slurm's options cannot be used: {str(error).splitlines()[0]}. {_USE}.") from None
    submitit.SlurmJob.watcher._delay_s = _ASK
    return executor


def _watch(array: _Array, todo: Sequence[Job]) -> Generator[tuple[Job, Report], None, None]:
    waiting = {job.name: job for job in todo}
    sizes: dict[str, int] = {}
    deaths: dict[str, int] = {}
    yield from ((job, Report("started")) for job in todo if job.name in array.jobs)
    while waiting:
        yield from ((job, Report("started")) for job in array.submit())
        for name, job in [(name, job) for name, job in waiting.items() if name in array.jobs]:
            ended = array.has_ended(job)  # asked first: what it has written by then is seen below
            yield from _new_rows(job, sizes)
            if ended and job.remote is not None:
                pull(Storage(job.remote), job.folder, checkpoint=False)
            if is_finished(job) and (ended or not array.is_local):  # a process of ours is waited for
                del waiting[name]
                yield job, Report("finished")
            elif ended and _is_held(array, job):
                array.waiting.append(job)
                del array.jobs[name]
                yield job, Report("held", message="another process is writing it")
            elif ended:
                deaths[name] = deaths.get(name, 0) + 1
                why = _why(array, job)
                if why.startswith("its job") and deaths[name] < _DEATHS and "CANCELLED" not in why:
                    array.waiting.append(job)
                    del array.jobs[name]
                    yield job, Report("died", message=why)
                else:
                    del waiting[name]
                    yield job, Report("failed", message=why)
        if waiting:
            time.sleep(_LOOK)


def _new_rows(job: Job, sizes: dict[str, int]) -> Generator[tuple[Job, Report], None, None]:
    try:
        size = os.stat(job.folder / ROWS).st_size
        if size and size != sizes.get(job.name):
            row = read_run(job.folder).rows[-1]
            sizes[job.name] = size
            yield job, Report("row", row.step or 0, row.after, average(row))
    except (OSError, RecollectError, IndexError):  # it is being written; the next look sees it
        return


def _is_held(array: _Array, job: Job) -> bool:
    """Whether it stopped because another process writes this run."""
    try:
        said = array.jobs[job.name].stdout() or ""
    except OSError:
        return False
    return any(line.startswith("held ") for line in said.splitlines()[-1:])


def _why(array: _Array, job: Job) -> str:
    """Why a run ended without being finished: its own error, or what Slurm says."""
    try:
        return read_regular(job.folder / ERROR).decode("utf-8", "replace").strip().splitlines()[-1]
    except (OSError, IndexError):
        logs = array.jobs[job.name].paths.stderr
        return f"its job of Slurm ended before the run did (state {array.state(job)}; its log: {logs})"


def _options(asked: str) -> dict[str, Any]:
    """The options of sbatch in "time=240,partition=short"; numbers are numbers.

    >>> _options("time=240,partition=short")
    {'time': 240, 'partition': 'short'}
    """
    parts = [part.partition("=") for part in asked.split(",")]
    options: dict[str, Any] = {name.strip(): value.strip() for name, _, value in parts}
    if any(not sign or not name.strip() or not value.strip() for name, sign, value in parts):
        raise UsageError(f"{_USE}; got {asked!r}.")
    if "time" not in options:
        raise UsageError(f"{_USE}; got no time in {asked!r}. A run that needs more time is queued again by itself.")
    return {name: int(value) if value.isdecimal() else value for name, value in options.items()}


def _known(place: Path) -> Mapping[str, str]:
    try:
        known = json.loads(read_regular(place))
    except (OSError, ValueError, RecursionError):
        return {}
    is_right = isinstance(known, dict) and all(isinstance(one, str) for one in known.values())
    return known if is_right else {}


def _import_submitit() -> Any:
    try:
        return import_module("submitit")
    except ImportError:
        raise MissingExtra.of("slurm", "submitit") from None
