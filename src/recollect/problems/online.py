"""Test, then train: a detector's scores of samples before it learns them, over windows of the stream."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.problems.base import Answers
from recollect.problems.scoring import Answer, Scoring, alarms_of, scores_of
from recollect.problems.targets import Target
from recollect.runs.run import Online, Plan

if TYPE_CHECKING:
    from recollect.streams.stream import Batch, Stream

# A sample that weighs less than this part of the newest one is left out of fading scores, so that they need little.
LEAST_WEIGHT = 0.01
# A window is looked at so many times while it passes.
LOOKS = 5
_NO_ALARMS = "the learner sets no threshold"
_NOTHING = "the learner has scored none of these samples"


@dataclass(frozen=True, eq=False)
class Detected(Answer):
    """What a detector says to a concept's test set, or to some samples of the stream."""

    where: str = "its test set holds"

    def why_none(self, target: Target) -> str | None:
        """Anomalies are told from normal samples, by scores or by alarms."""
        if len(np.unique(self.labels)) < 2:
            return f"{self.where} {'anomalies' if self.labels.any() else 'normal samples'} only"
        if self.weights is not None and not target.weighted:
            return f"{target.label} takes no weights of samples"
        return _NO_ALARMS if self.alarms is None and target.takes in ("alarms", "both") else None


class Watching(Scoring):
    """The examiner of concept streams, which can score samples before they are learned, too."""

    answer = Detected

    def tracker(self, plan: Plan) -> Watch:
        """Who scores them; UsageError if the training rows hold one class, so that nothing could be told."""
        used = np.concatenate([visit.train for visit in self.stream.parts])
        if len(np.unique(self.stream.data.y_train[used])) < 2:
            raise UsageError(
                f"The plan's online scores samples before they are learned, and the training rows of {self.stream.name}"
                " hold no anomalies to be found. Give the stream `contaminated: true` (training rows keep their"
                " anomalies; `training_share: 0.05` keeps some of them), or leave online out."
            )
        return Watch(self.stream, self.targets, plan)


@dataclass
class Scored:
    """Samples with their labels and what the learner said before learning them."""

    labels: NDArray[np.int64]
    scores: NDArray[np.float64]
    alarms: NDArray[np.bool_]

    @classmethod
    def none(cls) -> Scored:
        """No samples."""
        return cls(np.empty(0, np.int64), np.empty(0), np.empty(0, bool))

    def __len__(self) -> int:
        return len(self.labels)

    def last(self, count: int) -> Scored:
        """The newest of them."""
        low = max(0, len(self) - count)
        return Scored(self.labels[low:], self.scores[low:], self.alarms[low:])

    def then(self, *others: Scored) -> Scored:
        """These and others after them."""
        all_of = (self, *others)
        return Scored(
            np.concatenate([one.labels for one in all_of]),
            np.concatenate([one.scores for one in all_of]),
            np.concatenate([one.alarms for one in all_of]),
        )


class Watch:
    """Scores every batch before it is learned; keeps the newest samples, as many as its windows reach back."""

    def __init__(self, stream: Stream, targets: tuple[Target, ...], plan: Plan) -> None:
        assert plan.online is not None
        self._truth = stream.labels[stream.data.y_train]
        self._gives_task, self._targets, self._window = stream.gives_task, targets, plan.online
        self._factor = plan.fading or 1 - 1 / plan.online
        self._reach = max(self._window, math.ceil(math.log(LEAST_WEIGHT) / math.log(self._factor)))
        self._spacing = max(1, self._window // LOOKS)
        self._recent = Scored.none()
        self._since_row: list[Scored] = []
        self._unscored = self._since_point = 0
        self._has_alarms = True
        self._points: list[tuple[int, dict[str, float | None], dict[str, float | None]]] = []

    def see(self, learner: Answers, batch: Batch) -> None:
        """Score a batch; the second pass over samples is no news."""
        if batch.repeat:
            return
        task = np.full(len(batch.x), batch.task) if self._gives_task and batch.task is not None else None
        scores = scores_of(learner, batch.x, task)
        alarms = alarms_of(learner, scores, task)
        self._has_alarms = alarms is not None
        known = np.isfinite(scores)
        assert batch.index is not None
        truth, flags = self._truth[batch.index], np.zeros(len(scores), bool) if alarms is None else alarms
        new = Scored(truth[known], scores[known], flags[known])
        self._unscored += int(np.count_nonzero(~known))
        self._since_row.append(new)
        self._recent = self._recent.then(new).last(self._reach)
        self._since_point += len(batch.x)
        if self._since_point >= self._spacing:
            self._since_point = 0
            self._points.append((batch.samples_seen, *self._look()))

    def _look(self) -> tuple[dict[str, float | None], dict[str, float | None]]:
        """The scores now, over the window and fading."""
        ages = np.arange(len(self._recent) - 1, -1, -1)
        weights = np.power(self._factor, ages, dtype=np.float64)
        kept = weights >= LEAST_WEIGHT
        faded = self._recent.last(int(kept.sum()))
        return self._values(self._recent.last(self._window))[0], self._values(faded, weights[kept])[0]

    def _values(
        self, samples: Scored, weights: NDArray[np.float64] | None = None
    ) -> tuple[dict[str, float | None], dict[str, str]]:
        """Every target's value over these samples, and the reasons of those that have none."""
        alarms = samples.alarms if self._has_alarms else None
        answer = Detected(samples.labels, samples.scores, alarms, weights=weights, where="these samples hold")
        values: dict[str, float | None] = {}
        reasons = {}
        for target in self._targets:
            value, reason = answer.value(target) if len(samples) else (math.nan, _NOTHING)
            values[target.name] = None if math.isnan(value) else value
            if reason is not None:
                reasons[target.name] = reason
        return values, reasons

    def taken(self) -> Online:
        """The scores since this was asked last."""
        block = Scored.none().then(*self._since_row)
        scores, reasons = self._values(block)
        points, unscored = self._points, self._unscored
        self._points, self._since_row, self._unscored = [], [], 0
        names = [target.name for target in self._targets]
        return Online(
            n=len(block),
            scores=scores if len(block) else {},
            reasons=reasons,
            unscored=unscored,
            steps=tuple(step for step, _, _ in points),
            sliding={name: tuple(sliding[name] for _, sliding, _ in points) for name in names} if points else {},
            fading={name: tuple(fading[name] for _, _, fading in points) for name in names} if points else {},
        )

    def state(self) -> dict[str, Any]:
        """The newest samples, and how long ago the last point was; asked for after a row, when nothing else is left."""
        recent = self._recent
        kept = {"labels": recent.labels.copy(), "scores": recent.scores.copy(), "alarms": recent.alarms.copy()}
        return {**kept, "since_point": self._since_point, "has_alarms": self._has_alarms}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become the one whose state this is."""
        self._recent = Scored(*(np.array(state[name]) for name in ("labels", "scores", "alarms")))
        self._since_point, self._has_alarms = int(state["since_point"]), bool(state["has_alarms"])
