"""One detector a concept: the multiple single-task experts of concept-aware streams."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.learners.base import Array, Setting, State
from recollect.learners.detection import options as available
from recollect.learners.detection.detectors import Floats
from recollect.learners.detection.lazy import Lazy
from recollect.learners.detection.rows import as_rows
from recollect.learners.detection.strategies import Strategy, Tasks
from recollect.runs.seeds import Seeds


class Experts(Strategy):
    """Each concept has a naive detector of its own, which alone answers for it.

    A concept that comes again makes its expert anew from the newest visit, or updates it if it can be.
    """

    options: available.Experts

    def __init__(self, options: available.Experts, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        if not setting.gives_task:
            raise UsageError(
                "The learner 'experts' asks the expert of each sample's concept, and this scenario does not tell the"
                " concept. Use a concept-aware stream, or a strategy with one detector: naive, replay, cumulative."
            )
        self.experts: dict[int, Lazy] = {}
        self.newest: int | None = None
        self._spare: Lazy | None = self._new_lazy()  # made now, so that a wrong parameter is told now

    @property
    def notes(self) -> tuple[str, ...]:
        """What the detectors had to do otherwise than they were told."""
        return tuple(dict.fromkeys(note for expert in self.experts.values() for note in expert.detector.notes))

    @property
    def stored_samples(self) -> int:
        """Samples from which the experts can be made again; none where they are updated."""
        return sum(len(expert.kept) for expert in self.experts.values() if expert.kept is not None)

    @property
    def stored_bytes(self) -> int:
        """Bytes of those samples, and of the weights of all experts but one."""
        experts = list(self.experts.values())
        kept = sum(expert.kept.nbytes for expert in experts if expert.kept is not None)
        return kept + sum(expert.detector.stored_bytes for expert in experts[1:])

    def _unit(self, rows: Array, concept: int | None) -> None:
        if concept is None:
            raise UsageError("The learner 'experts' was given a batch without its concept; it needs batch.task.")
        if concept not in self.experts:
            self.experts[concept] = self._new_expert()
        self.experts[concept].take(rows)
        self.newest = concept

    def _new_expert(self) -> Lazy:
        expert, self._spare = self._spare or self._new_lazy(), None
        return expert

    def settle(self) -> None:
        """Do the fitting that was put off."""
        for expert in self.experts.values():
            expert.settle()

    def score(self, x: Array, task: Tasks | None = None) -> Floats:
        """The scores of the concept's expert; of a concept without one what `unknown` says."""
        rows = as_rows(x, self.setting.n_features)
        scores = np.full(len(rows), np.nan)
        if self.experts:
            for concept, those in _concepts(len(rows), task):
                expert = self._expert_of(concept)
                scores[those] = self._nothing_known if expert is None else expert.score(rows[those])
        return scores

    def flagged(self, scores: Floats, task: Tasks | None = None) -> NDArray[np.bool_]:
        """Which scores lie above their expert's threshold; none where there is no expert."""
        alarms = np.zeros(len(scores), bool)
        for concept, those in _concepts(len(scores), task):
            expert = self._expert_of(concept)
            if expert is not None:
                alarms[those] = scores[those] > expert.threshold
        return alarms

    @property
    def _nothing_known(self) -> float:
        return 0.0 if self.options.unknown == "constant" else np.nan

    def _expert_of(self, concept: int) -> Lazy | None:
        if concept in self.experts or self.options.unknown != "newest" or self.newest is None:
            return self.experts.get(concept)
        return self.experts[self.newest]

    def state(self) -> State:
        """The unit under way, and the experts in the order of their concepts' first visits."""
        experts = [[concept, expert.state()] for concept, expert in self.experts.items()]
        return {**super().state(), "experts": experts, "newest": self.newest}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.newest = state["newest"]
        self.experts = {}
        for concept, saved in state["experts"]:
            self.experts[int(concept)] = expert = self._new_lazy()
            expert.restore(saved)


def _concepts(count: int, task: Tasks | None) -> list[tuple[int, NDArray[np.int64]]]:
    """Each concept among the samples, and which samples are of it."""
    if task is None or len(task) != count:
        raise UsageError(
            "The learner 'experts' is told the concept of every sample it scores: score(x, task) with one whole number"
            f" a sample; got {'none' if task is None else len(task)} for {count} samples."
        )
    return [(int(concept), np.flatnonzero(task == concept)) for concept in np.unique(task)]
