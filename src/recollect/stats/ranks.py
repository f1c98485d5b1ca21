"""Many learners on many streams: average ranks, and which of them differ (Demšar 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.stats.estimate import check_level
from recollect.stats.permutation import average_ranks

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ranks:
    """Learners ranked on every stream; rank 1 is the best.

    Attributes
    ----------
    names, average : the learners and their average ranks, in the order given
    chi2, chi2_p : Friedman's test that all learners are alike, corrected for ties
    f, f_p : Iman and Davenport's form of it, less conservative; the one to report
    critical_difference : Nemenyi's: average ranks that differ by more are different at 1 - level
    different : the pairs that are, the better one first
    n : streams
    reason : what was left out or is undefined; None where there is nothing to say
    """

    names: tuple[str, ...]
    average: tuple[float, ...]
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
        return Ranks(labels, average, nan, nan, nan, nan, nan, (), n, level, reason)
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
    return Ranks(labels, average, chi2, float(chdtrc(k - 1, chi2)), f, f_p, critical, different, n, level, dropped)


def _friedman(ranks: Array) -> float:
    """Friedman's chi-square; within-stream variance of the ranks instead of its untied value k(k+1)/12."""
    k = ranks.shape[1]
    centred = ranks - (k + 1) / 2
    spread = (centred**2).sum() / (k - 1)
    return float((centred.sum(axis=0) ** 2).sum() / spread) if spread else 0.0


def _nemenyi(k: int, n: int, level: float) -> float:
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(level, k, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * n)))
