"""Local worker processes: one bundle of runs at a time each, one thread each; runs of a dead worker are resumed."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from recollect.experiments.bundles import Bundle, bundles
from recollect.experiments.grid import Job
from recollect.experiments.worker import Report, serve

# Two threads in one process are slower than two processes.
_ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_DEATHS = 2


def cores() -> int:
    """How many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    def __init__(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=serve, args=(theirs,), daemon=True)
        with _one_thread():
            self.process.start()
        theirs.close()
        self.jobs: dict[str, Job] = {}  # by name, those under way

    def give(self, bundle: Bundle) -> None:
        self.jobs = {job.name: job for job in bundle}
        with contextlib.suppress(BrokenPipeError):  # it died; its pipe's end tells so in the next wait
            self.pipe.send(bundle)

    def stop(self, at_once: bool) -> None:
        if at_once:
            self.process.kill()
        else:
            with contextlib.suppress(OSError):
                self.pipe.send(None)
        self.process.join()
        self.pipe.close()


def run_jobs(jobs: Iterable[Job], workers: int, *, together: bool = True) -> Iterator[tuple[Job, Report]]:
    """Run jobs on worker processes and give every report with its job as it comes.

    A job whose worker dies is resumed once by a new one, and reported as failed the second time. Closing the
    generator (Ctrl-C) kills the workers: each run goes on from its last row when it is run again. `together`
    lets seeds share a worker where that is faster; it changes no result.
    """
    all_jobs = list(jobs)
    team = _Team(bundles(all_jobs, workers) if together else [(job,) for job in all_jobs], workers)
    try:
        while True:
            yield from team.assign()
            busy = {worker.pipe: worker for worker in team.workers if worker.jobs}
            if not busy:
                break
            for pipe in wait(list(busy)):
                yield from team.hear(busy[pipe])  # type: ignore[index]
    except BaseException:
        team.disband(at_once=True)
        raise
    team.disband(at_once=False)


class _Team:
    """The workers, the bundles that wait, and how often each job's worker has died."""

    def __init__(self, waiting: Sequence[Bundle], size: int) -> None:
        self.waiting = deque(waiting)
        self.size = max(1, size)
        self.workers: list[_Worker] = []
        self.deaths: dict[str, int] = {}

    def assign(self) -> Iterator[tuple[Job, Report]]:
        """Give a bundle to everyone who is free, hiring up to the size of the team."""
        free = [worker for worker in self.workers if not worker.jobs]
        while self.waiting and (free or len(self.workers) < self.size):
            if not free:
                free.append(_Worker())
                self.workers.append(free[-1])
            bundle = self.waiting.popleft()
            free.pop().give(bundle)
            for job in bundle:
                yield job, Report("started")

    def hear(self, worker: _Worker) -> Iterator[tuple[Job, Report]]:
        """One report of a worker, or the news of its death."""
        told = _receive(worker.pipe)
        if told is not None:
            name, report = told
            job = worker.jobs[name]
            if report.kind in ("finished", "failed"):
                del worker.jobs[name]
            yield job, report
            return
        self.workers.remove(worker)
        worker.stop(at_once=True)
        code = worker.process.exitcode
        again: list[Bundle] = []
        for job in worker.jobs.values():
            self.deaths[job.name] = self.deaths.get(job.name, 0) + 1
            if self.deaths[job.name] < _DEATHS:
                again.append((job,))  # alone: should it be the one that kills, it takes no others with it
                yield job, Report("died", message=f"its worker process died (exit code {code})")
            else:
                message = f"its worker process died twice (exit code {code}); is there enough memory?"
                yield job, Report("failed", message=message)
        self.waiting.extendleft(reversed(again))

    def disband(self, at_once: bool) -> None:
        for worker in self.workers:
            worker.stop(at_once)


def _receive(pipe: Connection) -> tuple[str, Report] | None:
    """A job's name and what is told of it; None of a pipe whose worker is gone."""
    try:
        told: tuple[str, Report] = pipe.recv()
    except (EOFError, OSError):
        return None
    return told


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Child processes started inside have one thread each; the environment is put back afterwards."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
