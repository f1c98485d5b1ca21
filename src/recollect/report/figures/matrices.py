"""A score matrix as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.report.figures.style import task_ticks, text, whole_ticks
from recollect.report.results import LearnerResult, StreamResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle


def matrix(ax: Axes, stream: StreamResult, learner: LearnerResult, *, written: bool = False) -> Axes:
    """Draw the mean score matrix of a learner: rows are time, columns the task evaluated.

    `written` puts the scores into the cells. Where rows are batches or visits, a frame marks the one with which
    each concept had been learned.
    """
    scores, _, _ = learner.matrix.arrays
    # A row that was never evaluated is no row of the picture.
    kept = np.arange(len(scores)) if stream.rows else np.flatnonzero(np.isfinite(scores).any(axis=1))
    scores = scores[kept]
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
        aspect="equal" if columns / 2 < rows < 2 * columns else "auto",
    )
    if written:
        # Black is read on the lighter three fifths of the scale.
        middle = bounds[0] + 0.6 * (bounds[1] - bounds[0])
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
    ax.set_ylabel(f"after {stream.words.moment}")
    most = 5 if columns > 20 else 10
    ax.set_xticks(task_ticks(columns, most))
    if stream.rows:
        whole_ticks(ax.yaxis, most)
    else:
        ax.set_yticks(task_ticks(rows, most))
    if len(kept) < len(learner.ends):
        chosen = np.unique(np.linspace(0, len(kept) - 1, min(6, len(kept))).astype(int))
        ax.set_yticks(chosen + 1, [str(learner.ends[kept[i]] or "") for i in chosen])
    return ax


def _frame(x: float, y: float) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), 1, 1, fill=False, edgecolor="#d55e00", linewidth=0.8)
