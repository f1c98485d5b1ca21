"""GEM: a step that would hurt the memory of any earlier task is turned until it hurts none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recollect.learners import devices
from recollect.learners.base import Setting, State
from recollect.learners.buffers import Reservoir
from recollect.learners.finetune import Finetune
from recollect.learners.options import GradientMemory
from recollect.learners.randomness import sub_seed
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class GEM(Finetune):
    """Gradient episodic memory: one memory for each task, and a step that agrees with the gradients of all of them.

    The step is the nearest to the gradient of the batch that has no negative product with any of those, found from
    the dual problem, which has one unknown for each earlier task.
    """

    options: GradientMemory

    def __init__(self, options: GradientMemory, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.memories = [self._new_memory(0)]

    @property
    def stored_samples(self) -> int:
        """Samples in all memories."""
        return sum(len(memory) for memory in self.memories)

    @property
    def stored_bytes(self) -> int:
        """Bytes of all memories."""
        return sum(memory.stored_bytes for memory in self.memories)

    def _new_memory(self, task: int) -> Reservoir:
        return Reservoir(self.options.memory_per_task, sub_seed(self._seeds.learner, "memory", task))

    def train_on(self, batch: Batch) -> None:
        y = devices.to_tensor(batch.y, self.device)
        for _ in range(self.options.iterations):
            weights = self.optimiser.parameters
            earlier = [
                flat_gradient(self._memory_loss(memory), weights) for memory in self.memories[:-1] if len(memory)
            ]
            own = flat_gradient(self.loss(self.network(self.inputs.training(batch.x)), y), weights)
            if earlier:
                own = turned(own, torch.stack(earlier), self.options.margin)
            self.optimiser.apply(shaped_like(own, weights))
        if not batch.repeat:
            self.memories[-1].add(batch.x, batch.y)

    def _memory_loss(self, memory: Reservoir) -> Tensor:
        y = devices.to_tensor(memory.y, self.device)
        return self.loss(self.network(self.inputs.training(memory.x)), y)

    def end_task(self) -> None:
        """The memory of the task is closed, and the next one opened."""
        super().end_task()
        self.memories.append(self._new_memory(len(self.memories)))

    def state(self) -> State:
        """Weights, optimiser, generators, memories."""
        return {**super().state(), "memories": [memory.state() for memory in self.memories]}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.memories = []
        for task, saved in enumerate(state["memories"]):
            self.memories.append(self._new_memory(task))
            self.memories[-1].restore(saved)


def flat_gradient(loss: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """The gradient of a loss as one vector."""
    parts = torch.autograd.grad(loss, parameters, materialize_grads=True, allow_unused=True)
    return torch.cat([part.reshape(-1) for part in parts])


def shaped_like(flat: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """Such a vector, in the shapes of the parameters."""
    parts = torch.split(flat, [parameter.numel() for parameter in parameters])
    return [part.view_as(parameter) for part, parameter in zip(parts, parameters, strict=True)]


def turned(own: Tensor, earlier: Tensor, margin: float = 0.0) -> Tensor:
    """The gradient nearest to `own` whose product with no row of `earlier` is negative.

    With a margin above 0 it leans towards the rows even where none is violated, as in the authors' code.

    >>> turned(torch.tensor([1.0, 1.0]), torch.tensor([[-1.0, 0.0]]))
    tensor([0., 1.])
    """
    products = (earlier @ own).double().cpu().numpy()
    if (products >= 0).all():
        return own
    gram = (earlier @ earlier.t()).double().cpu().numpy()
    weights = torch.from_numpy(_dual(gram, products, margin)).to(own)
    return own + earlier.t() @ weights


def _dual(gram: NDArray[np.float64], products: NDArray[np.float64], margin: float) -> NDArray[np.float64]:
    """The weights v >= margin with the least v'Kv / 2 + p'v, as non-negative least squares."""
    from scipy.optimize import nnls

    root = np.linalg.cholesky(gram + 1e-9 * max(1e-12, float(np.trace(gram))) * np.eye(len(gram)))
    shifted = np.linalg.solve(root, -(products + gram @ np.full(len(gram), margin)))
    found: NDArray[np.float64] = nnls(root.T, shifted)[0] + margin
    return found
