"""`.csv` files: a matrix (rows: time, columns: tasks), or a long table with one cell per line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from recollect.errors import UsageError
from recollect.inputs import as_scores
from recollect.orientation import SAY_ROWS
from recollect.runs.importers.build import (
    Matrix,
    check_size,
    decimal_points,
    matrix_run,
    said_in_percent,
)
from recollect.runs.importers.files import cannot_read, fields_of, head_lines, in_words, is_folder, read_text
from recollect.runs.importers.matrices import rows_note, settle_rows, zeros_note
from recollect.runs.importers.table import is_long, runs_of_table, score_of
from recollect.runs.run import Run

NAME = "csv"
SUMMARY = "CSV: a matrix (rows: time, columns: tasks), or long: after, on, score[, run, seed, n, learner, stream]"

_UNTRAINED = re.compile(r"-1|untrained|init|none|baseline", re.IGNORECASE)

# What rows or columns are called that are moments, not tasks.
_MOMENT = re.compile(r"(after|trained|train|learned|learnt)(?![a-z])", re.IGNORECASE)


def sniff(path: Path) -> bool:
    """A table of numbers, or a header with after, on and score; and not the table of a known tool."""
    # Where no other reader is asked, none is imported.
    from recollect.runs.importers import avalanche, gem, l2metrics, mammoth, michel, pycil

    others = (avalanche, gem, l2metrics, mammoth, michel, pycil)
    if is_folder(path) or any(other.sniff(path) for other in others):
        return False
    lines = [line for line in head_lines(path, 2**16) if line.strip()]
    if not lines or lines[0].lstrip()[:1] in "[{<":
        return False
    try:
        table = _split(path, lines)
    except UsageError:
        return False
    return is_long(table[0]) or _matrix_part(table) is not None


def read(path: Path, *, rows: str | None = None) -> list[Run]:
    """The run of a matrix (`rows`: time or tasks), or every run of a long table."""
    lines = [line for line in read_text(path, NAME).split("\n") if line.strip()]
    if not lines:
        raise cannot_read(path, NAME, "it is empty.")
    table = _split(path, lines)
    if is_long(table[0]):
        return _long(path, table)
    return [_matrix(path, table, rows)]


def _split(path: Path, lines: Sequence[str]) -> list[list[str]]:
    """Fields, by the separator of the first lines; beside semicolons or tabs a comma is a decimal comma."""
    separator = next((s for s in ("\t", ";", ",") if s in lines[0]), None)
    if separator is None and len(lines) > 1:
        separator = next((s for s in ("\t", ";", ",") if s in lines[1]), None)
    if separator is None:
        return [line.split() for line in lines]
    table = [[field.strip() for field in row] for row in fields_of(path, NAME, lines, separator)]
    return (table if separator == "," else decimal_points(table)) or [[]]


def _is_score(field: str) -> bool:
    try:
        score_of(field.removesuffix("%"))
    except ValueError:
        return False
    return True


def _matrix_part(table: list[list[str]]) -> tuple[list[str] | None, list[str] | None, list[list[str]]] | None:
    """Column names, row names and cells of a matrix; None if the table is none."""
    body = table
    names = rows = None
    if not all(_is_score(field) for field in table[0][1:] or table[0]) or _counts_up(table):
        names, body = table[0], table[1:]
    if not body or not any(any(c.isdigit() for c in field) for row in body for field in row):
        return None
    first = [row[0] for row in body]
    indexed = names is not None and (names[0].lower() in ("", "after", "row", "index", "i", "trained"))
    if indexed or not all(_is_score(field) for field in first):
        rows = first
        body = [row[1:] for row in body]
        names = names[1:] if names is not None and len(names) == len(table[-1]) else names
    if not all(row and all(_is_score(field) for field in row) for row in body):
        return None
    width = max(len(row) for row in body)
    if names is not None and len(names) != width:
        return None
    return names, rows, body


def _counts_up(table: list[list[str]]) -> bool:
    """Whether the first line numbers the columns as pandas does, 0, 1, 2, ..., and is no row of scores."""
    numbers = [str(j) for j in range(len(table[0]))]
    square = len(table) == len(numbers)
    return (table[0] == numbers and len(numbers) > 1 and not square) or table[0] == ["", *numbers[:-1]]


def _matrix(path: Path, table: list[list[str]], rows: str | None) -> Run:
    parts = _matrix_part(table)
    if parts is None:
        wrong = next((f for row in table[1:] for f in row[1:] if not _is_score(f)), table[0][0] if table[0] else "")
        raise cannot_read(
            path,
            NAME,
            "it is neither a matrix of numbers nor a long table (columns after, on, score):"
            f" '{in_words(wrong)}' is not a score. Empty cells, nan and NA mean not evaluated.",
        )
    names, row_names, body = parts
    T = len(names) if names is not None else max(len(row) for row in body)
    check_size(path, NAME, len(body), T)
    percent = said_in_percent(path, NAME, [field for row in body for field in row])
    try:
        matrix: Matrix = [
            [score_of(field.removesuffix("%")) for field in row] + [None] * (T - len(row)) for row in body
        ]
    except ValueError as error:
        raise cannot_read(path, NAME, f"{error}.") from None
    if rows == "tasks":
        matrix = [list(column) for column in zip(*matrix, strict=True)]
        names, row_names, T = row_names, names, len(matrix[0])
    untrained = None
    if row_names is not None and len(matrix) == T + 1 and _UNTRAINED.fullmatch(row_names[0]):
        untrained, matrix = matrix[0], matrix[1:]
    if len(matrix) != T:
        raise cannot_read(
            path,
            NAME,
            f"it has {len(matrix)} rows for {T} tasks; expected a row after each task (empty cells where not"
            " evaluated). For other rows write a long table: after, on, score.",
        )
    rows_are = rows or _said_rows(path, names, row_names)
    if rows_are is None:
        rows_are = settle_rows(path, NAME, as_scores(matrix, "the matrix"), rows)
    return matrix_run(
        path,
        NAME,
        matrix,
        names,
        untrained,
        learner=path.stem,
        guessed=path.stem,
        unit="percent" if percent else "auto",
        notes=(rows_note(rows_are, rows_are), zeros_note(matrix)),
        rows_are=rows_are,
    )


def _said_rows(path: Path, names: list[str] | None, row_names: list[str] | None) -> str | None:
    """Time, if the names of the rows say that they are moments; columns that say it are refused."""
    if row_names is not None and all(map(_MOMENT.match, row_names)):
        return "time"
    if names is not None and all(map(_MOMENT.match, names)):
        raise cannot_read(
            path, NAME, f"its columns are named like moments of training ('{in_words(names[0])}'). {SAY_ROWS}"
        )
    return None


def _long(path: Path, table: list[list[str]]) -> list[Run]:
    header = [name.strip().lower() for name in table[0]]
    if len(set(header)) != len(header):
        raise cannot_read(path, NAME, "two columns of the table have one name.")
    for place, row in enumerate(table[1:], start=2):
        if len(row) != len(header):
            raise cannot_read(path, NAME, f"row {place} has {len(row)} fields; the header has {len(header)}.")
    return runs_of_table(path, NAME, [dict(zip(header, row, strict=True)) for row in table[1:]])
