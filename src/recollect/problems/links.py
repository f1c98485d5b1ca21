"""Links: is it one, is it trusted, does it hold? One score per sample; a task's test set is ranked as a whole."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.problems.base import Focus, Problem, no_classes, titles
from recollect.problems.ranking import Ranking
from recollect.problems.scoring import Answer, Scoring
from recollect.problems.targets import Target

if TYPE_CHECKING:
    from recollect.streams.stream import Stream


def hits(labels: NDArray[np.int64], scores: NDArray[np.float64], k: int) -> float:
    """The share of the true samples that score above the k-th best false one; NaN with fewer than k false ones.

    >>> labels, scores = np.array([1, 1, 0, 0, 0]), np.array([0.9, 0.3, 0.8, 0.2, 0.1])
    >>> hits(labels, scores, 1), hits(labels, scores, 2), hits(labels, scores, 4)
    (0.5, 1.0, nan)
    """
    true, false = scores[labels == 1], scores[labels == 0]
    if not len(true) or len(false) < k:
        return math.nan
    return float(np.mean(true > np.partition(false, -k)[-k]))


def mrr(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """The mean of 1 / rank of each true sample among all false ones; a tie is half a place.

    >>> mrr(np.array([1, 1, 0, 0]), np.array([0.9, 0.3, 0.8, 0.3]))
    0.7
    """
    true, false = scores[labels == 1], np.sort(scores[labels == 0])
    if not len(true) or not len(false):
        return math.nan
    above = len(false) - np.searchsorted(false, true, side="right")
    level = np.searchsorted(false, true, side="right") - np.searchsorted(false, true, side="left")
    return float(np.mean(1 / (1 + above + level / 2)))


class Verdicts(Answer):
    """What a learner says to one task's test set."""

    def why_none(self, target: Target) -> str | None:
        """True samples are told from false ones."""
        if not len(self.labels):
            return "it has no test samples"
        only = "true" if self.labels[0] == 1 else "false"
        return f"all its test samples are {only}" if len(np.unique(self.labels)) < 2 else None


class Judging(Scoring):
    """The examiner of links: every target of a task's test set at once."""

    answer = Verdicts

    def __init__(self, stream: Stream, target: Target) -> None:
        super().__init__(stream, target)
        self._refuse_few()

    def _refuse_few(self) -> None:
        k = int(self.target.name.partition("@")[2] or 0)
        for task in self.stream.tasks if k else ():
            false = int(np.count_nonzero(self.stream.data.y_test[task.test] == 0))
            if false < k:
                raise UsageError(
                    f"{self.target.label} needs {k} false links in every test set, and {task.name} of"
                    f" {self.stream.name} has {false}. Draw more negatives, use fewer tasks, or another target."
                )


def _hits(k: int) -> Target:
    few = f"there are fewer than {k} false samples, or no true one"
    return Target(f"hits@{k}", f"hits@{k}", partial(hits, k=k), unit="fraction", undefined=few)


LINKS = Problem(
    name="links",
    asks="whether each sample holds, as one score",
    scenarios=("time-incremental", "domain-incremental", "task-incremental"),
    targets=(
        Target("roc_auc", "ROC-AUC", Ranking.roc_auc, takes="ranking", unit="fraction"),
        Target("average_precision", "average precision", Ranking.average_precision, takes="ranking", unit="fraction"),
        *map(_hits, (20, 50, 100)),
        Target("mrr", "MRR", mrr, unit="fraction"),
    ),
    examiner="recollect.problems.links:Judging",
    objective="recollect.learners.objectives:Verdict",
    per_class=False,
    focus=Focus(titles=titles("AP")),
    not_shown=no_classes("an answer is one score, not one of several classes"),
)
