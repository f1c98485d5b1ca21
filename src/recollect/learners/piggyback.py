"""Piggyback: the weights stay as they were made, and each task learns which of them it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from recollect.learners import devices
from recollect.learners.base import Setting, State
from recollect.learners.finetune import by_loss_on, make_optimiser
from recollect.learners.masked import MaskedLearner
from recollect.learners.optimisers import clip, like
from recollect.learners.options import Masking
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class Piggyback(MaskedLearner):
    """A number for each shared weight decides whether a task takes it: those above the threshold are taken.

    The gradient of such a number is that of the weight as it was taken, times the weight. Every task begins with all
    weights taken and with its own parts as they were made, so that no task depends on another.
    """

    Options = Masking
    options: Masking

    def __init__(self, options: Masking, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.backbone = devices.weights(self.network)
        self.fixed = {name: weight.detach().clone() for name, weight in self.shared.items()}
        self.masks: dict[int, dict[str, NDArray[np.uint8]]] = {}
        own = [w for name, w in self.network.named_parameters() if w.requires_grad and name not in self.shared]
        self.numbers = nn.ParameterList([torch.full_like(w, options.start) for w in self.fixed.values()])
        self.optimiser = make_optimiser(options, nn.ParameterList(own))
        self.mask_optimiser = make_optimiser(replace(options, lr=options.mask_lr), self.numbers)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the weights as they were made, of the numbers, of the masks and of what tasks have of their own."""
        kept = [*self.backbone.values(), *(bits for masks in self.masks.values() for bits in masks.values())]
        numbers = sum(4 * fixed.numel() for fixed in self.fixed.values())
        found: int = super().stored_bytes + sum(array.nbytes for array in kept) + numbers
        return found

    @by_loss_on
    def train_on(self, batch: Batch) -> None:
        if self.begin(batch.task):
            self._start()
        super().train_on(batch)

    def step(self, loss: Tensor) -> None:
        """A step of the numbers and of the task's own weights; then the weights are taken anew."""
        weights = [*self.shared.values(), *self.optimiser.parameters]
        gradients = list(torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True))
        if self.options.clip is not None:
            clip(gradients, self.options.clip)
        count = len(self.shared)
        self.mask_optimiser.apply(torch._foreach_mul(gradients[:count], list(self.fixed.values())))
        self.optimiser.apply(gradients[count:])
        self._take()

    def _start(self) -> None:
        devices.set_weights(self.network, self.backbone)
        with torch.no_grad():
            for number in self.numbers:
                number.fill_(self.options.start)
        self.optimiser.forget()
        self.mask_optimiser.forget()
        self._take()

    def _take(self) -> None:
        with torch.no_grad():
            for weight, fixed, number in zip(self.shared.values(), self.fixed.values(), self.numbers, strict=True):
                weight.copy_(fixed * (number > self.options.threshold))

    def end_task(self) -> None:
        """Keep which weights the task takes, one bit for each."""
        super().end_task()
        if self.present is not None:
            taken = {name: (weight != 0) | (self.fixed[name] == 0) for name, weight in self.shared.items()}
            self.masks[self.present] = {name: np.packbits(mask.cpu().numpy()) for name, mask in taken.items()}
            self.close()

    def masked(self, task: int) -> dict[str, Tensor]:
        """The weights that the task takes."""
        found = {}
        for name, fixed in self.fixed.items():
            bits = np.unpackbits(self.masks[task][name], count=fixed.numel()).reshape(tuple(fixed.shape))
            found[name] = fixed * torch.from_numpy(bits).to(fixed)
        return found

    def state(self) -> State:
        """Weights, optimisers, generators, numbers, masks, and what tasks have of their own."""
        return {
            **super().state(),
            "backbone": {name: array.copy() for name, array in self.backbone.items()},
            "numbers": [devices.to_array(number) for number in self.numbers],
            "mask_optimiser": self.mask_optimiser.state(),
            "masks": [{"task": task, "bits": dict(bits)} for task, bits in self.masks.items()],
        }

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.backbone = {name: np.array(array) for name, array in state["backbone"].items()}
        fixed = like(list(self.fixed.values()), [self.backbone[name] for name in self.fixed])
        self.fixed = dict(zip(self.fixed, fixed, strict=True))
        with torch.no_grad():
            for number, array in zip(self.numbers, state["numbers"], strict=True):
                number.copy_(torch.from_numpy(np.array(array)))
        self.mask_optimiser.restore(state["mask_optimiser"])
        self.masks = {int(one["task"]): dict(one["bits"]) for one in state["masks"]}
