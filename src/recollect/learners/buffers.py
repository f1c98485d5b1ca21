"""Memories of past samples: arrays of fixed size, filled in place.

Samples are kept as they came (uint8 images stay uint8). Each buffer has a generator of its own, and its
`state` holds everything: restored in another process it goes on bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.learners.base import Array, State

Labels = NDArray[np.int64]
# What makes a column for so many samples like these; columns are arrays, or are filled and read like them.
Make = Callable[[str, int, Any], Any]


def in_memory(name: str, capacity: int, like: Array) -> Array:
    """A column in the processor's memory."""
    return np.zeros((capacity, *like.shape[1:]), like.dtype)


class Buffer:
    """Samples and labels in preallocated arrays, and random retrieval without replacement.

    The arrays are made at the first sample, whose shape and type they take; `extra` columns (the logits of
    DER, say) likewise. The first `len(buffer)` places are filled. `changes` counts the batches that changed something.
    """

    def __init__(self, capacity: int, seed: int, make: Make = in_memory) -> None:
        if capacity < 1:
            raise UsageError(f"A memory holds at least one sample; got a capacity of {capacity}.")
        self.capacity = capacity
        self._make = make
        self.filled = 0
        self.changes = 0
        self.columns: dict[str, Any] = {}
        self._rng = np.random.default_rng(seed)

    def __len__(self) -> int:
        return self.filled

    @property
    def x(self) -> Any:
        """The samples held."""
        return self.columns["x"][: self.filled]

    @property
    def y(self) -> Labels:
        """Their labels."""
        labels: Labels = self.columns["y"][: self.filled]
        return labels

    @property
    def stored_bytes(self) -> int:
        """Bytes of the samples held, with labels and extra columns."""
        return sum(column[: self.filled].nbytes for column in self.columns.values())

    def sample(self, count: int, among: Labels | None = None) -> NDArray[np.int64]:
        """Places of `count` different samples drawn at random, `among` some or all; every one, if fewer."""
        total = self.filled if among is None else len(among)
        if total <= count:
            return np.arange(total) if among is None else among
        chosen = self._rng.choice(total, count, replace=False, shuffle=False)
        return chosen if among is None else among[chosen]

    def state(self) -> State:
        """Everything, copied."""
        return {
            "filled": self.filled,
            "rng": self._rng.bit_generator.state,
            "columns": {name: _copy(column, self.filled) for name, column in self.columns.items()},
        }

    def restore(self, state: State) -> None:
        """Become the buffer whose state this is."""
        self.filled = int(state["filled"])
        self._rng.bit_generator.state = state["rng"]
        self.columns = {}
        for name, saved in state["columns"].items():
            self.columns[name] = self._make(name, self.capacity, saved)
            self.columns[name][: self.filled] = saved

    def _prepare(self, columns: dict[str, Array]) -> None:
        if not self.columns:
            self.columns = {name: self._make(name, self.capacity, column) for name, column in columns.items()}


def _copy(column: Any, count: int) -> Array:
    return column[:count].copy() if isinstance(column, np.ndarray) else column.array(count)


class Reservoir(Buffer):
    """Algorithm R (Vitter 1985), a batch at a time: every sample offered is held with equal probability.

    Offer each sample of the stream once; a second pass over the same samples is not offered again.

    >>> memory = Reservoir(capacity=3, seed=0)
    >>> memory.add(np.arange(2), np.array([0, 1]))
    >>> memory.add(np.arange(2, 10), np.zeros(8, int))
    >>> len(memory), memory.seen
    (3, 10)
    """

    def __init__(self, capacity: int, seed: int, make: Make = in_memory) -> None:
        super().__init__(capacity, seed, make)
        self.seen = 0

    def add(self, x: Array, y: Labels, **extra: Any) -> None:
        """Offer a batch, as if its samples came one by one."""
        columns = {"x": x, "y": y, **extra}
        if not self.columns:
            self._prepare(columns)
        count = len(y)
        fills = min(count, self.capacity - self.filled)
        if fills:
            end = self.filled + fills
            for name, column in columns.items():
                self.columns[name][self.filled : end] = column[:fills]
            self.filled = end
        self.changes += fills > 0
        if fills < count:
            # The sample that is the n-th of the stream goes to a place drawn from 0 .. n-1, if there is one.
            places = self._rng.integers(0, np.arange(self.seen + fills, self.seen + count) + 1)
            hits = np.flatnonzero(places < self.capacity)
            if len(hits):
                self.changes += not fills
                # Of two samples of one batch that draw the same place, the later stays.
                winners = {int(places[i]): int(i) + fills for i in hits}
                where, which = list(winners), list(winners.values())
                for name, column in columns.items():
                    self.columns[name][where] = column[which]
        self.seen += count

    def state(self) -> State:
        """Everything, copied."""
        return {**super().state(), "seen": self.seen}

    def restore(self, state: State) -> None:
        """Become the buffer whose state this is."""
        super().restore(state)
        self.seen = int(state["seen"])


