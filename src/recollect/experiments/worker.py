"""One run, in whatever process: make its stream and learner, run or resume, and report each row."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

from recollect.experiments.grid import Job, build_stream, is_finished, refuse_changed, write_config
from recollect.protocol import iter_run
from recollect.runs.run import Row
from recollect.runs.seeds import derive

ERROR = "error.txt"


@dataclass(frozen=True)
class Report:
    """What a worker tells: of a row ("row"), or how the run ended ("finished", "failed")."""

    kind: str
    step: int = 0
    after: int = -1
    accuracy: float | None = None
    message: str = ""


def run_job(job: Job, report: Callable[[Report], None]) -> None:
    """Run or resume one run; an error is written to `error.txt` in its folder and reported, not raised."""
    try:
        refuse_changed(job)
        if not is_finished(job):
            write_config(job)
            _run(job, report)
    except Exception as error:
        with contextlib.suppress(OSError):
            (job.folder / ERROR).write_text(traceback.format_exc(), encoding="utf-8")
        report(Report("failed", message=f"{type(error).__name__}: {error}"))
        return
    with contextlib.suppress(FileNotFoundError):
        (job.folder / ERROR).unlink()
    report(Report("finished"))


def _run(job: Job, report: Callable[[Report], None]) -> None:
    from recollect.learners import Setting, make_learner

    stream = build_stream(job.stream, job.stream_options, job.seed, job.data)
    learner = make_learner(job.learner, job.learner_options, Setting.of(stream), derive(job.seed), job.device)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    rows = iter_run(
        learner,
        stream,
        job.folder,
        name=job.learner_label,
        seed=job.seed,
        config=record_config(job),
        plan=job.plan,
        experiment=job.experiment,
    )
    for row in rows:
        report(Report("row", row.step or 0, row.after, accuracy(row)))


def record_config(job: Job) -> dict[str, Any]:
    """The learner's options as the record keeps them: defaults too, and the learner's name if labelled."""
    from recollect.learners import LEARNERS

    card = LEARNERS.get(job.learner)
    config = {**(card.defaults if card else {}), **job.learner_options}
    return config if job.learner == job.learner_label else {"learner": job.learner, **config}


def accuracy(row: Row) -> float | None:
    """The mean accuracy over the tasks learned so far, for the progress line.

    >>> accuracy(Row(0, correct=(9, 1), n=(10, 10)))
    0.9
    """
    if row.after < 0 or row.correct is None or row.n is None:
        return None
    parts = [c / n for c, n in list(zip(row.correct, row.n, strict=True))[: row.after + 1] if c is not None and n]
    return sum(parts) / len(parts) if parts else None


def serve(pipe: Connection) -> None:
    """The life of a worker process: jobs come through the pipe, reports go back, None is the end."""
    import signal

    # Ctrl-C reaches the whole group; the parent alone decides, and every moment is a good one to be killed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        if job is None:
            return
        run_job(job, pipe.send)


def _follow_parent() -> None:
    """Leave when the parent dies, even by kill -9: a run without an audience would hold its folder's lock."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
