"""Look at run folders again and again. Nothing is written and no lock is taken; what has not changed is not read."""

from __future__ import annotations

import math
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from recollect.errors import RecollectError, UsageError
from recollect.metrics import score
from recollect.problems import problem_of
from recollect.runs import Row, Run
from recollect.runs.alike import kind_of, matrix_of_alike
from recollect.runs.index import ready, stamp_of
from recollect.runs.lock import owner_of
from recollect.runs.reading import HEADER, ROWS, find_runs, read_run

RUNNING, STOPPED, FAILED, FINISHED, DAMAGED = "running", "stopped", "failed", "finished", "damaged"
STATES = (RUNNING, FAILED, DAMAGED, STOPPED, FINISHED)
# Seconds of reading in one look: thousands of runs come in over several looks, and the page answers meanwhile.
BUDGET = 0.5
# A look takes at most this part of the time, so that slow file systems are not kept busy by it.
_SHARE = 20
_Stamp = tuple[tuple[int, int, int, int], ...]
_Curve = Sequence[float]
# Runs that an index has are told of so many at a time.
_AT_ONCE = 1000


@dataclass(frozen=True)
class Seen:
    """One run as it was at the last look; `version` grows with every change, `ends` is when it should be finished."""

    id: int
    path: str
    experiment: int
    learner: str
    stream: str
    seed: int | None = None
    state: str = RUNNING
    message: str = ""
    tasks: int = 0
    learned: int = 0
    rows: int = 0
    word: str = "task"
    score: str = "accuracy"
    planned: tuple[int, ...] = ()
    curve: tuple[float | None, ...] = ()
    changed: float = 0.0
    ends: float | None = None
    version: int = 0

    @property
    def now(self) -> float | None:
        """The average over the tasks learned so far, at the last row that has one."""
        return next((value for value in reversed(self.curve) if value is not None), None)


@dataclass(frozen=True)
class Experiment:
    """A folder with runs in it."""

    id: int
    name: str
    path: str


class Watcher:
    """What is in the run folders at or below some folders, kept up to date by `look`."""

    def __init__(self, folders: Sequence[Path | str], *, clock: Callable[[], float] = time.time) -> None:
        self.folders = [os.path.abspath(folder) for folder in folders]
        missing = next((folder for folder in self.folders if not os.path.isdir(folder)), None)
        if missing is not None:
            raise UsageError(f"There is no folder {missing} to watch. Give the folder of experiments, such as runs/.")
        self.version = 0
        self.waiting = 0
        self.experiments: dict[str, Experiment] = {}
        self._clock = clock
        self._guard = threading.Lock()
        self._seen: dict[str, Seen] = {}
        self._stamps: dict[str, _Stamp] = {}
        self._gone: dict[int, int] = {}
        self._ids = 0
        self._next = 0.0
        self._ready: dict[str, tuple[bytes, Run]] | None = None

    @property
    def runs(self) -> list[Seen]:
        """All runs that were read, in the order in which they were found."""
        with self._guard:
            return list(self._seen.values())

    def run(self, id: int) -> Seen | None:
        """The run of this number."""
        return next((one for one in self.runs if one.id == id), None)

    def since(self, version: int) -> tuple[list[Seen], list[int]]:
        """The runs that changed after a version, and the numbers of those that have gone."""
        with self._guard:
            changed = [one for one in self._seen.values() if one.version > version]
            return changed, [id for id, at in self._gone.items() if at > version]

    def look(self, *, whole: bool = False) -> None:
        """See what changed; `whole` reads all of it, whatever the time. Looks that come too soon do nothing."""
        with self._guard:
            began = time.monotonic()
            if not whole and began < self._next and not self.waiting:
                return
            try:
                found = [place for folder in self.folders for place in find_runs(folder)]
            except OSError:  # a folder went while it was searched; the next look sees what is left
                return
            self._forget(set(found))
            self.waiting = self._read(found, math.inf if whole else began + BUDGET)
            self._next = time.monotonic() + _SHARE * (time.monotonic() - began)

    def _forget(self, found: set[str]) -> None:
        for place in [place for place in self._seen if place not in found]:
            self.version += 1
            self._gone[self._seen.pop(place).id] = self.version
            self._stamps.pop(place, None)

    def _read(self, found: Iterable[str], until: float) -> int:
        """Read what changed; how many runs are left for the next look."""
        changed: dict[str, _Stamp] = {}
        for place in found:
            stamp = _stamp(place)
            if self._stamps.get(place) == stamp:
                self._still(place)
            else:
                changed[place] = stamp
        self._take_ready(changed, until)
        waiting = 0
        for place, stamp in changed.items():
            if time.monotonic() < until:
                self._keep_one(place, stamp)
            else:
                waiting += 1
        return waiting

    def _take_ready(self, changed: dict[str, _Stamp], until: float) -> None:
        """Tell of what an index has, many at a time, and leave the others in `changed`."""
        if self._ready is None:  # at the first look; what changes later is read
            self._ready = ready(list(changed))
        places = [place for place in self._ready if place in changed]
        for start in range(0, len(places), _AT_ONCE):
            if start and time.monotonic() >= until:
                return
            some = {place: self._ready.pop(place) for place in places[start : start + _AT_ONCE]}
            fresh = {place: run for place, (stamp, run) in some.items() if stamp_of(place) == stamp}
            for (place, run), curve in zip(fresh.items(), _curves(list(fresh.values())), strict=True):
                self._keep_one(place, changed.pop(place), run, curve)

    def _keep_one(self, place: str, stamp: _Stamp, run: Run | None = None, curve: _Curve | None = None) -> None:
        self._stamps[place] = stamp
        self._keep(self._one(place, stamp, run, curve))

    def _still(self, place: str) -> None:
        """A run whose files are the same has stopped if its process has gone, and runs if one has come back."""
        known = self._seen[place]
        if known.state in (RUNNING, STOPPED):
            state = _alive(place)
            if state != known.state:
                self._keep(replace(known, state=state))

    def _keep(self, one: Seen) -> None:
        self.version += 1
        self._seen[one.path] = replace(one, version=self.version)

    def _one(self, place: str, stamp: _Stamp, run: Run | None, curve: _Curve | None) -> Seen:
        before = self._seen.get(place)
        self._ids += before is None
        id = self._ids if before is None else before.id
        home = self._experiment(os.path.dirname(place))
        changed = max((at for at, *_ in stamp), default=0) / 1e9
        blank = Seen(id, place, home.id, os.path.basename(place), "", changed=changed)
        try:
            return seen(read_run(place) if run is None else run, blank, curve)
        except (RecollectError, OSError) as error:
            return replace(blank, state=DAMAGED, message=str(error))

    def _experiment(self, folder: str) -> Experiment:
        if folder not in self.experiments:
            root = next((root for root in self.folders if folder.startswith(root)), "")
            inside = os.path.relpath(folder, root) if root else folder
            name = os.path.basename(folder) if inside in (".", "..") else inside
            self.experiments[folder] = Experiment(len(self.experiments) + 1, name, folder)
        return self.experiments[folder]


