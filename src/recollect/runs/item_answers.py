"""Who was right on which test item, version by version: one table per column, and how items moved between two rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recollect.runs.run import Row

Right = NDArray[np.int8]
# What a cell of `right` holds where an item was not evaluated.
ABSENT = -1


class ItemSource(Protocol):
    """Where the single test items of a run lie; they are read when they are asked for."""

    def tables(self, tasks: Sequence[str], rows: Sequence[Row]) -> list[ItemTable]:
        """A table of these rows for each of these tasks that has items in one of them."""


@dataclass(frozen=True)
class ItemAnswer:
    """One item as a file shows it: what was asked, what was right, and what was answered; empty where not told."""

    asked: str = ""
    target: str = ""
    answered: str = ""


@dataclass(frozen=True, eq=False)
class ItemTable:
    """The items of one task: `right[row, item]` is 1 for right, 0 for wrong, -1 where it was not evaluated.

    `show(row, item)` looks the answer up in the file that it came from. Items that are not `named` are known by their
    places in the test set of the task.
    """

    task: str
    versions: tuple[str, ...]
    keys: Sequence[str]
    right: Right
    show: Callable[[int, int], ItemAnswer] | None = None
    named: bool = True

    def flow(self, before: int, after: int) -> Flow:
        """How the items moved between two rows, over those that both evaluated."""
        both = (self.right[before] != ABSENT) & (self.right[after] != ABSENT)
        was, now = self.right[before] == 1, self.right[after] == 1
        return Flow(
            always=np.flatnonzero(both & was & now),
            forgotten=np.flatnonzero(both & was & ~now),
            learned=np.flatnonzero(both & ~was & now),
            never=np.flatnonzero(both & ~was & ~now),
            unpaired=int((~both & ((self.right[before] != ABSENT) | (self.right[after] != ABSENT))).sum()),
        )


@dataclass(frozen=True, eq=False)
class Flow:
    """The items by what became of them; `unpaired` counts those that one of the two rows alone evaluated.

    >>> table = ItemTable("t", ("v1", "v2"), ("a", "b", "c"), np.array([[1, 0, 1], [0, 1, -1]], np.int8))
    >>> moved = table.flow(0, 1)
    >>> moved.counts, moved.unpaired
    ({'always': 0, 'forgotten': 1, 'learned': 1, 'never': 0}, 1)
    """

    always: NDArray[np.intp]
    forgotten: NDArray[np.intp]
    learned: NDArray[np.intp]
    never: NDArray[np.intp]
    unpaired: int

    @property
    def counts(self) -> dict[str, int]:
        return {name: len(getattr(self, name)) for name in ("always", "forgotten", "learned", "never")}


def table_of(
    task: str,
    versions: Sequence[str],
    marks: Sequence[dict[str, int]],
    show: Callable[[int, int], ItemAnswer] | None = None,
) -> ItemTable:
    """The table of marks that each version has by item; items in the order in which they were first met.

    >>> table_of("t", ["v1", "v2"], [{"a": 1}, {"b": 0, "a": 1}]).right.tolist()
    [[1, -1], [1, 0]]
    """
    keys = tuple(dict.fromkeys(key for of in marks for key in of))
    place = {key: at for at, key in enumerate(keys)}
    right = np.full((len(versions), len(keys)), ABSENT, np.int8)
    for row, of in enumerate(marks):
        right[row, [place[key] for key in of]] = list(of.values())
    return ItemTable(task, tuple(versions), keys, right, show)
