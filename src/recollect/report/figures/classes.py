"""Which class is answered for which, as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.report.figures.style import task_ticks, text
from recollect.report.results import LearnerResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The names of more classes do not fit beside an axis: their places stand there.
MOST_NAMES = 12
LONGEST = 10


def confusion(ax: Axes, learner: LearnerResult) -> Axes:
    """Draw what each class (rows) is answered with at the end (columns), as shares of its test samples."""
    if learner.classes is None:
        return ax
    names, shares = learner.classes.names, learner.classes.answered.arrays[0]
    C, longest = len(names), max(map(len, names))
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, extent=(0.5, C + 0.5, C + 0.5, 0.5), interpolation="nearest")
    ax.set_title(text(learner.label))
    if C <= MOST_NAMES and longest <= LONGEST:
        labels = [text(name) for name in names]
        ax.set_xticks(range(1, C + 1), labels, rotation=90 if longest > 1 else 0)
        ax.set_yticks(range(1, C + 1), labels)
    else:
        ax.set_xticks(task_ticks(C, 5))
        ax.set_yticks(task_ticks(C, 5))
    ax.set_xlabel("answered class")
    ax.set_ylabel("true class")
    return ax
