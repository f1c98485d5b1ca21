"""Streams from a user's own arrays and `.npz` files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.options import is_finite, refuse_unknown
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
    own = {key: options.pop(key) for key in ("test_fraction", "keys", "channels_last") if key in options}
    spec = Spec.of(options)
    return build_stream(dataset_from_npz(path, name=name, **own), spec)


def dataset_from_npz(
    path: Path | str,
    *,
    name: str | None = None,
    test_fraction: float = 0.2,
    keys: Mapping[str, str] | None = None,
    channels_last: bool = False,
) -> Dataset:
    """Read `x_train, y_train, x_test, y_test`, or `X, y` with `split`, from an `.npz` file.

    `keys` says which array of the file is which, {"x_train": "train_images", ...}; those of MedMNIST are known.
    `split` says for each sample whether it is a test sample (True, 1 or "test") or not (False, 0 or "train").
    Without it `test_fraction` of each class are, drawn with a constant seed. Images are (channels, height, width);
    `channels_last` turns them. Pickled objects are not loaded.
    """
    path = Path(path)
    name = path.stem if name is None else name
    if not isinstance(keys, Mapping | None):
        raise UsageError(f"keys says which array is which, {{x_train: train_images, ...}}; got {keys!r}.")
    named = keys or (MEDMNIST if set(MEDMNIST.values()) <= set(npz_names(path)) else {})
    wanted = {*_WANTED, *(str(key).lower() for key in named.values())}
    arrays = read_npz(path, wanted)
    return dataset_of_named(
        arrays, name, str(path), keys=named, channels_last=channels_last, test_fraction=test_fraction,
        there=npz_names(path),
    )  # fmt: skip


def dataset_of_named(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    where: str,
    *,
    keys: Mapping[str, str],
    channels_last: bool,
    test_fraction: float,
    there: Sequence[str] = (),
) -> Dataset:
    """The data set of arrays by name; `where` is what messages call the place they come from."""
    test_fraction = checked_fraction(test_fraction)
    there = there or list(arrays)
    named = in_small_letters(_renamed(arrays, keys, where, there), where)
    is_medmnist = keys is MEDMNIST
    images = {key: _images(x, channels_last, is_medmnist) for key, x in named.items() if key.startswith("x")}
    notes = ("the validation images are left out",) if is_medmnist and "val_images" in there else ()
    if all(key in named for key in FOUR):
        return dataset_from_arrays(name, *({**named, **images}[key] for key in FOUR), notes=notes)
    if "x" not in named or "y" not in named:
        raise UsageError(
            f"{where} has {', '.join(there) or 'no arrays'}; expected {', '.join(FOUR)}, or X, y (and split). Which"
            " array is which is said by keys: {x_train: train_images, ...}."
        )
    x, y = images["x"], class_labels(named["y"], f"y in {where}")
    if x.ndim < 2 or len(x) != len(y):
        raise UsageError(
            f"In {where}, X has one row per sample and y one label per sample; got shapes {x.shape} and {y.shape}."
        )
    test = is_test(named["split"], len(y), where) if "split" in named else stratified_test(y, test_fraction)
    return dataset_from_arrays(name, x[~test], y[~test], x[test], y[test])


def _renamed(
    arrays: Mapping[str, NDArray[Any]], keys: Mapping[str, str], where: str, there: Sequence[str]
) -> Mapping[str, NDArray[Any]]:
    """The arrays under the names that `keys` gives them; without `keys` as they are."""
    if not keys:
        return arrays
    refuse_unknown("keys", keys, [*FOUR, "x", "y", "split"])
    missing = next((key for key in keys.values() if key not in there), None)
    if missing is not None:
        raise UsageError(f"{where} has no array {missing!r}, which keys names; it has {', '.join(there)}.")
    return {name: arrays[key] for name, key in keys.items()}


def _images(x: NDArray[Any], channels_last: bool, is_medmnist: bool) -> NDArray[Any]:
    """Images with the channels first: those of MedMNIST have them last, or none."""
    if is_medmnist and x.ndim == 3:
        return x[:, None]
    return x.transpose(0, 3, 1, 2) if x.ndim == 4 and (channels_last or is_medmnist) else x


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


FOUR = ("x_train", "y_train", "x_test", "y_test")
_WANTED = {*FOUR, "x", "y", "split"}
# The arrays of MedMNIST's files.
MEDMNIST = {
    f"{letter}_{part}": f"{part}_{word}"
    for part in ("train", "test")
    for letter, word in zip("xy", ("images", "labels"), strict=True)
}


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
