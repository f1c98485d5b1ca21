"""EWC and LwF for detectors with weights: a network is held near what it was after earlier units."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from recollect.learners import devices
from recollect.learners.base import Array, Setting, State
from recollect.learners.detection import options as available
from recollect.learners.detection.strategies import Naive
from recollect.learners.detection.torch_detectors import CodedNetwork, NetworkDetector
from recollect.learners.optimisers import like
from recollect.learners.randomness import sub_seed
from recollect.runs.seeds import Seeds


class EWCDetector(Naive):
    """Adds strength / 2 * sum(importance * (weight - anchor)^2) to the loss of every step.

    After a unit the importance of a weight, its squared gradient for single samples, is added up over some samples of
    the unit, and the anchor moves to the weights.
    """

    def __init__(
        self, options: available.AnchoredDetection, setting: Setting, seeds: Seeds, device: str = "auto"
    ) -> None:
        super().__init__(options, setting, seeds, device)
        self.options = options
        self.detector = _network_of(self)
        self.importance: list[Tensor] = []
        self.anchor: list[Tensor] = []

    @property
    def stored_bytes(self) -> int:
        """Bytes of anchor and importance."""
        return sum(held.numel() * held.element_size() for held in (*self.importance, *self.anchor))

    def _unit(self, rows: Array, concept: int | None) -> None:
        self.detector.update(rows, self.penalty if self.importance else None)
        self._hold(rows)

    def penalty(self, inputs: Tensor | None = None, outputs: Tensor | None = None) -> Tensor:
        """What leaving the anchor costs."""
        terms = [
            (importance * (weight - anchor).square()).sum()
            for importance, weight, anchor in zip(
                self.importance, self.detector.optimiser.parameters, self.anchor, strict=True
            )
        ]
        return self.options.strength / 2 * torch.stack(terms).sum()

    def _hold(self, rows: Array) -> None:
        weights = self.detector.optimiser.parameters
        rng = np.random.default_rng(sub_seed(self._seeds.learner, "sample", self.units))
        chosen = rng.permutation(len(rows))[: self.options.samples]
        found = [torch.zeros_like(weight, requires_grad=False) for weight in weights]
        for sample in self.detector.inputs(rows[chosen]):
            losses, _ = self.detector.network.losses(sample[None], self.detector.noise(1))
            squares = [gradient.square() for gradient in torch.autograd.grad(losses.sum(), weights)]
            torch._foreach_add_(found, squares, alpha=1 / len(chosen))
        if self.importance:
            torch._foreach_add_(found, self.importance, alpha=self.options.decay)
        self.importance, self.anchor = found, [weight.detach().clone() for weight in weights]

    def state(self) -> State:
        """The unit under way, the detector, anchor and importance."""
        return {
            **super().state(),
            "importance": [devices.to_array(tensor) for tensor in self.importance],
            "anchor": [devices.to_array(tensor) for tensor in self.anchor],
        }

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        weights = self.detector.optimiser.parameters
        self.importance, self.anchor = like(weights, state["importance"]), like(weights, state["anchor"])


class LwFDetector(Naive):
    """Adds strength * the mean squared distance from what the network before the unit gives for the same inputs."""

    def __init__(
        self, options: available.DistilledDetection, setting: Setting, seeds: Seeds, device: str = "auto"
    ) -> None:
        super().__init__(options, setting, seeds, device)
        self.options = options
        self.detector = _network_of(self)
        self.teacher: CodedNetwork | None = None

    @property
    def stored_bytes(self) -> int:
        """Bytes of the teacher."""
        return 0 if self.teacher is None else self.detector.stored_bytes

    def _unit(self, rows: Array, concept: int | None) -> None:
        self.detector.update(rows, None if self.teacher is None else self.distance)
        self._teach()

    def distance(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        """What leaving the teacher's outputs costs; the teacher's codes are their means."""
        assert self.teacher is not None
        with torch.no_grad():
            wanted = self.teacher.losses(inputs)[1]
        return self.options.strength * F.mse_loss(outputs, wanted)

    def _teach(self) -> None:
        self.teacher = copy.deepcopy(self.detector.network).requires_grad_(False)

    def state(self) -> State:
        """The unit under way, the detector, the teacher."""
        return {**super().state(), "teacher": None if self.teacher is None else devices.weights(self.teacher)}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.teacher = None
        if state["teacher"] is not None:
            self._teach()
            assert self.teacher is not None
            devices.set_weights(self.teacher, state["teacher"])


def _network_of(strategy: Naive) -> NetworkDetector:
    detector = strategy.lazy.detector
    assert isinstance(detector, NetworkDetector)  # the options allow no other
    return detector
