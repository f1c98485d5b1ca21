"""A-GEM, DER++ and ER-ACE: other uses of the same memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from recollect.learners import devices
from recollect.learners.base import Setting, State
from recollect.learners.options import DarkReplay, TwoPassReplay
from recollect.learners.replay import Places, ReplayLearner
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class ERACE(ReplayLearner):
    """ER-ACE: the stream batch competes among its own classes only, the memory batch among all.

    So the new classes do not push down the old ones, which are not in the stream to push back.
    """

    memory_on_device = True

    def train_on(self, batch: Batch) -> None:
        y = devices.to_tensor(batch.y, self.device)
        absent = torch.ones(self.setting.n_classes, dtype=torch.bool, device=self.device)
        absent[y] = False
        for _ in range(self.options.iterations):
            logits = self.network(self.inputs.training(batch.x))
            loss = self.loss(logits.masked_fill(absent, -torch.inf), y)
            places = self.memory.sample(self.options.memory_batch)
            if len(places):
                loss = loss + self.memory_loss(places)
            self.step(loss)
        self.remember(batch)


class DERPlusPlus(ReplayLearner):
    """DER++: memory samples must keep their labels and the logits they had when they were stored."""

    Options = DarkReplay
    options: DarkReplay
    memory_on_device = True

    def train_on(self, batch: Batch) -> None:
        y = devices.to_tensor(batch.y, self.device)
        first: Tensor | None = None
        for _ in range(self.options.iterations):
            logits = self.network(self.inputs.training(batch.x))
            first = logits.detach() if first is None else first
            loss = self.loss(logits, y)
            if len(self.memory):
                loss = loss + self.options.alpha * self._logit_loss()
                loss = loss + self.options.beta * self.memory_loss(self.memory.sample(self.options.memory_batch))
            self.step(loss)
        if not batch.repeat and first is not None:
            kept = first if devices.is_apart(self.device) else devices.to_array(first)
            self.memory.add(batch.x, batch.y, logits=kept)

    def _logit_loss(self) -> Tensor:
        places = self.memory.sample(self.options.memory_batch)
        held = self.memory.columns
        wanted = devices.to_tensor(held["logits"][places], self.device)
        return F.mse_loss(self.network(self.inputs.training(held["x"][places])), wanted)


class AGEM(ReplayLearner):
    """A-GEM: a step that would hurt the memory of earlier tasks is turned until it does not.

    Where the scenario tells no boundaries, the whole memory is the reference.
    """

    memory_on_device = True

    def __init__(self, options: TwoPassReplay, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.tasks_over = 0

    def train_on(self, batch: Batch) -> None:
        y = devices.to_tensor(batch.y, self.device)
        for _ in range(self.options.iterations):
            places = self._reference()
            wanted = self._gradient(self.memory_loss(places)) if len(places) else None
            own = self._gradient(self.loss(self.network(self.inputs.training(batch.x)), y))
            if wanted is not None:
                project(own, wanted)
            self.optimiser.apply(own)
        if not batch.repeat:
            self.memory.add(batch.x, batch.y, age=np.full(len(batch.y), self.tasks_over))

    def _reference(self) -> Places:
        """A random batch of memory from tasks that are over."""
        if not self.setting.gives_boundaries or not len(self.memory):
            return self.memory.sample(self.options.memory_batch)
        earlier = np.flatnonzero(self.memory.columns["age"][: len(self.memory)] < self.tasks_over)
        return self.memory.sample(self.options.memory_batch, among=earlier)

    def _gradient(self, loss: Tensor) -> list[Tensor]:
        return list(torch.autograd.grad(loss, self.optimiser.parameters, materialize_grads=True, allow_unused=True))

    def end_task(self) -> None:
        """What is in memory now is of an earlier task."""
        super().end_task()
        self.tasks_over += 1

    def state(self) -> State:
        """Weights, optimiser, generators, memory."""
        return {**super().state(), "tasks_over": self.tasks_over}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.tasks_over = int(state["tasks_over"])


def project(own: list[Tensor], wanted: list[Tensor]) -> None:
    """Turn `own`, in place, until it no longer points against `wanted`.

    >>> own = [torch.tensor([1.0, 1.0])]
    >>> project(own, [torch.tensor([-1.0, 0.0])])
    >>> own
    [tensor([0., 1.])]
    """
    products = [torch.sum(one * other) for one, other in zip(own, wanted, strict=True)]
    squares = [torch.sum(one * one) for one in wanted]
    numbers = torch.stack([*products, *squares]).tolist()  # one wait for the device
    agreement, length = sum(numbers[: len(own)]), sum(numbers[len(own) :])
    if agreement < 0 < length:
        torch._foreach_add_(own, wanted, alpha=-agreement / length)
