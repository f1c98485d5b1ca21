"""Windows over rows in time: a sample is some rows one after the other, and what its label is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.concepts.checks import lagged_names
from recollect.streams.concepts.rows import Mask, Rows

# How a window of rows is labelled, by the name of the rule.
_RULES: dict[str | float, Callable[[NDArray[np.int64]], NDArray[Any]]] = {
    "last": lambda windows: windows[:, -1],
    "any": lambda windows: windows.max(axis=1) > 0,
}


@dataclass(frozen=True)
class Windows:
    """How rows become windows: so many rows, every `stride` rows, labelled by `label`.

    `label` is "last" (that of the newest row), "any" (an anomaly if one of its rows is), or the part of its rows that
    must be anomalies for it to be one.
    """

    length: int
    stride: int = 1
    label: str | float = "last"

    def labels(self, y: NDArray[np.int64]) -> NDArray[np.int64]:
        """The label of each window over one stretch of rows.

        >>> y = np.array([0, 1, 0, 0])
        >>> [Windows(2, label=rule).labels(y).tolist() for rule in ("last", "any", 0.6)]
        [[1, 0, 0], [1, 1, 0], [0, 0, 0]]
        """
        views = np.lib.stride_tricks.sliding_window_view(y, self.length)[:: self.stride]
        rule = _RULES.get(self.label)
        made = views.mean(axis=1) >= float(self.label) if rule is None else rule(views)
        return np.ascontiguousarray(made.astype(np.int64))


def lagged(x: NDArray[Any], window: int) -> NDArray[Any]:
    """Each row with those before it, the newest first; the first row that has all of them comes first.

    >>> lagged(np.array([[1], [2], [3], [4]]), 3).tolist()
    [[3, 2, 1], [4, 3, 2]]
    """
    n = len(x) - window + 1
    return np.concatenate([x[window - 1 - lag : window - 1 - lag + n] for lag in range(window)], axis=1)


def windowed(rows: Rows, how: Windows, keep_mixed: bool) -> Rows:
    """The same rows as windows: none crosses a concept, a series, or the border between training and test.

    Unless `keep_mixed`, a training window that holds an anomaly and is not labelled one is left out: it is neither
    normal to learn from nor an anomaly to find.

    >>> rows = Rows(name="toy", x=np.arange(6.0)[:, None], y=np.zeros(6, int), test=np.arange(6) > 2)
    >>> made = windowed(rows, Windows(2), keep_mixed=False)
    >>> made.x.tolist(), made.test.tolist()
    ([[1.0, 0.0], [2.0, 1.0], [4.0, 3.0], [5.0, 4.0]], [False, False, True, True])
    """
    size = how.length
    stretches = _stretches(rows)
    long = [part for part in stretches if len(part) >= size]
    if not long:
        longest = max((len(part) for part in stretches), default=0)
        raise UsageError(
            f"window = {size} rows make a sample; the longest stretch of {rows.name} without a break (of concept, file,"
            f" or between training and test) has {longest}. Give a smaller window; where several series stand mixed in"
            " one table, name the column that tells them apart (series_column)."
        )
    ends = [part[size - 1 :: how.stride] for part in long]
    y = np.concatenate([how.labels(rows.y[part]) for part in long])
    holds = np.concatenate([Windows(size, how.stride, "any").labels(rows.y[part]) for part in long])
    last = np.concatenate(ends)
    x = np.concatenate([lagged(rows.x[part], size)[:: how.stride] for part in long])
    test = None if rows.test is None else rows.test[last]
    mixed: Mask = (holds == 1) & (y == 0) & (np.zeros(len(y), bool) if keep_mixed or test is None else ~test)
    keep = ~mixed
    short = sum(len(part) for part in stretches if len(part) < size)
    notes = [f"a sample is a window of {size} rows, one every {how.stride}; its label: {how.label}"]
    if short:
        notes.append(f"{short:,} rows are in stretches shorter than a window and are not used")
    if mixed.any():
        notes.append(f"{int(mixed.sum()):,} training windows hold an anomaly, are not labelled one, and are not used")
    return replace(
        rows,
        x=x[keep],
        y=y[keep],
        test=None if test is None else test[keep],
        fixed=True,
        group=None if rows.group is None else rows.group[last][keep],
        series=None if rows.series is None else rows.series[last][keep],
        columns=lagged_names(_named(rows), x.shape[1]),
        notes=(*rows.notes, *notes),
    )


def _stretches(rows: Rows) -> list[NDArray[np.int64]]:
    """Rows one after the other: of one series, one concept, and on one side of the border to the test rows."""
    order = np.arange(len(rows.y)) if rows.series is None else np.argsort(rows.series, kind="stable")
    changes = np.zeros(max(0, len(order) - 1), dtype=bool)
    for part in (rows.series, rows.group, rows.test):
        if part is not None:
            changes |= part[order[1:]] != part[order[:-1]]
    return np.split(order, np.flatnonzero(changes) + 1)


def _named(rows: Rows) -> tuple[str, ...]:
    return rows.columns or tuple(str(k) for k in range(rows.x.shape[1]))
