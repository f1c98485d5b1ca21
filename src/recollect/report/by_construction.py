"""Numbers that are what they are by construction, whatever the learner: said wherever they are shown."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from recollect.matrix import ScoreMatrix
from recollect.report.words import Words

# The rescaled metrics, and what each is at the last task (Michel et al. 2023, Prop. 4.3 and 4.4).
PLAIN = {"raa.michel2023": "acc.average", "raf.michel2023": "forgetting.chaudhry2018"}
# What reads scores of tasks that were not learned yet.
OF_UNSEEN = frozenset(
    f"fwt.{name}" for name in ("begin_docs", "lopezpaz2017", "diazrodriguez2018", "continuum", "zscl")
)


def is_plain_at_the_end(rescaled: Collection[float], plain: Collection[float]) -> bool:
    """Whether the rescaled values, where there are any, are the plain ones.

    >>> is_plain_at_the_end([.5, float("nan")], [.5, .4]), is_plain_at_the_end([.3], [.4])
    (True, False)
    """
    one, other = np.array(list(rescaled), np.float64), np.array(list(plain), np.float64)
    known = ~np.isnan(one)
    return bool(known.any()) and bool(np.allclose(one[known], other[known]))


def said_of_rescaled(id: str, words: Words) -> str:
    """The sentence about a rescaled metric that is the plain one at the last task.

    >>> said_of_rescaled("raa.michel2023", Words())
    'RAA at the last task is AA by construction, whatever the learner: read RAA as a curve'
    """
    name = id[:3].upper()
    plain = {"RAA": "AA", "RAF": "AF"}[name]
    return f"{name} at the last {words.task} is {plain} by construction, whatever the learner: read {name} as a curve"


def is_masked(matrix: ScoreMatrix) -> bool:
    """Whether every score of a task before it was learned is exactly 0.

    >>> is_masked(ScoreMatrix([[.8, 0], [.5, .9]])), is_masked(ScoreMatrix([[.8, .1], [.5, .9]]))
    (True, False)
    """
    before = np.arange(matrix.S)[:, None] < matrix.learned_at
    scores = matrix.R[..., before]
    known = scores[np.isfinite(scores)]
    return bool(known.size) and not known.any()


def said_of_masked(who: str, words: Words) -> str:
    """The sentence about forward transfer where tasks that were not learned cannot be answered.

    >>> said_of_masked("er", Words())
    'FWT of er is by masking: tasks that were not learned score 0 by construction, so that it measures no transfer'
    """
    start = f"FWT of {who}" if who else "FWT"
    return (
        f"{start} is by masking: {words.tasks} that were not learned score 0 by construction, so that it measures no"
        " transfer"
    )
