"""Matrices of no particular tool: what `.npy`, `.npz` and `.json` files have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.orientation import SAY_ROWS, why_empty
from recollect.runs.importers.build import array_matrix, check_size, make_run, task_rows, whole
from recollect.runs.importers.files import cannot_read, in_words
from recollect.runs.run import Row, Run, Task

# What the parts of a matrix file may be called, ours first.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "R": ("R", "matrix", "scores", "score_matrix", "accuracy", "acc", "accuracies"),
    "b": ("b", "untrained", "baseline"),
    "joint": ("joint", "J"),
    "n_classes": ("n_classes", "classes"),
    "n_samples": ("n_samples", "samples", "n"),
    "learned_at": ("learned_at",),
    "steps": ("steps",),
    "names": ("names", "tasks"),
    "seeds": ("seeds", "seed"),
    "learner": ("learner",),
    "stream": ("stream",),
    "unit": ("unit",),
}


@dataclass(frozen=True)
class Parts:
    """The parts of a matrix file: `R` (..., rows, tasks) as an array, the others as they were found."""

    R: np.ndarray[Any, Any]
    others: Mapping[str, Any] = field(default_factory=dict)


def pick(path: Path, tool: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """The parts under our own names; a part with two names, or none called R, is an error."""
    picked: dict[str, Any] = {}
    for part, names in ALIASES.items():
        have = [name for name in names if name in found]
        if len(have) > 1:
            raise cannot_read(path, tool, f"{' and '.join(have)} both stand for {part}; leave one out.")
        if have:
            picked[part] = found[have[0]]
    if "R" not in picked:
        have_names = ", ".join(in_words(name, 30) for name in list(found)[:10]) or "nothing"
        raise cannot_read(
            path, tool, f"there is no score matrix called R (or matrix, scores) in it; it has: {have_names}."
        )
    return picked


def settle_rows(path: Path, tool: str, R: np.ndarray[Any, Any], rows: str | None) -> str | None:
    """What the rows of (..., S, T) scores are: as told; "time" where the shape says it; None if nothing does.

    A matrix whose lower triangle is empty is the wrong way round, and is refused until the user tells.
    """
    if rows not in (None, "time", "tasks"):
        raise cannot_read(path, tool, f"rows are time or tasks; got '{in_words(rows)}'.")
    if rows is not None:
        return rows
    if R.ndim < 2 or R.shape[-1] != R.shape[-2]:
        return "time"
    if (why := why_empty(R.astype(np.float64))) is not None:
        raise cannot_read(path, tool, f"it looks transposed: {why}. {SAY_ROWS}")
    return None


def rows_note(rows_are: str | None, rows: str | None) -> str | None:
    """What to say of the orientation that `settle_rows` found."""
    if rows_are == "tasks":
        return "the rows of the file are tasks, as told: the matrix was turned"
    return None if rows == "time" else "rows are taken for time, columns for tasks"


def zeros_note(matrix: Sequence[Sequence[float | None]]) -> str | None:
    """What to say of a matrix in which every future score is 0: measured, or the filling of an array of zeros?"""
    future = [cell for i, row in enumerate(matrix) for cell in row[i + 1 :]]
    if not future or any(cell != 0 for cell in future):
        return None
    return (
        "every score above the diagonal is 0, and is taken for measured; where those tasks were not evaluated, write"
        " nan (forward transfer reads these cells)"
    )


def runs_of(
    path: Path, tool: str, parts: Parts, notes: Sequence[str | None] = (), rows: str | None = None
) -> list[Run]:
    """A run for each matrix; leading axes are runs, and their numbers stand for seeds that are not given.

    `rows` is "time" or "tasks" where the user says what the rows of the file are.
    """
    R = parts.R
    is_stated = parts.others.get("learned_at") is not None
    rows_are = "time" if is_stated and rows is None else settle_rows(path, tool, R, rows)
    if rows_are == "tasks" and R.ndim >= 2:
        R = R.swapaxes(-1, -2)
    if R.ndim < 2 or R.ndim > 6:
        raise cannot_read(path, tool, f"R has shape {R.shape}; expected (rows, tasks), or (runs, rows, tasks).")
    S, T = R.shape[-2:]
    count = int(np.prod(R.shape[:-2], dtype=np.int64)) if S and T else 0
    check_size(path, tool, S, T, max(count, 1))
    if not count:
        raise cannot_read(path, tool, f"R has shape {R.shape}: there is no run in it.")
    get = parts.others.get
    untrained = _vectors(path, tool, "b", get("b"), count, (T,))
    joint = _vectors(path, tool, "joint", get("joint"), count, (T, T), turned=rows_are == "tasks")
    learned_at = _learned_at(path, tool, get("learned_at"), S, T)
    steps = _counts(path, tool, "steps", get("steps"), S)
    tasks = _tasks(path, tool, parts.others, T)
    seeds = _seeds(path, tool, get("seeds"), count)
    said = [*notes, None if is_stated and rows is None else rows_note(rows_are, rows)]
    if count > 1 and get("seeds") is None:
        said.append(f"{count} matrices on the leading axes: taken for runs, numbered from 0 as if by seed")
    unit = _text(get("unit"))
    if unit not in (None, "fraction", "percent", "raw", "auto"):
        raise cannot_read(path, tool, f"unit is fraction, percent, raw or auto; it says '{in_words(unit)}'.")
    runs = []
    for index, one in enumerate(R.reshape(count, S, T)):
        matrix = _matrix(path, tool, "R", one)
        moments = [
            Row(
                row.after,
                scores=row.scores,
                step=None if steps is None or row.after < 0 else steps[row.after],
                joint=_joint_row(joint, index, row.after, learned_at, S, T),
            )
            for row in task_rows(matrix, None if untrained is None else untrained[index][0])
        ]
        runs.append(
            make_run(
                path,
                tool,
                rows=moments,
                tasks=tasks,
                learner=_text(get("learner")) or path.stem,
                guessed=None if _text(get("learner")) else path.stem,
                stream=_text(get("stream")) or "unknown",
                seed=seeds[index],
                unit=unit or "auto",
                notes=[*said, zeros_note(matrix)],
                learned_at=learned_at,
                rows_are=rows_are,
                part=index + 1 if count > 1 else None,
            )
        )
    return runs


def _matrix(path: Path, tool: str, part: str, array: np.ndarray[Any, Any]) -> list[list[float | None]]:
    try:
        return array_matrix(array)
    except ValueError as error:
        raise cannot_read(path, tool, f"in {part}, {error}.") from None


def _joint_row(joint: Any, index: int, after: int, learned_at: Any, S: int, T: int) -> tuple[float | None, ...] | None:
    if joint is None or after < 0:
        return None
    task = next((t for t, row in learned_at.items() if row == after), None) if learned_at is not None else after
    return None if task is None or task >= T else tuple(joint[index][task])


def _vectors(
    path: Path, tool: str, part: str, value: Any, count: int, tail: tuple[int, ...], turned: bool = False
) -> Any:
    """A companion of R for each run: given for each, or once for all."""
    if value is None:
        return None
    array = to_array(path, tool, part, value)
    if array.shape[-len(tail) :] != tail or int(np.prod(array.shape, dtype=np.float64)) not in (
        int(np.prod(tail)),
        count * int(np.prod(tail)),
    ):
        raise cannot_read(path, tool, f"{part} has shape {array.shape}; expected (..., {', '.join(map(str, tail))}).")
    array = array.swapaxes(-1, -2) if turned else array
    each = np.broadcast_to(array.reshape(-1, *tail), (count, *tail)).reshape(count, -1, tail[-1])
    return [_matrix(path, tool, part, one) for one in each]


def _learned_at(path: Path, tool: str, value: Any, S: int, T: int) -> dict[int, int] | None:
    if value is None:
        if S != T:
            raise cannot_read(
                path,
                tool,
                f"R has {S} rows and {T} tasks, and where rows are not task ends, learned_at must say after"
                " which row each task has been learned. Is R cut off, or transposed?",
            )
        return None
    rows = _counts(path, tool, "learned_at", value, T, least=-1)
    return None if rows is None else dict(enumerate(rows))


def _counts(path: Path, tool: str, part: str, value: Any, length: int, least: int = 0) -> list[int] | None:
    if value is None:
        return None
    values = value.tolist() if isinstance(value, np.ndarray) else value
    numbers = [whole(v) for v in values] if isinstance(values, list) else []
    if len(numbers) != length or any(n is None or n < least or n > 10**15 for n in numbers):
        raise cannot_read(path, tool, f"{part} is not a list of {length} whole numbers of at least {least}.")
    return [n for n in numbers if n is not None]


def _tasks(path: Path, tool: str, others: Mapping[str, Any], T: int) -> list[Task]:
    classes = _counts(path, tool, "n_classes", others.get("n_classes"), T)
    samples = _counts(path, tool, "n_samples", others.get("n_samples"), T, least=1)
    value = others.get("names")
    values = value.tolist() if isinstance(value, np.ndarray) else value
    if values is None:
        values = [f"task {j}" for j in range(T)]
    if not isinstance(values, list) or len(values) != T or not all(isinstance(v, str | int | float) for v in values):
        raise cannot_read(path, tool, f"names is not a list of {T} names, one for each task.")
    return [
        Task(in_words(name, 200), classes[j] if classes else None, samples[j] if samples else None)
        for j, name in enumerate(values)
    ]


def _seeds(path: Path, tool: str, value: Any, count: int) -> list[int | None]:
    if value is None:
        return [None] if count == 1 else list(range(count))
    values = value.tolist() if isinstance(value, np.ndarray) else value
    values = values if isinstance(values, list) else [values]
    seeds = [whole(v) for v in values]
    if len(seeds) != count or None in seeds:
        raise cannot_read(path, tool, f"seeds is not a list of {count} whole numbers, one for each run.")
    return seeds


def _text(value: Any) -> str | None:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    return value if isinstance(value, str) else None


def to_array(path: Path, tool: str, part: str, value: Any) -> np.ndarray[Any, Any]:
    """An array of numbers from an array or from nested lists (None is NaN, short rows are filled)."""
    from recollect.matrix import as_scores

    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            raise cannot_read(path, tool, f"{part} is an array of {value.dtype}, not of numbers.")
        return value
    if not isinstance(value, list) or not _is_nested(value):
        raise cannot_read(
            path, tool, f"{part} is {in_words(value)}, not nested lists of numbers (null: not evaluated)."
        )
    lists, width = _extent(value)
    check_size(path, tool, lists, max(width, 1))
    try:
        return as_scores(value, part)
    except UsageError as error:
        raise cannot_read(path, tool, str(error)) from None


def _extent(value: list[Any]) -> tuple[int, int]:
    """How many innermost lists there are and how long the longest is: to that they are filled up."""
    if value and isinstance(value[0], list):
        parts = [_extent(item) for item in value]
        return sum(lists for lists, _ in parts), max(width for _, width in parts)
    return 1, len(value)


def _is_nested(value: list[Any], deep: int = 0) -> bool:
    """Lists in lists, at most six deep, with numbers and None at the bottom; no list beside a number."""
    if all(isinstance(item, list) for item in value) and value:
        return deep < 5 and all(_is_nested(item, deep + 1) for item in value)
    return all(item is None or (isinstance(item, int | float) and not isinstance(item, bool)) for item in value)
