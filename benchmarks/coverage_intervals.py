"""The part of statistics_coverage.py about intervals and paired tests: ours and those that other tools print.

rliable's interval is computed from its definition (percentile bootstrap of the trimmed mean, seeds drawn
within strata); where rliable is installed its own code is run beside it. RaptorMai's is that of its
experiment/metrics.py: t.ppf(0.975, n - 1) times scipy.stats.sem, which has n - 1 in the denominator.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats as reference

from coverage_tables import percent, table
from recollect.stats import compare_paired, estimate, wilson
from recollect.stats.estimate import Estimate

Array = NDArray[np.float64]
Interval = tuple[Array, Array]
SEEDS = (3, 5, 10, 20)
RESAMPLES = 999
DISTRIBUTIONS = {
    "normal": reference.norm(0.6, 0.05),
    "beta(9, 1)": reference.beta(9, 1),
    "lognormal": reference.lognorm(1.0),
}


def rliable_interval(scores: Array, rng: np.random.Generator, resamples: int = RESAMPLES) -> Interval:
    """Percentile bootstrap of the IQM of scores (seeds, strata, sets), seeds drawn within each stratum."""
    n, strata, sets = scores.shape
    by_set = np.ascontiguousarray(scores.transpose(2, 1, 0)).reshape(sets, strata * n)
    offset = n * np.arange(strata)[:, None]
    cut = strata * n // 4
    drawn = np.empty((resamples, sets))
    for i in range(resamples):
        picked = by_set[:, (offset + rng.integers(n, size=(strata, n))).ravel()]
        picked.sort(axis=1)
        drawn[i] = picked[:, cut : strata * n - cut].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return low, high


def around_mean(scores: Array, factor: float, ddof: int = 1) -> Interval:
    half = factor * scores.std(axis=0, ddof=ddof) / np.sqrt(len(scores))
    return scores.mean(axis=0) - half, scores.mean(axis=0) + half


def raptormai_interval(scores: Array) -> Interval:
    n = len(scores)
    half = reference.t.ppf((1 + 0.95) / 2, n - 1) * reference.sem(scores, axis=0)
    return scores.mean(axis=0) - half, scores.mean(axis=0) + half


def ours(result: Estimate) -> Interval:
    return np.asarray(result.low), np.asarray(result.high)


def covers(interval: Interval, truth: float) -> float:
    low, high = interval
    return float(((low <= truth) & (truth <= high)).mean())


def interval_table(sets: int, bootstrapped: int) -> tuple[str, dict[tuple[str, int], float]]:
    """Coverage of the mean (t, BCa and the others) and of the IQM, one stratum."""
    rows, t_coverage = [], {}
    for name, distribution in DISTRIBUTIONS.items():
        mean, middle = distribution.mean(), population_iqm(distribution)
        for n in SEEDS:
            rng = np.random.default_rng([n, len(name)])
            x = distribution.rvs(size=(n, sets), random_state=rng)
            few = x[:, :bootstrapped]
            shares = [
                covers(ours(estimate(x)), mean),
                covers(ours(estimate(few, "bca", resamples=RESAMPLES)), mean),
                covers(raptormai_interval(x), mean),
                covers(around_mean(x, 1.96), mean),
                covers(around_mean(x, 1.96, ddof=0), mean),
                covers(ours(estimate(few, "iqm", resamples=RESAMPLES)), middle),
                covers(rliable_interval(few[:, None], rng), middle),
            ]
            t_coverage[name, n] = shares[0]
            rows.append([name, str(n), *map(percent, shares)])
    header = [
        "scores",
        "n",
        "**t**",
        "**BCa**",
        "RaptorMai",
        "1.96·SEM",
        "1.96·SEM, np.std",
        "**IQM**",
        "rliable IQM",
    ]
    return table(header, rows), t_coverage


def population_iqm(distribution: reference.rv_continuous) -> float:
    return float(distribution.ppf(np.linspace(0.25, 0.75, 100_001)).mean())


def stratified_table(sets: int, streams: int = 10) -> str:
    """One IQM over ten streams of different difficulty."""
    rows = []
    resamples = 399
    for n in SEEDS:
        rng = np.random.default_rng([7, n])
        level = np.linspace(0.3, 0.9, streams)[:, None]
        truth = mixture_iqm(level.ravel(), 0.05)
        x = level + 0.05 * rng.normal(size=(n, streams, sets))
        mine = estimate(x, "iqm", strata=1, resamples=resamples)
        theirs = rliable_interval(x, rng, resamples)
        rows.append([str(n), percent(covers(ours(mine), truth)), percent(covers(theirs, truth))])
    return table(["n", "**IQM**", "rliable IQM"], rows)


def mixture_iqm(levels: Array, sd: float) -> float:
    grid = np.linspace(levels.min() - 6 * sd, levels.max() + 6 * sd, 200_001)
    below = reference.norm.cdf((grid[:, None] - levels) / sd).mean(axis=1)
    middle = (below >= 0.25) & (below <= 0.75)
    return float(np.average(grid[middle], weights=np.gradient(below)[middle]))


def against_rliable(sets: int = 10) -> str:
    """Our rendering of rliable's interval against its own code, where it is installed."""
    try:
        from rliable import library, metrics
    except ImportError:
        return "rliable is not installed here, so its own code was not run.\n"
    from importlib.metadata import version

    rng = np.random.default_rng(3)
    worst = 0.0
    for n in SEEDS:
        x = rng.normal(size=(n, 4, sets))
        low, high = rliable_interval(x, rng, 2000)
        np.random.seed(0)  # noqa: NPY002 - rliable draws from the global generator
        data = {str(i): x[:, :, i] for i in range(sets)}
        _, theirs = library.get_interval_estimates(data, lambda s: np.array([metrics.aggregate_iqm(s)]), reps=2000)
        for i in range(sets):
            worst = max(worst, abs(theirs[str(i)][0, 0] - low[i]), abs(theirs[str(i)][1, 0] - high[i]))
    return (
        f"rliable {version('rliable')} itself, 4 strata, {sets} data sets at each n, 2,000 resamples:\n"
        f"its bounds differ from those of this script by {worst:.3f} sd of a score at most.\n"
    )


