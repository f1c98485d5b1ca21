"""From the numbers of a file to runs: what every importer needs."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from recollect.runs.importers.files import cannot_read, in_words
from recollect.runs.run import ACCURACY, Plan, Row, Run, Source, Task
from recollect.runs.timeline import ends_among

MAX_TASKS = 10_000
MAX_CELLS = 20_000_000

_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")

Score = float | None
Matrix = list[list[Score]]


def number(value: object) -> Score:
    """A score, or None where there is none (None, NaN). Anything else is a ValueError.

    >>> number(3), number(float("nan")), number(None)
    (3.0, None, None)
    >>> number("3")
    Traceback (most recent call last):
    ...
    ValueError: '3' is not a number
    """
    if value is None:
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        shown = repr(in_words(value)) if isinstance(value, str) else in_words(value)
        raise ValueError(f"{shown} is not a number")
    try:
        score = float(value)
    except OverflowError:
        raise ValueError("a whole number too large for a score") from None
    if math.isinf(score):
        raise ValueError("a score is infinite")
    return None if math.isnan(score) else score


def decimal_points(table: Sequence[Sequence[str]]) -> list[list[str]]:
    """The fields of a table whose separator is no comma: `0,5` in one is a half."""
    return [[re.sub(r"^([+-]?[0-9]*),([0-9]+)(%?)$", r"\1.\2\3", field) for field in row] for row in table]


def said_in_percent(path: Path, tool: str, fields: Sequence[str]) -> bool:
    """Whether the scores carry a percent sign; those of one table do, or do not."""
    scores = [field for field in fields if any(c in "0123456789" for c in field)]
    marked = sum(field.endswith("%") for field in scores)
    if marked not in (0, len(scores)):
        raise cannot_read(
            path, tool, f"{marked} of its {len(scores)} scores have a percent sign, the others have none."
        )
    return marked > 0


def whole(value: object) -> int | None:
    """A whole number (a seed, a count), or None if the value is none that a record can hold.

    >>> whole(3), whole(3.0), whole("7"), whole(None), whole(2.5), whole(10**30)
    (3, 3, 7, None, None, None)
    """
    if isinstance(value, str):
        value = int(value) if _WHOLE.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    if isinstance(value, float | np.floating):
        if not math.isfinite(value) or value != int(value):
            return None
        value = int(value)
    return int(value) if abs(int(value)) < 2**63 else None


def array_matrix(array: np.ndarray[Any, Any]) -> Matrix:
    """A 2-D array of numbers as rows of scores, NaN as None; an infinite score is a ValueError."""
    values = array.astype(np.float64)
    if np.isinf(values).any():
        raise ValueError("a score is infinite")
    return [[None if math.isnan(x) else x for x in row] for row in values.tolist()]


def is_numeric(array: object) -> bool:
    """Whether this is an array of real numbers (no objects, strings, records, complex numbers)."""
    return isinstance(array, np.ndarray) and array.dtype.kind in "biuf"


def blank_future_zeros(matrices: Sequence[Matrix], tool: str) -> tuple[list[Matrix], str | None]:
    """Above the diagonal, 0 may be a score or "not evaluated": decide for all the runs of a file together.

    If every future cell is 0, nothing was evaluated there and the cells become None. A single future score
    that is not 0 shows that the future was evaluated, and zeros stay.

    >>> blank_future_zeros([[[.9, 0.], [.5, .8]]], "a-gem")[0]
    [[[0.9, None], [0.5, 0.8]]]
    >>> blank_future_zeros([[[.9, .1, 0.], [.5, .8, 0.], [.4, .6, .7]]], "a-gem")[0]
    [[[0.9, 0.1, 0.0], [0.5, 0.8, 0.0], [0.4, 0.6, 0.7]]]
    """
    future = [cell for matrix in matrices for i, row in enumerate(matrix) for cell in row[i + 1 :]]
    if not future or any(cell not in (0, None) for cell in future):
        return list(matrices), None
    if all(cell is None for cell in future):
        return list(matrices), None
    blanked = [[row[: i + 1] + [None] * len(row[i + 1 :]) for i, row in enumerate(matrix)] for matrix in matrices]
    return blanked, f"every score on a future task is 0, which {tool} writes for 'not evaluated': left empty"


def task_rows(matrix: Matrix, untrained: Sequence[Score] | None = None, metric: str = ACCURACY) -> tuple[Row, ...]:
    """Row i of the matrix as the evaluation after task i, after the untrained row if there is one."""
    first = () if untrained is None else (Row(-1, scores={metric: tuple(untrained)}),)
    return first + tuple(Row(i, scores={metric: tuple(row)}) for i, row in enumerate(matrix))


def named(names: Sequence[object] | int, n_classes: Sequence[int] | None = None) -> tuple[Task, ...]:
    """Tasks from their names, or from how many there are."""
    texts = (
        [f"task {j}" for j in range(names)] if isinstance(names, int) else [in_words(str(name), 200) for name in names]
    )
    return tuple(Task(text, n_classes=None if n_classes is None else n_classes[j]) for j, text in enumerate(texts))


@dataclass(frozen=True)
class Origin:
    """The learner and the seed that a file's folders name; the note says so where a folder was taken for a seed."""

    learner: str
    seed: int | None = None
    note: str | None = None


