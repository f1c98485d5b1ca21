"""Permutation tests that are exact whenever the permutations can be counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
# Signs are drawn so many at a time, whether all are needed or not, so that most comparisons share a draw.
_SIGNS = 64
# Random permutations that are held in memory at once, and comparisons that are made of them at once.
_ROWS, _AT_ONCE = 10_000, 512
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
    return sign_flips_of([differences], alternative, seed)[0]


def sign_flips_of(many: Sequence[ArrayLike], alternative: Alternative = "two-sided", seed: int = 0) -> list[Permuted]:
    """`sign_flips` of each of many; random flips are drawn once for all that have about as many signs."""
    tails = 2 if alternative == "two-sided" else 1
    made: dict[int, Permuted] = {}
    drawn: dict[int, list[tuple[int, Array, float]]] = {}
    for place, differences in enumerate(many):
        d = np.asarray(differences, dtype=np.float64).ravel()
        sizes = np.abs(d[d != 0])
        least = float(_oriented(d.sum(), alternative) - _TIE * sizes.sum())
        if sizes.size <= EXACT_PAIRS:
            ways = 2**sizes.size
            p = min(1.0, tails * _count_sums_reaching(sizes, least) / ways)
            made[place] = Permuted(p, min(1.0, tails / ways), True, f"all {ways:,} sign flips")
        else:
            width = -(-sizes.size // _SIGNS) * _SIGNS
            drawn.setdefault(width, []).append((place, np.pad(sizes, (0, width - sizes.size)), least))

    def signs(rng: np.random.Generator, rows: int, width: int) -> Array:
        bits = np.frombuffer(rng.bytes(rows * width // 8), dtype=np.uint8)
        made = np.unpackbits(bits).reshape(rows, width).astype(np.float64)
        made *= 2
        made -= 1
        return made

    def oriented(sums: Array) -> Array:
        return _oriented(sums, "two-sided" if tails == 2 else "greater")

    for width, alike in drawn.items():
        for start in range(0, len(alike), _AT_ONCE):
            places, sizes_of, leasts = zip(*alike[start : start + _AT_ONCE], strict=True)
            terms = np.stack(sizes_of, axis=1)
            reached = _random(partial(signs, width=width), terms, oriented, np.array(leasts), seed)
            made |= dict(zip(places, (_drawn(r, "sign flips", seed) for r in reached), strict=True))
    return [made[place] for place in range(len(many))]


def signed_rank(differences: ArrayLike, alternative: Alternative = "two-sided", seed: int = 0) -> Permuted:
    """Wilcoxon's signed-rank test: sign flips of the ranks of the sizes; zeros dropped, ties share a rank.

    Exact with ties too, where the usual tables are not.

    >>> signed_rank([0.1, 0.2, 0.3, 0.4, 5.0]).p
    0.0625
    """
    return sign_flips(signed_ranks(differences), alternative, seed)


def signed_ranks(differences: ArrayLike) -> Array:
    """The ranks of the sizes with the signs of the differences, without the zeros.

    >>> signed_ranks([0.3, -0.1, 0.0]).tolist()
    [2.0, -1.0]
    """
    d = np.asarray(differences, dtype=np.float64).ravel()
    d = d[d != 0]
    return np.asarray(np.sign(d) * average_ranks(np.abs(d)))


def label_shuffles(a: ArrayLike, b: ArrayLike, alternative: Alternative = "two-sided", seed: int = 0) -> Permuted:
    """Test of two unpaired groups: under no effect every split of the pooled scores is as likely.

    The statistic is the difference of means. Exact up to 200,000 splits, above by 99,999 random ones.

    >>> label_shuffles([4.0, 5.0], [1.0, 2.0]).how
    'all 6 splits'
    """
    return label_shuffles_of([(a, b)], alternative, seed)[0]


def label_shuffles_of(
    many: Sequence[tuple[ArrayLike, ArrayLike]], alternative: Alternative = "two-sided", seed: int = 0
) -> list[Permuted]:
    """`label_shuffles` of each of many pairs; random splits are drawn once for all of the same sizes."""
    made: dict[int, Permuted] = {}
    drawn: dict[tuple[int, int], list[tuple[int, Array]]] = {}
    for place, pair in enumerate(many):
        first, second = (np.asarray(x, dtype=np.float64).ravel() for x in pair)
        pooled, n = np.concatenate([first, second]), first.size
        if comb(pooled.size, n) <= EXACT_LABELS:
            made[place] = _all_splits(pooled, n, alternative)
        else:
            drawn.setdefault((n, pooled.size), []).append((place, pooled))

    def chosen(rng: np.random.Generator, rows: int, n: int, total: int) -> Array:
        picked = np.zeros((rows, total))
        np.put_along_axis(picked, np.argsort(rng.random((rows, total)), axis=1)[:, :n], 1.0, axis=1)
        return picked

    for (n, total), alike in drawn.items():
        for start in range(0, len(alike), _AT_ONCE):
            places, scores = zip(*alike[start : start + _AT_ONCE], strict=True)
            pooled = np.stack(scores, axis=1)
            splits = _Splits(pooled, n, alternative)
            least = splits.statistic(pooled[:n].sum(axis=0)) - splits.slack
            reached = _random(partial(chosen, n=n, total=total), pooled, splits.statistic, least, seed)
            made |= dict(zip(places, (_drawn(r, "splits", seed) for r in reached), strict=True))
    return [made[place] for place in range(len(many))]


@dataclass(frozen=True, eq=False)
class _Splits:
    """Pooled scores, one column per comparison, of which the first `n` rows are one group's."""

    pooled: Array
    n: int
    alternative: Alternative

    @property
    def slack(self) -> Array:
        return np.asarray(_TIE * np.abs(self.pooled - self.pooled.mean(axis=0)).sum(axis=0))

    def statistic(self, sum_of_first: Array) -> Array:
        rest = (self.pooled.sum(axis=0) - sum_of_first) / (len(self.pooled) - self.n)
        return np.asarray(_oriented(sum_of_first / self.n - rest, self.alternative))


