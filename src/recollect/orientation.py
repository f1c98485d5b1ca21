"""Which axis of a score matrix is time: what the numbers themselves can tell.

A matrix whose lower triangle is empty was saved with the tasks as rows. A matrix with both triangles full can be
judged only by what learning does: a task is answered badly before it is learned and well from then on. If that is seen
along the rows and not along the columns, the matrix is probably the wrong way round; `why_transposed` says so in one
sentence, and says nothing where the numbers fit both ways.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# What to tell a user whose file does not say which axis is time.
SAY_ROWS = (
    "Say what its rows are: --rows tasks turns it, --rows time takes it as it is"
    " (in Python rows=..., or orientation='time_rows' of a ScoreMatrix)."
)

# Of two tasks alone nothing can be said: their difficulty explains any two numbers.
FEWEST_TASKS = 3
# So much of its own score a task must gain when it is learned; of scores without a zero, so much of their range.
_GAIN, _GAIN_OF_RANGE = 0.3, 0.5
# Of the range: so far above its own score a task may lie later on; so large is the step between the triangles.
_ABOVE_OWN, _STEP = 0.1, 0.4
# The share of cells, and of pairs of tasks, that must agree.
_CELLS, _PAIRS = 0.9, 0.75
# Only tasks so close in time are compared: what was learned long ago may be forgotten to the level of the unlearned.
_APART = 2
# A triangle is above an empty one if its mean is more than this part of the diagonal's.
_SOMETHING = 0.05


def why_empty(R: Array) -> str | None:
    """Why the lower triangle of (..., T, T) scores was not evaluated, if the upper one was; None if it is not so.

    >>> why_empty(np.array([[.9, .8], [np.nan, .7]]))
    'only its upper triangle is filled'
    >>> why_empty(np.array([[.9, .0], [.8, .7]])) is None
    True
    """
    T = R.shape[-1]
    if T < 2:
        return None
    beside = np.diagonal(R, -1, axis1=-2, axis2=-1)
    if ((beside != 0) & ~np.isnan(beside)).any():
        return None  # something real is next to the diagonal; no need to look further
    below = R[..., *np.tril_indices(T, -1)]
    above = R[..., *np.triu_indices(T, 1)]
    if np.isnan(above).all():
        return None
    if np.isnan(below).all():
        return "only its upper triangle is filled"
    if not ((below == 0) | np.isnan(below)).all():
        return None
    if (above > 0).all():
        return "below the diagonal all is 0, above it nothing is"
    own = np.diagonal(R, axis1=-2, axis2=-1)
    if np.nanmean(above) > _SOMETHING * np.nanmean(own):
        return "below the diagonal all is 0, above it not"
    return None


def why_transposed(R: Array, higher_is_better: bool = True) -> str | None:
    """Why (..., T, T) scores are probably the wrong way round, in words; None if the numbers do not say so.

    >>> R = np.array([[.96, .12, .12], [.92, .97, .12], [.82, .94, .96]])
    >>> why_transposed(R) is None
    True
    >>> why_transposed(R.T)
    'scores are 0.893 above the diagonal and 0.12 below it, as if each row were one task'
    """
    T = R.shape[-1]
    if T < FEWEST_TASKS or R.shape[-2] != T:
        return None
    shown = _mean_of_runs(R)
    scores = shown if higher_is_better else -shown
    if 2 * np.count_nonzero(scores.diagonal(1) > scores.diagonal(-1)) < T - 1:
        return None  # most matrices end here, and a page has thousands
    if not _looks_learned_along_rows(scores) or _step_between_triangles(scores) <= _STEP * _range(scores):
        return None
    above, below = (np.nanmean(shown[indices]) for indices in (np.triu_indices(T, 1), np.tril_indices(T, -1)))
    return f"scores are {above:.3g} above the diagonal and {below:.3g} below it, as if each row were one task"


def doubt(R: Array, higher_is_better: bool = True) -> str | None:
    """What to tell a user whose matrix is probably the wrong way round; None if it is not."""
    why = why_transposed(R, higher_is_better)
    return None if why is None else f"the matrix may be transposed: {why}. It was read with rows as time. {SAY_ROWS}"


def _mean_of_runs(R: Array) -> Array:
    if R.ndim == 2:
        return R
    flat = R.reshape(-1, *R.shape[-2:])
    known = ~np.isnan(flat)
    count = known.sum(axis=0)
    total = np.where(known, flat, 0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _range(scores: Array) -> float:
    return float(np.fmax.reduce(scores, axis=None) - np.fmin.reduce(scores, axis=None))


def _looks_learned_along_rows(scores: Array) -> bool:
    """Whether each row reads like one task: low before its diagonal, then high, and never much above its own score."""
    own = np.diagonal(scores)
    after, before, own_after, own_before = (
        np.concatenate(parts)
        for parts in zip(
            *((scores.diagonal(k), scores.diagonal(-k), own[:-k], own[k:]) for k in range(1, _APART + 1)), strict=True
        )
    )
    both = ~np.isnan(before + after + own_before + own_after)
    if both.sum() < FEWEST_TASKS or np.mean((after > before)[both]) < _PAIRS:
        return False
    spread = _range(scores)
    has_zero = float(np.fmin.reduce(scores, axis=None)) >= 0
    gain = _GAIN * own_before if has_zero else _GAIN_OF_RANGE * spread
    learned = np.mean((own_before - before >= gain)[both])
    kept = np.mean((after <= own_after + _ABOVE_OWN * spread)[both])
    return bool(spread > 0 and learned >= _CELLS and kept >= _CELLS)


def _step_between_triangles(scores: Array) -> float:
    """How much higher the upper triangle is once each task's difficulty and each moment's level are taken out.

    With levels `t` and difficulties `d` a pair of tasks differs by `R[i, j] - R[j, i] = u[i] - u[j] + step`, where
    `u = t - d`; so the step is what the pairs (i, i + 1) and (i + 1, i + 2) have more than the pair (i, i + 2).
    """
    difference = scores - scores.T
    next_, after_next = difference.diagonal(1), difference.diagonal(2)
    steps = next_[:-1] + next_[1:] - after_next
    known = steps[~np.isnan(steps)]
    return float(known.mean()) if len(known) else 0.0
