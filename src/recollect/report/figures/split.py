"""Forgetting split in its parts, as stacked bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recollect.report.figures.style import PARTS, task_ticks, text
from recollect.report.results import LearnerResult, StreamResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More bars than these run into each other: their tops are drawn as one area.
MOST_BARS = 30


def parts(ax: Axes, stream: StreamResult, learner: LearnerResult, over: Literal["time", "task"] = "time") -> Axes:
    """Draw the parts of forgetting; over time as the mean of earlier tasks, or per task at the end."""
    if learner.parts is None:
        return ax
    bands = learner.parts.over_time if over == "time" else learner.parts.per_task
    tasks = np.arange(1, stream.T + 1)
    up, down = np.zeros(stream.T), np.zeros(stream.T)
    for name, (shade, hatch, says) in PARTS.items():
        label = says.format(task=stream.words.task, tasks=stream.words.tasks)
        height = np.nan_to_num(bands[name].arrays[0])
        bottom = np.where(height >= 0, up, down)
        look: dict[str, Any] = {"hatch": hatch, "edgecolor": "#666666", "linewidth": 0.3, "label": label}
        if stream.T > MOST_BARS:
            ax.fill_between(tasks, bottom, bottom + height, step="mid", facecolor=shade, **look)
        else:
            ax.bar(tasks, height, bottom=bottom, width=0.8, color=shade, **look)
        up, down = up + np.maximum(height, 0), down + np.minimum(height, 0)
    forgetting = learner.curves.get("forgetting.chaudhry2018")
    if over == "time" and forgetting is not None:
        ax.plot(tasks, forgetting.value, "k-" if stream.T > MOST_BARS else "k_", lw=0.9, ms=5, label="AF")
    ax.axhline(0, color="black", linewidth=0.5)
    ax.set_title(text(learner.label))
    ax.set_xlabel(f"{stream.words.tasks} learned" if over == "time" else stream.words.task)
    ax.set_ylabel("forgetting (AF)")
    ax.set_xticks(task_ticks(stream.T, most=6 if stream.T > 9 else 9))
    ax.set_xlim(0.5, stream.T + 0.5)
    return ax
