"""EWC and LwF for detectors with weights: a network is held near what it was after earlier units."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from recollect.learners.base import Array, Setting, State
from recollect.learners.detection import options as available
from recollect.learners.detection.strategies import Naive
from recollect.learners.detection.torch_detectors import CodedNetwork, NetworkDetector
from recollect.learners.holding import Anchor, Teacher
from recollect.learners.randomness import sub_seed
from recollect.runs.seeds import Seeds


class EWCDetector(Naive):
    """Adds strength / 2 * sum(importance * (weight - anchor)^2) to the loss of every step.

    After a unit the importance of a weight, its squared gradient for single samples, is added up over some samples of
    the unit, and the anchor moves to the weights.
    """

    options: available.AnchoredDetection

    def __init__(
        self, options: available.AnchoredDetection, setting: Setting, seeds: Seeds, device: str = "auto"
    ) -> None:
        super().__init__(options, setting, seeds, device)
        self.detector = network_of(self)
        self.anchor = Anchor(self.detector.optimiser.parameters)

    @property
    def stored_bytes(self) -> int:
        """Bytes of anchor and importance."""
        return self.anchor.stored_bytes

    def _unit(self, rows: Array, concept: int | None) -> None:
        self.detector.update(rows, self.penalty if self.anchor else None)
        self._hold(rows)

    def penalty(self, inputs: Tensor | None = None, outputs: Tensor | None = None) -> Tensor:
        """What leaving the anchor costs."""
        return self.options.strength / 2 * self.anchor.penalty()

    def _hold(self, rows: Array) -> None:
        weights = self.detector.optimiser.parameters
        rng = np.random.default_rng(sub_seed(self._seeds.learner, "sample", self.units))
        chosen = rng.permutation(len(rows))[: self.options.samples]
        found = self.anchor.nothing()
        for sample in self.detector.inputs(rows[chosen]):
            losses, _ = self.detector.network.losses(sample[None], self.detector.noise(1))
            squares = [gradient.square() for gradient in torch.autograd.grad(losses.sum(), weights)]
            torch._foreach_add_(found, squares, alpha=1 / len(chosen))
        self.anchor.move(found, self.options.decay)

    def state(self) -> State:
        """The unit under way, the detector, anchor and importance."""
        return {**super().state(), **self.anchor.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.anchor.weights = self.detector.optimiser.parameters
        self.anchor.restore(state)


class LwFDetector(Naive):
    """Adds strength * the mean squared distance from what the network before the unit gives for the same inputs."""

    options: available.DistilledDetection

    def __init__(
        self, options: available.DistilledDetection, setting: Setting, seeds: Seeds, device: str = "auto"
    ) -> None:
        super().__init__(options, setting, seeds, device)
        self.detector = network_of(self)
        self.teacher = Teacher()

    @property
    def stored_bytes(self) -> int:
        """Bytes of the teacher."""
        return self.teacher.stored_bytes

    def _unit(self, rows: Array, concept: int | None) -> None:
        self.detector.update(rows, None if self.teacher.network is None else self.distance)
        self.teacher.become(self.detector.network)

    def distance(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        """What leaving the teacher's outputs costs; the teacher's codes are their means."""
        assert isinstance(self.teacher.network, CodedNetwork)
        with torch.no_grad():
            wanted = self.teacher.network.losses(inputs)[1]
        return self.options.strength * F.mse_loss(outputs, wanted)

    def state(self) -> State:
        """The unit under way, the detector, the teacher."""
        return {**super().state(), "teacher": self.teacher.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.teacher.restore(state["teacher"], self.detector.network)


def network_of(strategy: Naive) -> NetworkDetector:
    """The network of a strategy that works on its weights."""
    detector = strategy.lazy.detector
    assert isinstance(detector, NetworkDetector)  # the options allow no other
    return detector