def paired_table(sets: int) -> tuple[str, float]:
    """Two equal learners on shared seeds: how often is p at most 5 %?"""
    draws: dict[str, Callable[[np.random.Generator, int], Array]] = {
        "normal": lambda rng, n: 0.6 + 0.05 * rng.normal(size=(2, n)),
        "normal, two digits": lambda rng, n: np.round(0.6 + 0.02 * rng.normal(size=(2, n)), 2),
        "lognormal": lambda rng, n: rng.lognormal(size=(2, n)),
    }
    rows, worst = [], 0.0
    for name, draw in draws.items():
        for n in SEEDS:
            rng = np.random.default_rng([11, n])
            shared = rng.normal(size=(sets, n))
            results = [compare_paired(*(draw(rng, n) + shift)) for shift in np.round(shared, 2)]
            p, wilcoxon = (np.array([getattr(r, f) for r in results]) for f in ("p", "wilcoxon_p"))
            excluded = np.mean([not r.difference.low <= 0 <= r.difference.high for r in results])
            covered = np.mean([r.improvement.low <= 0.5 <= r.improvement.high for r in results])
            rate = float((p <= 0.05).mean())
            worst = max(worst, float(np.asarray(wilson(rate * sets, sets)[0])))
            smallest = f"{2 / 2**n:.2g}"
            shares = (rate, float((wilcoxon <= 0.05).mean()), float(excluded), float(covered))
            rows.append([name, str(n), smallest, *map(percent, shares)])
    header = [
        "scores",
        "n",
        "smallest p",
        "sign flips",
        "Wilcoxon",
        "t interval excludes 0",
        "improvement covers 0.5",
    ]
    return table(header, rows), worst
