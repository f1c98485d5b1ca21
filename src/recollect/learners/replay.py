"""Experience replay: the stream batch together with samples of the past."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from recollect.learners import devices
from recollect.learners.base import Array, Setting, State
from recollect.learners.buffers import Reservoir
from recollect.learners.finetune import Finetune
from recollect.learners.options import Replay, TwoPassReplay
from recollect.learners.randomness import sub_seed
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class ReplayLearner(Finetune):
    """A learner with a reservoir; each sample of the stream is offered to it once."""

    options: TwoPassReplay
    memory: Reservoir

    def __init__(self, options: TwoPassReplay, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.memory = Reservoir(options.memory, sub_seed(seeds.learner, "memory"))

    def remember(self, batch: Batch) -> None:
        """Offer the batch to the memory, unless its samples have been offered in an earlier pass."""
        if not batch.repeat:
            self.memory.add(batch.x, batch.y)

    def memory_loss(self, places: Array) -> Tensor:
        """The cross-entropy of the samples at these places of memory, in a pass of their own."""
        held = self.memory.columns
        y = devices.to_tensor(held["y"][places], self.device)
        return self.loss(self.network(self.inputs.training(held["x"][places])), y)

    def state(self) -> State:
        """Weights, optimiser, generators, memory."""
        return {**super().state(), "memory": self.memory.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.memory.restore(state["memory"])


class ExperienceReplay(ReplayLearner):
    """ER: one step on the stream batch and a random batch of memory; then the memory sees the batch."""

    options: Replay

    def _learn(self, batch: Batch) -> None:
        """Take `iterations` steps, each with a new draw from memory."""
        for _ in range(self.options.iterations):
            places = self.memory.sample(self.options.memory_batch)
            if len(places) == 0:
                self._one_pass(batch.x, batch.y)
            elif self.options.separate:
                self._two_passes(batch, places)
            else:
                held = self.memory.columns
                self._one_pass(
                    np.concatenate((batch.x, held["x"][places])), np.concatenate((batch.y, held["y"][places]))
                )
        self.remember(batch)

    def _one_pass(self, x: Array, y: Array) -> None:
        self.step(self.loss(self.network(self.inputs.training(x)), devices.to_tensor(y, self.device)))

    def _two_passes(self, batch: Batch, places: Array) -> None:
        y = devices.to_tensor(batch.y, self.device)
        new = self.loss(self.network(self.inputs.training(batch.x)), y)
        self.step(new + self.memory_loss(places))
