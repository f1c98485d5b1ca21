"""What holds a network near what it was: anchors of its weights, and a teacher of its answers."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from recollect.learners import devices
from recollect.learners.base import State
from recollect.learners.optimisers import like


class Anchor:
    """The values that weights had, and how much each of them mattered."""

    def __init__(self, weights: Sequence[Tensor]) -> None:
        self.weights = weights
        self.importance: list[Tensor] = []
        self.values: list[Tensor] = []
        self._way: list[Tensor] = []
        self._made_of: list[tuple[float, int, int]] = []
        self._kept: list[Tensor] = []

    def __bool__(self) -> bool:
        return bool(self.importance)

    @property
    def stored_bytes(self) -> int:
        """Bytes of values and importance."""
        return sum(tensor.numel() * tensor.element_size() for tensor in (*self.importance, *self.values))

    def nothing(self) -> list[Tensor]:
        """Zeros, to add the importance of samples to."""
        return [torch.zeros_like(weight, requires_grad=False) for weight in self.weights]

    def move(self, importance: list[Tensor], decay: float) -> None:
        """To the weights of now; to the new importance comes a share of the old."""
        if self.importance:
            torch._foreach_add_(importance, self.importance, alpha=decay)
        self.importance, self.values = importance, [weight.detach().clone() for weight in self.weights]

    def penalty(self) -> Tensor:
        """The sum over all weights of importance * (weight - anchor)^2."""
        held = zip(self.importance, self.weights, self.values, strict=True)
        return torch.stack([(part * (weight - value).square()).sum() for part, weight, value in held]).sum()

    def pull(self, strength: float) -> None:
        """Move the weights as an implicit step on strength / 2 * penalty does.

        It is the proximal map, exact for a quadratic, so that no strength makes the training diverge.
        """
        with torch.no_grad():
            way = torch._foreach_sub(self.values, list(self.weights))
            torch._foreach_mul_(way, self._shares(strength))
            torch._foreach_add_(list(self.weights), way)

    def _shares(self, strength: float) -> list[Tensor]:
        """How much of the way to the anchor each weight goes; kept while strength and importance are what they were."""
        made_of = [(strength, id(part), part._version) for part in self.importance]
        if self._made_of != made_of:
            self._way = [part / (1 + part) for part in torch._foreach_mul(self.importance, strength)]
            self._made_of, self._kept = made_of, self.importance  # an id is one tensor's while it is kept
        return self._way

    def state(self) -> State:
        """Importance and values, copied."""
        return {
            "importance": [devices.to_array(tensor) for tensor in self.importance],
            "anchor": [devices.to_array(tensor) for tensor in self.values],
        }

    def restore(self, state: State) -> None:
        """Become the anchor whose state this is, among other things."""
        self.importance = like(self.weights, state["importance"])
        self.values = like(self.weights, state["anchor"])


class Teacher:
    """A network as it was at some moment; none at first."""

    def __init__(self) -> None:
        self.network: nn.Module | None = None

    def become(self, network: nn.Module) -> None:
        """A copy of the network as it is now."""
        self.network = copy.deepcopy(network).eval().requires_grad_(False)

    @property
    def stored_bytes(self) -> int:
        """Bytes of its weights and buffers."""
        tensors = [] if self.network is None else self.network.state_dict().values()
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)

    def state(self) -> State | None:
        """Its weights, if there is one."""
        return None if self.network is None else devices.weights(self.network)

    def restore(self, state: State | None, like: nn.Module) -> None:
        """Become the teacher whose state this is, of a network like this one."""
        self.network = None
        if state is not None:
            self.become(like)
            assert self.network is not None
            devices.set_weights(self.network, state)
