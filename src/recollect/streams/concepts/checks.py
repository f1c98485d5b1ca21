"""Features, labels and names that a user gives: what is wrong with them is said in one paragraph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.nearest import nearest
from recollect.streams.data import as_numbers
from recollect.streams.labels import as_array

# Rows looked at in one go: an array that is mapped from a file is never in memory as a whole.
CHUNK = 1 << 16


def checked_features(x: ArrayLike, what: str, columns: Sequence[str] = ()) -> NDArray[Any]:
    """A table of finite numbers, (rows, features); float32 and float64 stay as they are, others become float64.

    Windows, (samples, rows, features), become flat samples (see `flat_windows`).

    >>> checked_features([[1, 2], [3, np.nan]], "the table", ["speed", "load"])
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: the table has values that are not finite: 1 in column 'load'. Drop those rows or \
fill them (with the column's median, say) before making a stream.
    """
    array = as_array(x, what)
    if array.ndim == 3 and 0 not in array.shape:
        array = flat_windows(array)
        columns = lagged_names(columns, array.shape[1])
    if array.ndim == 2 and array.dtype.kind == "O":
        array = as_numbers(array, what)
    if array.ndim != 2 or array.dtype.kind not in "buif" or 0 in array.shape:
        raise UsageError(
            f"{what} is a table of numbers, one row per sample and one column per feature, not empty; got shape"
            f" {array.shape} of type {array.dtype}. Windows of shape (samples, rows, features) are taken too;"
            " images are made flat rows first."
        )
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    bad = np.zeros(array.shape[1], dtype=np.int64)
    for low in range(0, len(array), CHUNK):
        bad += (~np.isfinite(array[low : low + CHUNK])).sum(axis=0)
    if bad.any():
        where = [f"{bad[k]:,} in column {_column(columns, k)}" for k in np.flatnonzero(bad).tolist()]
        more = f" and in {len(where) - 3} more columns" if len(where) > 3 else ""
        raise UsageError(
            f"{what} has values that are not finite: {', '.join(where[:3])}{more}. Drop those rows or fill them"
            " (with the column's median, say) before making a stream."
        )
    return array


def flat_windows(windows: NDArray[Any]) -> NDArray[Any]:
    """Windows, (samples, rows, features), the oldest row first, as flat samples, the newest row first.

    That is what the option `window` makes of a table, and what detectors of windows expect.

    >>> flat_windows(np.array([[[1, 10], [2, 20], [3, 30]]])).tolist()
    [[3, 30, 2, 20, 1, 10]]
    """
    return np.ascontiguousarray(windows[:, ::-1]).reshape(len(windows), -1)


def lagged_names(columns: Sequence[str], width: int) -> tuple[str, ...]:
    """The names of the features of flat windows: those of the newest row, and how far back the others are.

    >>> lagged_names(["load", "wind"], 4)
    ('load', 'wind', 'load -1', 'wind -1')
    """
    lags = range(width // len(columns)) if columns else ()
    return tuple(f"{column} -{lag}" if lag else str(column) for lag in lags for column in columns)


def checked_labels(y: ArrayLike, n: int, what: str) -> NDArray[np.int64]:
    """Labels as int64, 0 for normal and 1 for an anomaly.

    >>> checked_labels([0.0, 1.0], 2, "the label column")
    array([0, 1])
    >>> checked_labels([1, -1], 2, "the label column")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: the label column holds 0 for a normal row and 1 for an anomaly; got -1, 1. Map \
them first, such as (y == -1) for scikit-learn's -1 and 1.
    """
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise UsageError(f"{what} has one label per row, {n:,}; got shape {labels.shape}.")
    if labels.dtype.kind not in "buif" or not np.isin(labels, (0, 1)).all():
        values = sorted({str(value) for value in labels.tolist()})
        shown = ", ".join(values[:4]) + (", ..." if len(values) > 4 else "")
        raise UsageError(
            f"{what} holds 0 for a normal row and 1 for an anomaly; got {shown}. Map them first, such as (y == -1)"
            " for scikit-learn's -1 and 1."
        )
    return labels.astype(np.int64)


def constant_columns(x: NDArray[Any], rows: NDArray[np.int64], columns: Sequence[str] = ()) -> list[str]:
    """The columns that hold one value only over these rows."""
    first = x[rows[0]]
    same = np.ones(x.shape[1], dtype=bool)
    for low in range(0, len(rows), CHUNK):
        same &= (x[rows[low : low + CHUNK]] == first).all(axis=0)
    return [_column(columns, k) for k in np.flatnonzero(same).tolist()]


def checked_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Names of concepts as texts, none of them twice."""
    texts = tuple(str(name) for name in names)
    twice = next((name for name in texts if texts.count(name) > 1), None)
    if twice is not None:
        raise UsageError(
            f"A concept's name stands for its rows; {twice!r} comes twice. Join its rows, or rename one; for a"
            " concept that comes back use visits."
        )
    return texts


def there_are(name: Any, known: Sequence[str]) -> str:
    """Did you mean ...? And all there are.

    >>> there_are("valve", ["valve1", "pump"])
    "did you mean 'valve1'? There are 'valve1', 'pump'."
    """
    near = nearest(name, known, cutoff=0.6)
    shown = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
    return f"there are {shown}." if near is None else f"did you mean {near!r}? There are {shown}."


def _column(columns: Sequence[str], k: int) -> str:
    return repr(columns[k]) if len(columns) else str(k)
