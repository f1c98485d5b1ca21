"""GDumb: a balanced memory, and a network trained on nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.learners import options
from recollect.learners.base import Array, Setting, State
from recollect.learners.buffers import GreedyBalanced
from recollect.learners.offline import OfflineLearner
from recollect.learners.randomness import sub_seed
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class GDumb(OfflineLearner):
    """Greedy sampler and dumb learner: `learn` only fills the memory, `score` trains on it."""

    memory: GreedyBalanced

    def __init__(self, options: options.GDumb, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.memory = GreedyBalanced(options.memory, sub_seed(seeds.learner, "memory"))

    def stored(self) -> tuple[Array, NDArray[np.int64]]:
        """The memory."""
        return self.memory.x, self.memory.y

    def _learn(self, batch: Batch) -> None:
        """Offer the batch to the memory, once."""
        if not batch.repeat and self.memory.add(batch.x, batch.y):
            self.changes += 1

    def state(self) -> State:
        """Network and memory."""
        return {**super().state(), "memory": self.memory.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.memory.restore(state["memory"])
