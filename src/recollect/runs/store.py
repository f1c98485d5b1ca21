"""The run folder: `run.json`, rewritten atomically, and `rows.jsonl`, appended and synced row by row.

Kill the writer at any moment: every row that was finished is there, and the same command goes on after it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from recollect.errors import RecollectError, UsageError
from recollect.runs.codec import header_to_json, row_to_json
from recollect.runs.environment import now
from recollect.runs.files import append_synced, make_folder, sync_folder, write_atomic, writing
from recollect.runs.identity import refuse_another
from recollect.runs.item_files import write_items
from recollect.runs.lock import Lock
from recollect.runs.reading import HEADER, ROWS, read_regular, read_rows, read_run
from recollect.runs.run import Row, Run, Start
from recollect.runs.seals import open_checkpoint, seal_checkpoint, seal_header, seal_line
from recollect.runs.timeline import row_place

CHECKPOINT = "checkpoint"


class RunFolder:
    """A run on disk, open for writing by this process alone.

    `open` creates the run, or resumes it if the folder holds the same one; a finished run opens too, and says
    so in `finished`. Rows are appended in the order of time. What went wrong on disk is one
    `RecollectError`, after which the folder is as it was before the call.

    >>> import tempfile
    >>> from recollect.runs import Task
    >>> folder = Path(tempfile.mkdtemp()) / "er-toy-0"
    >>> planned = Run(learner="er", stream="toy", seed=0, tasks=(Task("a"), Task("b")), rows=())
    >>> with RunFolder.open(folder, planned) as run:
    ...     run.append(Row(0, scores={"accuracy": (0.9, 0.1)}))
    >>> with RunFolder.open(folder, planned) as run:
    ...     [row.after for row in run.rows], run.finished
    ([0], False)
    """

    def __init__(self, path: Path, run: Run, lock: Lock | None, handle: int, seal: str = "") -> None:
        self.path = path
        self._run = run
        self._rows = list(run.rows)
        self._lock = lock
        self._handle = handle
        self._seal = seal

    @classmethod
    def open(cls, path: Path | str, run: Run) -> Self:
        """Create the run at `path`, or resume it there; refuse a folder that holds another run."""
        path = Path(path)
        if _is_finished(path):
            there = read_run(path)
            refuse_another(there, run, path)
            return cls(path, there, None, -1)
        is_new = not path.exists()
        make_folder(path)
        try:
            lock = Lock(path)
        except RecollectError:
            if is_new:
                _remove_if_empty(path)
            raise
        try:
            return cls._open_locked(path, run, lock)
        except BaseException:
            lock.release()
            if is_new:
                _remove_if_empty(path)
            raise

    @classmethod
    def _open_locked(cls, path: Path, run: Run, lock: Lock) -> Self:
        if (path / HEADER).exists():
            there = read_run(path)
            refuse_another(there, run, path)
            if there.status in ("finished", "imported"):  # by whoever held the lock a moment ago
                lock.release()
                return cls(path, there, None, -1)
            if there.rows:
                opened = started_again(replace(there, status="running", error=None), run)
                _seal_rows(path, there)
                _write_header(path, opened)
                return cls(path, opened, lock, *_open_rows(path, run.metric))
            run = replace(run, created=there.created)  # nothing was measured yet: what is asked for now holds
            (path / ROWS).unlink(missing_ok=True)
        elif (path / ROWS).exists():
            raise UsageError(
                f"{path} has a {ROWS} but no {HEADER}, so it cannot be told what run it was."
                f" Move {ROWS} away, or choose another folder."
            )
        started = replace(run, rows=(), status="running", created=run.created or now(), path=path)
        opened = started_again(started, run)
        _write_header(path, opened)
        return cls(path, opened, lock, *_open_rows(path, run.metric))

    @property
    def run(self) -> Run:
        """The run as it is on disk now."""
        return replace(self._run, rows=tuple(self._rows))

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows on disk."""
        return tuple(self._rows)

    @property
    def finished(self) -> bool:
        """Nothing is left to do."""
        return self._run.status in ("finished", "imported")

    def append(self, row: Row) -> None:
        """Add a row and return when it is on disk."""
        self._refuse_closed()
        check_row(self._run, row, self._rows[-1] if self._rows else None)
        if row.marks is not None:
            row = replace(row, items=write_items(self.path, row, row.marks), marks=None)
        line, seal = seal_line(row_line(row), self._seal)
        with writing(self.path / ROWS):
            append_synced(self._handle, line + b"\n")
        self._seal = seal
        self._rows.append(row)

    def keep_rows(self, count: int) -> None:
        """Drop the rows after the first `count`: those that the checkpoint does not know yet."""
        self._refuse_closed()
        if not 0 <= count <= len(self._rows):
            raise UsageError(f"keep_rows takes 0 to {len(self._rows)} (the rows there are); got {count}.")
        if count == len(self._rows):
            return
        with writing(self.path / ROWS):
            lines = (self.path / ROWS).read_bytes().splitlines(keepends=True)
            filled = [k for k, line in enumerate(lines) if line.strip()]
            os.ftruncate(self._handle, sum(map(len, lines[: filled[count]])))
            os.fsync(self._handle)
        self._seal = read_rows(self.path / ROWS, self._run.metric).seal
        del self._rows[count:]

    def update(self, **fields: Any) -> None:
        """Change fields of the header (timings, cost, notes, ...) on disk."""
        self._refuse_closed()
        changed = replace(self._run, **fields)
        _write_header(self.path, replace(changed, rows=self.rows), self._seal)
        self._run = changed

    def finish(
        self,
        timings: Mapping[str, float] | None = None,
        cost: Mapping[str, float] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Mark the run as complete, remove its checkpoints and close it; `notes` are added to those it has."""
        self.update(
            status="finished",
            finished=now(),
            notes=(*self._run.notes, *notes),
            timings={**self._run.timings, **(timings or {})},
            cost={**self._run.cost, **(cost or {})},
        )
        self.remove_checkpoints()
        self.close()

    def fail(self, error: str) -> None:
        """Say why the run stopped, and close it; opening it again resumes it."""
        self.update(status="failed", error=error)
        self.close()

    def write_checkpoint(self, data: bytes, suffix: str = "bin") -> None:
        """Replace the checkpoint: after a kill there is the old one or the new one."""
        self._refuse_closed()
        write_atomic(self._checkpoint(suffix), seal_checkpoint(data))

    def read_checkpoint(self, suffix: str = "bin") -> bytes | None:
        """The checkpoint, or None if there is none."""
        try:
            return open_checkpoint(read_regular(self._checkpoint(suffix)))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise UsageError(
                f"{self._checkpoint(suffix)} is damaged ({error}): a run that went on from it would give other numbers."
                " Remove it, and the run starts again from its first row."
            ) from None
        except OSError as error:
            raise RecollectError(f"Could not read {self._checkpoint(suffix)}: {error.strerror}.") from error

    def remove_checkpoints(self) -> None:
        """Remove all checkpoints, and what a killed writer left half done."""
        with writing(self.path):
            for found in [*self.path.glob(f"{CHECKPOINT}.*"), *self.path.glob(".*.tmp")]:
                found.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the folder; the rows are on disk already."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _checkpoint(self, suffix: str) -> Path:
        if not suffix.isalnum():
            raise UsageError(f"A checkpoint's suffix is letters and digits; got {suffix!r}.")
        return self.path / f"{CHECKPOINT}.{suffix}"

    def _refuse_closed(self) -> None:
        if self._handle < 0:
            state = "finished" if self.finished else "closed"
            raise UsageError(f"The run in {self.path} is {state}; nothing more can be written to it.")


def started_again(there: Run, now_given: Run) -> Run:
    """The run with one more start in its record; that it goes on under other versions is a note."""
    versions = dict(now_given.versions)
    before = there.starts[-1].versions if there.starts else there.versions
    others = [f"{name} {version}, before {before.get(name, 'none')}" for name, version in versions.items()]
    changed = [said for said, name in zip(others, versions, strict=True) if before.get(name) != versions[name]]
    start = Start(now(), len(there.rows), versions, now_given.revision)
    notes = there.notes
    if there.rows and changed:
        notes = (*notes, f"after {len(there.rows)} rows it went on under other versions: {'; '.join(changed)}")
    return replace(there, starts=(*there.starts, start), notes=notes)


def check_row(run: Run, row: Row, last: Row | None) -> None:
    """Refuse a row that does not fit the run, before it is on disk for ever."""
    T = run.T
    if not isinstance(row.after, int) or row.after < -1 or (run.learned_at is None and row.after >= T):
        raise UsageError(f"A row comes after one of the tasks 0 to {T - 1}, or -1 (untrained); got {row.after!r}.")
    if last is not None and row_place(row) <= row_place(last):
        raise UsageError(
            f"Rows are recorded in the order of time: after = {last.after} is there already and"
            f" after = {row.after} cannot follow it."
        )
    lists = {name: getattr(row, name) for name in ("correct", "n", "masked", "joint", "restricted", "standard_error")}
    for name, values in (*lists.items(), *row.scores.items(), *row.errors.items()):
        if values is not None and len(values) > T:
            raise UsageError(f"A row has at most one value of {name} per task ({T}); got {len(values)}.")
    sizes = row.n if row.n is not None else tuple(task.n_samples for task in run.tasks)
    for name in ("correct", "masked"):
        for j, count in enumerate(getattr(row, name) or ()):
            size = sizes[j] if j < len(sizes) else None
            if count is not None and (size is None or not 0 <= count <= size or size < 1):
                raise UsageError(f"Task {j}: {name} = {count} must lie between 0 and n; n is {size}.")


def _is_finished(path: Path) -> bool:
    return (path / HEADER).is_file() and read_run(path).status in ("finished", "imported")


def row_line(row: Row) -> bytes:
    """A row as JSON on one line, without its seal and its line end."""
    return json.dumps(row_to_json(row), allow_nan=False, separators=(",", ":")).encode()


def sealed_rows(rows: Sequence[Row]) -> tuple[bytes, str]:
    """The rows as they stand in rows.jsonl, and the last seal."""
    lines, seal = [], ""
    for row in rows:
        line, seal = seal_line(row_line(row), seal)
        lines.append(line + b"\n")
    return b"".join(lines), seal


def sealed_header(run: Run, seal: str) -> bytes:
    """The header as it stands in run.json; that of a complete run says which rows it was closed with."""
    content = header_to_json(run)
    if run.status in ("finished", "imported"):
        content["rows"] = {"count": len(run.rows), "seal": seal}
    return seal_header((json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1) + "\n").encode())


def _seal_rows(path: Path, run: Run) -> None:
    """Give the rows of a record of schema 1 their seals, before its header says that they have them."""
    if run.rows and not read_rows(path / ROWS, run.metric, sealed=False).seal:
        write_atomic(path / ROWS, sealed_rows(run.rows)[0])


def _write_header(path: Path, run: Run, seal: str = "") -> None:
    try:
        data = sealed_header(run, seal)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"The run {run.name} cannot be written as JSON: {error}. Configurations, timings and costs hold"
            " texts, finite numbers, lists and mappings of these."
        ) from None
    write_atomic(path / HEADER, data)


def _open_rows(path: Path, metric: str) -> tuple[int, str]:
    """Open rows.jsonl for appending, its torn last line cut off; the last seal in it."""
    place = path / ROWS
    with writing(place):
        _, good, seal = read_rows(place, metric) if os.path.lexists(place) else ((), 0, "")
        handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            size = os.fstat(handle).st_size
            if size > good:
                os.ftruncate(handle, good)
            elif size < good:  # the last row lacks its line end only
                os.write(handle, b"\n")
            os.fsync(handle)
            sync_folder(path)
        except BaseException:
            os.close(handle)
            raise
    return handle, seal


def _remove_if_empty(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.rmdir()
