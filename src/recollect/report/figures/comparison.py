"""Paired differences as a forest of intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.metrics import registry
from recollect.report.figures.style import COLOURS, fitted, text
from recollect.report.results import Comparisons
from recollect.stats import Pairwise

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def differences(ax: Axes, table: Comparisons, *, long_names: bool = True) -> Axes:
    """Draw each pair's difference with its interval; for all pairs at once; filled where that excludes zero."""
    pairs = table.pairs
    levels = np.arange(len(pairs))[::-1]
    most = _largest(table)
    for level, pair in zip(levels, pairs, strict=True):
        number = pair.together or pair.comparison.difference
        if np.isfinite(number.low):
            ax.hlines(level, max(number.low, -most), min(number.high, most), colors=COLOURS[0], linewidth=1.2)
        ax.plot(number.value, level, "o", ms=4.5, mec=COLOURS[0], mfc=COLOURS[0] if pair.is_apart else "white")
    ax.axvline(0, color="black", linewidth=0.5)
    ax.set_yticks(levels, [_name(pair, long_names) for pair in pairs])
    ax.set_ylim(-0.6, len(pairs) - 0.4)
    ax.set_xlabel(f"difference in {text(table.id)}")
    return ax


def _largest(table: Comparisons) -> float:
    """No difference of fractions is larger than their range, though an interval of two seeds may be."""
    low, high = registry.get(table.id).card.bounds
    values = [abs(float(pair.comparison.difference.value)) for pair in table.pairs]
    return high - low if max(values, default=0.0) <= high - low else float("inf")


def _name(pair: Pairwise, long: bool) -> str:
    """Two names and a minus; one below the other where they would take the room of the plot."""
    if long:
        return f"{fitted(pair.first, 32, 1)} − {fitted(pair.second, 32, 1)}"
    return f"{fitted(pair.first, 22, 1)}\n− {fitted(pair.second, 20, 1)}"
