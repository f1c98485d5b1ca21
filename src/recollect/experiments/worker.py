"""Runs, in whatever process: make their streams and learners, run or resume, and report each row."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from recollect.errors import RecollectError
from recollect.experiments.agreement import described, identity_of, is_finished, refuse_changed, stream_of
from recollect.experiments.grid import Job
from recollect.protocol import describe, iter_run
from recollect.protocol.saved import record_failure
from recollect.runs.files import write_atomic
from recollect.runs.lock import Held
from recollect.runs.remote import Mirror, Storage
from recollect.runs.run import Row
from recollect.runs.seeds import derive

if TYPE_CHECKING:
    from recollect.learners import Learner
    from recollect.streams.stream import Stream

ERROR = "error.txt"
# In seconds: how long a worker leaves a run alone that another process is writing.
_HELD = 1.0


@dataclass(frozen=True)
class Report:
    """What a worker tells: of a row ("row"), or how the run ended ("finished", "failed", "paused").

    "held" is a run that another process is writing; "died" and "waiting" are said of a worker.
    """

    kind: str
    step: int = 0
    after: int = -1
    accuracy: float | None = None
    message: str = ""


Tell = Callable[[Report], None]


@dataclass(frozen=True)
class Probe:
    """What a worker is asked before anything is run: whether the learners of these jobs can be made."""

    jobs: tuple[Job, ...]

    def misfit(self) -> str:
        """Why the first that cannot be made cannot, in a sentence; nothing if all can be."""
        for job in self.jobs:
            try:
                make_examiner_and_learner(job)
            except RecollectError as error:
                return f"The run {job.name} cannot begin. {error}"
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
                return f"The run {job.name} cannot begin: its learner {job.learner!r} cannot be made ({said})."
        return ""


def make_examiner_and_learner(job: Job) -> None:
    """Make what a run needs, and forget it."""
    from recollect.problems.probing import Probes
    from recollect.protocol.loop import exam_of

    stream = stream_of(job)
    exam_of(stream, job.target)
    identity_of(job, stream)
    Probes.of(job.plan, stream, new_learner(job, stream))


def new_learner(job: Job, stream: Stream) -> Learner:
    """The learner of a job, as it is before its run."""
    from recollect.learners import Setting, make_learner

    return make_learner(job.learner, job.learner_options, Setting.of(stream), derive(job.seed), job.device)


def run_job(job: Job, tell: Tell) -> None:
    """Run or resume one run; an error is written to `error.txt` in its folder and reported, not raised.

    What is told of a run on object storage is there already.
    """
    if job.remote is None:
        _run_here(job, tell)
        return
    try:
        with Mirror(Storage(job.remote), job.folder) as mirror:

            def sent(report: Report) -> None:
                mirror.push()
                tell(report)

            _run_here(job, sent)
    except Held as error:
        time.sleep(_HELD)
        tell(Report("held", message=str(error)))
    except RecollectError as error:
        tell(Report("failed", message=str(error)))


def _run_here(job: Job, tell: Tell) -> None:
    try:
        if is_finished(job):
            refuse_changed(job)
        else:
            stream = stream_of(job)
            learner = _learner(job, stream)
            rows = iter_run(
                learner,
                stream,
                job.folder,
                **described(job),
                identity=identity_of(job, stream),
                checkpoints=job.checkpoints,
                until=job.until,
            )
            for row in rows:
                tell(Report("row", row.step or 0, row.after, average(row)))
    except Held as error:
        time.sleep(_HELD)  # not at once again
        tell(Report("held", message=str(error)))
    except Exception as error:
        with contextlib.suppress(RecollectError):  # what went wrong first is what is told
            write_atomic(job.folder / ERROR, "".join(traceback.format_exception(error)).encode("utf-8", "replace"))
        tell(Report("failed", message=f"{type(error).__name__}: {error}"))
    else:
        with contextlib.suppress(FileNotFoundError):
            (job.folder / ERROR).unlink()
        tell(Report("finished" if is_finished(job) else "paused"))


def _learner(job: Job, stream: Stream) -> Learner:
    try:
        return new_learner(job, stream)
    except Exception as error:
        with contextlib.suppress(RecollectError):  # what went wrong first is what is told
            record_failure(job.folder, describe(stream, **described(job)), error)
        raise
    finally:
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)


def average(row: Row) -> float | None:
    """The mean score under the run's target over the tasks learned so far, for the progress line.

    >>> average(Row(0, correct=(9, 1), n=(10, 10))), average(Row(1, scores={"f1": (0.8, 0.6, 0.1)}))
    (0.9, 0.7)
    """
    if row.after < 0:
        return None
    if row.correct is None or row.n is None:
        parts = [score for score in next(iter(row.scores.values()), ())[: row.after + 1] if score is not None]
    else:
        parts = [c / n for c, n in list(zip(row.correct, row.n, strict=True))[: row.after + 1] if c is not None and n]
    return sum(parts) / len(parts) if parts else None


def serve(pipe: Connection) -> None:
    """The life of a worker process: runs come through the pipe, reports go back.

    None is the end.
    """
    import signal

    # Ctrl-C reaches the whole group; the parent alone decides, and every moment is a good one to be killed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    while True:
        try:
            asked = pipe.recv()
        except EOFError:
            return
        if asked is None:
            return
        if isinstance(asked, Probe):
            pipe.send(Report("probed", message=asked.misfit()))
        else:
            run_job(asked, pipe.send)


def _follow_parent() -> None:
    """Leave when the parent dies, even by kill -9: a run without an audience would hold its folder's lock."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
