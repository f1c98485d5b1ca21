"""Runs, in whatever process: make their streams and learners, run or resume, and report each row."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
from recollect.runs.run import Row
from recollect.runs.seeds import derive

if TYPE_CHECKING:
    from recollect.learners import Learner
    from recollect.learners.batched import Group
    from recollect.streams.stream import Stream

ERROR = "error.txt"
# In seconds: how long a worker leaves a run alone that another process is writing.
_HELD = 1.0


@dataclass(frozen=True)
class Report:
    """What a worker tells: of a row ("row"), or how the run ended ("finished", "failed").

    "held" is a run that another process is writing; "died" and "waiting" are said of a worker.
    """

    kind: str
    step: int = 0
    after: int = -1
    accuracy: float | None = None
    message: str = ""


Tell = Callable[[Job, Report], None]


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
    from recollect.protocol.loop import exam_of

    stream = stream_of(job)
    exam_of(stream, job.target)
    identity_of(job, stream)
    new_learner(job, stream)


def new_learner(job: Job, stream: Stream) -> Learner:
    """The learner of a job, as it is before its run."""
    from recollect.learners import Setting, make_learner

    return make_learner(job.learner, job.learner_options, Setting.of(stream), derive(job.seed), job.device)


def run_job(job: Job, report: Callable[[Report], None]) -> None:
    """Run or resume one run; an error is written to `error.txt` in its folder and reported, not raised."""
    run_bundle((job,), lambda _, said: report(said))


def run_bundle(jobs: Sequence[Job], tell: Tell) -> None:
    """Run or resume the runs of a bundle, trained together where that is faster, else one after the other.

    Where it is faster a single run is trained the same way: what it learns must not depend, to the bit, on
    which others were with it before it was killed.
    """
    made: list[tuple[Job, Stream, Learner]] = []
    for job in jobs:
        try:
            if is_finished(job):
                refuse_changed(job)
                _finish(job, tell)
                continue
            stream = stream_of(job)
            made.append((job, stream, _learner(job, stream)))
        except Exception as error:
            _fail(job, error, tell)
    group = _group(made)
    if group is None:
        for job, stream, learner in made:
            _run(job, stream, tell, learner)
        return
    for result in group.run([partial(_run, job, stream, tell) for job, stream, _ in made]):
        if result is not None:
            raise result


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


def _group(made: Sequence[tuple[Job, Stream, Learner]]) -> Group | None:
    from recollect.learners.joining import JOINABLE

    if not made or made[0][0].learner not in JOINABLE:
        return None
    from recollect.learners.batched import Group, width, wins

    learners = [learner for _, _, learner in made]
    return Group(learners, width(learners[0], made[0][1].batch)) if all(map(wins, learners)) else None


def _run(job: Job, stream: Stream, tell: Tell, learner: Learner) -> None:
    try:
        for row in iter_run(learner, stream, job.folder, **described(job), identity=identity_of(job, stream)):
            tell(job, Report("row", row.step or 0, row.after, average(row)))
    except Held as error:
        time.sleep(_HELD)  # not at once again
        tell(job, Report("held", message=str(error)))
    except Exception as error:
        _fail(job, error, tell)
    else:
        _finish(job, tell)


def _fail(job: Job, error: Exception, tell: Tell) -> None:
    with contextlib.suppress(RecollectError):  # what went wrong first is what is told
        write_atomic(job.folder / ERROR, "".join(traceback.format_exception(error)).encode("utf-8", "replace"))
    tell(job, Report("failed", message=f"{type(error).__name__}: {error}"))


def _finish(job: Job, tell: Tell) -> None:
    with contextlib.suppress(FileNotFoundError):
        (job.folder / ERROR).unlink()
    tell(job, Report("finished"))


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
    """The life of a worker process: bundles come through the pipe, reports with their jobs' names go back.

    None is the end.
    """
    import signal

    # Ctrl-C reaches the whole group; the parent alone decides, and every moment is a good one to be killed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    while True:
        try:
            jobs = pipe.recv()
        except EOFError:
            return
        if jobs is None:
            return
        if isinstance(jobs, Probe):
            pipe.send(("", Report("probed", message=jobs.misfit())))
            continue
        run_bundle(jobs, lambda job, report: pipe.send((job.name, report)))


def _follow_parent() -> None:
    """Leave when the parent dies, even by kill -9: a run without an audience would hold its folder's lock."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
