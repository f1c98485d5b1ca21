"""Reading run folders, a thousand at a time."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from recollect.errors import UsageError
from recollect.runs.codec import SCHEMA, header_from_json, row_from_json
from recollect.runs.run import ACCURACY, Row, Run
from recollect.runs.seals import check_header, check_line

HEADER = "run.json"
ROWS = "rows.jsonl"

_parse = json.JSONDecoder().raw_decode

# A link is not followed, and a pipe is not waited for.
_AS_IT_IS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class ReadRows(NamedTuple):
    """The rows of a file, how many bytes of it are whole lines (with a last line end to be added), the last seal."""

    rows: tuple[Row, ...]
    good: int
    seal: str


def read_run(path: Path | str) -> Run:
    """The run in a folder; a torn last line, as a kill leaves it, is no row, and other damage is an error."""
    return read_with_header(path)[0]


def read_with_header(path: Path | str) -> tuple[Run, dict[str, Any]]:
    """The run in a folder, and its header as it stands there."""
    folder = os.fspath(path)
    header = f"{folder}/{HEADER}"
    raw = _read(header)
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{header} is not JSON ({error}). Restore the file, or remove the run's folder.") from None
    told = data if isinstance(data, dict) else {}
    is_sealed = told.get("schema") not in (None, 1)
    if told.get("schema") == SCHEMA:
        try:
            check_header(raw)
        except ValueError as error:
            raise UsageError(f"{header} is damaged: {error}. Restore the file, or remove the run's folder.") from None
    is_complete = told.get("status") in ("finished", "imported")
    try:
        metric = str(told.get("metric", ACCURACY))
        read = read_rows(f"{folder}/{ROWS}", metric, may_be_torn=told.get("status") != "finished", sealed=is_sealed)
    except FileNotFoundError:
        if told.get("status") == "finished":
            raise UsageError(_not_whole(folder, "there is no " + ROWS)) from None
        read = ReadRows((), 0, "")
    if is_complete and is_sealed and told.get("rows") != {"count": len(read.rows), "seal": read.seal}:
        raise UsageError(_not_whole(folder, f"its {ROWS} has other rows than those it was closed with"))
    try:
        return header_from_json(data, read.rows, Path(folder)), told
    except UsageError as error:
        raise UsageError(f"{header} cannot be read: {error}") from None


def _not_whole(folder: str, why: str) -> str:
    return f"{folder} says that its run is complete, but {why}. Restore {ROWS}, or remove the folder and run again."


def read_rows(path: Path | str, metric: str, may_be_torn: bool = True, sealed: bool = True) -> ReadRows:
    """The rows of a file of a run with this target; `sealed` says that every line has a seal.

    The last line may be torn and is then left out; damage before it is an error that names the line.
    """
    data = read_regular(path)
    try:
        return _whole_rows(data, metric, sealed)
    except (ValueError, TypeError, RecursionError):
        return _rows_line_by_line(data, path, metric, may_be_torn, sealed)


def _whole_rows(data: bytes, metric: str, sealed: bool) -> ReadRows:
    """The rows of a file without any flaw; ValueError or TypeError if there is one."""
    lines = data.split(b"\n")
    if lines.pop():
        raise ValueError("the last line has no end")
    rows = []
    seal = ""
    for line in lines:
        seal = check_line(line, seal, sealed)
        text = line.decode()
        values, end = _parse(text)
        if end != len(text):
            raise ValueError("more than one value in a line")
        rows.append(row_from_json(values, metric))
    return ReadRows(tuple(rows), len(data), seal)


def _rows_line_by_line(data: bytes, path: Path | str, metric: str, may_be_torn: bool, sealed: bool) -> ReadRows:
    ends = data.endswith(b"\n")
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    rows: list[Row] = []
    good = 0
    seal = ""
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            # A kill leaves a line without its end; in records of schema 1 that was not told apart from damage.
            if number == len(lines) and may_be_torn and not (ends and sealed):
                break
            if line.strip():
                raise UsageError(_damage(path, number, error)) from None
            good += len(line) + 1
            continue
        try:
            seal = check_line(line, seal, sealed)
            rows.append(row_from_json(values, metric))
        except (ValueError, TypeError) as error:
            raise UsageError(_damage(path, number, error)) from None
        good += len(line) + 1
    return ReadRows(tuple(rows), good, seal)


def find_runs(folder: str) -> Iterator[str]:
    """The run folders at or below a folder, in the order of their names.

    Run folders are not searched for further runs, hidden folders not at all; links are followed once.
    """
    seen: set[tuple[int, int]] = set()
    stack = [folder]
    while stack:
        place = stack.pop()
        # One look at the header is cheaper than a list of the folder, and most folders are runs.
        if os.path.exists(f"{place}/{HEADER}"):
            yield place
            continue
        below = []
        with os.scandir(place) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and entry.is_dir() and not _seen_link(entry, seen):
                    below.append(entry.path)
        stack += sorted(below, reverse=True)


def _seen_link(entry: os.DirEntry[str], seen: set[tuple[int, int]]) -> bool:
    if not entry.is_symlink():
        return False
    status = entry.stat()
    key = (status.st_dev, status.st_ino)
    known = key in seen
    seen.add(key)
    return known


def _read(path: str) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise UsageError(f"Could not read {path}: {error.strerror}. A run folder has a {HEADER}.") from None


def read_regular(path: Path | str, *, most: int = -1) -> bytes:
    """The bytes of a regular file, or the last `most` of them; a link, a pipe or a device is not followed."""
    try:
        handle = os.open(path, _AS_IT_IS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise UsageError(_not_plain(path)) from None
        raise
    with open(handle, "rb", buffering=0) as file:
        if not S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(_not_plain(path))
        if most >= 0:
            file.seek(max(0, os.fstat(handle).st_size - most))
        return file.read(most)


def _not_plain(path: Path | str) -> str:
    return f"{path} is not a plain file, and a run's folder holds nothing else. Remove it, or copy what it leads to."


def _damage(path: Path | str, line: int, reason: Exception) -> str:
    return (
        f"{path} is damaged at line {line} ({reason}). Only the last line may be incomplete."
        " Restore the file, or remove the run's folder and run again."
    )
