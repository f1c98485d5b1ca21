"""Streams whose rows are batches or visits: what each row is, and curves that have a value at every one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recollect.matrix import Array, ScoreMatrix
from recollect.report.words import Words
from recollect.runs import Run


def curves_over_rows(matrix: ScoreMatrix) -> dict[str, Array]:
    """The average of the concepts learned so far and their forgetting after every row, each (runs, rows).

    In the rows after which a concept has been learned these are `acc.average` and `forgetting.chaudhry2018`;
    in the rows between, the same with the row's scores as those of now.

    >>> R = [[.9, .5], [.7, .6], [.8, .8]]
    >>> curves = curves_over_rows(ScoreMatrix([R], learned_at=[0, 2]))
    >>> curves["acc.average"], curves["forgetting.chaudhry2018"].round(3)
    (array([[0.9, 0.7, 0.8]]), array([[nan, 0.2, 0.1]]))
    """
    R = matrix.R.reshape(-1, matrix.S, matrix.T)
    turned = R if matrix.higher_is_better else -R
    average, forgetting = np.full((2, len(R), matrix.S), np.nan)
    peak = np.full((len(R), matrix.T), np.nan)
    learned_at = matrix.learned_at
    for row in range(matrix.S):
        earlier = (learned_at >= 0) & (learned_at < row)
        learned = earlier | (learned_at == row)
        if learned.any():
            average[:, row] = R[:, row, learned].mean(-1)
        if earlier.any():
            forgetting[:, row] = (peak - turned[:, row])[:, earlier].mean(-1)
        if (learned_at == row).any():
            now = np.where(learned, turned[:, row], np.nan)
            peak = np.where(earlier, np.maximum(peak, now), now)
    return {"acc.average": average, "forgetting.chaudhry2018": forgetting}


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


def rows_after_the_last(run: Run, words: Words) -> str | None:
    """That concepts came again after all had been learned, which the metrics of the table do not see."""
    matrix = run.matrix
    more = matrix.S - 1 - int(matrix.learned_at.max())
    if not words.by_rows or more <= 0:
        return None
    many = words.rows if more > 1 else words.row
    return (
        f"{more} {many} come after the one that the last {words.task} was learned with: the curves and matrices show"
        f" them, and anytime.* reads them; the other metrics end with that one"
    )
