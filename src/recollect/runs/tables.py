"""The score matrix of each run as a table for a page: Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from recollect.foreign import latex, markdown
from recollect.runs.run import Run


def to_markdown(runs: Sequence[Run], digits: int = 3) -> str:
    """One heading and one table per run; rows are time, a dash is "not evaluated"."""
    parts = []
    for run in runs:
        head, *body = _grid(run, digits, markdown, "–")
        lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] + ["---:"] * (len(head) - 1), *body)]
        parts.append(f"### {markdown(run.name)}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def to_latex(runs: Sequence[Run], digits: int = 3) -> str:
    """A `tabular` a run, with the rules of the package booktabs."""
    parts = []
    for run in runs:
        head, *body = _grid(run, digits, latex, "--")
        lines = [" & ".join(cells) + r" \\" for cells in (head, *body)]
        parts.append(
            "\n".join(
                [
                    f"% {re.sub(r'[^ -~]+', ' ', run.name)}",
                    rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
                    r"\toprule",
                    lines[0],
                    r"\midrule",
                    *lines[1:],
                    r"\bottomrule",
                    r"\end{tabular}",
                ]
            )
            + "\n"
        )
    return "\n".join(parts)


def _grid(run: Run, digits: int, escape: Callable[[str], str], absent: str) -> list[list[str]]:
    matrix = run.matrix
    ends = {int(row): task for task, row in enumerate(matrix.learned_at)}
    grid = [["after", *(escape(task.name) for task in run.tasks)]]
    labelled = [] if matrix.b is None else [("untrained", matrix.b)]
    for i, scores in enumerate(matrix.R):
        if i in ends or not np.isnan(scores).all():
            labelled.append((escape(run.tasks[ends[i]].name) if i in ends else f"row {i}", scores))
    for label, scores in labelled:
        grid.append([label, *(absent if np.isnan(score) else f"{score:.{digits}f}" for score in scores)])
    return grid