def seen(run: Run, blank: Seen, curve: _Curve | None = None) -> Seen:
    """What is told of a run: its state, its curve (if it is not known yet) and when it should be finished."""
    packed = run.packed
    learned = learned_by(run, run.rows) if packed is None else run.T
    rows = len(run.rows) if packed is None else run.T + packed.layout.has_base
    problem = problem_of(run.problem)
    if curve is None:
        try:
            curve = score(run.matrix, "acc.average", curve=True).tolist() if rows else ()
        except RecollectError as error:
            curve, blank = (), replace(blank, message=str(error))
    state = {"failed": FAILED, "finished": FINISHED, "imported": FINISHED}.get(run.status) or _alive(blank.path)
    return replace(
        blank,
        learner=run.learner,
        stream=run.stream,
        seed=run.seed,
        state=state,
        message=run.error or blank.message,
        tasks=run.T,
        learned=learned,
        rows=rows,
        planned=run.planned_seeds,
        curve=tuple(float(value) if math.isfinite(value) else None for value in curve),
        ends=_ends(run, learned, blank.changed) if state == RUNNING else None,
        word=problem.task,
        score=problem.score_name(run.metric),
    )


def _curves(runs: Sequence[Run]) -> list[_Curve | None]:
    """The curves of runs from an index, alike ones at once; None of one that has to be looked at alone."""
    kinds: dict[Any, list[int]] = {}
    for place, run in enumerate(runs):
        kinds.setdefault((kind_of(run), id(run.tasks)), []).append(place)
    made: list[_Curve | None] = [None] * len(runs)
    for places in kinds.values():
        matrix = matrix_of_alike([runs[place] for place in places])
        if matrix is not None:
            for place, curve in zip(places, score(matrix, "acc.average", curve=True).tolist(), strict=True):
                made[place] = curve
    return made


def learned_by(run: Run, rows: Sequence[Row]) -> int:
    """How many tasks had been learned when these rows, the first of a run, were there."""
    if run.learned_at is None:
        return max((row.after + 1 for row in rows), default=0)
    there = len(rows) - any(row.after == -1 and row.task_end for row in rows)
    return sum(1 for at in run.learned_at.values() if at < there)


def _ends(run: Run, learned: int, last: float) -> float | None:
    """When the last task should be learned, by the pace since the last start; None before there is one."""
    if not run.starts or not learned:
        return None
    start = run.starts[-1]
    done = learned - learned_by(run, run.rows[: start.rows])
    try:
        began = datetime.fromisoformat(start.at).timestamp()
    except ValueError:
        return None
    return None if done < 1 or last <= began else last + (last - began) / done * (run.T - learned)


def _stamp(place: str) -> _Stamp:
    """What changes whenever a run's files do."""
    made = []
    for name in (HEADER, ROWS):
        try:
            status = os.stat(f"{place}/{name}", follow_symlinks=False)
        except OSError:
            continue
        made.append((status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns))
    return tuple(made)


def _alive(place: str) -> str:
    """Whether the process that writes a run is there, as far as this machine can tell."""
    id, _, host = owner_of(place).partition(" on ")
    if not id:
        return STOPPED
    if not id.isdigit() or sys.platform == "win32" or (host and host != platform.node()):
        return RUNNING
    try:
        os.kill(int(id), 0)
    except ProcessLookupError:
        return STOPPED
    except (PermissionError, OverflowError):
        pass
    return RUNNING
