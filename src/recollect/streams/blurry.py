"""Blurry boundaries: a part of each class's samples comes in other tasks (i-Blurry)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.order import permutation
from recollect.streams.spec import Spec

# Places of the draws that are made from the class-order seed.
_WHICH_DISJOINT, _WHICH_LEAVE, _WHERE_TO = 1, 2, 3


def blur(own: Sequence[Sequence[NDArray[np.int64]]], spec: Spec) -> list[NDArray[np.int64]]:
    """Give a part of each blurry class's samples to the other tasks, each with the same chance."""
    if len(own) < 2:
        raise UsageError("A blurry stream has at least two tasks; got one.")
    seed = spec.class_order_seed
    n_classes = sum(len(parts) for parts in own)
    disjoint = set(permutation(n_classes, seed, _WHICH_DISJOINT)[: round(spec.disjoint * n_classes)].tolist())
    shares: list[list[NDArray[np.int64]]] = [[] for _ in own]
    label = 0
    for k, parts in enumerate(own):
        others = np.array([j for j in range(len(own)) if j != k])
        for samples in parts:
            leaving = 0 if label in disjoint else round(spec.blurry * len(samples))
            drawn = samples[permutation(len(samples), seed, _WHICH_LEAVE, label)]
            shares[k].append(drawn[leaving:])
            # Dealt round from a shuffled list of tasks: every other task gets the same number, or one more.
            dealt = np.resize(others[permutation(len(others), seed, _WHERE_TO, label)], leaving)
            for j in others:
                shares[j].append(drawn[:leaving][dealt == j])
            label += 1
    joined = [np.concatenate(share) for share in shares]
    if not all(len(share) for share in joined):
        raise UsageError(f"With blurry = {spec.blurry:g} a task is left without samples; use a smaller fraction.")
    return joined
