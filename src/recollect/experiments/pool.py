"""Local worker processes: one bundle of runs at a time each, one thread each; runs of a dead worker are resumed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from recollect.experiments.bundles import Bundle
from recollect.experiments.grid import Job
from recollect.experiments.team import ONE_THREAD, Team, Worker
from recollect.experiments.worker import Report, serve


def cores() -> int:
    """How many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_jobs(jobs: Iterable[Job], workers: int, *, together: bool = True) -> Iterator[tuple[Job, Report]]:
    """Run jobs on worker processes and give every report with its job as it comes.

    A job whose worker dies is resumed once by a new one, and reported as failed the second time. Closing the
    generator (Ctrl-C) kills the workers: each run goes on from its last row when it is run again. `together`
    lets seeds share a worker where that is faster; it changes no result.
    """
    yield from _LocalTeam(jobs, workers, together=together).run()


class _LocalWorker(Worker):
    def __init__(self) -> None:
        super().__init__()
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=serve, args=(theirs,), daemon=True)
        with environment(ONE_THREAD):
            self.process.start()
        theirs.close()

    def give(self, bundle: Bundle) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died; its pipe's end tells so in the next wait
            self.pipe.send(bundle)

    def receive(self) -> tuple[str, Report] | None:
        try:
            told: tuple[str, Report] = self.pipe.recv()
        except (EOFError, OSError):
            return None
        return told

    def stop(self, at_once: bool) -> None:
        if at_once:
            self.process.kill()
        else:
            with contextlib.suppress(OSError):
                self.pipe.send(None)

    def join(self) -> None:
        self.process.join()
        self.pipe.close()

    def cause_of_death(self) -> str:
        return f"exit code {self.process.exitcode}"


class _LocalTeam(Team[_LocalWorker]):
    def hire(self) -> _LocalWorker:
        return _LocalWorker()

    def ready(self, busy: Sequence[_LocalWorker]) -> Iterable[_LocalWorker]:
        telling = wait([worker.pipe for worker in busy])
        return [worker for worker in busy if worker.pipe in telling]


@contextlib.contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Child processes started inside have these variables; the environment is put back afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
