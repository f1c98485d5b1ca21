"""Two learners over the same seeds: by how much do they differ, and could it be chance?"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import NotComputable, UsageError
from recollect.stats.estimate import Estimate, check_level, estimate, scalar
from recollect.stats.improvement import probability_of_improvement
from recollect.stats.permutation import (
    Alternative,
    Permuted,
    average_ranks,
    check_alternative,
    label_shuffles_of,
    sign_flips_of,
    signed_ranks,
)

Array = NDArray[np.float64]
Scores = ArrayLike | Mapping[Hashable, float]


@dataclass(frozen=True)
class Paired:
    """A comparison of learner a with learner b.

    Attributes
    ----------
    difference : a - b over seeds, with its interval
    p : permutation p value (sign flips of the differences; splits of the labels where unpaired)
    smallest_p : the smallest p that this many seeds can give, whatever the scores
    wilcoxon_p : signed-rank (rank-sum where unpaired), exact where p is
    improvement : probability that a beats b
    n : pairs (where unpaired: scores of a and b together)
    paired : False only where it was asked for
    exact : whether every permutation was counted
    how : the permutations that were
    reason : why something is undefined, or what to keep in mind; None where there is nothing to say
    """

    difference: Estimate
    p: float
    smallest_p: float
    wilcoxon_p: float
    improvement: Estimate
    n: int
    paired: bool
    alternative: str
    exact: bool
    how: str
    reason: str | None = None


@dataclass(frozen=True)
class Pairwise:
    """One pair of many: its comparison, and its p after Holm's correction over all of them.

    `together` is the difference with an interval that holds for all pairs at once, where it was asked for.
    """

    first: str
    second: str
    comparison: Paired
    holm_p: float
    together: Estimate | None = None

    @property
    def is_apart(self) -> bool:
        """Whether the interval for all pairs excludes zero."""
        return self.together is not None and bool(self.together.low > 0 or self.together.high < 0)


def compare_paired(
    a: Scores,
    b: Scores,
    *,
    unpaired: bool = False,
    alternative: Alternative = "two-sided",
    method: str = "t",
    level: float = 0.95,
    seed: int = 0,
    higher_is_better: bool = True,
) -> Paired:
    """Compare two learners seed by seed.

    Parameters
    ----------
    a, b : array-like or mapping
        Scores in one order of seeds, or mappings from seed to score. A pair with a NaN is left out.
    unpaired : bool
        Compare groups of different seeds: Welch's t interval and permuted labels.
    alternative : str
        "two-sided", "greater" (a above b) or "less".
    method : str
        Of the interval of the difference, as in `estimate` ("t" only where unpaired).
    level : float
        The confidence of the intervals.
    seed : int
        Of bootstraps, and of random permutations where there are too many to count.
    higher_is_better : bool
        Only turns `improvement`; `difference` is always a - b.

    >>> result = compare_paired({1: 0.62, 2: 0.66, 3: 0.64}, {1: 0.60, 2: 0.61, 3: 0.63})
    >>> print(result.difference)
    0.02667 [-0.02504, 0.07838] (n = 3)
    >>> result.p, result.smallest_p
    (0.25, 0.25)
    """
    made = compare_each(
        [(a, b)],
        unpaired=unpaired,
        alternative=alternative,
        method=method,
        level=level,
        seed=seed,
        higher_is_better=higher_is_better,
    )
    return made[0]


def compare_each(
    pairs: Sequence[tuple[Scores, Scores]],
    *,
    unpaired: bool = False,
    alternative: Alternative = "two-sided",
    method: str = "t",
    level: float = 0.95,
    seed: int = 0,
    higher_is_better: bool = True,
) -> list[Paired]:
    """`compare_paired` of each of many pairs: permutations are drawn once for all."""
    check_level(level)
    check_alternative(alternative)
    if unpaired:
        groups = [(_present(a), _present(b)) for a, b in pairs]
        return _compare_groups(groups, alternative, method, level, seed, higher_is_better)
    taken = [_pairs(a, b) for a, b in pairs]
    differences = [_differences(first, second) for first, second, _ in taken]
    tested = [d for d in differences if d.size >= 2]
    tests = sign_flips_of([*tested, *map(signed_ranks, tested)], alternative, seed)
    found = zip(tests[: len(tested)], tests[len(tested) :], strict=True)
    undefined = Permuted(np.nan, np.nan, True, "none")
    made = []
    for (first, second, given), d in zip(taken, differences, strict=True):
        n = d.size
        permuted, ranked = next(found) if n >= 2 else (replace(undefined, smallest=1.0 if n else np.nan), undefined)
        difference = estimate(d, method, level, seed)
        improvement = probability_of_improvement(first, second, True, level, higher_is_better)
        notes = _notes(d, given, permuted, level)
        made.append(_result(difference, permuted, ranked, improvement, n, True, alternative, notes))
    return made


def _notes(d: Array, given: int, permuted: Permuted, level: float) -> list[str]:
    n, zeros = d.size, int((d == 0).sum())
    notes = [f"{given - n} of {given} pairs have a missing score and are left out"] if given > n else []
    if n < 2:
        return [*notes, "no pairs to compare" if n == 0 else "one pair gives no interval and no test"]
    if zeros:
        notes.append(f"{zeros} of {n} differences {'is' if zeros == 1 else 'are'} zero and cannot change sign")
    if permuted.smallest > 1 - level:
        notes.append(f"{n} pairs cannot give a p below {permuted.smallest:.3g}")
    return notes


def compare_all(
    learners: Mapping[str, Mapping[Hashable, float]],
    *,
    unpaired: bool = False,
    alternative: Alternative = "two-sided",
    method: str = "t",
    level: float = 0.95,
    seed: int = 0,
    higher_is_better: bool = True,
) -> tuple[Pairwise, ...]:
    """Every pair of learners (scores by seed) on the seeds that both have, p values corrected by Holm's method.

    A pair without a common seed is an error, unless `unpaired`.

    >>> scores = {"er": {1: 0.6, 2: 0.7}, "lwf": {1: 0.4, 2: 0.4}, "joint": {1: 0.8, 2: 0.9}}
    >>> [(pair.first, pair.second) for pair in compare_all(scores)]
    [('er', 'lwf'), ('er', 'joint'), ('lwf', 'joint')]
    """
    pairs = list(combinations(learners, 2))
    results = compare_each(
        [(learners[a], learners[b]) if unpaired else shared(learners[a], learners[b]) for a, b in pairs],
        unpaired=unpaired,
        alternative=alternative,
        method=method,
        level=level,
        seed=seed,
        higher_is_better=higher_is_better,
    )
    corrected = holm([result.p for result in results])
    return tuple(Pairwise(a, b, result, float(p)) for (a, b), result, p in zip(pairs, results, corrected, strict=True))


def difference(
    a: Scores, b: Scores, *, unpaired: bool = False, method: str = "t", level: float = 0.95, seed: int = 0
) -> Estimate:
    """A - b over seeds with its interval, without any test: what `compare_paired` calls its difference.

    >>> print(difference({1: 0.62, 2: 0.66, 3: 0.64}, {1: 0.60, 2: 0.61, 3: 0.63}))
    0.02667 [-0.02504, 0.07838] (n = 3)
    """
    if unpaired:
        return _welch(_present(a), _present(b), level)
    first, second, _ = _pairs(a, b)
    return estimate(_differences(first, second), method, level, seed)


def shared(
    a: Mapping[Hashable, float], b: Mapping[Hashable, float]
) -> tuple[dict[Hashable, float], dict[Hashable, float]]:
    """The scores of two learners on the seeds that both have; all of them where they have none in common.

    >>> shared({0: .5, 1: .6}, {1: .7, 2: .8})
    ({1: 0.6}, {1: 0.7})
    """
    common = [seed for seed in a if seed in b]
    if not common:
        return dict(a), dict(b)
    return {seed: a[seed] for seed in common}, {seed: b[seed] for seed in common}


def holm(pvalues: ArrayLike) -> Array:
    """Holm's step-down correction: rejecting where it is <= 5 % keeps the chance of any false alarm there.

    NaN stays NaN and is not counted as a test.

    >>> holm([0.01, 0.04, 0.03]).round(4)
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(pvalues, dtype=np.float64)
    if ((p < 0) | (p > 1)).any():
        raise UsageError(f"Expected p values between 0 and 1, got {p[(p < 0) | (p > 1)][0]:g}.")
    flat = p.ravel()
    order = np.argsort(flat)[: int((~np.isnan(flat)).sum())]
    steps = flat[order] * np.arange(order.size, 0, -1)
    out = np.full(flat.size, np.nan)
    out[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return out.reshape(p.shape)


def _pairs(a: Scores, b: Scores) -> tuple[Array, Array, int]:
    if isinstance(a, Mapping) != isinstance(b, Mapping):
        raise UsageError(
            "Expected two lists of scores in one order of seeds, or two mappings from seed to score; got one of each."
        )
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        _require_same_seeds(a, b)
        first, second = np.array([a[s] for s in a], dtype=float), np.array([b[s] for s in a], dtype=float)
    else:
        first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        if first.ndim != 1 or first.shape != second.shape:
            raise UsageError(
                f"Expected as many scores of a as of b, one a seed; got shapes {first.shape} and "
                f"{second.shape}. Give mappings from seed to score, or compare unpaired."
            )
    there = ~np.isnan(first) & ~np.isnan(second)
    return first[there], second[there], first.size


def _differences(first: Array, second: Array) -> Array:
    """First minus second; differences that only rounding tells apart, or from zero, are the same."""
    d = first - second
    rounding = 1e-12 * max(np.abs(first).max(initial=0.0), np.abs(second).max(initial=0.0))
    if d.size and np.ptp(d) <= rounding:
        d = np.full(d.size, np.median(d))
    d[np.abs(d) <= rounding] = 0.0
    return d


def _require_same_seeds(a: Mapping[Hashable, float], b: Mapping[Hashable, float]) -> None:
    only_a, only_b = [str(s) for s in a if s not in b], [str(s) for s in b if s not in a]
    if only_a or only_b:
        raise NotComputable(
            f"Expected the same seeds of both learners; {', '.join(only_a) or 'none'} only of the first, "
            f"{', '.join(only_b) or 'none'} only of the second. Run the missing seeds, keep those they "
            "share, or compare unpaired."
        )


def _present(scores: Scores) -> Array:
    raw = list(scores.values()) if isinstance(scores, Mapping) else scores
    values = np.asarray(raw, dtype=np.float64).ravel()
    return values[~np.isnan(values)]


def _compare_groups(
    groups: Sequence[tuple[Array, Array]],
    alternative: Alternative,
    method: str,
    level: float,
    seed: int,
    higher_is_better: bool,
) -> list[Paired]:
    if method != "t":
        raise UsageError(f"Expected method 't' for an unpaired comparison (Welch's interval), got {method!r}.")
    tested = [pair for pair in groups if min(map(len, pair)) >= 2]
    ranks = [np.split(average_ranks(np.concatenate(pair)), [len(pair[0])]) for pair in tested]
    tests = label_shuffles_of([*tested, *((one, other) for one, other in ranks)], alternative, seed)
    found = zip(tests[: len(tested)], tests[len(tested) :], strict=True)
    undefined = Permuted(np.nan, np.nan, True, "none")
    made = []
    for a, b in groups:
        notes = ["unpaired: what the seeds share is not taken out"]
        permuted, ranked = next(found) if min(a.size, b.size) >= 2 else (undefined, undefined)
        if min(a.size, b.size) < 2:
            notes.append("fewer than two seeds of a learner give no interval and no test")
        elif permuted.smallest > 1 - level:
            notes.append(f"{a.size} and {b.size} seeds cannot give a p below {permuted.smallest:.3g}")
        improvement = probability_of_improvement(a, b, False, level, higher_is_better)
        welch = _welch(a, b, level)
        made.append(_result(welch, permuted, ranked, improvement, a.size + b.size, False, alternative, notes))
    return made


def _welch(a: Array, b: Array, level: float) -> Estimate:
    """Difference of means with unequal variances (Welch-Satterthwaite degrees of freedom)."""
    from scipy.special import stdtrit

    n = a.size + b.size
    if min(a.size, b.size) < 2:
        value = a.mean() - b.mean() if a.size and b.size else np.nan
        return scalar(value, np.nan, np.nan, n, "welch", level, "fewer than two seeds of a learner give no interval")
    value = a.mean() - b.mean()
    va, vb = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    if va + vb == 0:
        return scalar(value, value, value, n, "welch", level, "all seeds of a learner have the same value")
    freedom = (va + vb) ** 2 / (va**2 / (a.size - 1) + vb**2 / (b.size - 1))
    half = stdtrit(freedom, (1 + level) / 2) * np.sqrt(va + vb)
    return scalar(value, value - half, value + half, n, "welch", level)


def _result(
    difference: Estimate,
    permuted: Permuted,
    ranked: Permuted,
    improvement: Estimate,
    n: int,
    paired: bool,
    alternative: str,
    notes: list[str],
) -> Paired:
    return Paired(
        difference=difference,
        p=permuted.p,
        smallest_p=permuted.smallest,
        wilcoxon_p=ranked.p,
        improvement=improvement,
        n=n,
        paired=paired,
        alternative=alternative,
        exact=permuted.exact,
        how=permuted.how,
        reason="; ".join(notes) or None,
    )
