"""What a user gives beside and in a score matrix, turned into arrays or into a clear error."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.values import detached, shown

Array = NDArray[np.float64]
Unit = Literal["auto", "fraction", "percent", "raw"]

# Accuracies computed in float32 may pass 1 by a rounding error; they are still fractions.
_ROUNDING = 1e-6


_PLAIN_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE
)


def plain_number(text: str) -> float:
    """The number that a file or a user wrote; ValueError for what only Python takes for one (`1_0`, other digits).

    >>> plain_number(" 0.5 "), plain_number("1e-3")
    (0.5, 0.001)
    >>> plain_number("1_0")
    Traceback (most recent call last):
    ...
    ValueError: '1_0' is not a number
    """
    word = text.strip()
    if not _PLAIN_NUMBER.fullmatch(word):
        raise ValueError(f"{word[:60]!r} is not a number")
    return float(word)


def plain_whole(text: str) -> int:
    """The whole number that a file or a user wrote; ValueError for anything else.

    >>> plain_whole("12")
    12
    """
    word = text.strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,1000}", word):
        raise ValueError(f"{word[:60]!r} is not a whole number")
    return int(word)


def as_scores(values: Any, name: str) -> Array:
    """Return a new float64 array, None as NaN and short rows filled with NaN; refuse what is not a number.

    >>> as_scores([[1], [None, 3]], "R")
    array([[ 1., nan],
           [nan,  3.]])
    """
    array = as_numbers(values, name)
    _refuse_infinite(value_range([array]), {name: array})
    return array


def as_numbers(values: Any, name: str) -> Array:
    """Do as `as_scores` does, but for the check that all is finite."""
    try:
        return _numbers(detached(values))
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise UsageError(
            f"{name} must be an array of numbers (None or NaN where not evaluated);"
            f" got {_short(values)}: {_short(error)}."
        ) from None


def _refuse_infinite(reach: tuple[float, float], scores: Mapping[str, Array]) -> None:
    if not np.isinf(reach).any():
        return
    for name, array in scores.items():
        for where in np.argwhere(np.isinf(array)).tolist():
            raise UsageError(f"{name}{where} is infinite; a score is a finite number, or NaN if not evaluated.")


def _numbers(values: Any) -> Array:
    if hasattr(values, "filled") and hasattr(values, "mask"):
        # A masked array: what is masked was not evaluated.
        return np.array(values.astype(np.float64).filled(np.nan))
    if np.asarray(values if hasattr(values, "dtype") else 0).dtype.kind in "cmMV":
        raise TypeError("complex numbers, dates and records are not scores")
    try:
        return np.array(values, dtype=np.float64)
    except ValueError:
        if not isinstance(values, list | tuple):
            raise
        return np.array(_pad(values), dtype=np.float64)


def _pad(values: Sequence[Any]) -> list[Any]:
    """Fill the innermost rows of nested lists with NaN to one length."""
    rows = [v.tolist() if isinstance(v, np.ndarray) else v for v in values]
    if not any(isinstance(row, list | tuple) for row in rows):
        return rows
    rows = [_pad(row) if isinstance(row, list | tuple) else row for row in rows]
    if all(isinstance(row, list) and not any(isinstance(x, list) for x in row) for row in rows):
        width = max(len(row) for row in rows)
        rows = [row + [np.nan] * (width - len(row)) for row in rows]
    return rows


def _short(values: object) -> str:
    """Show what came on one line, an exception by its message."""
    return " ".join(str(values).split())[:200] if isinstance(values, Exception) else shown(values, 60)


def value_range(arrays: Sequence[Array]) -> tuple[float, float]:
    """Return the lowest and the highest number in several arrays, whatever is NaN; (0, 0) if there is none.

    >>> value_range([np.array([np.nan, .5]), np.array([.2])])
    (0.2, 0.5)
    """
    low, high = np.inf, -np.inf
    for array in arrays:
        low = min(low, float(np.fmin.reduce(array, axis=None, initial=np.inf)))
        high = max(high, float(np.fmax.reduce(array, axis=None, initial=-np.inf)))
    return (low, high) if low <= high else (0.0, 0.0)


def decide_unit(unit: Unit, scores: Mapping[str, Array], higher_is_better: bool) -> tuple[Unit, str | None]:
    """Settle one unit for all scores, so that percent and fractions cannot mix, and say what was assumed.

    >>> decide_unit("auto", {"R": np.array([[80.0]])}, higher_is_better=True)
    ('percent', 'scores above 1: read as percent and divided by 100')
    """
    if not isinstance(unit, str):
        raise UsageError(f"unit must be auto, fraction, percent or raw; got {shown(unit)}.")
    low, high = value_range(list(scores.values()))
    _refuse_infinite((low, high), scores)
    if unit in ("fraction", "percent"):
        top = 1 if unit == "fraction" else 100
        if low < -_ROUNDING * top or high > top * (1 + _ROUNDING):
            raise UsageError(
                f"scores declared as {unit} must lie between 0 and {top}; got {low:g} to {high:g}."
                " Declare unit='raw' for scores on another scale."
            )
        return unit, None
    if unit == "raw":
        return unit, None
    if unit != "auto":
        raise UsageError(f"unit must be auto, fraction, percent or raw; got {shown(unit)}.")
    if not higher_is_better or low < 0:
        return "raw", "scores on a scale of their own (raw): not read as accuracies"
    if high <= 1 + _ROUNDING:
        return "fraction", None
    if high > 100 * (1 + _ROUNDING):
        raise UsageError(f"scores up to {high:g} are neither fractions nor percent; declare unit='raw'.")
    for name, values in scores.items():
        small = values[(values > 0) & (values <= 1)]
        if small.size:
            raise UsageError(
                f"percent mixed with fractions? Scores reach {high:g}, and {name} holds {small[0]:g}, which"
                f" may be {small[0]:g} % or {small[0] * 100:g} %. Declare the unit: percent if all of them"
                " are percent; otherwise convert the fractions first."
            )
    return "percent", "scores above 1: read as percent and divided by 100"


def whole_numbers(values: ArrayLike | None, length: int, name: str, least: int) -> NDArray[np.int64] | None:
    """Return `length` whole numbers of at least `least`, read-only, or refuse.

    >>> whole_numbers([2, 2.0], 2, "n_classes", least=0)
    array([2, 2])
    """
    return None if values is None else _whole(values, length, name, least)


def _whole(values: ArrayLike, length: int, name: str, least: int) -> NDArray[np.int64]:
    array = as_scores(values, name)
    if array.shape != (length,):
        raise UsageError(f"{name} must have {length} entries; got shape {array.shape}.")
    if np.isnan(array).any() or (array != np.floor(array)).any() or (array < least).any():
        raise UsageError(f"{name} must be whole numbers of at least {least}; got {_short(array.tolist())}.")
    whole = array.astype(np.int64)
    whole.setflags(write=False)
    return whole


def checked_class_counts(
    values: Any, n_classes: NDArray[np.int64] | None, T: int
) -> tuple[tuple[int, ...], ...] | None:
    """Check the test samples of each class, task by task.

    A task lists its new classes; one that adds none (another domain of the same classes) lists all it has.

    >>> checked_class_counts([[5, 5], [8, 2]], np.array([2, 0]), T=2)
    ((5, 5), (8, 2))
    """
    if values is None:
        return None
    try:
        tasks = [list(task) for task in values]
    except TypeError:
        tasks = []
    if len(tasks) != T:
        raise UsageError(
            f"class_counts must hold {T} sequences, one per task, with the test samples of each of its classes;"
            f" got {_short(values)}."
        )
    counts = tuple(tuple(_whole(task, len(task), f"class_counts[{j}]", 0).tolist()) for j, task in enumerate(tasks))
    if n_classes is not None:
        for j, (new, seen) in enumerate(zip(n_classes, np.cumsum(n_classes), strict=True)):
            if len(counts[j]) != (new or seen):
                raise UsageError(
                    f"class_counts of task {j} must hold {new or seen} classes, as n_classes says;"
                    f" got {len(counts[j])}."
                )
    return counts


# In `learned_at`: no evaluation was planned after the task; the task is never trained on.
NOT_PLANNED, HELD_OUT = -1, -2


def end_rows(learned_at: Any, planned: ArrayLike | None, S: int, T: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Find the row by which each task has been learned, and whether it is the task's own.

    -1 where no row was planned, -2 where the task is held out.

    >>> end_rows(None, [True, False, True], S=2, T=3)
    (array([ 0, -1,  1]), array([ True, False,  True]))
    >>> end_rows([0, 1, "held out"], None, S=3, T=3)
    (array([ 0,  1, -2]), array([ True,  True, False]))
    """
    wanted = whole_numbers(planned, T, "planned", least=0)
    if wanted is not None and wanted.max() > 1:
        raise UsageError(f"planned must be true or false for each task; got {wanted.tolist()}.")
    rows = whole_numbers(_numbered(learned_at), T, "learned_at", least=HELD_OUT)
    if rows is None:
        rows = _from_plan(wanted, S, T)
    has_own = rows >= 0
    if wanted is not None:
        if (has_own < (wanted == 1)).any():
            raise UsageError("learned_at and planned contradict each other: a planned task has a row in learned_at.")
        has_own &= wanted == 1
    _check_order_of_learning(rows, S, T)
    for array in (rows, has_own):
        array.setflags(write=False)
    return rows, has_own


