"""Local worker processes: one run at a time each, one thread each; runs of a dead worker are resumed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from recollect.errors import UsageError
from recollect.experiments.gpus import VARIABLE, gpus_for, least_used
from recollect.experiments.grid import Job
from recollect.experiments.team import WORKERS_ENVIRONMENT, Team, Worker
from recollect.experiments.worker import Probe, Report, serve


def cores() -> int:
    """How many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def probed(jobs: Sequence[Job], worker: LocalWorker | None = None) -> LocalWorker:
    """A worker that has made the learner of each of these jobs, one of its seeds; UsageError if one cannot be made.

    It may be given to `run_jobs`: what it has imported need not be imported again. `worker` is one that is there.
    """
    first = {(job.learner_label, job.stream_label): job for job in reversed(jobs)}
    worker = worker or LocalWorker(least_used(gpus_for(jobs), ()))
    try:
        worker.pipe.send(Probe(tuple(first.values())))
        told = worker.receive()
        if told is not None and told.message:
            raise UsageError(told.message)
    except BaseException:
        worker.stop(at_once=True)
        worker.join()
        raise
    return worker


def run_jobs(
    jobs: Iterable[Job], workers: int, *, first: LocalWorker | None = None, kept: list[LocalWorker] | None = None
) -> Iterator[tuple[Job, Report]]:
    """Run jobs on worker processes and give every report with its job as it comes.

    A job whose worker dies is resumed once by a new one, and reported as failed the second time. Closing the
    generator (Ctrl-C) kills the workers: each run goes on from its last row when it is run again. `first` is a
    worker that is there already. With `kept` the workers are taken from this list and put back into it at the end, for
    the next jobs.
    """
    team = _LocalTeam(jobs, workers, kept)
    team.workers += [] if first is None else [first]
    yield from team.run()


class LocalWorker(Worker):
    """A process of its own, spoken to through a pipe."""

    def __init__(self, gpu: str | None = None) -> None:
        super().__init__()
        self.gpu = gpu
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=serve, args=(theirs,), daemon=True)
        with environment(WORKERS_ENVIRONMENT | ({} if gpu is None else {VARIABLE: gpu})):
            self.process.start()
        theirs.close()

    def give(self, job: Job) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died; its pipe's end tells so in the next wait
            self.pipe.send(job)

    def receive(self) -> Report | None:
        try:
            told: Report = self.pipe.recv()
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


class _LocalTeam(Team[LocalWorker]):
    def __init__(self, jobs: Iterable[Job], size: int, kept: list[LocalWorker] | None = None) -> None:
        super().__init__(jobs, size)
        self.gpus, self.kept = gpus_for(self.waiting), kept

    def dismiss(self, worker: LocalWorker) -> None:
        if self.kept is None:
            super().dismiss(worker)
        else:
            self.kept.append(worker)

    def hire(self) -> LocalWorker:
        if self.kept:
            return self.kept.pop()
        return LocalWorker(least_used(self.gpus, (worker.gpu for worker in self.workers)))

    def ready(self, busy: Sequence[LocalWorker]) -> Iterable[LocalWorker]:
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
