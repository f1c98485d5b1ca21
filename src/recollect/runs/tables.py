"""The score matrix of each run as a table for a page: Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from recollect.runs.run import Run
from recollect.text import Table, markdown


def to_markdown(runs: Sequence[Run], digits: int = 3) -> str:
    """One heading and one table per run; rows are time, a dash is "not evaluated"."""
    return "\n".join(f"### {markdown(run.name)}\n\n{_table(run, digits).markdown()}\n" for run in runs)


def to_latex(runs: Sequence[Run], digits: int = 3) -> str:
    """One `tabular` per run, with the rules of the package booktabs."""
    return "\n".join(f"% {re.sub(r'[^ -~]+', ' ', run.name)}\n{_table(run, digits).latex()}\n" for run in runs)


def _table(run: Run, digits: int) -> Table:
    matrix = run.matrix
    ends = {int(row): task for task, row in enumerate(matrix.learned_at)}
    labelled = [] if matrix.b is None else [("untrained", matrix.b)]
    for i, scores in enumerate(matrix.R):
        if i in ends or not np.isnan(scores).all():
            labelled.append((run.tasks[ends[i]].name if i in ends else f"row {i}", scores))
    rows = tuple(
        (label, *("–" if np.isnan(score) else f"{score:.{digits}f}" for score in scores)) for label, scores in labelled
    )
    return Table(("after", *(task.name for task in run.tasks)), rows, right=tuple(range(1, run.T + 1)))
