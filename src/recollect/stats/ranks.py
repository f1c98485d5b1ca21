"""Many learners on many streams: average ranks, and which of them differ (Demšar 2006)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import factorial
from operator import add

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.stats.estimate import check_level
from recollect.stats.permutation import average_ranks

Array = NDArray[np.float64]

# About a tenth of a second; enough for 4 learners on 14 streams, 5 on 4, 8 on 2.
MOST_ORDERS = 60_000


@dataclass(frozen=True)
class Ranks:
    """Learners ranked on every stream; rank 1 is the best.

    Attributes
    ----------
    names, average : the learners and their average ranks, in the order given
    p : of the test that all learners are alike, the one to report: exact, by counting all ways to permute the ranks
        within streams, where they can be counted; else f_p
    exact : whether it is
    chi2, chi2_p : Friedman's test, corrected for ties
    f, f_p : Iman and Davenport's form of it, less conservative; on few streams far too small
    critical_difference : Nemenyi's: average ranks that differ by more are different at 1 - level
    different : the pairs that are, the better one first
    n : streams
    reason : what was left out or is undefined; None where there is nothing to say
    """

    names: tuple[str, ...]
    average: tuple[float, ...]
    p: float
    exact: bool
    chi2: float
    chi2_p: float
    f: float
    f_p: float
    critical_difference: float
    different: tuple[tuple[str, str], ...]
    n: int
    level: float = 0.95
    reason: str | None = None


def friedman_nemenyi(
    scores: ArrayLike,
    names: Sequence[str] | None = None,
    higher_is_better: bool = True,
    level: float = 0.95,
) -> Ranks:
    """Rank learners on each stream, test whether they differ at all, and which pairs do.

    Parameters
    ----------
    scores : array-like of shape (streams, learners)
        One number each (a mean over seeds, say). A stream without the score of every learner is left out.
    names : sequence of str
        The learners.
    higher_is_better : bool
        False: the lowest score has rank 1.
    level : float
        1 - level is the chance that any pair is wrongly called different.

    >>> scores = [[0.9, 0.8, 0.1], [0.7, 0.6, 0.2], [0.9, 0.5, 0.3], [0.8, 0.7, 0.4]]
    >>> result = friedman_nemenyi(scores, ["a", "b", "c"])
    >>> result.average, round(result.chi2, 3), round(result.critical_difference, 3), result.different
    ((1.0, 2.0, 3.0), 8.0, 1.657, (('a', 'c'),))
    >>> round(result.p * 6**3, 3)  # of the 6 orders on each stream but the first, one in all is as extreme
    1.0
    """
    from scipy.special import chdtrc, fdtrc

    check_level(level)
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise UsageError(f"Expected scores of shape (streams, learners >= 2), got {table.shape}.")
    k = table.shape[1]
    labels = tuple(names) if names is not None else tuple(f"learner {i}" for i in range(k))
    if len(labels) != k:
        raise UsageError(f"Expected {k} names, one a column of scores; got {len(labels)}.")
    complete = ~np.isnan(table).any(axis=1)
    ranks = average_ranks(-table[complete] if higher_is_better else table[complete])
    n = len(ranks)
    dropped = f"{len(table) - n} of {len(table)} streams lack a learner and are left out" if n < len(table) else None
    nan = float("nan")
    if n < 2:
        average = tuple(float(r) for r in (ranks.mean(axis=0) if n else np.full(k, nan)))
        reason = "; ".join(filter(None, (dropped, "ranks are tested over two streams or more")))
        return Ranks(labels, average, nan, False, nan, nan, nan, nan, nan, (), n, level, reason)
    average_rank = ranks.mean(axis=0)
    chi2 = _friedman(ranks)
    with np.errstate(divide="ignore", invalid="ignore"):
        f = float(np.divide((n - 1) * chi2, n * (k - 1) - chi2)) if chi2 < n * (k - 1) * (1 - 1e-12) else float("inf")
    f_p = 0.0 if np.isinf(f) else float(fdtrc(k - 1, (k - 1) * (n - 1), f))
    critical = _nemenyi(k, n, level)
    order = np.argsort(average_rank, kind="stable")
    different = tuple(
        (labels[i], labels[j])
        for place, i in enumerate(order)
        for j in order[place + 1 :]
        if average_rank[j] - average_rank[i] > critical
    )
    average = tuple(float(r) for r in average_rank)
    exact = _exact_p(ranks)
    p, chi2_p = f_p if exact is None else exact, float(chdtrc(k - 1, chi2))
    return Ranks(labels, average, p, exact is not None, chi2, chi2_p, f, f_p, critical, different, n, level, dropped)


def _friedman(ranks: Array) -> float:
    """Friedman's chi-square; within-stream variance of the ranks instead of its untied value k(k+1)/12."""
    k = ranks.shape[1]
    centred = ranks - (k + 1) / 2
    spread = (centred**2).sum() / (k - 1)
    return float((centred.sum(axis=0) ** 2).sum() / spread) if spread else 0.0


def _exact_p(ranks: Array) -> float | None:
    """The share of all orders within streams that set the rank sums at least as far apart; None if too many.

    The first stream may keep its order, and sums be sorted: only the company of learners counts, not their names.
    """
    doubled = np.rint(2 * ranks).astype(int)  # ties share half ranks
    if factorial(doubled.shape[1]) > MOST_ORDERS:
        return None
    ways = Counter({tuple(sorted(doubled[0].tolist())): 1})
    for stream in doubled[1:].tolist():
        orders = set(permutations(stream))
        if len(ways) * len(orders) > MOST_ORDERS:
            return None
        longer: Counter[tuple[int, ...]] = Counter()
        for sums, count in ways.items():
            for order in orders:
                longer[tuple(sorted(map(add, sums, order)))] += count
        ways = longer
    observed = int((doubled.sum(axis=0) ** 2).sum())
    as_far = sum(count for sums, count in ways.items() if sum(one * one for one in sums) >= observed)
    return as_far / ways.total()


@lru_cache(maxsize=256)
def _nemenyi(k: int, n: int, level: float) -> float:
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(level, k, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * n)))
