"""What is learned of a stream of concepts, unit by unit, whatever the detector: naive, cumulative, experts, replay.

A unit is a visit to a concept where the scenario tells boundaries, a batch where it does not. A second pass over the
same samples brings nothing new and is left out: a network's passes are the `epochs` of the detector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.learners.base import Array, Keeping, Setting, State
from recollect.learners.buffers import Balanced, Everything, Reservoir
from recollect.learners.detection import options as available
from recollect.learners.detection.detectors import Detector, Floats, make_detector
from recollect.learners.detection.lazy import Lazy
from recollect.learners.detection.memories import Chosen, memory_of
from recollect.learners.detection.rows import as_rows
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch

Tasks = NDArray[np.int64]


class Strategy(Keeping):
    """Makes units of batches. What is done with a unit is said in the classes below."""

    options: available.Detection

    def __init__(self, options: available.Detection, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        self.setting = setting
        self.units = 0
        self.options, self._seeds, self._device = options, seeds, device
        self._collected: list[Array] = []
        self._concept: int | None = None

    @property
    def learns_at_ends(self) -> bool:
        """Whether a unit is a visit, which is learned when it is over."""
        return self.setting.gives_boundaries

    def _new_detector(self) -> Detector:
        chosen = self.options
        return make_detector(chosen.spec, self.setting.n_features, self._seeds, chosen.share, self._device)

    def _new_lazy(self) -> Lazy:
        return Lazy(self._new_detector(), self.options.share, self.options.held_back)

    def learn(self, batch: Batch) -> None:
        """Collect the batch, or take it as a unit where no boundaries are told."""
        if batch.repeat:
            return
        self._collected.append(as_rows(batch.x, self.setting.n_features))
        self._concept = batch.task
        if not self.setting.gives_boundaries:
            self._complete()

    def end_task(self) -> None:
        """The unit is complete."""
        if self.setting.gives_boundaries:
            self._complete()

    def _complete(self) -> None:
        rows = self._collected[0] if len(self._collected) == 1 else _joined(self._collected)
        if rows is None or not len(rows):
            raise UsageError(
                f"Unit {self.units} of the stream (a visit to a concept, or a batch) has no training rows; a detector"
                " learns from at least one. Drop the concept, or give it normal training data."
            )
        self._collected = []
        self._unit(rows, self._concept)
        self.units += 1

    def _unit(self, rows: Array, concept: int | None) -> None:
        raise NotImplementedError

    def state(self) -> State:
        """The unit under way."""
        collected = _joined(self._collected)
        return {"units": self.units, "concept": self._concept, "collected": collected}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        self.units, self._concept = int(state["units"]), state["concept"]
        self._collected = [] if state["collected"] is None else [np.array(state["collected"])]


class Naive(Strategy):
    """One detector, fitted on the newest unit alone, or updated with it if it can be."""

    def __init__(self, options: available.Detection, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.lazy = self._new_lazy()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the detector had to do otherwise than it was told."""
        return tuple(self.lazy.detector.notes)

    def _unit(self, rows: Array, concept: int | None) -> None:
        self.lazy.take(rows)

    def settle(self) -> None:
        """Do the fitting that was put off."""
        self.lazy.settle()

    def score(self, x: Array, task: Tasks | None = None) -> Floats:
        """One number per sample, higher = more anomalous; NaN before anything was learned."""
        return self.lazy.score(as_rows(x, self.setting.n_features))

    def flagged(self, scores: Floats, task: Tasks | None = None) -> NDArray[np.bool_]:
        """Which scores lie above the threshold, which training scores alone have set."""
        return np.asarray(scores > self.lazy.threshold)

    def state(self) -> State:
        """The unit under way, and the detector."""
        return {**super().state(), "lazy": self.lazy.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.lazy.restore(state["lazy"])


class Cumulative(Naive):
    """One detector, fitted from nothing on all data seen so far: the upper bound."""

    memory: Everything

    def __init__(self, options: available.Detection, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.memory = Everything()

    def _unit(self, rows: Array, concept: int | None) -> None:
        self.memory.add(rows, np.full(len(rows), self.units))
        self.lazy.put_off(self.memory.x)

    def state(self) -> State:
        """The unit under way, and the data; the detector is made of them."""
        return {**Strategy.state(self), "data": self.memory.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        Strategy.restore(self, state)
        self.memory.restore(state["data"])
        self.lazy = self._new_lazy()
        if len(self.memory):
            self.lazy.put_off(self.memory.x)


class Replay(Naive):
    """One detector, fitted on (or updated with) a memory of earlier units and the newest unit, in this order."""

    memory: Reservoir | Balanced | Chosen
    options: available.ReplayDetection

    def __init__(
        self, options: available.ReplayDetection, setting: Setting, seeds: Seeds, device: str = "auto"
    ) -> None:
        super().__init__(options, setting, seeds, device)
        self.memory = memory_of(options.keep, options.memory, seeds.learner)

    def _unit(self, rows: Array, concept: int | None) -> None:
        whose = np.full(len(rows), self.units if concept is None else concept)
        if self.options.only:
            self.memory.add(rows, whose)
            self.lazy.take(np.array(self.memory.x))
            return
        self.lazy.take(np.concatenate([self.memory.x, rows]) if len(self.memory) else rows)
        self.memory.add(rows, whose)

    def state(self) -> State:
        """The unit under way, detector and memory."""
        return {**super().state(), "memory": self.memory.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.memory.restore(state["memory"])


def _joined(parts: list[Array]) -> Array | None:
    return np.concatenate(parts) if parts else None
