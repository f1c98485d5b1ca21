"""PackNet: each task keeps the largest of the weights that are free, and those are never changed again."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from recollect.learners.base import Setting, State
from recollect.learners.buffers import Everything
from recollect.learners.finetune import by_loss_on
from recollect.learners.masked import MaskedLearner
from recollect.learners.optimisers import like
from recollect.learners.options import Packing
from recollect.learners.randomness import sub_seed
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch

FREE = -1


class PackNet(MaskedLearner):
    """Trains all weights that are free; when a task ends it keeps the largest of them, frees the rest, and retrains.

    `owner` says of each shared weight which task keeps it. A task sees its own weights and those of earlier tasks.
    """

    Options = Packing
    options: Packing

    def __init__(self, options: Packing, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        shapes = {name: weight.shape for name, weight in self.shared.items()}
        self.owner = {
            name: torch.full(shape, FREE, dtype=torch.int16).to(self.device) for name, shape in shapes.items()
        }
        self.recent = Everything()
        self._trains = FREE
        self._size = 1

    @property
    def stored_samples(self) -> int:
        """Samples of the present task, kept until it is retrained."""
        return len(self.recent)

    @property
    def stored_bytes(self) -> int:
        """Bytes of those samples, of the owners, and of what tasks have of their own."""
        owners = sum(owner.numel() * owner.element_size() for owner in self.owner.values())
        return super().stored_bytes + owners + self.recent.stored_bytes

    @by_loss_on
    def train_on(self, batch: Batch) -> None:
        if self.begin(batch.task):
            self._size = len(batch.y)
        super().train_on(batch)
        if not batch.repeat:
            self.recent.add(batch.x, batch.y)

    def step(self, loss: Tensor) -> None:
        """A step of those weights that may change; whatever an optimiser does, the others are as before."""
        before = {name: weight.detach().clone() for name, weight in self.shared.items()}
        super().step(loss)
        with torch.no_grad():
            for name, weight in self.shared.items():
                weight.copy_(torch.where(self.owner[name] == self._trains, weight, before[name]))

    def end_task(self) -> None:
        """Keep the largest free weights, set the others to zero, and train what was kept once more."""
        super().end_task()
        if self.present is None:
            return
        self._prune(self.present)
        with nullcontext() if self._random is None else self._random, self.precision():
            self._retrain(self.present)
        super().end_task()
        self.recent = Everything()
        self.close()

    def _prune(self, task: int) -> None:
        left = max(1, len(self.setting.tasks) - len(self.own))
        share = 1 / left if self.options.keep is None else self.options.keep
        with torch.no_grad():
            for name, weight in self.shared.items():
                owner, flat = self.owner[name].view(-1), weight.detach().reshape(-1)
                free = torch.nonzero(owner == FREE)[:, 0]
                order = free[torch.argsort(flat[free].abs(), descending=True, stable=True)]
                owner[order[: round(share * len(order))]] = task
                weight.mul_(self.owner[name] != FREE)

    def _retrain(self, task: int) -> None:
        rng = np.random.default_rng(sub_seed(self._seeds.learner, "retrain", task))
        x, y, self._trains = self.recent.x, self.recent.y, task
        for _ in range(self.options.retrain):
            order = rng.permutation(len(y))
            for start in range(0, len(y), self._size):
                places = np.sort(order[start : start + self._size])
                if len(places) == 1 and start:
                    break  # batch norm has nothing to normalise in a lone sample; its turn comes next pass
                self.step(self.loss_on(x[places], y[places]))
        self._trains = FREE

    def masked(self, task: int) -> dict[str, Tensor]:
        """The weights of the task and of those before it."""
        before = list(self.own)
        known = torch.tensor(before[: before.index(task) + 1], dtype=torch.int16, device=self.device)
        return {name: weight.detach() * torch.isin(self.owner[name], known) for name, weight in self.shared.items()}

    def state(self) -> State:
        """Weights, optimiser, generators, owners, what tasks have of their own, samples of the present task."""
        owners = {name: owner.cpu().numpy().copy() for name, owner in self.owner.items()}
        return {**super().state(), "owner": owners, "recent": self.recent.state(), "size": self._size}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        made = like(list(self.owner.values()), [state["owner"][name] for name in self.owner])
        self.owner = dict(zip(self.owner, made, strict=True))
        self.recent = Everything()
        self.recent.restore(state["recent"])
        self._size = int(state["size"])
