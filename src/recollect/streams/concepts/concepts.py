"""Concepts in memory: each a name, training rows and labelled test rows, in the source's own order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.streams.concepts.checks import (
    CHUNK,
    checked_features,
    checked_labels,
    checked_names,
    constant_columns,
    lagged_names,
)

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Concepts:
    """What an anomaly detection stream is made of. `train[k]` and `test[k]` are the rows of concept k.

    `x_train` and `x_test` may be one array, and may be mapped from a file: rows are taken from them, they are
    never copied. Labels are 0 (normal) and 1 (anomaly); those of training rows are not shown to a learner.
    Made by `concepts_from_parts`, `concepts_from_arrays`, or a reader.
    """

    name: str
    names: tuple[str, ...]
    x_train: NDArray[Any]
    y_train: Index
    x_test: NDArray[Any]
    y_test: Index
    train: tuple[Index, ...]
    test: tuple[Index, ...]
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def check(self, k: int) -> None:
        """Raise unless concept k can be learned and tested. Nothing is asked of concepts that are left out."""
        name, train, test = self.names[k], self.train[k], self.test[k]
        if not len(train) or self.y_train[train].all():
            only = f"only {len(train):,} anomalies" if len(train) else "no training rows"
            raise UsageError(
                f"Every concept needs normal training rows; {name!r} of {self.name} has {only}{self._said()}. Leave it"
                " out (order names the concepts to use), join it to another, or give it normal rows."
            )
        if not len(test):
            raise UsageError(
                f"Every concept needs test rows; {name!r} of {self.name} has none{self._said()}. Leave it out (order"
                " names the concepts to use), or split training and test rows another way (test_fraction)."
            )

    def _said(self) -> str:
        """What was done to the rows, where rows are missing."""
        return f" ({'; '.join(self.notes)})" if self.notes else ""

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """A hash of each concept: its name, its training rows and its test rows with labels."""
        return tuple(
            self.digest(name, train, test) for name, train, test in zip(self.names, self.train, self.test, strict=True)
        )

    def digest(self, name: str, train: Index, test: Index) -> str:
        """The hash of a concept of this name with these rows."""
        hashed = hashlib.sha256(repr((name, len(train), len(test), self.x_train.dtype.str)).encode())
        for x, y, rows in ((self.x_train, self.y_train, train), (self.x_test, self.y_test, test)):
            hashed.update(y[rows].tobytes())
            for low in range(0, len(rows), CHUNK):
                hashed.update(np.ascontiguousarray(x[rows[low : low + CHUNK]]).data)
        return hashed.hexdigest()

    @cached_property
    def constant(self) -> tuple[str, ...]:
        """Features that hold one value in all training rows; where all do there is nothing to learn.

        They are kept: a test row that differs there is the plainest anomaly, and other tools keep them too.
        """
        constant = constant_columns(self.x_train, np.concatenate(self.train), self.columns)
        if len(constant) == self.x_train.shape[1]:
            raise UsageError(
                f"Every feature of {self.name} holds one value in all training rows, so nothing can be learned from"
                " them. Check which columns are features."
            )
        return tuple(constant)


def concepts_from_parts(
    parts: Iterable[tuple[str, ArrayLike, ArrayLike, ArrayLike]],
    *,
    name: str = "concepts",
    columns: Sequence[str] = (),
    notes: tuple[str, ...] = (),
) -> Concepts:
    """Concepts given one by one as (name, x_train, x_test, y_test).

    >>> concepts_from_parts([("a", [[0.0], [1.0]], [[5.0]], [1]), ("b", [[2.0]], [[2.5]], [0])]).train
    (array([0, 1]), array([2]))
    """
    checked = []
    for part in parts:
        if not isinstance(part, tuple | list) or len(part) != 4:
            raise UsageError("A concept is (name, x_train, x_test, y_test); got something else. Give four things each.")
        title, x_train, x_test, y_test = part
        train = checked_features(x_train, f"x_train of concept {title!r}", columns)
        test = checked_features(x_test, f"x_test of concept {title!r}", columns)
        checked.append((title, train, test, checked_labels(y_test, len(test), f"y_test of concept {title!r}")))
    names = checked_names(part[0] for part in checked)
    if not checked:
        raise UsageError(f"{name} has no concepts; a stream needs at least one.")
    tables = [table for part in checked for table in part[1:3]]
    widths = sorted({table.shape[1] for table in tables})
    if len(widths) > 1:
        raise UsageError(f"All concepts have the same features; got tables with {widths} columns.")
    kind = np.result_type(*tables)
    ends_train = np.cumsum([len(part[1]) for part in checked])
    ends_test = np.cumsum([len(part[2]) for part in checked])
    return Concepts(
        name=name,
        names=names,
        x_train=np.concatenate([part[1] for part in checked]).astype(kind, copy=False),
        y_train=np.zeros(ends_train[-1], dtype=np.int64),
        x_test=np.concatenate([part[2] for part in checked]).astype(kind, copy=False),
        y_test=np.concatenate([part[3] for part in checked]),
        train=tuple(np.split(np.arange(ends_train[-1]), ends_train[:-1])),
        test=tuple(np.split(np.arange(ends_test[-1]), ends_test[:-1])),
        columns=lagged_names(columns, widths[0]),
        notes=notes,
    )


def concepts_from_arrays(
    x_train: ArrayLike,
    concept_train: ArrayLike,
    x_test: ArrayLike,
    y_test: ArrayLike,
    concept_test: ArrayLike,
    *,
    name: str = "arrays",
    columns: Sequence[str] = (),
) -> Concepts:
    """Concepts in whole arrays, each row with its concept; the natural order is that of first training rows.

    Arrays of float32 or float64 are not copied: one mapped by `np.load(..., mmap_mode="r")` stays on disk.

    >>> concepts_from_arrays([[0.0], [1], [2]], ["b", "a", "b"], [[9.0], [1]], [1, 0], ["b", "a"]).names
    ('b', 'a')
    """
    train, test = checked_features(x_train, "x_train", columns), checked_features(x_test, "x_test", columns)
    if train.shape[1] != test.shape[1] or train.dtype != test.dtype:
        raise UsageError(
            f"x_train and x_test have the same features of one type; got {train.shape[1]} of {train.dtype} and"
            f" {test.shape[1]} of {test.dtype}."
        )
    which_train, which_test = np.asarray(concept_train), np.asarray(concept_test)
    for which, x, what in ((which_train, train, "concept_train"), (which_test, test, "concept_test")):
        if which.shape != (len(x),):
            raise UsageError(f"{what} has one concept per row, {len(x):,}; got shape {which.shape}.")
    labels, first = np.unique(which_train, return_index=True)
    natural = labels[np.argsort(first)]
    strangers = np.setdiff1d(which_test, natural)
    if len(strangers):
        raise UsageError(f"Every concept needs training rows; {str(strangers[0])!r} has test rows only.")
    return Concepts(
        name=name,
        names=checked_names(natural.tolist()),
        x_train=train,
        y_train=np.zeros(len(train), dtype=np.int64),
        x_test=test,
        y_test=checked_labels(y_test, len(test), "y_test"),
        train=tuple(np.flatnonzero(which_train == label) for label in natural),
        test=tuple(np.flatnonzero(which_test == label) for label in natural),
        columns=lagged_names(columns, train.shape[1]),
    )
