"""Reading run folders, a thousand at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from recollect.errors import UsageError
from recollect.runs.codec import header_from_json, row_from_json
from recollect.runs.run import Row, Run

HEADER = "run.json"
ROWS = "rows.jsonl"

_parse = json.JSONDecoder().raw_decode


def read_run(path: Path | str) -> Run:
    """The run in a folder; a torn last line, as a kill leaves it, is no row, and other damage is an error."""
    folder = os.fspath(path)
    header = f"{folder}/{HEADER}"
    try:
        data = json.loads(_read(header))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{header} is not JSON ({error}). Restore the file, or remove the run's folder.") from None
    may_be_torn = not isinstance(data, dict) or data.get("status") != "finished"
    try:
        rows, _ = read_rows(f"{folder}/{ROWS}", may_be_torn)
    except FileNotFoundError:
        rows = ()
    try:
        return header_from_json(data, rows, Path(folder))
    except UsageError as error:
        raise UsageError(f"{header} cannot be read: {error}") from None


def read_rows(path: Path | str, may_be_torn: bool = True) -> tuple[tuple[Row, ...], int]:
    """The rows of a file, and how many bytes of it are whole lines (counting a last line end to be added).

    The last line may be torn and is then left out; damage before it is an error that names the line.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        return _whole_rows(data), len(data)
    except (ValueError, TypeError, RecursionError):
        return _rows_line_by_line(data, path, may_be_torn)


def _whole_rows(data: bytes) -> tuple[Row, ...]:
    """The rows of a file without any flaw; ValueError or TypeError if there is one."""
    lines = data.decode().split("\n")
    if lines.pop():
        raise ValueError("the last line has no end")
    rows = []
    for line in lines:
        values, end = _parse(line)
        if end != len(line):
            raise ValueError("more than one value in a line")
        rows.append(row_from_json(values))
    return tuple(rows)


def _rows_line_by_line(data: bytes, path: Path | str, may_be_torn: bool) -> tuple[tuple[Row, ...], int]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    rows: list[Row] = []
    good = 0
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines) and may_be_torn:
                break
            if line.strip():
                raise UsageError(_damage(path, number, error)) from None
            good += len(line) + 1
            continue
        try:
            rows.append(row_from_json(values))
        except (ValueError, TypeError) as error:
            raise UsageError(_damage(path, number, error)) from None
        good += len(line) + 1
    return tuple(rows), good


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
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"Could not read {path}: {error.strerror}. A run folder has a {HEADER}.") from None


def _damage(path: Path | str, line: int, reason: Exception) -> str:
    return (
        f"{path} is damaged at line {line} ({reason}). Only the last line may be incomplete."
        " Restore the file, or remove the run's folder and run again."
    )
