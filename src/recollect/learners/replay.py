"""Experience replay: the stream batch together with samples of the past."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from recollect.learners import devices
from recollect.learners.base import Array, Setting, State
from recollect.learners.buffers import Reservoir, in_memory
from recollect.learners.device_memory import Maker, joined
from recollect.learners.finetune import Finetune, by_loss_on
from recollect.learners.options import Replay, TwoPassReplay
from recollect.learners.randomness import sub_seed
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch

Places = NDArray[np.int64]


class ReplayLearner(Finetune):
    """A learner with a reservoir; each sample of the stream is offered to it once.

    Where a class says `memory_on_device = True` itself (a subclass does not inherit it) and the network is not on the
    CPU, the samples of its memory are tensors beside the network.
    """

    Options = TwoPassReplay
    options: TwoPassReplay
    memory: Reservoir

    def __init__(self, options: TwoPassReplay, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        kept_there = vars(type(self)).get("memory_on_device", False) and setting.samples == "arrays"
        make = Maker(self.device) if kept_there and devices.is_apart(self.device) else in_memory
        self.memory = Reservoir(options.memory, sub_seed(seeds.learner, "memory"), make)

    def retrieve(self, batch: Batch) -> Places:
        """The places of the memory batch that is replayed beside this batch: a random draw."""
        return self.memory.sample(self.options.memory_batch)

    def remember(self, batch: Batch) -> None:
        """Offer the batch to the memory, unless its samples have been offered in an earlier pass."""
        if not batch.repeat:
            self.memory.add(batch.x, batch.y)

    def held(self, places: Places) -> tuple[Any, Array]:
        """Samples and labels at these places of memory."""
        columns = self.memory.columns
        return columns["x"][places], columns["y"][places]

    def memory_loss(self, places: Places) -> Tensor:
        """The mean loss of the samples at these places of memory, in a pass of their own."""
        return self.loss_on(*self.held(places))

    def state(self) -> State:
        """Weights, optimiser, generators, memory."""
        return {**super().state(), "memory": self.memory.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.memory.restore(state["memory"])


class ExperienceReplay(ReplayLearner):
    """ER: one step on the stream batch and a batch of memory; then the memory sees the batch.

    Override `retrieve` for another choice of what is replayed, `remember` for another of what is kept.
    """

    Options = Replay
    options: Replay
    memory_on_device = True

    @by_loss_on
    def train_on(self, batch: Batch) -> None:
        """Take `iterations` steps, each with a new draw from memory."""
        for _ in range(self.options.iterations):
            places = self.retrieve(batch)
            if len(places) == 0:
                self.step(self.loss_on(batch.x, batch.y))
            elif self.options.separate:
                self.step(self.loss_on(batch.x, batch.y) + self.memory_loss(places))
            else:
                x, y = self.held(places)
                self.step(self.loss_on(joined(batch.x, x), np.concatenate((batch.y, y))))
        self.remember(batch)
