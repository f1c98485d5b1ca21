"""LwF: the network before the task teaches the network in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from recollect.learners import devices
from recollect.learners.base import Setting, State
from recollect.learners.finetune import Finetune
from recollect.learners.holding import Teacher
from recollect.learners.options import Distill
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class LwF(Finetune):
    """Learning without forgetting: keeps the answers of the network as it was when the last task ended.

    After t tasks the loss is 1 / (t + 1) of the cross-entropy and the rest distillation, over the classes
    the teacher knows.
    """

    Options = Distill
    options: Distill

    def __init__(self, options: Distill, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.teacher = Teacher()
        self.tasks_over = 0
        self.seen: set[int] = set()
        self.taught: list[int] = []

    @property
    def stored_bytes(self) -> int:
        """Bytes of the teacher."""
        return self.teacher.stored_bytes

    def train_on(self, batch: Batch) -> None:
        self.seen.update(batch.y.tolist())
        y = devices.to_tensor(batch.y, self.device)
        for _ in range(self.options.iterations):
            x = self.inputs.training(batch.x)
            logits = self.network(x)
            loss = self.loss(logits, y)
            if self.teacher.network is not None:
                new = 1 / (self.tasks_over + 1)
                loss = new * loss + (1 - new) * self._distillation(self.teacher.network, x, logits)
            self.step(loss)

    def _distillation(self, teacher: nn.Module, x: Tensor, logits: Tensor) -> Tensor:
        heat = self.options.temperature
        with torch.no_grad():
            wanted = torch.softmax(teacher(x)[:, self.taught] / heat, 1)
        return -(wanted * torch.log_softmax(logits[:, self.taught] / heat, 1)).sum(1).mean() * heat**2

    def end_task(self) -> None:
        """The network becomes the teacher."""
        super().end_task()
        self.tasks_over += 1
        self.taught = sorted(self.seen)
        self.teacher.become(self.network)

    def state(self) -> State:
        """Weights, optimiser, generators, teacher."""
        return {
            **super().state(),
            "teacher": self.teacher.state(),
            "tasks_over": self.tasks_over,
            "seen": sorted(self.seen),
            "taught": list(self.taught),
        }

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.tasks_over = int(state["tasks_over"])
        self.seen, self.taught = set(state["seen"]), list(state["taught"])
        self.teacher.restore(state["teacher"], self.network)