class GreedyBalanced(Buffer):
    """GDumb's greedy sampler: a sample of a class that has less than its share takes a place of the largest.

    >>> memory = GreedyBalanced(capacity=4, seed=0)
    >>> memory.add(np.arange(6), np.array([0, 0, 0, 0, 0, 1]))
    True
    >>> sorted(memory.y.tolist())
    [0, 0, 0, 1]
    """

    def __init__(self, capacity: int, seed: int) -> None:
        super().__init__(capacity, seed)
        self._places: dict[int, list[int]] = {}

    def add(self, x: Array, y: Labels) -> bool:
        """Offer a batch, sample by sample; did the memory change?"""
        self._prepare({"x": x, "y": y})
        changed = False
        for index, label in enumerate(y.tolist()):
            place = self._place_for(label)
            if place is not None:
                self.columns["x"][place] = x[index]
                self.columns["y"][place] = label
                changed = True
        self.changes += changed
        return changed

    def _place_for(self, label: int) -> int | None:
        """Where a sample of this class goes, or None; makes the place free and the class its owner."""
        own = self._places.get(label)
        share = self.capacity // max(1, len(self._places))
        if own is not None and len(own) >= share:
            return None
        if self.filled < self.capacity:
            place = self.filled
            self.filled += 1
        else:
            largest = max(self._places.values(), key=len)
            place = largest.pop(int(self._rng.integers(len(largest))))
        self._places.setdefault(label, []).append(place)
        return place

    def state(self) -> State:
        """Everything, copied; the order of classes and places decides ties and draws, so it is kept."""
        return {**super().state(), "places": [[label, *places] for label, places in self._places.items()]}

    def restore(self, state: State) -> None:
        """Become the buffer whose state this is."""
        super().restore(state)
        self._places = {row[0]: list(row[1:]) for row in state["places"]}


class Everything:
    """All samples of the stream, in arrays that double when they are full."""

    def __init__(self) -> None:
        self.filled = 0
        self.changes = 0
        self._columns: dict[str, Array] = {}

    def __len__(self) -> int:
        return self.filled

    @property
    def x(self) -> Array:
        """The samples."""
        return self._columns["x"][: self.filled]

    @property
    def y(self) -> Labels:
        """Their labels."""
        return self._columns["y"][: self.filled]

    @property
    def stored_bytes(self) -> int:
        """Bytes of the samples and labels held."""
        return sum(column[: self.filled].nbytes for column in self._columns.values())

    def add(self, x: Array, y: Labels) -> None:
        """Keep a batch."""
        end = self.filled + len(y)
        for name, column in {"x": x, "y": y}.items():
            held = self._columns.get(name)
            if held is None or end > len(held):
                grown = np.empty((max(1024, 2 * end), *column.shape[1:]), column.dtype)
                if held is not None:
                    grown[: self.filled] = held[: self.filled]
                self._columns[name] = held = grown
            held[self.filled : end] = column
        self.filled = end
        self.changes += 1

    def state(self) -> State:
        """Everything, copied."""
        return {name: column[: self.filled].copy() for name, column in self._columns.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Become the store whose state this is."""
        self._columns, self.filled = {}, 0
        if state:
            self.add(state["x"], state["y"])


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


def make_memory(keep: str, capacity: int, seed: int) -> Reservoir | Balanced:
    """The memory of this kind, empty.

    >>> type(make_memory("reservoir", 10, seed=0)).__name__
    'Reservoir'
    """
    return Balanced(capacity, seed) if keep == "balanced" else Reservoir(capacity, seed)
