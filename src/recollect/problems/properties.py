"""Properties: each task asks whether a sample has one property; a task's test set is ranked as a whole.

A property is a pair of classes, "no" and "yes", so that every learner of classes has a head for each task.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.problems.base import Answers, Problem
from recollect.problems.links import LINKS, Judging
from recollect.problems.scoring import Answer


class Judgement(Judging):
    """The examiner of properties: how much likelier "yes" is than "no", of the property that is asked."""

    def _ask(self, learner: Answers, x: NDArray[np.int64], task: NDArray[np.int64]) -> NDArray[np.float64]:
        scores = np.asarray(learner.score(x, task if self.stream.gives_task else None), np.float64)
        if scores.shape != (len(x), self.stream.n_classes):
            raise UsageError(
                f"A learner's score(x) gives one number for each of {self.stream.n_classes} classes, for {len(x)}"
                f" samples; got the shape {scores.shape}."
            )
        no, yes = np.array([one.classes for one in self.stream.tasks])[task].T
        rows = np.arange(len(x))
        with np.errstate(invalid="ignore"):  # of a learner that diverged: NaN is what is left
            likelier: NDArray[np.float64] = scores[rows, yes] - scores[rows, no]
        return likelier

    def _answer(self, learner: Answers, task: int, labels: NDArray[np.int64], scores: NDArray[np.float64]) -> Answer:
        return super()._answer(learner, task, (labels == self.stream.tasks[task].classes[1]).astype(np.int64), scores)


PROPERTIES = Problem(
    name="properties",
    asks="whether each sample has the property of its task",
    scenarios=("task-incremental",),
    targets=tuple(target for target in LINKS.targets if target.name in ("roc_auc", "average_precision")),
    examiner="recollect.problems.properties:Judgement",
    objective="recollect.learners.objectives:Classes",
    focus=LINKS.focus,
    not_shown={
        "raa": "a ranking has no chance level that follows from a number of classes",
        "split": "a test set is ranked as a whole, so no answer is counted",
        "errors": "a test set is ranked as a whole, so no answer is counted",
    },
)
