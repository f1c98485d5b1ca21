"""Streams of values: a number is asked for each sample. Tasks are domains, or periods of time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import MissingExtra, UsageError
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.arrays import checked_fraction, is_test
from recollect.streams.assemble import assemble
from recollect.streams.concepts.checks import there_are
from recollect.streams.concepts.tables import numbers, read_csv
from recollect.streams.data import Dataset, dataset_from_arrays
from recollect.streams.labels import as_array
from recollect.streams.npz import in_small_letters, read_npz
from recollect.streams.order import permutation
from recollect.streams.scenarios import build_stream
from recollect.streams.spec import Spec
from recollect.streams.stream import Stream, StreamTask

VALUE_SETS = ("diabetes",)
TEST_FRACTION = 0.2
SPLIT_SEED = 20230904
MOST_DOMAINS = 100
_PARTS = ("train", "test")
_OF_CLASSES = ("classes_per_task", "class_order", "subset", "blurry", "disjoint")

Values = NDArray[np.float64]


def stream_from_values(
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    y_test: ArrayLike,
    *,
    name: str = "values",
    by_train: ArrayLike | None = None,
    by_test: ArrayLike | None = None,
    **options: Any,
) -> Stream:
    """A stream that asks for a number for each sample; `options` are those of `Spec` that know no classes.

    `by_train` and `by_test` say, sample by sample, what the tasks are made of: times in a time-incremental stream; in
    a domain-incremental one the domain, or with `tasks` a number that is cut into so many ranges of equally many
    training samples. A domain-incremental stream without them has the features permuted, as `Spec` says.

    >>> x, y = np.arange(8.0)[:, None], np.arange(8.0)
    >>> stream = stream_from_values(x, y, x, y, by_train=list("aabbaabb"), by_test=list("aabbaabb"))
    >>> [(task.name, len(task.train)) for task in stream.tasks], next(stream.batches(seed=0)).y.dtype
    ([('a', 4), ('b', 4)], dtype('float64'))
    """
    spec = _spec(options)
    values = _values(y_train, "y_train"), _values(y_test, "y_test")
    data = dataset_from_arrays(name, x_train, np.zeros(len(values[0]), int), x_test, np.zeros(len(values[1]), int))
    if SCENARIOS[spec.scenario].is_timed or (by_train is None and by_test is None):
        stream = build_stream(data, spec, time_train=by_train, time_test=by_test)
    else:
        domains = _groups(by_train, values[0], "by_train"), _groups(by_test, values[1], "by_test")
        stream = _by_domain(data, spec, *domains)
    return replace(
        stream,
        tasks=tuple(replace(task, classes=(), original=()) for task in stream.tasks),
        problem="regression",
        values=values,
        adds_classes=False,
        variant=f"{stream.variant} values {_digest(data, *values)}".strip(),
    )


def stream_of_values(name: str, path: Path | None, predict: str | None, by: str | None, **options: Any) -> Stream:
    """The stream of a `.csv` or `.npz` file, or of scikit-learn's diabetes.

    `predict` is the column (the array, y if not given) that holds what is asked for, `by` the one that tasks are made
    of. Other columns are features, or those that `features` names. `split_column` says "train" or "test", else
    `test_fraction` of the samples are for testing, a fixed draw.
    """
    table, name = _table(name, path)
    predict = predict or "y"
    split, chosen = options.pop("split_column", None), options.pop("features", None)
    fraction = checked_fraction(options.pop("test_fraction", TEST_FRACTION))
    if {"x_train", "x_test", f"{predict}_train", f"{predict}_test"} <= set(table):
        arrays = {"x": "x", "y": predict, **({} if by is None else {"by": by})}
        given = {
            f"{key}_{part}": _column(table, f"{found}_{part}", name) for key, found in arrays.items() for part in _PARTS
        }
        return stream_from_values(name=name, **given, **options)
    y = _values(_column(table, predict, name), f"{predict} of {name}")
    split = split or ("split" if "split" in table else None)
    if split is not None:
        test = is_test(np.asarray(_column(table, split, name)), len(y), name)
    else:
        test = np.zeros(len(y), bool)
        test[permutation(len(y), SPLIT_SEED)[: max(1, round(fraction * len(y)))]] = True
    columns = {"x": _features(table, [predict, by, split], chosen, name), "y": y}
    if by is not None:
        columns["by"] = np.asarray(_column(table, by, name))
    halves = {f"{key}_{part}": column[test == (part == "test")] for key, column in columns.items() for part in _PARTS}
    return stream_from_values(name=name, **halves, **options)


def _spec(options: Mapping[str, Any]) -> Spec:
    stray = next((option for option in options if option in _OF_CLASSES), None)
    if stray is not None:
        raise UsageError(f"The option {stray} is about classes, and a stream of values has none. Leave it out.")
    spec = Spec.of({"scenario": "domain-incremental", **options})
    if SCENARIOS[spec.scenario].adds_classes:
        raise UsageError(f"A stream of values is domain-incremental or time-incremental; got {spec.scenario}.")
    return spec


def _by_domain(data: Dataset, spec: Spec, train: NDArray[Any], test: NDArray[Any]) -> Stream:
    """One task for each domain, in sorted order; or for each of so many ranges of a number."""
    names, place = np.unique(train, return_inverse=True)
    if spec.tasks not in (None, len(names)):
        if train.dtype.kind not in "iufM":
            raise UsageError(f"There are {len(names)} domains, and tasks = {spec.tasks}. Leave tasks out.")
        ranges = build_stream(data, replace(spec, scenario="time-incremental"), time_train=train, time_test=test)
        return replace(ranges, scenario=spec.scenario, shuffle=True)
    if len(names) > MOST_DOMAINS:
        raise UsageError(f"{len(names):,} domains are too many for one task each; cut a number into `tasks` ranges.")
    for one, other, has, lacks in ((names, test, "training", "test"), (test, names, "test", "training")):
        if len(alone := one[~np.isin(one, other)]):
            raise UsageError(f"The domain {alone[0]} has {has} and no {lacks} samples. Drop it, or give it some.")
    parts = [(str(name), np.flatnonzero(place == k), np.flatnonzero(test == name)) for k, name in enumerate(names)]
    tasks = tuple(StreamTask(name, (0,), (0,), mine, asked) for name, mine, asked in parts)
    return assemble(data, spec, data.name, tasks, np.zeros(1, np.int64))


def _groups(by: ArrayLike | None, values: Values, what: str) -> NDArray[Any]:
    if by is None:
        raise UsageError(f"by_train and by_test come together; {what} is missing.")
    array = as_array(by, what)
    array = array.astype(str) if array.dtype.kind == "O" else array
    if array.shape != values.shape or (array.dtype.kind == "f" and not np.isfinite(array).all()):
        raise UsageError(f"{what} has one finite number or name for each of {len(values):,} samples: {array.shape}.")
    return array


def _values(y: ArrayLike, what: str) -> Values:
    """One finite number per sample; a table of one column will do."""
    try:
        values = as_array(y, what).astype(np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{what} has one number per sample; got {np.asarray(y).dtype} values.") from None
    values = values[:, 0] if values.shape[1:] == (1,) else values
    if values.ndim != 1 or not len(values):
        raise UsageError(f"{what} has one number per sample, at least one; got the shape {values.shape}.")
    missing = np.flatnonzero(~np.isfinite(values))
    if len(missing):
        raise UsageError(
            f"{what} is NaN or infinite for {len(missing):,} of {len(values):,} samples, the first of them"
            f" {missing[0]}. Drop these samples, or give them their values."
        )
    return values


def _digest(data: Dataset, *values: Values) -> str:
    """Of the training samples and of all values: what the fingerprint knows beside the test samples."""
    hashed = hashlib.sha256()
    data.train.digest(np.arange(len(data.train)), hashed)
    for part in values:
        hashed.update(part.tobytes())
    return hashed.hexdigest()[:16]


def _table(name: str, path: Path | None) -> tuple[Any, str]:
    """Columns, or arrays, by their names: a DataFrame, or a mapping in which x holds the features."""
    if path is not None:
        return in_small_letters(read_npz(path), path) if path.suffix == ".npz" else read_csv(path), path.stem
    try:
        from sklearn.datasets import load_diabetes
    except ImportError:
        raise MissingExtra.of("scikit-learn", "sklearn") from None
    # 442 patients: ten measurements as they were taken, and the progression of the disease one year later.
    found = load_diabetes(scaled=False)
    columns = dict(zip(found.feature_names, found.data.T, strict=True))
    return {"x": found.data, "y": found.target, **columns}, name


def _column(table: Any, name: str, source: str) -> Any:
    if name not in table:
        raise UsageError(f"{source} has no column {name!r}; {there_are(name, list(map(str, table)))}")
    return table[name]


def _features(table: Any, other: list[str | None], chosen: Any, name: str) -> NDArray[Any]:
    if isinstance(table, dict) and chosen is None:
        return np.asarray(_column(table, "x", name))
    columns = [str(column) for column in chosen or (column for column in table if column not in other)]
    for column in columns:
        _column(table, column, name)
    if not columns:
        raise UsageError(f"{name} has no columns left that are features.")
    if isinstance(table, dict):
        return np.stack([_values(table[column], f"{column} of {name}") for column in columns], 1)
    return numbers(table, columns, name)
