"""DER++ and A-GEM for detectors with weights: a memory of earlier rows is in every step."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from recollect.learners.base import Array, Setting, State
from recollect.learners.buffers import Balanced, Reservoir
from recollect.learners.detection import options as available
from recollect.learners.detection.memories import Chosen, memory_of
from recollect.learners.detection.regularised import network_of
from recollect.learners.detection.strategies import Naive
from recollect.learners.gem import flat_gradient, shaped_like, turned
from recollect.runs.seeds import Seeds


class Rehearsed(Naive):
    """A network with a memory of earlier units, from which a batch is drawn in every step."""

    options: available.RehearsedDetection
    memory: Reservoir | Balanced | Chosen

    def __init__(
        self, options: available.RehearsedDetection, setting: Setting, seeds: Seeds, device: str = "auto"
    ) -> None:
        super().__init__(options, setting, seeds, device)
        self.detector = network_of(self)
        self.memory = memory_of(options.keep, options.memory, seeds.learner)

    def _unit(self, rows: Array, concept: int | None) -> None:
        self._train(rows)
        kept = self._kept(rows)
        self.memory.add(kept, np.full(len(kept), self.units if concept is None else concept))

    def _train(self, rows: Array) -> None:
        raise NotImplementedError

    def _kept(self, rows: Array) -> Array:
        """What the memory keeps of rows."""
        return rows

    def _drawn(self) -> Array:
        """A batch of the memory, with places that may come twice."""
        count = min(self.detector.options.batch, len(self.memory))
        places = torch.randint(len(self.memory), (count,), generator=self.detector.generator)
        drawn: Array = self.memory.x[places.numpy()]
        return drawn

    def state(self) -> State:
        """The unit under way, the detector, the memory."""
        return {**super().state(), "memory": self.memory.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.memory.restore(state["memory"])


class DERDetector(Rehearsed):
    """Adds, for a batch of the memory, alpha * the distance from the outputs that its rows had when they were stored,
    and beta * its loss.
    """

    options: available.DarkDetection

    def _train(self, rows: Array) -> None:
        self.detector.update(rows, self.rehearsal if len(self.memory) else None)

    def rehearsal(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        """What the memory adds to the loss of a step."""
        rows, stored = np.split(self._drawn(), 2, axis=1)
        losses, now = self.detector.network.losses(self.detector.inputs(rows), self.detector.noise(len(rows)))
        distance = F.mse_loss(now, self.detector.inputs(stored))
        return self.options.alpha * distance + self.options.beta * losses.mean()

    def _kept(self, rows: Array) -> Array:
        return np.concatenate([rows, self.detector.reconstructed(rows)], axis=1)


class AGEMDetector(Rehearsed):
    """A step that would raise the loss of a batch of the memory is turned until it does not."""

    def _train(self, rows: Array) -> None:
        self.detector.update(rows, step=self.turn if len(self.memory) else None)

    def turn(self, loss: Tensor) -> None:
        """One step along the gradient of the loss, projected if it opposes the memory's."""
        parameters = self.detector.optimiser.parameters
        rows = self._drawn()
        losses, _ = self.detector.network.losses(self.detector.inputs(rows), self.detector.noise(len(rows)))
        earlier = flat_gradient(losses.mean(), parameters)
        own = turned(flat_gradient(loss, parameters), earlier[None])
        self.detector.optimiser.apply(shaped_like(own, parameters))
