"""Local worker processes: one run at a time each, one thread each; a worker's death is one run to resume."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

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
        self.job: Job | None = None

    def give(self, job: Job) -> None:
        self.job = job
        with contextlib.suppress(BrokenPipeError):  # it died; its pipe's end tells so in the next wait
            self.pipe.send(job)

    def stop(self, at_once: bool) -> None:
        if at_once:
            self.process.kill()
        else:
            with contextlib.suppress(OSError):
                self.pipe.send(None)
        self.process.join()
        self.pipe.close()


def run_jobs(jobs: Iterable[Job], workers: int) -> Iterator[tuple[Job, Report]]:
    """Run jobs on worker processes and give every report with its job as it comes.

    A job whose worker dies is resumed once by a new one, and reported as failed the second time. Closing the
    generator (Ctrl-C) kills the workers: each run goes on from its last row when it is run again.
    """
    team = _Team(jobs, workers)
    try:
        while True:
            yield from team.assign()
            busy = {worker.pipe: worker for worker in team.workers if worker.job is not None}
            if not busy:
                break
            for pipe in wait(list(busy)):
                yield from team.hear(busy[pipe])  # type: ignore[index]
    except BaseException:
        team.disband(at_once=True)
        raise
    team.disband(at_once=False)


class _Team:
    """The workers, the jobs that wait, and how often each job's worker has died."""

    def __init__(self, jobs: Iterable[Job], size: int) -> None:
        self.waiting = deque(jobs)
        self.size = max(1, size)
        self.workers: list[_Worker] = []
        self.deaths: dict[str, int] = {}

    def assign(self) -> Iterator[tuple[Job, Report]]:
        """Give a job to everyone who is free, hiring up to the size of the team."""
        free = [worker for worker in self.workers if worker.job is None]
        while self.waiting and (free or len(self.workers) < self.size):
            if not free:
                free.append(_Worker())
                self.workers.append(free[-1])
            job = self.waiting.popleft()
            free.pop().give(job)
            yield job, Report("started")

    def hear(self, worker: _Worker) -> Iterator[tuple[Job, Report]]:
        """One report of a worker, or the news of its death."""
        job = worker.job
        assert job is not None
        report = _receive(worker.pipe)
        if report is not None:
            if report.kind in ("finished", "failed"):
                worker.job = None
            yield job, report
            return
        self.workers.remove(worker)
        worker.stop(at_once=True)
        self.deaths[job.name] = self.deaths.get(job.name, 0) + 1
        code = worker.process.exitcode
        if self.deaths[job.name] < _DEATHS:
            self.waiting.appendleft(job)
            yield job, Report("died", message=f"its worker process died (exit code {code})")
        else:
            message = f"its worker process died twice (exit code {code}); is there enough memory?"
            yield job, Report("failed", message=message)

    def disband(self, at_once: bool) -> None:
        for worker in self.workers:
            worker.stop(at_once)


def _receive(pipe: Connection) -> Report | None:
    try:
        report = pipe.recv()
    except (EOFError, OSError):
        return None
    assert isinstance(report, Report)
    return report


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
