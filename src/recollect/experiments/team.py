"""A team of workers, wherever they are: who gets which bundle, and what becomes of the runs of a dead one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from recollect.experiments.bundles import Bundle, bundles
from recollect.experiments.grid import Job
from recollect.experiments.worker import Report

# Two threads in one process are slower than two processes; libraries read these when they are loaded.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
_DEATHS = 2
# A machine that is gone took the run with it, not the run the machine.
_LOSSES = 10


class Worker(ABC):
    """A process that runs one bundle at a time and tells of every row; `jobs` are those under way, by name."""

    is_to_blame = True  # the run may have killed it; not so where its machine is gone

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}

    @abstractmethod
    def give(self, bundle: Bundle) -> None:
        """Let it begin a bundle; that it is dead is found out later, by `receive`."""

    @abstractmethod
    def receive(self) -> tuple[str, Report] | None:
        """A job's name and what is told of it; None of a worker that is gone."""

    @abstractmethod
    def stop(self, at_once: bool) -> None:
        """Let it end; `at_once` in the middle of a run, which goes on from its last row when it is run again."""

    def join(self) -> None:  # noqa: B027  (not every kind of worker has to be waited for)
        """Wait until it has ended, after `stop`."""

    @abstractmethod
    def cause_of_death(self) -> str:
        """Why it is gone, in a few words; asked after `join`."""


W = TypeVar("W", bound=Worker)


class Team(ABC, Generic[W]):
    """The workers, the bundles that wait, and how often each job's worker has died."""

    def __init__(self, jobs: Iterable[Job], size: int, *, together: bool = True) -> None:
        all_jobs = list(jobs)
        self.size = max(1, size)
        self.waiting = deque(bundles(all_jobs, self.size) if together else [(job,) for job in all_jobs])
        self.workers: list[W] = []
        self.deaths: dict[str, int] = {}

    @abstractmethod
    def hire(self) -> W:
        """A new worker."""

    @abstractmethod
    def ready(self, busy: Sequence[W]) -> Iterable[W]:
        """Wait until one of the busy workers has something to tell, and give those who have; none after a while."""

    def waits_for(self, busy: Sequence[W]) -> Iterator[tuple[Job, str]]:
        """Which jobs wait for something else than their own work, and for what; asked after a while without news."""
        return iter(())

    def run(self) -> Generator[tuple[Job, Report], None, None]:
        """Run all bundles and give every report with its job as it comes; closing it kills the workers."""
        try:
            while True:
                yield from self.assign()
                self.dismiss_idle()
                busy = [worker for worker in self.workers if worker.jobs]
                if not busy:
                    break
                telling = list(self.ready(busy))
                for worker in telling:
                    yield from self.hear(worker)
                if not telling:
                    yield from ((job, Report("waiting", message=what)) for job, what in self.waits_for(busy))
        except BaseException:
            self.disband(at_once=True)
            raise
        self.disband(at_once=False)

    def assign(self) -> Iterator[tuple[Job, Report]]:
        """Give a bundle to everyone who is free, hiring up to the size of the team."""
        free = [worker for worker in self.workers if not worker.jobs]
        while self.waiting and (free or len(self.workers) < self.size):
            if not free:
                free.append(self.hire())
                self.workers.append(free[-1])
            bundle = self.waiting.popleft()
            worker = free.pop()
            worker.jobs = {job.name: job for job in bundle}
            worker.give(bundle)
            for job in bundle:
                yield job, Report("started")

    def dismiss_idle(self) -> None:
        """Let those go who have nothing to do: one that has not begun yet may wait for their place."""
        for worker in [worker for worker in self.workers if not worker.jobs]:
            self.workers.remove(worker)
            worker.stop(at_once=False)
            worker.join()

    def hear(self, worker: W) -> Iterator[tuple[Job, Report]]:
        """One report of a worker, or the news of its death."""
        told = worker.receive()
        if told is None:
            yield from self._bury(worker)
            return
        name, report = told
        job = worker.jobs[name]
        if report.kind in ("finished", "failed", "held"):
            del worker.jobs[name]
        if report.kind == "held":
            self.waiting.append((job,))  # after all others
        yield job, report

    def _bury(self, worker: W) -> Iterator[tuple[Job, Report]]:
        self.workers.remove(worker)
        worker.stop(at_once=True)
        worker.join()
        cause = worker.cause_of_death()
        again: list[Bundle] = []
        limit = _DEATHS if worker.is_to_blame else _LOSSES
        for job in worker.jobs.values():
            self.deaths[job.name] = self.deaths.get(job.name, 0) + 1
            if self.deaths[job.name] < limit:
                again.append((job,))  # alone: should it be the one that kills, it takes no others with it
                yield job, Report("died", message=f"its worker process died ({cause})")
            else:
                times = "twice" if limit == _DEATHS else f"{limit} times"
                message = f"its worker process died {times} ({cause}); is there enough memory?"
                yield job, Report("failed", message=message)
        self.waiting.extendleft(reversed(again))

    def disband(self, at_once: bool) -> None:
        for worker in self.workers:
            worker.stop(at_once)
        for worker in self.workers:  # all of them take their time at once
            worker.join()
