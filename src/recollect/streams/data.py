"""A data set: samples for training and for testing with their classes, never copied to floats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.streams.labels import as_array, class_labels, missing_type
from recollect.streams.samples import Samples, as_samples, in_both

# In bytes: of larger data sets it is not looked whether test samples are training samples, too.
MOST_COMPARED = 2**27


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with their classes. `y` are places in `classes`, the data set's own names of the classes.

    `x` is an array of shape (n, *input_shape), which may be memory-mapped: uint8 for images (channels first), float32
    for features (a table with one row per sample); or anything that is `Samples`. `notes` say what is unusual about
    the files it came from.
    """

    name: str
    x_train: NDArray[Any] | Samples
    y_train: NDArray[np.int64]
    x_test: NDArray[Any] | Samples
    y_test: NDArray[np.int64]
    classes: tuple[int | str, ...]
    notes: tuple[str, ...] = ()

    def with_overlap(self) -> Dataset:
        """The data set with a note if some of its test samples are training samples, too."""
        count = in_both(self.train, self.test, MOST_COMPARED)
        if not count:
            return self
        said = f"{count:,} of {len(self.test):,} test samples are training samples too, byte for byte"
        return replace(self, notes=(*self.notes, said))

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return self.train.shape

    @cached_property
    def train(self) -> Samples:
        """The training samples."""
        return as_samples(self.x_train)

    @cached_property
    def test(self) -> Samples:
        """The test samples."""
        return as_samples(self.x_test)


def channels_first(x: NDArray[Any], what: str = "The samples") -> None:
    """Networks take (channels, height, width); with the channels last, rows of pixels would be taken for channels."""
    if x.ndim != 4 or x.shape[3] not in (1, 3, 4) or x.shape[1] in (1, 3, 4):
        return
    if x.dtype == np.uint8 or x.shape[1] == x.shape[2]:
        raise UsageError(
            f"{what} have shape {x.shape[1:]}, which looks like images with the channels last; expected (channels,"
            " height, width). Give x.transpose(0, 3, 1, 2), or say channels_last: true."
        )


def dataset_from_arrays(
    name: str,
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    y_test: ArrayLike,
    *,
    notes: tuple[str, ...] = (),
) -> Dataset:
    """Check the arrays of a user and number their classes.

    >>> data = dataset_from_arrays("toy", [[0.5], [1.5]], ["cat", "ant"], [[0.7]], ["cat"])
    >>> data.classes, data.y_train, data.x_train.dtype
    (('ant', 'cat'), array([1, 0]), dtype('float32'))
    """
    checked_name(name)
    inputs = [_inputs(x, what) for x, what in ((x_train, "x_train"), (x_test, "x_test"))]
    labels = [class_labels(y, what) for y, what in ((y_train, "y_train"), (y_test, "y_test"))]
    for x, y, what in zip(inputs, labels, ("train", "test"), strict=True):
        if len(x) != len(y):
            raise UsageError(
                f"x_{what} and y_{what} have one row per sample; got {len(x):,} inputs and {len(y):,} labels."
            )
    if inputs[0].shape[1:] != inputs[1].shape[1:] or inputs[0].dtype != inputs[1].dtype:
        raise UsageError(
            "Training and test samples have one shape and one type; got"
            f" {inputs[0].shape[1:]} {inputs[0].dtype} and {inputs[1].shape[1:]} {inputs[1].dtype}."
        )
    channels_first(inputs[0])
    return numbered(name, inputs[0], labels[0], inputs[1], labels[1], notes=notes).with_overlap()


def numbered(
    name: str,
    x_train: NDArray[Any] | Samples,
    y_train: NDArray[Any],
    x_test: NDArray[Any] | Samples,
    y_test: NDArray[Any],
    *,
    notes: tuple[str, ...] = (),
) -> Dataset:
    """The data set whose labels these are; a label of testing that never comes in training is refused."""
    classes, y_number = np.unique(y_train, return_inverse=True)
    places = np.searchsorted(classes, y_test)
    known = places < len(classes)
    known[known] = classes[places[known]] == y_test[known]
    if not known.all():
        stranger = y_test[~known][0].item()
        raise UsageError(
            f"Every test label must occur in training; {stranger!r} does not. Drop those test samples,"
            " or give training samples of that class."
        )
    numbers, wanted = y_number.astype(np.int64), places.astype(np.int64)
    return Dataset(name, x_train, numbers, x_test, wanted, tuple(classes.tolist()), notes)


def checked_name(name: str) -> str:
    """The name, if there is one to show: it stands in tables, on pages and in folders."""
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"A stream's name is a text, not empty; got {name!r}.")
    return name


def _inputs(x: ArrayLike, what: str) -> NDArray[Any]:
    """Images of uint8 as they are, everything else as float32; numbers only, and finite."""
    array = as_array(x, what)
    if array.ndim == 2 and array.dtype.kind == "O":
        array = as_numbers(array, what)
    if array.ndim < 2 or array.dtype.kind not in "buif" or 0 in array.shape:
        raise UsageError(
            f"{what} is an array of numbers of shape (samples, ...), not empty;"
            f" got shape {array.shape} of type {array.dtype}."
        )
    if array.dtype == np.uint8 and array.ndim > 2:
        return array
    array = array.astype(np.float32, copy=False)
    if not np.isfinite(array).all():
        raise UsageError(f"{what} has values that are not finite. Replace or drop them before making a stream.")
    return array


def as_numbers(table: NDArray[Any], what: str) -> NDArray[np.float64]:
    """A table with columns of several types, such as pandas' Int64 and Float64; NaN where a value is missing."""
    kinds = {type(value) for value in table.ravel().tolist()}
    strange = [kind for kind in kinds if not issubclass(kind, _NUMBERS) and not missing_type(kind)]
    if strange:
        place = next(k for k, value in enumerate(table.ravel().tolist()) if type(value) in strange)
        row, column = divmod(place, table.shape[1])
        raise UsageError(
            f"{what} is an array of numbers; row {row}, column {column} holds {table[row, column]!r}. Drop that column,"
            " or turn it into numbers first (one column per value, say)."
        )
    gaps = np.frompyfunc(lambda value: missing_type(type(value)), 1, 1)(table).astype(bool)
    return np.where(gaps, np.nan, table).astype(np.float64)


_NUMBERS = (int, float, np.integer, np.floating, np.bool_)
