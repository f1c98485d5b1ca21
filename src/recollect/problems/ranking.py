"""Scores of a ranking, all from one sort: ROC-AUC, average precision, and the best F1 of any threshold."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Ranking:
    """Samples in the order of their scores, the highest first; equal scores are one step.

    `positives` and `negatives` count the labels 1 and 0 at or above each step, or add up their `weights`. Counts are
    whole numbers, so the values are those of the definitions up to one rounding.

    >>> ranking = Ranking(np.array([0, 1, 0, 1]), np.array([0.1, 0.4, 0.35, 0.8]))
    >>> ranking.roc_auc(), ranking.average_precision(), ranking.best_f1()
    (1.0, 1.0, 1.0)
    """

    def __init__(self, labels: NDArray[Any], scores: NDArray[Any], weights: NDArray[Any] | None = None) -> None:
        self._labels = np.asarray(labels)
        self._scores = np.asarray(scores)
        self._weights = weights

    @cached_property
    def _steps(self) -> tuple[NDArray[Any], NDArray[Any]]:
        order = np.argsort(-self._scores, kind="stable")
        scores, hits = self._scores[order], self._labels[order] == 1
        last = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
        if self._weights is not None:
            weights = self._weights[order]
            return np.cumsum(np.where(hits, weights, 0.0))[last], np.cumsum(np.where(hits, 0.0, weights))[last]
        positives = np.cumsum(hits, dtype=np.int64)[last]
        return positives, last + 1 - positives

    @property
    def positives(self) -> NDArray[Any]:
        """How many samples with the label 1 are at or above each step."""
        return self._steps[0]

    @property
    def negatives(self) -> NDArray[Any]:
        """How many samples with the label 0 are at or above each step."""
        return self._steps[1]

    def roc_auc(self) -> float:
        """The part of all pairs (positive, negative) in which the positive is higher; a tie is half a pair."""
        P, N = self.positives[-1].item(), self.negatives[-1].item()
        before = np.concatenate(([0], self.positives[:-1]))
        new = np.diff(self.negatives, prepend=0)
        return float((new * (self.positives + before)).sum() / 2 / (P * N)) if P and N else float("nan")

    def average_precision(self) -> float:
        """The mean precision over the positives, each at the step where it is found."""
        P = self.positives[-1].item()
        found = np.diff(self.positives, prepend=0)
        return float((found * (self.positives / (self.positives + self.negatives))).sum() / P) if P else float("nan")

    def best_f1(self) -> float:
        """The highest F1 that any threshold reaches: it knows the labels, so no detector that sets one can."""
        P = self.positives[-1].item()
        return float((2 * self.positives / (self.positives + self.negatives + P)).max()) if P else float("nan")
