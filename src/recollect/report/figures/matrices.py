"""A score matrix as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.report.figures.style import text, whole_ticks
from recollect.report.results import Learner, Stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle


def matrix(ax: Axes, stream: Stream, learner: Learner, *, written: bool = False) -> Axes:
    """Draw the mean score matrix of a learner: rows are time, columns the task evaluated.

    `written` puts the scores into the cells. Where rows are batches or visits, a frame marks the one with which
    each concept had been learned.
    """
    scores, _, _ = learner.matrix.arrays
    known = scores[np.isfinite(scores)]
    bounds = (0.0, 1.0)
    if known.size and (known.min() < 0 or known.max() > 1):
        bounds = (float(known.min()), float(known.max()))
    rows, columns = scores.shape
    ax.imshow(
        scores,
        cmap="Blues",
        vmin=bounds[0],
        vmax=bounds[1],
        extent=(0.5, columns + 0.5, rows + 0.5, 0.5),
        interpolation="nearest",
        aspect="auto" if rows > 2 * columns else "equal",
    )
    if written:
        middle = sum(bounds) / 2
        for (i, j), score in np.ndenumerate(scores):
            if np.isfinite(score):
                label = f"{score:.2f}".replace("0.", ".", 1)
                ax.text(
                    j + 1,
                    i + 1,
                    label,
                    ha="center",
                    va="center",
                    fontsize=5,
                    color="black" if score < middle else "white",
                )
    for task, row in enumerate(learner.learned_at):
        if row >= 0:
            ax.add_patch(_frame(task + 0.5, row + 0.5))
    ax.set_title(text(learner.label))
    ax.set_xlabel(f"evaluated {stream.words.task}")
    ax.set_ylabel(f"after {stream.words.moment}" if rows == columns or stream.rows else "row")
    for axis in (ax.xaxis, ax.yaxis):
        whole_ticks(axis)
    return ax


def _frame(x: float, y: float) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), 1, 1, fill=False, edgecolor="#d55e00", linewidth=0.8)
