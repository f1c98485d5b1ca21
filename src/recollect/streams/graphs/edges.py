"""Edge lists: a table with the columns source, target and, if there are, label and time."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.graphs.raw import RawGraph, whole_numbers

_LABELS = ("label", "rating", "weight", "sign")
_TIMES = ("time", "timestamp")


def is_edge_list(path: Path) -> bool:
    """Whether the first line of the file names a source and a target."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            names = {name.strip().lower() for name in file.readline(10_000).split(",")}
    except (OSError, UnicodeDecodeError):
        return False
    return {"source", "target"} <= names


def read_edges(path: Path, name: str | None = None) -> RawGraph:
    """The graph of a `.csv` file, one line for each edge; a label may be called rating, weight or sign."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            head, *lines = [line for line in csv.reader(file) if line]
    except (ValueError, UnicodeDecodeError, csv.Error):
        raise UsageError(f"{path} is not a table with a first line of names, such as source,target,time.") from None
    names = [one.strip().lower() for one in head]
    for needed in ("source", "target"):
        if needed not in names:
            raise UsageError(f"{path} has the columns {', '.join(names)}; an edge list has source and target.")
    uneven = next((k for k, line in enumerate(lines) if len(line) != len(names)), None)
    if uneven is not None:
        raise UsageError(
            f"Line {uneven + 2} of {path} has {len(lines[uneven])} values; the first line names {len(names)}."
        )
    twice = next((one for k, one in enumerate(names) if one in names[:k]), None)
    if twice is not None:
        raise UsageError(f"{path} has two columns {twice!r}; which one is meant?")
    columns = {name: [line[k].strip() for line in lines] for k, name in enumerate(names)}
    ends = [whole_numbers(numbers_in(columns[end], end, path), f"{end} in {path}") for end in ("source", "target")]
    label, time = (next((one for one in known if one in columns), None) for known in (_LABELS, _TIMES))
    labels, times = (None if one is None else columns[one] for one in (label, time))
    unread = [one for one in names if one not in ("source", "target", label, time)]
    return RawGraph(
        name=path.stem if name is None else name,
        source=str(path),
        edges=np.stack(ends) if lines else np.zeros((2, 0), np.int64),
        edge_labels=None if labels is None else numbers_in(labels, "label", path),
        edge_times=None if times is None else numbers_in(times, "time", path, may_lack=True),
        notes=(f"columns of {path.name} that are not used: {', '.join(unread)}",) if unread else (),
    )


def numbers_in(values: list[str], what: str, path: Path, *, may_lack: bool = False) -> NDArray[np.float64]:
    """The numbers of a column; NaN where one is missing, which only some columns may."""
    made = np.full(len(values), np.nan)
    for k, value in enumerate(values):
        try:
            made[k] = float(value) if value or not may_lack else np.nan
        except ValueError:
            raise UsageError(f"{what} in line {k + 2} of {path} is {value[:40]!r}, which is not a number.") from None
    return made