def _all_splits(pooled: Array, n: int, alternative: Alternative) -> Permuted:
    ways = comb(pooled.size, n)
    indices = np.fromiter(chain.from_iterable(combinations(range(pooled.size), n)), dtype=np.intp, count=ways * n)
    made = _Splits(pooled, n, alternative)
    observed = made.statistic(pooled[:n].sum())
    splits = made.statistic(pooled[indices.reshape(ways, n)].sum(axis=1))
    p, smallest = (float((splits >= least - made.slack).mean()) for least in (observed, splits.max()))
    return Permuted(p, smallest, True, f"all {ways:,} splits")


def average_ranks(x: Array) -> Array:
    """Ranks from 1 along the last axis, ties sharing the mean of theirs.

    >>> average_ranks(np.array([0.3, 0.1, 0.3]))
    array([2.5, 1. , 2.5])
    """
    if x.ndim > 1:
        return np.array([average_ranks(row) for row in x.reshape(-1, x.shape[-1])]).reshape(x.shape)
    in_order = np.sort(x)
    below, not_above = (np.searchsorted(in_order, x, side) for side in ("left", "right"))
    return np.asarray((below + not_above + 1) / 2)


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


def _drawn(reached: int, what: str, seed: int) -> Permuted:
    return Permuted((1 + reached) / (1 + _RANDOM), 1 / (1 + _RANDOM), False, f"{_RANDOM:,} random {what}, seed {seed}")


def _random(
    draw: Callable[[np.random.Generator, int], Array],
    terms: Array,
    statistic: Callable[[Array], Array],
    least: Array,
    seed: int,
) -> list[int]:
    """How many of the random permutations reach `least`, of each column of `terms`: one draw for all of them."""
    rng = np.random.default_rng(seed)
    reached = np.zeros(terms.shape[1], dtype=np.int64)
    for start in range(0, _RANDOM, _ROWS):
        sums = draw(rng, min(_ROWS, _RANDOM - start)) @ terms
        reached += (statistic(sums) >= least).sum(axis=0)
    return [int(count) for count in reached]
