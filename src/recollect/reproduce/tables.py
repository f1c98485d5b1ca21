"""Tables 1 and 2 of Michel et al. 2023: what a random classifier scores and "forgets", from the definitions."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

import numpy as np

from recollect.matrix import Array, ScoreMatrix
from recollect.metrics import score
from recollect.text import Table

CLASSES = (2, 2, 2, 2, 2)

# As typed in the paper, in percent; the last column is AA_k and AF_k.
TABLE_1 = (
    ("50", "-", "-", "-", "-", "50"),
    ("25", "25", "-", "-", "-", "25"),
    ("16.7", "16.7", "16.7", "-", "-", "16.7"),
    ("12.5", "12.5", "12.5", "12.5", "-", "12.5"),
    ("10", "10", "10", "10", "10", "10"),
)
TABLE_2 = (
    ("-", "-", "-", "-", "-", "-"),
    ("25", "-", "-", "-", "-", "25"),
    ("33.3", "8.33", "-", "-", "-", "20.83"),
    ("37.5", "12.5", "4.16", "-", "-", "18.06"),
    ("40", "15", "6.66", "2.5", "-", "16.04"),
)

# How a printed number agrees with the computed one.
EXACT, ROUNDED, TRUNCATED, EITHER, DIFFERS = "exact", "rounded", "truncated", "rounded or truncated", "differs"


@dataclass(frozen=True)
class Cell:
    """One number of a printed table beside ours, both in percent; NaN and "-" is an empty cell."""

    table: int
    row: str
    column: str
    printed: str
    computed: float
    agreement: str

    @property
    def agrees(self) -> bool:
        return self.agreement != DIFFERS


def random_classifier(classes: tuple[int, ...] = CLASSES) -> ScoreMatrix:
    """Make the score matrix of guessing: 1 / C_k on every task seen, C_k classes after task k.

    >>> random_classifier((2, 2)).R
    array([[0.5 ,  nan],
           [0.25, 0.25]])
    """
    T = len(classes)
    guess = np.repeat(1 / np.cumsum(classes)[:, None], T, axis=1)
    guess[np.triu_indices(T, 1)] = np.nan
    return ScoreMatrix(guess, n_classes=classes, unit="fraction")


def forgetting_per_task(R: Array) -> Array:
    """f_{k,j} of Definition 3.2: the best score on task j from j to k - 1, less the score after k.

    >>> forgetting_per_task(random_classifier((2, 2, 2)).R)[2, :2].round(4)
    array([0.3333, 0.0833])
    """
    T = len(R)
    drops = np.full((T, T), np.nan)
    for k in range(1, T):
        for j in range(k):
            drops[k, j] = R[j:k, j].max() - R[k, j]
    return drops


def compare_tables() -> tuple[Cell, ...]:
    """Every cell of both tables, the printed number beside the computed one."""
    matrix = random_classifier()
    found: list[Cell] = []
    for number, cells, id, printed in (
        (1, matrix.R, "acc.average", TABLE_1),
        (2, forgetting_per_task(matrix.R), "forgetting.chaudhry2018", TABLE_2),
    ):
        ours = 100 * np.column_stack([cells, score(matrix, id, curve=True)])
        names = (*(f"T{j + 1}" for j in range(matrix.T)), "AA_k" if number == 1 else "AF_k")
        for k, line in enumerate(printed):
            for column, text, value in zip(names, line, ours[k].tolist(), strict=True):
                found.append(Cell(number, f"T{k + 1}", column, text, value, agreement(text, value)))
    return tuple(found)


def agreement(printed: str, value: float) -> str:
    """Say how a printed number comes from the value: to its own digits, by rounding or by cutting off.

    >>> [agreement(*pair) for pair in (("12.5", 12.5), ("16.7", 100 / 6), ("4.16", 100 / 24), ("8.33", 100 / 12))]
    ['exact', 'rounded', 'truncated', 'rounded or truncated']
    >>> agreement("4.18", 100 / 24), agreement("-", float("nan"))
    ('differs', 'exact')
    """
    if printed == "-" or np.isnan(value):
        return EXACT if printed == "-" and np.isnan(value) else DIFFERS
    typed = Decimal(printed)
    # Twelve digits: what floats add to a number such as 12.5 is not a digit of it.
    ours = Decimal(f"{value:.12f}")
    if ours == typed:
        return EXACT
    rounded = ours.quantize(typed, ROUND_HALF_UP) == typed
    truncated = ours.quantize(typed, ROUND_DOWN) == typed
    if rounded and truncated:
        return EITHER
    return ROUNDED if rounded else TRUNCATED if truncated else DIFFERS


def as_tables(cells: tuple[Cell, ...]) -> dict[int, Table]:
    """Both tables to the digits of the paper; a cell that differs shows the two numbers."""
    made: dict[int, Table] = {}
    for number, title in ((1, "Table 1: accuracy (%)"), (2, "Table 2: forgetting (%)")):
        own = [cell for cell in cells if cell.table == number]
        rows = list(dict.fromkeys(cell.row for cell in own))
        columns = ("after", *dict.fromkeys(cell.column for cell in own))
        body = tuple((row, *(_shown(cell) for cell in own if cell.row == row)) for row in rows)
        made[number] = Table(columns, body, right=tuple(range(1, len(columns))), title=title)
    return made


def count_agreements(cells: tuple[Cell, ...]) -> dict[str, list[Cell]]:
    """The cells that hold a number, by how they agree."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.printed != "-" or not cell.agrees:
            found.setdefault(cell.agreement, []).append(cell)
    return found


def _shown(cell: Cell) -> str:
    if cell.agrees:
        return cell.printed
    return f"{cell.computed:.4f} (paper: {cell.printed})"
