"""One evaluation: a task's whole test set at a time, scored by every target at once.

Some detectors (PyOD's ECOD and COPOD) score a sample against the batch that it comes in, so the batch is part of
the protocol: one concept's test samples in the data set's own order, as pyCLAD has it. Samples that are ids in a graph
are asked in one pass over what may be seen, all tasks mixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.problems.base import Answers, Flags, Moment
from recollect.problems.divergence import has_broken_weights
from recollect.problems.ranking import Ranking
from recollect.problems.targets import Target
from recollect.runs.run import Plan, Row

if TYPE_CHECKING:
    from recollect.streams.stream import Stream

_NOT_LEARNED = "the learner gives no score for it yet"


@dataclass(frozen=True, eq=False)
class Answer:
    """What a learner says to one task's test set; `scores` and `alarms` are None where it says nothing."""

    labels: NDArray[Any]
    scores: NDArray[np.float64] | None
    alarms: NDArray[np.bool_] | None
    reason: str | None = None
    weights: NDArray[np.float64] | None = None

    def value(self, target: Target) -> tuple[float, str | None]:
        """The target's value, or NaN with the reason."""
        if self.scores is None:
            return math.nan, self.reason
        why = self.why_none(target)
        return target(*self._given(target.takes)) if why is None else (math.nan, why)

    def why_none(self, target: Target) -> str | None:
        """Why the target has no value of these labels and scores."""
        return None

    @cached_property
    def _ranking(self) -> Ranking:
        assert self.scores is not None
        return Ranking(self.labels, self.scores, self.weights)

    def _given(self, takes: str) -> tuple[Any, ...]:
        """What a target takes."""
        given: dict[str, tuple[Any, ...]] = {
            "alarms": (self.labels, self.alarms, *(() if self.weights is None else (self.weights,))),
            "both": (self.labels, self.scores, self.alarms),
        }
        return (self._ranking,) if takes == "ranking" else given.get(takes, (self.labels, self.scores))


@dataclass(frozen=True, eq=False)
class Scoring:
    """The examiner of a stream. The record has the target's scores, and the others' beside them."""

    stream: Stream
    target: Target
    answer: ClassVar[type[Answer]] = Answer

    def row(self, learner: Answers, moment: Moment, plan: Plan, batch: int | None) -> Row:
        """Evaluate the learner on every task, or on those seen so far; a task is one batch."""
        T = len(self.stream.tasks)
        every = (plan.columns == "all" or moment.current < 0) and self.stream.asks_future
        last = T if every else moment.current + 1
        answers = self._answers(learner, last, plan.subsample)
        row = Row(moment.after, step=moment.step, task_end=moment.task_end)
        if not answers:
            return replace(row, reason="nothing can be seen yet")
        if all(answer.reason == _NOT_LEARNED for answer in answers):
            return replace(row, reason="the learner has learned nothing yet")
        values = {target.name: self._values(target, answers) for target in self.targets}
        return replace(
            row,
            scores={name: scores for name, (scores, _) in values.items()},
            reasons={name: reasons for name, (_, reasons) in values.items() if reasons},
        )

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The target that learners are scored by, and those that are recorded beside it."""
        from recollect.problems import problem_of

        known = problem_of(self.stream.problem).targets
        return self.target, *(other for other in known if other.beside and other.name != self.target.name)

    def _values(self, target: Target, answers: list[Answer]) -> tuple[tuple[float | None, ...], dict[str, str]]:
        values: list[float | None] = []
        reasons = {}
        for task, answer in zip(self.stream.tasks, answers, strict=False):
            value, reason = answer.value(target)
            values.append(None if math.isnan(value) else value)
            if reason is not None:
                reasons[task.name] = reason
        return (*values, *[None] * (len(self.stream.tasks) - len(values))), reasons

    def _answers(self, learner: Answers, last: int, subsample: int | None) -> list[Answer]:
        if self.stream.views is None:
            parts = [self.stream.test_of(task, subsample) for task in range(last)]
            said = [self._ask(learner, x, np.full(len(x), task)) for task, (x, _) in enumerate(parts)]
            return [self._answer(learner, task, y, said[task]) for task, (_, y) in enumerate(parts)]
        everything = max(1, sum(len(task.test) for task in self.stream.tasks))
        for given in self.stream.test_batches(everything, tasks=range(last), subsample=subsample):
            scores = self._ask(learner, given.x, given.task)
            own = [given.task == task for task in range(last)]
            return [self._answer(learner, task, given.y[mine], scores[mine]) for task, mine in enumerate(own)]
        return []

    def _ask(self, learner: Answers, x: NDArray[Any], task: NDArray[np.int64]) -> NDArray[np.float64]:
        """One number for each sample."""
        return scores_of(learner, x, task if self.stream.gives_task else None)

    def _answer(self, learner: Answers, task: int, labels: NDArray[Any], scores: NDArray[np.float64]) -> Answer:
        unknown = int(np.count_nonzero(~np.isfinite(scores)))
        if unknown:
            if np.isnan(scores).all() and not has_broken_weights(learner):
                return self.answer(labels, None, None, _NOT_LEARNED)
            return self.answer(labels, None, None, _diverged(unknown, len(scores)))
        given = np.full(len(scores), task) if self.stream.gives_task else None
        return self.answer(labels, scores, alarms_of(learner, scores, given))


def scores_of(learner: Answers, x: Any, task: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """The learner's scores of samples, one number each."""
    scores = np.asarray(learner.score(x, task), np.float64)
    if scores.shape != (len(x),):
        raise UsageError(
            f"A learner's score(x) gives one number per sample, here {len(x)}; got the shape {scores.shape}."
        )
    return scores


def alarms_of(
    learner: Answers, scores: NDArray[np.float64], task: NDArray[np.int64] | None
) -> NDArray[np.bool_] | None:
    """Which scores are alarms, if the learner says so."""
    if not isinstance(learner, Flags):
        return None
    alarms = np.asarray(learner.flagged(scores, task))
    if alarms.shape != scores.shape:
        raise UsageError(
            f"A learner's flagged(scores) says of each of {len(scores)} scores whether it is an alarm; got the shape"
            f" {alarms.shape}."
        )
    return alarms.astype(bool)


def _diverged(unknown: int, n: int) -> str:
    return f"{unknown} of {n} scores are NaN or infinite: the learner diverged"
