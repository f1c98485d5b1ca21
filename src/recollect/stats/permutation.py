"""Permutation tests that are exact whenever the permutations can be counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, combinations
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError

Array = NDArray[np.float64]
Alternative = Literal["two-sided", "greater", "less"]

# 2^40 sign flips are counted as two lists of 2^20 sums.
EXACT_PAIRS = 40
# 10 against 10 labels are 184,756 ways.
EXACT_LABELS = 200_000
_RANDOM = 99_999
# Sums that differ by less than this share of the largest are the same sum, rounded differently.
_TIE = 1e-9


@dataclass(frozen=True)
class Permuted:
    """A permutation p value, the smallest the data could have given, and how it was found."""

    p: float
    smallest: float
    exact: bool
    how: str


def sign_flips(differences: ArrayLike, alternative: Alternative = "two-sided", seed: int = 0) -> Permuted:
    """Test of paired differences: under no effect each sign is a coin toss.

    The statistic is the sum. A difference of zero has no sign, so the smallest two-sided p is 2 / 2^m with m
    differences that are not zero. Exact up to 40 of them, above by 99,999 random flips.

    >>> sign_flips([1.0, 2.0, 3.0])
    Permuted(p=0.25, smallest=0.25, exact=True, how='all 8 sign flips')
    """
    d = np.asarray(differences, dtype=np.float64).ravel()
    observed = _oriented(d.sum(), alternative)
    sizes = np.abs(d[d != 0])
    tails = 2 if alternative == "two-sided" else 1
    slack = _TIE * sizes.sum()
    if sizes.size <= EXACT_PAIRS:
        ways = 2**sizes.size
        p = min(1.0, tails * _count_sums_reaching(sizes, observed - slack) / ways)
        return Permuted(p, min(1.0, tails / ways), True, f"all {ways:,} sign flips")
    rng = np.random.default_rng(seed)
    reached = 0
    for start in range(0, _RANDOM, 10_000):
        rows = min(10_000, _RANDOM - start)
        sums = (rng.integers(2, size=(rows, sizes.size)) * 2 - 1) @ sizes
        reached += int((_oriented(sums, "two-sided" if tails == 2 else "greater") >= observed - slack).sum())
    p = (1 + reached) / (1 + _RANDOM)
    return Permuted(p, 1 / (1 + _RANDOM), False, f"{_RANDOM:,} random sign flips, seed {seed}")


def signed_rank(differences: ArrayLike, alternative: Alternative = "two-sided", seed: int = 0) -> Permuted:
    """Wilcoxon's signed-rank test: sign flips of the ranks of the sizes; zeros dropped, ties share a rank.

    Exact with ties too, where the usual tables are not.

    >>> signed_rank([0.1, 0.2, 0.3, 0.4, 5.0]).p
    0.0625
    """
    d = np.asarray(differences, dtype=np.float64).ravel()
    d = d[d != 0]
    return sign_flips(np.sign(d) * average_ranks(np.abs(d)), alternative, seed)


def label_shuffles(a: ArrayLike, b: ArrayLike, alternative: Alternative = "two-sided", seed: int = 0) -> Permuted:
    """Test of two unpaired groups: under no effect every split of the pooled scores is as likely.

    The statistic is the difference of means. Exact up to 200,000 splits, above by 99,999 random ones.

    >>> label_shuffles([4.0, 5.0], [1.0, 2.0]).how
    'all 6 splits'
    """
    first, second = (np.asarray(x, dtype=np.float64).ravel() for x in (a, b))
    pooled = np.concatenate([first, second])
    n, total = first.size, pooled.size
    slack = _TIE * np.abs(pooled - pooled.mean()).sum()

    def statistic(sum_of_first: Array) -> Array:
        difference = sum_of_first / n - (pooled.sum() - sum_of_first) / (total - n)
        return np.asarray(_oriented(difference, alternative))

    observed = statistic(np.array([first.sum()]))[0]
    ways = comb(total, n)
    if ways <= EXACT_LABELS:
        indices = np.fromiter(chain.from_iterable(combinations(range(total), n)), dtype=np.intp, count=ways * n)
        splits = statistic(pooled[indices.reshape(ways, n)].sum(axis=1))
        p, smallest = (float((splits >= least - slack).mean()) for least in (observed, splits.max()))
        return Permuted(p, smallest, True, f"all {ways:,} splits")
    reached = _random_splits(pooled, n, lambda sums: int((statistic(sums) >= observed - slack).sum()), seed)
    p = (1 + reached) / (1 + _RANDOM)
    return Permuted(p, 1 / (1 + _RANDOM), False, f"{_RANDOM:,} random splits, seed {seed}")


def average_ranks(x: Array) -> Array:
    """Ranks from 1 along the last axis, ties sharing the mean of theirs.

    >>> average_ranks(np.array([0.3, 0.1, 0.3]))
    array([2.5, 1. , 2.5])
    """
    others, own = x[..., None, :], x[..., :, None]
    return np.asarray((others < own).sum(axis=-1) + ((others == own).sum(axis=-1) + 1) / 2)


def check_alternative(alternative: str) -> None:
    """Refuse anything but the three alternatives."""
    if alternative not in ("two-sided", "greater", "less"):
        raise UsageError(f"Expected alternative 'two-sided', 'greater' or 'less', got {alternative!r}.")


def _oriented(statistic: Array, alternative: str) -> Array:
    """Turned so that large speaks for the alternative."""
    if alternative == "two-sided":
        return np.abs(statistic)
    return -statistic if alternative == "less" else statistic


def _count_sums_reaching(sizes: Array, least: float) -> int:
    """How many of the 2^m sums of ±sizes are at least `least`: half of the terms against the other half."""
    half = sizes.size // 2
    left, right = _all_sums(sizes[:half]), np.sort(_all_sums(sizes[half:]))
    return int((right.size - np.searchsorted(right, least - left, side="left")).sum())


def _all_sums(sizes: Array) -> Array:
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _random_splits(pooled: Array, n: int, reaching: Callable[[Array], int], seed: int) -> int:
    rng = np.random.default_rng(seed)
    reached = 0
    for start in range(0, _RANDOM, 10_000):
        rows = min(10_000, _RANDOM - start)
        chosen = np.argsort(rng.random((rows, pooled.size)), axis=1)[:, :n]
        reached += reaching(pooled[chosen].sum(axis=1))
    return reached
