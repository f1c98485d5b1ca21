"""Answers by the nearest class mean of stored samples, in the features that the network has now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.learners.base import Array, Scores
from recollect.learners.finetune import NetworkLearner
from recollect.learners.prototypes import NEVER


def unit_features(learner: NetworkLearner, x: Array) -> NDArray[np.float64]:
    """The features of samples, each of length 1, in evaluation mode; the network is left in training mode."""
    found = learner.represent(x)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return found / np.where(lengths > 0, lengths, 1)


def by_label(x: Array, y: NDArray[Any]) -> dict[int, Array]:
    """The samples of each label, in their order.

    >>> by_label(np.array([5, 6, 7]), np.array([1, 0, 1]))
    {0: array([6]), 1: array([5, 7])}
    """
    return {int(label): x[y == label] for label in np.unique(y)}


def nearest_mean_scores(learner: NetworkLearner, stored: Mapping[int, Array], x: Array) -> Scores:
    """Minus the squared distance to the mean of each class; a class of which nothing is stored is never answered.

    The means are of this moment: the stored samples go through the network at every call.
    """
    scores = np.full((len(x), learner.setting.n_classes), NEVER, np.float32)
    if not stored:
        return np.zeros_like(scores)
    found = unit_features(learner, x)
    for label, samples in stored.items():
        mean = unit_features(learner, samples).mean(0)
        length = float(np.linalg.norm(mean))
        scores[:, label] = -((found - mean / (length or 1.0)) ** 2).sum(1)
    return scores