def origin_of(path: Path) -> Origin:
    """Whose run a file is that does not say it: `<learner>/<file>`, or `<learner>/<seed>/<file>`.

    >>> origin_of(Path("results/er/log.txt"))
    Origin(learner='er', seed=None, note=None)
    >>> found = origin_of(Path("results/er/3/log.txt"))
    >>> found.learner, found.seed
    ('er', 3)
    """
    folder = path.absolute().parent
    if not re.fullmatch(r"[0-9]{1,18}", folder.name) or not folder.parent.name:
        return Origin(folder.name)
    note = "the folder's name is a number: taken for the seed, and the name of the folder above for the learner"
    return Origin(folder.parent.name, int(folder.name), note)


def matrix_run(
    path: Path,
    tool: str,
    matrix: Matrix,
    names: Sequence[object] | None = None,
    untrained: Sequence[Score] | None = None,
    **about: Any,
) -> Run:
    """The run of a matrix with one row after each task (see `make_run`); tasks without names are numbered."""
    rows = task_rows(matrix, untrained, about.get("metric", ACCURACY))
    return make_run(path, tool, rows=rows, tasks=named(len(matrix[0]) if names is None else names), **about)


def make_run(
    path: Path,
    tool: str,
    *,
    rows: Sequence[Row],
    tasks: Sequence[Task],
    learner: str,
    unit: str,
    stream: str = "unknown",
    seed: int | None = None,
    notes: Sequence[str | None] = (),
    scenario: str | None = None,
    metric: str = ACCURACY,
    higher_is_better: bool = True,
    seen_only: bool = False,
    complete: bool = True,
    learned_at: Mapping[int, int] | None = None,
    config: Mapping[str, Any] | None = None,
    problem: str = "",
    role: str = "contestant",
    rows_are: str | None = "time",
    part: int | None = None,
    guessed: str | None = None,
) -> Run:
    """A run, after the checks that hold for every tool: not empty, not too large.

    `rows_are` is "time" or "tasks" where the file or the user says it, None for a matrix that does not tell.
    `part` is the run's place in a file that holds several, from 1; `guessed` what of the learner's name is of the path.

    `seen_only` says that the tool evaluates only tasks learned so far. With `complete=False` the rows that
    are there are all that was planned; otherwise one is expected after every task.
    """
    check_size(path, tool, len(rows), len(tasks))
    cells = (v for row in rows for values in (*row.scores.values(), row.correct or (), [row.pooled]) for v in values)
    if all(cell is None for cell in cells):
        raise cannot_read(path, tool, "it holds no score at all.")
    names = [task.name for task in tasks]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise cannot_read(path, tool, f"two of its tasks are called '{twice}'. Give each a name of its own.")
    called = in_words(metric, 200)
    return Run(
        learner=in_words(learner, 200) or "unknown",
        stream=in_words(stream, 200) or "unknown",
        tasks=tuple(tasks),
        rows=tuple(rows) if called == metric else tuple(_renamed(row, metric, called) for row in rows),
        seed=seed,
        unit=unit,
        metric=called,
        problem=problem,
        role=role,
        scenario=scenario,
        higher_is_better=higher_is_better,
        learner_config={k: in_words(v, 200) if isinstance(v, str) else v for k, v in (config or {}).items()},
        plan=Plan(rows=None if complete else ends_among(rows), columns="seen" if seen_only else "all"),
        learned_at=learned_at,
        source=Source(tool=tool, path=str(path), sha256=_digest(path), rows=rows_are, part=part, guessed=guessed),
        notes=tuple(in_words(note, 500) for note in notes if note),
        path=path,
    )


def _renamed(row: Row, old: str, new: str) -> Row:
    return replace(row, scores={new if name == old else name: values for name, values in row.scores.items()})


def check_size(path: Path, tool: str, rows: int, tasks: int, runs: int = 1) -> None:
    """Refuse a matrix that no measurement has, before it is unfolded."""
    if not rows or not tasks:
        raise cannot_read(path, tool, "it holds no score matrix: there are no rows, or no tasks.")
    if tasks > MAX_TASKS or rows * tasks * runs > MAX_CELLS:
        raise cannot_read(
            path,
            tool,
            f"it holds {runs:,} x {rows:,} rows of {tasks:,} tasks; up to {MAX_TASKS:,} tasks and"
            f" {MAX_CELLS:,} scores a file are read. Is it a score matrix (rows: time, columns: tasks)?",
        )


def _digest(path: Path) -> str | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
