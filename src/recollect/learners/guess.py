"""Random: uniform guesses, the reference of difficulty as a learner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.learners.base import Array, Scores, Setting, State
from recollect.learners.options import NoOptions
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class RandomGuess:
    """Scores drawn uniformly: whichever classes the engine admits, each is the highest equally often.

    >>> from recollect.runs.seeds import derive
    >>> setting = Setting(input_shape=(1,), n_classes=3, tasks=((0, 1, 2),))
    >>> learner = RandomGuess(NoOptions(), setting, derive(0))
    >>> guesses = np.bincount(learner.score(np.zeros((3000, 1))).argmax(1))
    >>> bool(guesses.min() > 900)
    True
    """

    stored_samples = 0
    stored_bytes = 0

    def __init__(self, options: NoOptions, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        self._n_classes = setting.n_classes
        self._rng = np.random.default_rng(seeds.learner)

    def learn(self, batch: Batch) -> None:
        """Learn nothing."""

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """Guess; every call guesses anew."""
        return self._rng.random((len(x), self._n_classes), dtype=np.float32)

    def end_task(self) -> None:
        """Do nothing."""

    def state(self) -> State:
        """Where the generator is."""
        return {"rng": dict(self._rng.bit_generator.state)}

    def restore(self, state: State) -> None:
        """Put the generator back."""
        self._rng.bit_generator.state = state["rng"]
