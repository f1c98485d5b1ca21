"""Which class was answered for which: counts of the test samples of the tasks seen so far, packed into a row's line.

The counts are C x C, rows are the true classes and columns the answered ones, both in the order in which the stream's
tasks bring them (`class_names`). They stand in the row as text: 32-bit little-endian whole numbers, deflated,
in base64.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import NotComputable, UsageError
from recollect.runs.run import Row, Run

Ints = NDArray[np.signedinteger[Any]]

# The counts of more classes would outweigh everything else in a record.
MOST_CLASSES = 1000


def pack(counts: Ints) -> str:
    """The counts as text.

    >>> unpack(pack(np.array([[9, 1], [0, 7]])))
    array([[9, 1],
           [0, 7]])
    """
    return base64.b64encode(zlib.compress(np.asarray(counts).astype("<u4").tobytes(), 9)).decode()


def unpack(text: str) -> Ints:
    """The counts that `pack` wrote; UsageError if it did not."""
    inflate = zlib.decompressobj()
    try:
        raw = inflate.decompress(base64.b64decode(text, validate=True), 4 * MOST_CLASSES**2)
    except (binascii.Error, zlib.error, ValueError):
        raw = b""
    C = int(np.sqrt(len(raw) // 4))
    if not C or len(raw) != 4 * C * C or not inflate.eof:
        raise UsageError(
            "The confusion counts of a row are not counts of classes by classes, as `confusion: true` in a plan writes"
            " them."
        )
    return np.frombuffer(raw, "<u4").astype(np.int64).reshape(C, C)


def class_names(run: Run) -> tuple[int | str, ...]:
    """The classes in the order of the counts: as the tasks bring them."""
    return tuple(dict.fromkeys(name for task in run.tasks for name in task.classes or ()))


def confusion_of(run: Run, row: Row) -> Ints | None:
    """The counts of a row, checked against its right answers; None where it has none."""
    if row.confusion is None:
        return None
    counts, names = unpack(row.confusion), class_names(run)
    if len(names) != len(counts):
        raise UsageError(
            f"The confusion counts of {run.name} are of {len(counts)} classes; its tasks have {len(names)}."
        )
    by_task = np.cumsum(
        [[right or 0, n or 0] for right, n in zip(row.correct or (), row.n or (), strict=False)], axis=0
    )
    if [counts.trace(), counts.sum()] not in by_task.tolist():
        raise UsageError(
            f"The confusion counts of {run.name} contradict its scores: {counts.trace()} of {counts.sum()} are right"
            f" after task {row.after}, and the counts by task say otherwise."
        )
    return counts


def confusion(run: Run, after: int | None = None) -> Ints:
    """The counts after a task (from 0), or after the last that was evaluated."""
    rows = [row for row in run.rows if row.confusion is not None and row.task_end and after in (None, row.after)]
    if not rows:
        when = "" if after is None else f" after task {after}"
        raise NotComputable(
            f"{run.name} has no confusion counts{when}: `confusion: true` in the plan of an experiment records them."
        )
    counts = confusion_of(run, rows[-1])
    assert counts is not None
    return counts
