"""A memory in which every concept has an equal share. The reservoir is that of `recollect.learners.buffers`."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from recollect.errors import UsageError
from recollect.learners.base import Array, State
from recollect.learners.buffers import Labels, Reservoir


class Memory(Protocol):
    """Rows of earlier units; `y` says of which group (concept, or unit) a row is."""

    def __len__(self) -> int: ...

    @property
    def x(self) -> Array:
        """The rows held."""

    @property
    def stored_bytes(self) -> int:
        """Bytes of the rows held."""

    def add(self, x: Array, y: Labels) -> None:
        """Offer the rows of a unit, which are all of one group."""

    def state(self) -> State:
        """Everything, copied."""

    def restore(self, state: State) -> None:
        """Become the memory whose state this is."""


class Balanced:
    """Of every group equally many rows, drawn evenly from all rows that the group has offered.

    With G groups each holds capacity // G rows, or all that it ever offered if that is less. When a group gives rows
    up or takes new ones, what it holds stays an even draw: how many are new follows the hypergeometric distribution.
    Once there are more groups than places, the groups themselves are held as a reservoir holds samples, a row each.

    >>> memory = Balanced(capacity=6, seed=0)
    >>> memory.add(np.arange(100.0)[:, None], np.zeros(100, int))
    >>> memory.add(np.arange(100.0, 200.0)[:, None], np.ones(100, int))
    >>> [len(rows) for rows in memory.rows.values()], len(memory)
    ([3, 3], 6)
    """

    def __init__(self, capacity: int, seed: int) -> None:
        if capacity < 1:
            raise UsageError(f"A memory holds at least one sample; got a capacity of {capacity}.")
        self.capacity = capacity
        self.rows: dict[int, Array] = {}
        self.offered: dict[int, int] = {}
        self.groups = 0
        self._rng = np.random.default_rng(seed)

    def __len__(self) -> int:
        return sum(map(len, self.rows.values()))

    @property
    def x(self) -> Array:
        """The rows held, group by group."""
        return np.concatenate(list(self.rows.values()))

    @property
    def stored_bytes(self) -> int:
        """Bytes of the rows held."""
        return sum(rows.nbytes for rows in self.rows.values())

    def add(self, x: Array, y: Labels) -> None:
        """Offer the rows of a unit, all of the group that `y` names."""
        group = int(y[0])
        is_new = group not in self.rows
        self.groups += is_new
        if is_new and self.groups > self.capacity:
            place = int(self._rng.integers(self.groups))
            if place >= self.capacity:
                return
            given_up = list(self.rows)[place]
            del self.rows[given_up], self.offered[given_up]
        share = max(1, self.capacity // self.groups)
        for other in self.rows:
            if other != group:
                self.rows[other] = self._some(self.rows[other], share)
        self.rows[group] = self._merge(group, x, share)
        self.offered[group] = self.offered.get(group, 0) + len(x)

    def _merge(self, group: int, x: Array, share: int) -> Array:
        before = self.offered.get(group, 0)
        size = min(share, before + len(x))
        new = int(self._rng.hypergeometric(len(x), before, size)) if before else size
        fresh = self._some(x, new)
        return np.concatenate([self._some(self.rows[group], size - new), fresh]) if before else fresh

    def _some(self, rows: Array, count: int) -> Array:
        """So many of the rows, drawn evenly, in the order they have; a copy."""
        if len(rows) <= count:
            return rows.copy()
        return rows[np.sort(self._rng.choice(len(rows), count, replace=False, shuffle=False))]

    def state(self) -> State:
        """Everything, copied."""
        return {
            "rng": self._rng.bit_generator.state,
            "groups": self.groups,
            "order": [[group, self.offered[group]] for group in self.rows],
            "rows": [rows.copy() for rows in self.rows.values()],
        }

    def restore(self, state: State) -> None:
        """Become the memory whose state this is."""
        self._rng.bit_generator.state = state["rng"]
        self.groups = int(state["groups"])
        self.offered = {int(group): int(count) for group, count in state["order"]}
        self.rows = dict(zip(self.offered, map(np.array, state["rows"]), strict=True))


def make_memory(keep: str, capacity: int, seed: int) -> Memory:
    """The memory of this kind, empty.

    >>> type(make_memory("reservoir", 10, seed=0)).__name__
    'Reservoir'
    """
    return Balanced(capacity, seed) if keep == "balanced" else Reservoir(capacity, seed)
