"""How hard a stream becomes: the factors between AA and RAA, AF and RAF (Michel et al. 2023, Figure 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.report.figures.style import colour, marker, task_ticks
from recollect.report.results import StreamResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = {
    "aa": "AA of the random classifier",
    "af": "AF of the random classifier",
    "gamma": r"$\gamma_k$ = RAA / AA",
    "beta": r"$\beta_k$ = RAF / AF",
}


def difficulty(ax: Axes, stream: StreamResult) -> Axes:
    """Draw what a random classifier scores and forgets, and the two factors that correct for it."""
    tasks = np.arange(1, stream.T + 1)
    for place, (name, label) in enumerate(LABELS.items()):
        if name in stream.difficulty:
            ax.plot(
                tasks,
                stream.difficulty[name],
                color=colour(place),
                marker=marker(place),
                markevery=max(1, stream.T // 12),
                linestyle="-" if name in ("gamma", "beta") else "--",
                label=label,
                clip_on=False,
                zorder=3,
            )
    ax.set_xlabel(f"{stream.words.tasks} learned")
    ax.set_ylim(bottom=0)
    ax.set_xticks(task_ticks(stream.T))
    ax.set_xlim(1, max(2, stream.T))
    return ax
