"""Who was right on which test item, in a run's folder: `items/step-<step>.bits`, one file per row, packed bits.

A file is written whole before its row, and the row holds its checksum: a row whose items are on disk is finished, and a
file without a row is written again. Item k of a task is its k-th test sample in the data set's own order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.runs.files import make_folder, write_atomic
from recollect.runs.item_answers import ABSENT, ItemTable
from recollect.runs.reading import read_regular
from recollect.runs.run import Row
from recollect.runs.seals import digest

FOLDER = "items"
_FIRST = b"recollect items 1\n"

Marks = Sequence[NDArray[np.bool_] | None]


class Places(Sequence[str]):
    """The names of items that have none: their places, from 0, made when they are asked for.

    >>> Places(3)[1], len(Places(3)), list(Places(2))
    ('1', 3, ['0', '1'])
    """

    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        inside = range(self._n)[place]
        return str(inside) if isinstance(inside, int) else [str(k) for k in inside]


def write_items(folder: Path, row: Row, marks: Marks) -> str:
    """Write the items of a row, and return the checksum of the file."""
    if row.step is None:
        raise UsageError("A row whose items are recorded has a step, by which their file is named.")
    sizes = [None if right is None else len(right) for right in marks]
    bits = b"".join(np.packbits(right).tobytes() for right in marks if right is not None)
    data = _FIRST + json.dumps(sizes).encode() + b"\n" + bits
    make_folder(folder / FOLDER)
    write_atomic(_file(folder, row.step), data)
    return digest(data).decode()


def read_items(folder: Path, row: Row) -> list[NDArray[np.bool_] | None]:
    """The items of a row, task by task, as they were when the row was written."""
    if row.step is None:
        raise UsageError(f"A row of {folder} has items and no step, by which their file is named.")
    file = _file(folder, row.step)
    try:
        data = read_regular(file)
    except OSError as error:
        raise UsageError(f"Could not read {file}: {error.strerror}. The row has items; restore the file.") from None
    if digest(data).decode() != row.items or not data.startswith(_FIRST):
        raise UsageError(f"{file} is damaged: it is not what its row was written with. Restore the file.")
    header, _, bits = data[len(_FIRST) :].partition(b"\n")
    made: list[NDArray[np.bool_] | None] = []
    at = 0
    for size in json.loads(header):
        if size is None:
            made.append(None)
            continue
        length = -(-size // 8)
        packed = np.frombuffer(bits, np.uint8, length, at)
        made.append(np.unpackbits(packed, count=size).view(np.bool_))
        at += length
    return made


def _file(folder: Path, step: int) -> Path:
    return folder / FOLDER / f"step-{step:012d}.bits"


class FolderItems:
    """The items in a run's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def tables(self, tasks: Sequence[str], rows: Sequence[Row]) -> list[ItemTable]:
        """A table for each task that has items in one of the rows; columns are found by their names."""
        from recollect.runs.reading import read_run

        names = [task.name for task in read_run(self._folder).tasks]
        by_row = [read_items(self._folder, row) if row.items else [None] * len(names) for row in rows]
        labels = tuple(row.name or f"row {place + 1}" for place, row in enumerate(rows))
        found = []
        for task in tasks:
            column = names.index(task) if task in names else -1
            marks = [of[column] if 0 <= column < len(of) else None for of in by_row]
            size = max((len(right) for right in marks if right is not None), default=0)
            if size:
                right = np.full((len(rows), size), ABSENT, np.int8)
                for place, of_row in enumerate(marks):
                    if of_row is not None:
                        right[place, : len(of_row)] = of_row
                found.append(ItemTable(task, labels, Places(size), right, named=False))
        return found
