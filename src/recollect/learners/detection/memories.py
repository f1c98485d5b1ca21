"""Memories of detectors: which rows of earlier units are kept, by a rule of ours or by a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.learners.base import Array, State
from recollect.learners.buffers import Balanced, Reservoir, make_memory
from recollect.learners.detection.options import KEEPS
from recollect.learners.randomness import sub_seed
from recollect.paths import import_path

Choose = Callable[[Array, Array, int, np.random.Generator], Any]


def memory_of(keep: Any, capacity: int, seed: int) -> Reservoir | Balanced | Chosen:
    """The memory that the option `keep` asks for, empty."""
    if keep in KEEPS:
        return make_memory(keep, capacity, seed)
    return Chosen(import_path(keep, "function") if isinstance(keep, str) else keep, capacity, seed)


class Chosen:
    """At most `capacity` rows, chosen after each unit by a function among those held and those of the unit.

    The function is called with the rows, with the unit (or concept) of each, with the capacity, and with a generator
    of random numbers; it gives the places of the rows to keep.

    >>> memory = Chosen(lambda rows, units, capacity, rng: np.argsort(-rows[:, 0])[:capacity], capacity=2, seed=0)
    >>> memory.add(np.array([[1.0], [5.0], [3.0]]), np.zeros(3, int))
    >>> memory.add(np.array([[4.0]]), np.ones(1, int))
    >>> memory.x.tolist(), memory.y.tolist()
    ([[5.0], [4.0]], [0, 1])
    """

    def __init__(self, choose: Choose, capacity: int, seed: int) -> None:
        self._choose, self._capacity, self._seed = choose, capacity, seed
        self._calls = 0
        self.x: Array = np.empty((0, 0))
        self.y: Array = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the rows and of their units."""
        return self.x.nbytes + self.y.nbytes

    def add(self, x: Array, y: Array) -> None:
        """Let the function choose among what is held and these."""
        rows = np.concatenate([self.x, x]) if len(self) else np.array(x)
        units = np.concatenate([self.y, y])
        rng = np.random.default_rng(sub_seed(self._seed, "memory", self._calls))
        self._calls += 1
        places = np.asarray(self._choose(rows.copy(), units.copy(), self._capacity, rng))
        if places.ndim != 1 or places.dtype.kind not in "iu" or len(places) > self._capacity or not _fit(places, rows):
            name = getattr(self._choose, "__name__", type(self._choose).__name__)
            raise UsageError(
                f"{name} chooses rows for the memory: at most {self._capacity} different places from 0 to"
                f" {len(rows) - 1}; got {places.tolist() if places.size < 6 else f'{places.size} of {places.dtype}'}."
            )
        self.x, self.y = rows[places], units[places]

    def state(self) -> State:
        """What is held."""
        return {"x": self.x.copy(), "y": self.y.copy(), "calls": self._calls}

    def restore(self, state: State) -> None:
        """Become the memory whose state this is."""
        self.x, self.y, self._calls = np.array(state["x"]), np.array(state["y"]), int(state["calls"])


def _fit(places: Array, rows: Array) -> bool:
    return bool(((places >= 0) & (places < len(rows))).all()) and len(np.unique(places)) == len(places)
