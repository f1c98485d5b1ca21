"""Streams from a user's own arrays and `.npz` files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.options import is_finite
from recollect.streams.data import Dataset, dataset_from_arrays
from recollect.streams.labels import as_text, class_labels
from recollect.streams.npz import in_small_letters, npz_names, read_npz
from recollect.streams.order import permutation
from recollect.streams.scenarios import build_stream
from recollect.streams.spec import Spec, plain, takes_options
from recollect.streams.stream import Stream

SPLIT_SEED = 20230903


@takes_options
def stream_from_arrays(
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    y_test: ArrayLike,
    *,
    name: str = "arrays",
    time_train: ArrayLike | None = None,
    time_test: ArrayLike | None = None,
    **options: Any,
) -> Stream:
    """A stream over these samples; `options` are those of `Spec` (tasks, scenario, passes, batch, ...).

    >>> x = np.zeros((6, 2), dtype=np.float32)
    >>> y = ["a", "b", "c", "a", "b", "c"]
    >>> stream = stream_from_arrays(x, y, x, y, classes_per_task=[2, 1], class_order=["c", "a", "b"])
    >>> [(task.classes, task.original) for task in stream.tasks]
    [((0, 1), ('c', 'a')), ((2,), ('b',))]
    """
    spec = Spec.of(options)
    data = dataset_from_arrays(name, x_train, y_train, x_test, y_test)
    return build_stream(data, spec, time_train=time_train, time_test=time_test)


def stream_from_npz(path: Path | str, *, name: str | None = None, **options: Any) -> Stream:
    """A stream over the samples of an `.npz` file (see `dataset_from_npz`)."""
    test_fraction = options.pop("test_fraction", 0.2)
    spec = Spec.of(options)
    data = dataset_from_npz(path, name=name, test_fraction=test_fraction)
    return build_stream(data, spec)


def dataset_from_npz(path: Path | str, *, name: str | None = None, test_fraction: float = 0.2) -> Dataset:
    """Read `x_train, y_train, x_test, y_test`, or `X, y` with `split`, from an `.npz` file.

    `split` says for each sample whether it is a test sample (True, 1 or "test") or not (False, 0 or "train").
    Without it `test_fraction` of each class are, drawn with a constant seed. Pickled objects are not loaded.
    """
    path = Path(path)
    test_fraction = checked_fraction(test_fraction)
    named = in_small_letters(read_npz(path, _WANTED), path)
    name = path.stem if name is None else name
    four = ("x_train", "y_train", "x_test", "y_test")
    if all(key in named for key in four):
        return dataset_from_arrays(name, *(named[key] for key in four))
    if "x" not in named or "y" not in named:
        raise UsageError(
            f"{path} has {', '.join(npz_names(path)) or 'no arrays'}; expected {', '.join(four)}, or X, y (and split)."
        )
    x, y = named["x"], class_labels(named["y"], f"y in {path}")
    if x.ndim < 2 or len(x) != len(y):
        raise UsageError(
            f"In {path}, X has one row per sample and y one label per sample; got shapes {x.shape} and {y.shape}."
        )
    test = is_test(named["split"], len(y), path) if "split" in named else stratified_test(y, test_fraction)
    return dataset_from_arrays(name, x[~test], y[~test], x[test], y[test])


def stratified_test(y: NDArray[Any], fraction: float, seed: int = SPLIT_SEED) -> NDArray[np.bool_]:
    """Which samples are test samples: the fraction of each class, at least one, always the same draw.

    >>> stratified_test(np.array([0, 0, 0, 0, 1, 1]), 0.25).tolist()
    [False, False, False, True, False, True]
    """
    fraction = checked_fraction(fraction)
    test = np.zeros(len(y), dtype=bool)
    for number, label in enumerate(np.unique(y)):
        mine = np.flatnonzero(y == label)
        if len(mine) < 2:
            raise UsageError(f"Class {label.item()!r} has one sample, which cannot be split into training and test.")
        count = min(max(1, round(fraction * len(mine))), len(mine) - 1)
        test[mine[permutation(len(mine), seed, number)[:count]]] = True
    return test


def checked_fraction(fraction: Any) -> float:
    """A fraction that is none of the two ends."""
    fraction = plain(fraction)
    if not is_finite(fraction) or not 0 < fraction < 1:
        raise UsageError(f"test_fraction is a fraction between 0 and 1; got {fraction!r}.")
    return float(fraction)


_WANTED = {"x_train", "y_train", "x_test", "y_test", "x", "y", "split"}


def is_test(split: NDArray[Any], n: int, path: Path | str) -> NDArray[np.bool_]:
    """Which samples are for testing, as a column says it: true or false, 0 or 1, "train" or "test"."""
    if split.shape == (n, 1):
        split = split[:, 0]
    if split.dtype.kind == "O":
        split = split.astype(str)
    if split.dtype.kind == "S":
        split = as_text(split, f"split in {path}")
    if split.shape == (n,) and split.dtype.kind in "buif" and np.isin(split, (0, 1)).all():
        return split.astype(bool)
    if split.shape == (n,) and split.dtype.kind == "U" and np.isin(split, ("train", "test")).all():
        return np.asarray(split == "test")
    strange = [repr(value) for value in np.unique(split).tolist() if value not in ("train", "test", 0, 1)]
    raise UsageError(
        f"split in {path} says 'train' or 'test' (or 0 or 1) for each of {n} samples; got {split.dtype}"
        f" of shape {split.shape}" + (f" with {strange[0]}." if strange else ".")
    )
