"""SGD and Adam, one call for all parameters.

torch.optim does the same sums; its first step imports torch's compiler (seconds in every worker process),
and each later one spends more on bookkeeping than a small network on its gradient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from recollect.learners.base import Array, State
from recollect.learners.devices import to_array


class Optimiser:
    """Steps down the gradient of a loss; remembers tensors shaped like the parameters."""

    def __init__(self, network: nn.Module, lr: float, weight_decay: float) -> None:
        self.parameters: list[Tensor] = [p for p in network.parameters() if p.requires_grad]
        self.lr = lr
        self.weight_decay = weight_decay
        self.steps = 0
        self.memory: dict[str, list[Tensor]] = {}

    def step(self, loss: Tensor) -> None:
        """One step down the gradient of the loss."""
        self.apply(torch.autograd.grad(loss, self.parameters, allow_unused=True))

    def apply(self, gradients: Sequence[Tensor | None]) -> None:
        """One step along these gradients; a parameter without one stays."""
        present = [gradient for gradient in gradients if gradient is not None]
        used = None if len(present) == len(gradients) else [g is not None for g in gradients]
        self.steps += 1
        with torch.no_grad():
            parameters = _chosen(self.parameters, used)
            if self.weight_decay:
                present = list(torch._foreach_add(present, parameters, alpha=self.weight_decay))
            self._update(parameters, present, used)

    def _update(self, parameters: list[Tensor], gradients: list[Tensor], used: list[bool] | None) -> None:
        raise NotImplementedError

    def _remembered(self, name: str, used: list[bool] | None) -> list[Tensor]:
        if name not in self.memory:
            self.memory[name] = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]
        return _chosen(self.memory[name], used)

    def forget(self) -> None:
        """Be as new."""
        self.steps, self.memory = 0, {}

    def state(self) -> State:
        """What it remembers."""
        memory = {name: [to_array(tensor) for tensor in held] for name, held in self.memory.items()}
        return {"steps": self.steps, "memory": memory}

    def restore(self, state: State) -> None:
        """Become the optimiser whose state this is."""
        self.steps = int(state["steps"])
        saved: Mapping[str, list[Array]] = state["memory"]
        self.memory = {name: like(self.parameters, arrays) for name, arrays in saved.items()}


class SGD(Optimiser):
    """Stochastic gradient descent with (heavy-ball) momentum, as torch.optim.SGD.

    >>> line = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.ones_(line.weight)
    >>> SGD(line, lr=0.5).step(3 * line.weight.sum())
    >>> line.weight.item()
    -0.5
    """

    def __init__(self, network: nn.Module, lr: float, momentum: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(network, lr, weight_decay)
        self.momentum = momentum

    def _update(self, parameters: list[Tensor], gradients: list[Tensor], used: list[bool] | None) -> None:
        if self.momentum:
            velocity = self._remembered("velocity", used)
            torch._foreach_mul_(velocity, self.momentum)
            torch._foreach_add_(velocity, gradients)
            gradients = velocity
        torch._foreach_add_(parameters, gradients, alpha=-self.lr)


class Adam(Optimiser):
    """Adam with its usual constants, as torch.optim.Adam."""

    def _update(self, parameters: list[Tensor], gradients: list[Tensor], used: list[bool] | None) -> None:
        mean, square = self._remembered("mean", used), self._remembered("square", used)
        torch._foreach_lerp_(mean, gradients, 0.1)
        torch._foreach_mul_(square, 0.999)
        torch._foreach_addcmul_(square, gradients, gradients, 0.001)
        root = torch._foreach_sqrt(square)
        torch._foreach_div_(root, math.sqrt(1 - 0.999**self.steps))
        torch._foreach_add_(root, 1e-8)
        torch._foreach_addcdiv_(parameters, mean, root, -self.lr / (1 - 0.9**self.steps))


def clip(gradients: Sequence[Tensor | None], largest: float) -> None:
    """Shorten the gradients, together, to this norm; shorter ones stay."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(present)))
    torch._foreach_mul_(present, torch.clamp(largest / (norm + 1e-6), max=1.0))


def like(parameters: Sequence[Tensor], arrays: Sequence[Array]) -> list[Tensor]:
    """The arrays as tensors with the parameters' device and memory layout."""
    return [
        torch.empty_like(parameter, requires_grad=False).copy_(torch.from_numpy(np.array(array)))
        for parameter, array in zip(parameters, arrays, strict=False)
    ]


def _chosen(tensors: list[Tensor], used: list[bool] | None) -> list[Tensor]:
    return tensors if used is None else [tensor for tensor, is_used in zip(tensors, used, strict=True) if is_used]
