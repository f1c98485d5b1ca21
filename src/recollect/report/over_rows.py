"""Streams whose rows are batches or visits: what each row is, and curves that have a value at every one."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.matrix import Array, ScoreMatrix
from recollect.metrics import over_rows
from recollect.report.words import Words
from recollect.runs import Run


def curves_over_rows(matrix: ScoreMatrix) -> dict[str, Array]:
    """The average of the concepts learned so far and their forgetting after every row, each (runs, rows).

    The last values are those of the table: "now" is the last row.

    >>> R = [[.9, .5], [.7, .6], [.8, .8]]
    >>> curves = curves_over_rows(ScoreMatrix([R], learned_at=[0, 2]))
    >>> curves["acc.average"], curves["forgetting.chaudhry2018"].round(3)
    (array([[0.9, 0.7, 0.8]]), array([[nan, 0.2, 0.1]]))
    """
    return {id: over_rows(matrix, id).reshape(-1, matrix.S) for id in ("acc.average", "forgetting.chaudhry2018")}


def row_numbers(run: Run) -> tuple[int, ...]:
    """The number of each row's batch or visit, from 1; they are not all evaluated if the plan says so."""
    S = run.matrix.S
    planned = run.plan.rows
    return tuple(row + 1 for row in planned) if planned is not None and len(planned) == S else tuple(range(1, S + 1))


def row_names(run: Run, tasks: Sequence[str], words: Words) -> tuple[str, ...]:
    """What each row is: its batch or visit, and the concepts that have been learned with it."""
    learned: dict[int, list[str]] = {}
    for task, row in zip(tasks, run.matrix.learned_at.tolist(), strict=True):
        learned.setdefault(row, []).append(task)
    names = []
    for row, number in enumerate(row_numbers(run)):
        new = f" ({', '.join(learned[row])} learned)" if row in learned else ""
        names.append(f"{words.row} {number}{new}")
    return tuple(names)
