"""Held-out tasks: what became of abilities that nobody trains on, measured against the base row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.matrix import Array
from recollect.metrics.cells import Cells
from recollect.metrics.registry import metric
from recollect.metrics.sweep import Sweep, Undefined

_NONE = "no task is held out (learned_at='held out', --held-out NAMES)"
# Below this a base score is about 0, and a ratio to it says nothing.
_ABOUT_ZERO = 1e-6


@metric(
    latex=r"\frac{1}{|H|}\sum_{h\in H}\left(R_{kh}-b_h\right)",
    source="TRACE (Wang et al. 2023), general ability delta",
    reads=Cells.HELD_OUT,
    needs=("b",),
    better="higher",
    kind="difference",
    undefined=_NONE,
)
def delta(s: Sweep) -> Array:
    """Mean change of the held-out tasks since the base row: negative where general ability was lost.

    >>> round(delta([[.8, .5], [.9, .4]], b=[.1, .6], learned_at=[0, "held out"]), 6)
    -0.2

    See Also
    --------
    relative : as a share of the base score, turned so that a loss is positive.
    """
    base = _base(s)
    return _mean(s, s.held - base)


@metric(
    latex=r"\frac{1}{|H|}\sum_{h\in H}\frac{b_h-R_{kh}}{\left|b_h\right|}",
    source="Luo et al. 2023 (FG)",
    reads=Cells.HELD_OUT,
    needs=("b",),
    better="lower",
    kind="ratio",
    bounds=(-np.inf, 1),
    undefined=_NONE + ", or a base score is about 0",
)
def relative(s: Sweep) -> Array:
    """Mean share of the base score that the held-out tasks have lost (FG): negative where they gained.

    >>> round(relative([[.8, .5], [.9, .45]], b=[.1, .6], learned_at=[0, "held out"]), 6)
    0.25

    See Also
    --------
    ratio : what is left of it.
    """
    base = _divisor(s)
    return _mean(s, (base - s.held) / np.abs(base))


@metric(
    latex=r"\frac{1}{|H|}\sum_{h\in H}\frac{R_{kh}}{b_h}",
    source="FineTuneCheck (CRR, capability retention ratio)",
    reads=Cells.HELD_OUT,
    needs=("b",),
    better="higher",
    kind="ratio",
    bounds=(-np.inf, np.inf),
    undefined=_NONE + ", a base score is about 0, or one is an error, whose ratio rises with what is lost",
)
def ratio(s: Sweep) -> Array:
    """Mean of the held-out scores over their base scores: 1 is nothing lost (CRR).

    Of errors (perplexity) and of scores below 0 it would rise with what is lost, and has no value.

    >>> round(ratio([[.8, .5], [.9, .45]], b=[.1, .6], learned_at=[0, "held out"]), 6)
    0.75

    See Also
    --------
    relative : what is gone of it.
    """
    base = _divisor(s)
    below = np.flatnonzero((base < 0).any(1))
    if below.size:
        raise Undefined(
            f"the ratio of {_named(s, below)} to its base rises with what is lost (an error, or a score below 0);"
            " held_out.relative is turned"
        )
    return _mean(s, s.held / base)


def _base(s: Sweep) -> Array:
    if not s.matrix.held_out.any():
        raise Undefined(_NONE)
    return s.held_base


def _divisor(s: Sweep) -> Array:
    base = _base(s)
    zero = np.flatnonzero((np.abs(base) <= _ABOUT_ZERO).all(1))
    if zero.size:
        raise Undefined(f"the base score of {_named(s, zero)} is about 0; it can be left out (--without NAME)")
    return np.where(np.abs(base) > _ABOUT_ZERO, base, np.nan)


def _named(s: Sweep, places: NDArray[np.intp]) -> str:
    """The first of these held-out tasks."""
    names = np.array(s.matrix.names or [f"column {j + 1}" for j in range(s.matrix.T)])[s.matrix.held_out][places]
    return ", ".join(names[:3])


def _mean(s: Sweep, values: Array) -> Array:
    mean: Array = values.sum(1) / values.shape[1]
    return mean
