"""Curves over tasks with their interval bands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.matrix import Array
from recollect.metrics import registry
from recollect.report.figures.style import colour, marker, task_ticks, text, whole_ticks
from recollect.report.results import StreamResult
from recollect.report.words import curve_titles

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# With more curves than these the bands merge into grey.
MOST_BANDS = 6


def axis_label(id: str, stream: StreamResult) -> str:
    """What an axis shows, in words, with the field's letters."""
    words, letters = stream.words, curve_titles(stream.words, stream.focus).get(id, id)
    said = {
        "acc.average": words.average,
        "acc.incremental": f"{words.average} over time",
        "forgetting.chaudhry2018": "average forgetting",
        "raa.michel2023": f"rescaled {words.average}",
        "raf.michel2023": "rescaled average forgetting",
    }.get(id, id)
    return said if letters in (said, id) or not letters.isupper() else f"{said} ({letters})"


def _in_range(id: str, value: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The ends of a band, where the scores are fractions without what this metric of fractions cannot be."""
    known = value[np.isfinite(value)]
    least, most = registry.get(id).card.bounds if id in registry.all_ids() else (-1.0, 1.0)
    if known.size and known.min() >= max(least, -1) and known.max() <= 1:
        return np.clip(low, max(least, -1), min(most, 1)), np.clip(high, max(least, -1), min(most, 1))
    return low, high


def curve(ax: Axes, stream: StreamResult, id: str, *, bends: bool = True) -> Axes:
    """Draw the curve of a metric for every learner that has it; a ring and a bar mark where one stops rising.

    Where rows are batches or visits, dotted lines mark those with which a concept had been learned.
    """
    moments = np.array(stream.numbers) if stream.rows else np.arange(1, stream.T + 1)
    every = max(1, len(moments) // 12)
    for row in sorted(set(stream.learners[0].learned_at)):
        ax.axvline(moments[row], color="#999999", linewidth=0.5, linestyle=":", zorder=0)
    drawn = [(place, learner) for place, learner in enumerate(stream.learners) if id in learner.curves]
    for place, learner in drawn:
        (value, low, high), shade = learner.curves[id].arrays, colour(place)
        known = np.isfinite(value)
        # Only the rows that were evaluated: a band is drawn across those that were not planned.
        if len(drawn) <= MOST_BANDS:
            low, high = _in_range(id, value, low, high)
            ax.fill_between(moments[known], low[known], high[known], color=shade, alpha=0.15, linewidth=0)
        ax.plot(
            moments[known],
            value[known],
            color=shade,
            marker=marker(place),
            markevery=every,
            markeredgecolor="white",
            markeredgewidth=0.4,
            label=text(learner.label),
            clip_on=False,
            zorder=3,
        )
        bend = learner.plateau
        if bends and id == "raa.michel2023" and bend and bend.at is not None and bend.low is not None:
            # Between two tasks that were evaluated the curve is the line between them.
            level = float(np.interp(bend.at + 1, moments[known], value[known]))
            ax.plot(bend.at + 1, level, "o", ms=7, mfc="none", mec=shade, mew=1, clip_on=False)
            ax.hlines(level, bend.low + 1, (bend.high or bend.at) + 1, colors=shade, linewidth=3, alpha=0.5)
    ax.set_xlabel(stream.words.axis)
    ax.set_ylabel(text(axis_label(id, stream)))
    if stream.rows:
        whole_ticks(ax.xaxis)
    else:
        ax.set_xticks(task_ticks(stream.T))
    ax.set_xlim(1, max(2, int(moments[-1])))
    return ax