def _numbered(learned_at: Any) -> Any:
    """Turn the words "held out" in a sequence into their number."""
    if not isinstance(learned_at, list | tuple):
        return learned_at
    return [HELD_OUT if isinstance(row, str) and row.strip() in ("held out", "held_out") else row for row in learned_at]


def _check_order_of_learning(rows: NDArray[np.int64], S: int, T: int) -> None:
    trained = rows[rows != HELD_OUT]
    kept = trained[trained >= 0]
    if (trained.size and not kept.size) or rows.max() >= S or (np.diff(kept) < 0).any():
        raise UsageError(
            f"learned_at must give, for each of {T} tasks in the order of learning, a row from 0 to {S - 1}"
            f" (or -1 for no row, or 'held out'), never decreasing; got {rows.tolist()}."
        )
    for row in kept[1:][np.diff(kept) == 0]:
        together = np.flatnonzero(trained == row)
        if together[-1] - together[0] >= len(together):
            raise UsageError(
                f"learned_at: tasks {together[0]} and {together[-1]} were learned by row {row}, so the tasks"
                f" between them were too: give {row} for each of them, not -1."
            )


def _from_plan(planned: NDArray[np.int64] | None, S: int, T: int) -> NDArray[np.int64]:
    if planned is not None:
        if planned.sum() == S:
            return np.where(planned, np.cumsum(planned) - 1, -1)
        if S == T:
            return np.where(planned, np.arange(T), -1)
        raise UsageError(
            f"planned must be true for as many tasks as R has rows ({S}); got {planned.sum()} of {T} tasks."
        )
    if S == T:
        return np.arange(T)
    raise UsageError(
        f"R has {S} rows and {T} tasks. Where rows are not task ends, say after which row each task has been"
        " learned (learned_at, -1 where none was planned); missing rows of a square matrix are NaN."
    )
