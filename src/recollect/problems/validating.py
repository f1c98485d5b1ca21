"""How well a learner answers the validation samples of the task that it learns: what weights are chosen by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recollect.problems.base import Answers

if TYPE_CHECKING:
    from recollect.streams.stream import Stream


def validation_accuracy(learner: Answers, stream: Stream, task: int) -> float:
    """The share of right answers among the classes of tasks up to this one, or its own where the task is told.

    A learner whose scores are no numbers is worse than any.
    """
    x, y = stream.valid[task]
    given = np.full(len(x), task) if stream.gives_task else None
    asked = stream.tasks[task : task + 1] if stream.gives_task else stream.tasks[: task + 1]
    classes = np.array(sorted({label for one in asked for label in one.classes}))
    scores = np.asarray(learner.score(x, given))[:, classes]
    if not np.isfinite(scores).all():
        return -math.inf
    return float(np.mean(classes[scores.argmax(1)] == y))
