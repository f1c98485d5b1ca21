"""Workers on Ray: an actor a worker, on this machine or on a cluster whose machines share the folder of the runs."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Generator, Iterable, Iterator, Sequence
from importlib import import_module
from textwrap import shorten
from typing import Any

from recollect.errors import MissingExtra, RecollectError, UsageError
from recollect.experiments.agreement import is_finished
from recollect.experiments.grid import Job, absolute
from recollect.experiments.pool import cores, environment
from recollect.experiments.team import WORKERS_ENVIRONMENT, Team, Worker
from recollect.experiments.worker import Report, run_job

LOCAL = "local"
AUTO = "auto"

# Jobs and reports are small; this is about the least that Ray accepts.
_OBJECT_STORE = 80 * 2**20
# In seconds: for a port to open, for a cluster to take us in, and for a network file system, which may
# remember for a minute that a file was not there, to show what another machine has written.
_TO_OPEN = 5.0
_TO_CONNECT = 60.0
_TO_APPEAR = 90.0
# How Ray words that an actor could not be made: its module cannot be imported there.
_NEVER_BEGAN = "error raised in its creation task"
# And that an actor died with its machine, or while it waited for one.
_MACHINE_GONE = ("its node has died", "The actor never ran")
# In seconds: after so long without news it is said what is waited for; and how often it is looked for new machines.
_QUIET = 60.0
_LOOK = 10.0


def run_jobs_on_ray(
    jobs: Iterable[Job], address: str, workers: int | None = None, gpus: float | None = None
) -> Generator[tuple[Job, Report], None, None]:
    """Run jobs on Ray, with the contract of `pool.run_jobs`; by default on all the CPUs that Ray has.

    `address` is "local" (a Ray of our own on this machine, stopped at the end), "auto", "HOST:PORT" or
    "ray://HOST:PORT". `gpus` is what each worker asks for, a part of one if several share it; by default 1 where the
    experiment's device is cuda, else none. In a process that is connected to Ray already, "auto" is that connection.
    """
    all_jobs = list(jobs)
    if not all_jobs:
        return
    share = float(all_jobs[0].device.startswith("cuda")) if gpus is None else gpus
    ray = _import_ray()
    with _connected(ray, address, workers):
        _refuse_none(ray, address, share, asked=workers is not None)
        with contextlib.closing(_RayTeam(ray, all_jobs, workers, share).run()) as reports:  # before Ray is left
            for job, report in reports:
                if report.kind in ("row", "finished", "paused") and job.remote is None:
                    _refuse_unshared(job, finished=report.kind == "finished")
                yield job, report


class Actor:
    """What runs in a worker process of Ray: `begin` a run, then `hear` until it has ended.

    The run is made in a thread, and each call waits for one report; so calls never overlap.
    """

    def __init__(self, home: str) -> None:
        with contextlib.suppress(OSError):  # where it exists, a relative path to data means what the user meant
            os.chdir(home)
        self._told: queue.SimpleQueue[Report] = queue.SimpleQueue()

    def ping(self) -> None:
        """Say that it is there."""

    def begin(self, job: Job) -> Report:
        """Start a run and give its first report."""
        threading.Thread(target=self._work, args=(job,), daemon=True).start()
        return self.hear()

    def hear(self) -> Report:
        """The next report."""
        return self._told.get()

    def _work(self, job: Job) -> None:
        try:
            run_job(job, self._told.put)
        except BaseException:  # die as a local worker would, or the run would be awaited for ever
            traceback.print_exc()
            os._exit(1)


class _RayWorker(Worker):
    def __init__(self, ray: Any, gpus: float = 0) -> None:
        super().__init__()
        self.ray = ray
        hired = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=0, runtime_env={"env_vars": WORKERS_ENVIRONMENT})(
            Actor
        )
        self.actor = hired.remote(os.getcwd())
        self.beginning = self.actor.ping.remote()
        self.telling: Any = None  # the report that is awaited
        self.cause = ""

    def give(self, job: Job) -> None:
        self.telling = self.actor.begin.remote(absolute(job))

    def awaited(self) -> Any:
        if self.telling is None:
            self.telling = self.actor.hear.remote()
        return self.telling

    @property
    def has_begun(self) -> bool:
        return bool(self.ray.wait([self.beginning], timeout=0)[0])

    def receive(self) -> Report | None:
        awaited, self.telling = self.telling, None
        try:
            told: Report = self.ray.get(awaited)
        except self.ray.exceptions.RayError as error:
            unavailable = self.ray.exceptions.ActorUnavailableError
            self.cause = shorten(str(error).strip().splitlines()[-1], 200)
            self.is_to_blame = not any(gone in str(error) for gone in _MACHINE_GONE) and not isinstance(
                error, unavailable
            )
            if isinstance(error, self.ray.exceptions.RayTaskError) or _NEVER_BEGAN in str(error):
                raise RecollectError(
                    f"A worker on Ray cannot work: {self.cause.rstrip('.')}. All machines of the cluster need the same"
                    " Python environment as this one, with recollect, the learners' libraries and your own modules."
                ) from None
            return None
        return told

    def stop(self, at_once: bool) -> None:
        self.ray.kill(self.actor)

    def cause_of_death(self) -> str:
        return self.cause


class _RayTeam(Team[_RayWorker]):
    """Workers on Ray: as many as are asked for, or as many as the cluster has room for now."""

    def __init__(self, ray: Any, jobs: Sequence[Job], workers: int | None, gpus: float = 0) -> None:
        super().__init__(jobs, workers or _room(ray, gpus))
        self.ray = ray
        self.asked = workers
        self.gpus = gpus
        self.heard = time.monotonic()

    def hire(self) -> _RayWorker:
        return _RayWorker(self.ray, self.gpus)

    def ready(self, busy: Sequence[_RayWorker]) -> Iterable[_RayWorker]:
        awaited = {worker.awaited(): worker for worker in busy}
        while True:
            ready, _ = self.ray.wait(list(awaited), num_returns=1, timeout=min(_LOOK, _QUIET))
            size = self.size
            if self.asked is None:  # machines come and go
                self.size = max(1, _room(self.ray, self.gpus))
            if ready or (self.waiting and self.size > size):
                break
            if time.monotonic() - self.heard > _QUIET:
                break
        self.heard = time.monotonic()
        return [awaited[told] for told in ready]

    def waits_for(self, busy: Sequence[_RayWorker]) -> Iterator[tuple[Job, str]]:
        pending = [worker for worker in busy if not worker.has_begun]
        machines = sum(node["Alive"] for node in self.ray.nodes())
        free = int(self.ray.available_resources().get("CPU", 0))
        for worker in pending:
            assert worker.job is not None
            yield (
                worker.job,
                f"its worker on Ray has not begun; the cluster has {machines} machines with {_cpus(self.ray)} CPUs,"
                f" {free} of them free, and {len(busy) - len(pending)} workers are at work",
            )


def _refuse_unshared(job: Job, *, finished: bool) -> None:
    """Raise RecollectError if what a worker says that it has written does not appear here."""
    deadline = time.monotonic() + _TO_APPEAR
    while not (is_finished(job) if finished else (job.folder / "run.json").exists()):
        if time.monotonic() > deadline:
            raise RecollectError(
                f"A worker on Ray has written {job.folder / 'run.json'}, but what it wrote is not seen on this machine:"
                " the folder of the runs is not shared. All machines of the cluster must see it at the same path. Give"
                " a folder on shared storage (-o), or run without --ray."
            )
        time.sleep(0.2)


def _import_ray() -> Any:
    try:
        return import_module("ray")
    except ImportError:
        raise MissingExtra.of("ray", "ray") from None


@contextlib.contextmanager
def _connected(ray: Any, address: str, workers: int | None) -> Iterator[None]:
    if ray.is_initialized():
        if address != AUTO:
            raise UsageError(f"This process is connected to a Ray cluster already; take {AUTO!r}, not {address!r}.")
        yield
        return
    if address == LOCAL:
        with environment({"RAY_USAGE_STATS_ENABLED": "0"}):  # nothing is sent to anybody
            ray.init(
                LOCAL,
                num_cpus=workers or cores(),
                object_store_memory=_OBJECT_STORE,
                include_dashboard=False,
                logging_level="ERROR",
            )
    else:
        _refuse_silent(address)
        ray.init(address, logging_level="ERROR")
    try:
        yield
    finally:
        ray.shutdown()


def _refuse_silent(address: str) -> None:
    """Raise UsageError if no Ray answers; Ray itself would wait without end, and could not be interrupted."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    reason = ""
    try:
        if host and port.isdigit():
            socket.create_connection((host.strip("[]"), int(port)), timeout=_TO_OPEN).close()
        script = "import sys, ray; ray.init(sys.argv[1], logging_level='ERROR', log_to_driver=False)"
        asked = subprocess.run(
            [sys.executable, "-c", script, address], capture_output=True, text=True, timeout=_TO_CONNECT
        )
        if asked.returncode == 0:
            return
        reason = shorten((asked.stderr.strip().splitlines() or ["no reason given"])[-1], 300)
    except OSError as error:
        reason = error.strerror or str(error)
    except subprocess.TimeoutExpired:
        reason = f"no answer in {_TO_CONNECT:.0f} seconds"
    raise UsageError(
        f"No Ray cluster answers at {address!r} ({reason.rstrip('.')}). Expected local, auto, HOST:PORT or"
        " ray://HOST:PORT; start a cluster with `ray start --head`, or take --ray local, which needs none. If the"
        " cluster asks for a token, set RAY_AUTH_MODE=token here too."
    )


def _cpus(ray: Any) -> int:
    return int(ray.cluster_resources().get("CPU", 0))


def _room(ray: Any, gpus: float) -> int:
    """How many workers the cluster has CPUs for, and GPUs if they ask for some."""
    cpus = _cpus(ray)
    return cpus if gpus == 0 else min(cpus, int(ray.cluster_resources().get("GPU", 0) / gpus + 1e-9))


def _refuse_none(ray: Any, address: str, gpus: float, *, asked: bool) -> None:
    """Raise RecollectError if no worker can begin; workers that are asked for by number may wait for machines."""
    if asked or _room(ray, gpus) >= 1:
        return
    missing = "CPU" if _cpus(ray) < 1 else f"GPU for a worker that asks for {gpus:g}"
    raise RecollectError(
        f"The Ray cluster at {address!r} has no {missing} now. Wait for its machines, or say how many workers should be"
        " asked for (--workers)."
    )
