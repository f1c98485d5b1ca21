"""How often is one of several equal learners called ahead of another?

    OMP_NUM_THREADS=1 python benchmarks/false_leads.py

Every learner of an experiment draws its scores from the same distribution, so that any lead is false. The rule is
that of `recollect.stats.find_lead`; beside it stands what a reader does who looks at the best learner's pairs with
intervals made for one pair. The arrays are computed at once; that they are the rule's is checked on the way.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import stdtrit

from coverage_tables import percent, table
from recollect import __version__
from recollect.stats import find_lead
from recollect.stats.lead import simultaneous

Array = NDArray[np.float64]
EXPERIMENTS = 40_000
LEARNERS, SEEDS = (3, 5, 8), (3, 5, 10)
OUT = Path(__file__).parent / "results" / "false_leads.md"

Draw = Callable[[np.random.Generator, tuple[int, int, int]], Array]


def shared_seeds(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """The seed moves all learners alike (class order, data), and each of them a little."""
    experiments, seeds, _ = shape
    return 0.6 + 0.05 * rng.normal(size=(experiments, seeds, 1)) + 0.01 * rng.normal(size=shape)


def uneven(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """The learners have one mean and very different spreads."""
    return np.asarray(0.6 + 0.01 * 3.0 ** np.arange(shape[2]).clip(0, 3) * rng.normal(size=shape))


def collapses(share: float) -> Draw:
    def draw(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
        fine = 0.8 + 0.01 * rng.normal(size=shape)
        return np.where(rng.random(shape) < share, 0.3 + 0.01 * rng.normal(size=shape), fine)

    return draw


def near_one(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    return rng.binomial(500, 0.99, size=shape) / 500


DRAWS: dict[str, Draw] = {
    "normal": lambda rng, shape: 0.6 + 0.05 * rng.normal(size=shape),
    "normal, seeds shared": shared_seeds,
    "normal, spreads from .01 to .27": uneven,
    "5 % of runs collapse": collapses(0.05),
    "10 % of runs collapse": collapses(0.10),
    "495 of 500 right": near_one,
}


def leads(scores: Array, level: float) -> NDArray[np.bool_]:
    """Whether the best mean is called ahead of any other, for scores (experiments, seeds, learners)."""
    n = scores.shape[1]
    best = scores.mean(axis=1).argmax(axis=1)
    differences = np.take_along_axis(scores, best[:, None, None], axis=2) - scores
    half = stdtrit(n - 1, (1 + level) / 2) * differences.std(axis=1, ddof=1) / np.sqrt(n)
    ahead = (differences.mean(axis=1) - half > 0) & (differences.std(axis=1) > 1e-12)
    return np.asarray(ahead.any(axis=1))


def agrees(scores: Array, found: NDArray[np.bool_]) -> bool:
    """That the arrays say what `find_lead` says, on the first experiments and on some that have a lead.

    Where two means are equal but for rounding, either may be the best.
    """
    top = np.sort(scores.mean(axis=1), axis=1)
    tied = top[:, -1] - top[:, -2] < 1e-12
    chosen = np.unique([*range(100), *np.flatnonzero(found)[:100]])
    for i in chosen[~tied[chosen]]:
        lead = find_lead({str(j): dict(enumerate(scores[i, :, j].tolist())) for j in range(scores.shape[2])})
        if lead is None or any(rival.is_behind for rival in lead.rivals) != found[i]:
            return False
    return True


def main() -> None:
    rows = []
    worst = 0.0
    for name, draw in DRAWS.items():
        for learners in LEARNERS:
            pairs = len(list(combinations(range(learners), 2)))
            for n in SEEDS:
                scores = draw(np.random.default_rng([learners, n]), (EXPERIMENTS, n, learners))
                ours, naive = leads(scores, simultaneous(0.95, pairs)), leads(scores, 0.95)
                if not agrees(scores, ours):
                    raise SystemExit(f"the arrays and find_lead disagree: {name}, {learners} learners, {n} seeds")
                worst = max(worst, float(ours.mean()))
                rows.append([name, str(learners), str(n), f"**{percent(ours.mean())}**", percent(naive.mean())])
    text = (
        "# False leads\n\nWritten by `OMP_NUM_THREADS=1 python benchmarks/false_leads.py`\n"
        f"(recollect {__version__}, numpy {np.__version__}, scipy {scipy.__version__},"
        f" Python {platform.python_version()}).\n\n"
        f"Equal learners, {EXPERIMENTS:,} experiments per row: in how many, in per cent, is the best one called ahead"
        " of any\nother? In bold the rule of the report (`recollect.stats.find_lead`); beside it the best learner's"
        " intervals as if its\npairs had been chosen in advance, each of 95 %.\n\n"
        + table(["scores", "learners", "seeds", "**report**", "one pair's intervals"], rows)
        + f"\nThe most in any row: {percent(worst)} %.\n"
    )
    OUT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
