"""Who is ahead, said only of what holds for the learner that was picked because it looked best.

The best mean of several learners is best by luck, too: an interval for one pair that was chosen in advance excludes
zero far too often for it. The best one's pair with the worst is the widest of all pairs, so the intervals here hold
for all pairs of learners at once (Šidák's level, which holds for t intervals however the learners are correlated).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from recollect.errors import NotComputable
from recollect.stats.estimate import Estimate, check_level
from recollect.stats.paired import difference, shared

Scores = Mapping[Hashable, float]

# More seeds than these nobody runs: the answer is then "not with seeds".
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Rival:
    """Another learner, seen from the best one.

    Attributes
    ----------
    difference : the best one's score minus its own; the interval holds for all pairs of learners at once
    is_behind : whether that interval excludes zero
    seeds_needed : with so many seeds a difference and a spread like these would exclude zero; None where it does
        already, where nothing varies, or where `MOST_SEEDS` are not enough
    """

    label: str
    difference: Estimate
    is_behind: bool
    seeds_needed: int | None


@dataclass(frozen=True)
class Lead:
    """The learner with the best mean, and all the others, the nearest first. `pairs` is what the level is for."""

    best: str
    rivals: tuple[Rival, ...]
    pairs: int

    @property
    def is_confirmed(self) -> bool:
        """Whether the best one is ahead of every other."""
        return bool(self.rivals) and all(rival.is_behind for rival in self.rivals)


def find_lead(
    learners: Mapping[str, Scores],
    *,
    higher_is_better: bool = True,
    unpaired: bool = False,
    method: str = "t",
    level: float = 0.95,
    left_aside: Collection[str] = (),
) -> Lead | None:
    """Find the learner with the best mean, and over which others its lead is more than noise and luck.

    Parameters
    ----------
    learners : mapping
        Scores by seed of every learner; each pair is compared on the seeds that both have.
    higher_is_better : bool
        False: the lowest mean is the best.
    unpaired : bool
        The learners were run with different seeds, as in `compare_paired`.
    method : str
        Of the intervals, as in `estimate`.
    level : float
        1 - level is the chance that any learner is wrongly called ahead of any other.
    left_aside : collection of str
        References, which are no contestants.

    >>> scores = {"er": {0: .61, 1: .62, 2: .60}, "lwf": {0: .41, 1: .43, 2: .40}, "si": {0: .60, 1: .63, 2: .58}}
    >>> lead = find_lead(scores)
    >>> lead.best, [(rival.label, rival.is_behind, rival.seeds_needed) for rival in lead.rivals]
    ('er', [('si', False, 34), ('lwf', True, None)])
    """
    check_level(level)
    means = {label: _mean(of) for label, of in learners.items() if label not in left_aside}
    known = {label: mean for label, mean in means.items() if not np.isnan(mean)}
    if not known:
        return None
    best = (max if higher_is_better else min)(known, key=lambda label: known[label])
    pairs = len(known) * (len(known) - 1) // 2
    rivals = []
    for label in sorted(known, key=lambda label: abs(known[label] - known[best])):
        if label != best:
            given = (learners[best], learners[label]) if unpaired else shared(learners[best], learners[label])
            rivals.append(_rival(label, given, pairs, level, unpaired, method, higher_is_better))
    return Lead(best, tuple(rivals), pairs)


def simultaneous(level: float, pairs: int) -> float:
    """The level of each of several intervals that all hold together with the level given (Šidák 1967)."""
    return float(level ** (1 / max(1, pairs)))


def _mean(scores: Scores) -> float:
    values = np.array(list(scores.values()), dtype=np.float64)
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def _rival(
    label: str, given: tuple[Scores, ...], pairs: int, level: float, unpaired: bool, method: str, higher: bool
) -> Rival:
    each = simultaneous(level, pairs)
    try:
        made = difference(*given, unpaired=unpaired, method=method, level=each)
    except NotComputable as cannot:
        nothing = Estimate(np.nan, np.nan, np.nan, 0, method, np.nan, each, str(cannot))
        return Rival(label, nothing, False, None)
    is_behind = bool(made.low > 0 if higher else made.high < 0)
    return Rival(label, made, is_behind, None if is_behind or unpaired else _seeds_needed(made))


def _seeds_needed(made: Estimate) -> int | None:
    from scipy.special import stdtrit

    size, sd = abs(float(made.value)), float(made.sd)
    if not (size > 0 and sd > 0):
        return None
    n = np.arange(int(made.n) + 1, MOST_SEEDS + 1)
    enough = stdtrit(n - 1.0, (1 + made.level) / 2) * sd / np.sqrt(n) < size
    return int(n[enough.argmax()]) if enough.any() else None
