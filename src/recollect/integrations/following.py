"""Runs sent to a tracker while they are made: their rows as they come, their results when they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recollect.errors import RecollectError
from recollect.integrations.trackers import Opens, Sent, results_of
from recollect.metrics import score
from recollect.report.watch.looking import FAILED, FINISHED, RUNNING, Seen, Watcher
from recollect.runs import Run, group
from recollect.runs.reading import read_run

# Seconds between looks; and after how many looks without a running run all is over.
EVERY = 5.0
_PATIENCE = 12


@dataclass
class _Followed:
    """A run that is sent, and how many of its rows are there already."""

    sent: Sent
    rows: int = 0


def follow(
    folders: Sequence[Path | str],
    ids: Sequence[str],
    opens: Opens,
    *,
    where: str | None = None,
    project: str = "recollect",
    every: float = EVERY,
    patience: int = _PATIENCE,
    say: Callable[[str], None] = print,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Send every run in these folders to a tracker until none has been running for a while (`patience` looks).

    Each run is a run of the tracker: after every row the metrics as they are then, at the step that counts the rows; at
    its end the scalars, the table and the matrix. The folders are only read.
    """
    watcher = Watcher(folders)
    open_runs: dict[str, _Followed] = {}
    over: set[str] = set()
    quiet = 0
    try:
        while quiet < patience:
            watcher.look(whole=True)
            for seen in watcher.runs:
                if seen.path not in over:
                    _send(seen, ids, opens, where, project, open_runs, over, say)
            is_running = any(seen.state == RUNNING for seen in watcher.runs)
            waits = any(seen.state not in (FINISHED, FAILED) for seen in watcher.runs) or not watcher.runs
            quiet = 0 if is_running else quiet + 1
            if not is_running and not waits and _is_whole(watcher.runs):
                return
            sleep(every)
    finally:
        for path, followed in open_runs.items():
            if path not in over:
                followed.sent.close(None, failed=True)
                say(f"left as it is, without its end: {path}")


def _send(
    seen: Seen,
    ids: Sequence[str],
    opens: Opens,
    where: str | None,
    project: str,
    open_runs: dict[str, _Followed],
    over: set[str],
    say: Callable[[str], None],
) -> None:
    """What is new of a run."""
    try:
        run = read_run(seen.path)
    except (RecollectError, OSError) as error:
        over.add(seen.path)
        say(f"cannot be read: {seen.path}: {error}")
        return
    followed = open_runs.get(seen.path)
    if followed is None:
        sent = opens(run.name, _parameters(run), where, project)
        followed = open_runs[seen.path] = _Followed(sent)
        say(f"{run.name}: {sent.place}")
    if len(run.rows) > followed.rows:
        _log_rows(run, ids, followed)
    if seen.state == FINISHED:
        result = results_of(group([run]), ids)[0] if _has_value(run, ids) else None
        followed.sent.close(result)
        over.add(seen.path)
    elif seen.state == FAILED:
        followed.sent.close(None, failed=True)
        over.add(seen.path)
        say(f"failed {run.name}: {run.error or seen.message}")


def _log_rows(run: Run, ids: Sequence[str], followed: _Followed) -> None:
    curves = {}
    for id in ids:
        try:
            curves[id] = np.atleast_1d(np.asarray(score(run.matrix, id, curve=True), dtype=float))
        except RecollectError:
            continue
    base = run.timeline.base is not None
    for step in range(max(0, followed.rows - base), len(run.rows) - base):
        now = {f"{id}.curve": float(v[step]) for id, v in curves.items() if step < len(v) and np.isfinite(v[step])}
        if now:
            followed.sent.log(now, step)
    followed.rows = len(run.rows)


def _has_value(run: Run, ids: Sequence[str]) -> bool:
    for id in ids:
        try:
            if np.isfinite(score(run.matrix, id)).any():
                return True
        except RecollectError:
            continue
    return False


def _parameters(run: Run) -> dict[str, str]:
    return {
        "learner": run.learner,
        "stream": run.stream,
        "seed": str(run.seed),
        "metric": run.metric,
        **{f"option.{name}": str(value)[:250] for name, value in run.learner_config.items()},
    }


def _is_whole(runs: Sequence[Seen]) -> bool:
    """Whether every learner and stream has all of the seeds that were planned."""
    have: dict[tuple[int, str, str], set[int | None]] = {}
    wanted: dict[tuple[int, str, str], set[int]] = {}
    for one in runs:
        key = (one.experiment, one.learner, one.stream)
        have.setdefault(key, set()).add(one.seed)
        wanted.setdefault(key, set()).update(one.planned)
    return all(wanted[key] <= have[key] for key in wanted)
