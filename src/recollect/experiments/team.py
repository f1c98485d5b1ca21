"""A team of workers, wherever they are: who gets which run, and what becomes of the runs of a dead one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from recollect.experiments.grid import Job
from recollect.experiments.worker import Report

# Two threads in one process are slower than two processes; libraries read these when they are loaded. Memory that is
# given back after every batch costs a page fault at the next one; 32 MiB is the most that glibc takes for the second.
WORKERS_ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"),
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
}
_DEATHS = 2
# A machine that is gone took the run with it, not the run the machine.
_LOSSES = 10


class Worker(ABC):
    """A process that makes one run at a time and tells of every row; `job` is the one under way."""

    is_to_blame = True  # the run may have killed it; not so where its machine is gone

    def __init__(self) -> None:
        self.job: Job | None = None

    @abstractmethod
    def give(self, job: Job) -> None:
        """Let it begin a run; that it is dead is found out later, by `receive`."""

    @abstractmethod
    def receive(self) -> Report | None:
        """What is told of its run; None of a worker that is gone."""

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
    """The workers, the runs that wait, and how often each job's worker has died."""

    def __init__(self, jobs: Iterable[Job], size: int) -> None:
        self.size = max(1, size)
        self.waiting = deque(jobs)
        self.workers: list[W] = []
        self.deaths: Counter[tuple[str, bool]] = Counter()  # by run, and whether the run may be to blame

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
        """Make all runs and give every report with its job as it comes; closing it kills the workers."""
        try:
            while True:
                yield from self.assign()
                self.dismiss_idle()
                busy = [worker for worker in self.workers if worker.job]
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
        """Give a run to everyone who is free, hiring up to the size of the team."""
        free = [worker for worker in self.workers if not worker.job]
        while self.waiting and (free or len(self.workers) < self.size):
            if not free:
                free.append(self.hire())
                self.workers.append(free[-1])
            worker, job = free.pop(), self.waiting.popleft()
            worker.job = job
            worker.give(job)
            yield job, Report("started")

    def dismiss_idle(self) -> None:
        """Let those go who have nothing to do: one that has not begun yet may wait for their place."""
        for worker in [worker for worker in self.workers if not worker.job]:
            self.workers.remove(worker)
            self.dismiss(worker)

    def dismiss(self, worker: W) -> None:
        """Let one go who has nothing to do."""
        worker.stop(at_once=False)
        worker.join()

    def hear(self, worker: W) -> Iterator[tuple[Job, Report]]:
        """One report of a worker, or the news of its death."""
        report, job = worker.receive(), worker.job
        assert job is not None
        if report is None:
            yield job, self._bury(worker, job)
            return
        if report.kind in ("finished", "failed", "paused", "held"):
            worker.job = None
        if report.kind == "held":
            self.waiting.append(job)  # after all others
        yield job, report

    def _bury(self, worker: W, job: Job) -> Report:
        self.workers.remove(worker)
        worker.stop(at_once=True)
        worker.join()
        cause = worker.cause_of_death()
        limit = _DEATHS if worker.is_to_blame else _LOSSES
        self.deaths[job.name, worker.is_to_blame] += 1
        if self.deaths[job.name, worker.is_to_blame] < limit:
            self.waiting.appendleft(job)
            return Report("died", message=f"its worker process died ({cause})")
        times = "twice" if limit == _DEATHS else f"{limit} times"
        return Report("failed", message=f"its worker process died {times} ({cause}); is there enough memory?")

    def disband(self, at_once: bool) -> None:
        for worker in self.workers:
            worker.stop(at_once)
        for worker in self.workers:  # all of them take their time at once
            worker.join()
