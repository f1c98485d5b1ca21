"""Whatever somebody has as a data set: arrays, torch data sets, Hugging Face data sets, or a function that returns one.

Torch and datasets are not imported: their objects are known by what they have.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import RecollectError, UsageError
from recollect.paths import import_path, refuse_call
from recollect.streams.arrays import FOUR, dataset_of_named, stratified_test
from recollect.streams.class_files import renamed
from recollect.streams.data import Dataset, channels_first, numbered
from recollect.streams.labels import class_labels
from recollect.streams.samples import Hash, Index
from recollect.streams.scenarios import build_stream
from recollect.streams.spec import Spec
from recollect.streams.stream import Stream
from recollect.values import detached

# What columns of a Hugging Face data set are usually called, the likeliest first.
_X = ("image", "img", "images", "pixel_values", "x", "features", "input")
_Y = ("label", "labels", "fine_label", "y", "target", "targets", "class")
_TEST = ("test", "validation", "valid", "val")
# So many items are read twice before a data set is taken for one that does not draw at random.
_PROBED = 16
_WHAT = (
    "arrays (x_train, y_train, x_test, y_test) in a tuple or by name, X and y, a pair of torch data sets or one, a"
    " Hugging Face data set, a Dataset or a Stream of Recollect"
)


def stream_from(
    given: Any,
    *,
    name: str = "given",
    keys: Mapping[str, str] | None = None,
    channels_last: bool = False,
    test_fraction: float = 0.2,
    **options: Any,
) -> Stream:
    """A stream over whatever holds a data set; `options` are those of `Spec`.

    `given` is a tuple of four arrays, a mapping with the names of an `.npz` file, a torch `Dataset` or a pair of them
    (training, testing), a Hugging Face `Dataset` or `DatasetDict`, a `Dataset` of ours, or a stream, which is returned.
    `keys` says which column of a Hugging Face data set, or which array, is what: {"x": "img", "y": "fine_label"}. Items
    of torch and Hugging Face data sets are read when they are needed. Without a part for testing, `test_fraction` of
    each class is.

    >>> x, y = np.zeros((4, 2)), [0, 0, 1, 1]
    >>> stream_from((x, y, x, y), tasks=2).n_samples
    4
    """
    if isinstance(given, Stream):
        if options:
            raise UsageError(f"{name} is a stream already: the option {next(iter(options))!r} is for data sets.")
        return given
    if not isinstance(keys, Mapping | None):
        raise UsageError(f"keys says which column is which, {{x: image, y: label}}; got {keys!r}.")
    data = dataset_from(given, name, dict(keys or {}), channels_last, test_fraction)
    return build_stream(data, Spec.of(options))


def stream_from_function(path: str, arguments: Mapping[str, Any] | None, **options: Any) -> Stream:
    """What the function "package.module:name" returns, as a stream.

    A function with a parameter `class_order_seed` is told the run's; a stream that it returns is taken as it is.
    """
    made = import_path(path, "stream")
    given = _arguments(arguments)
    if "class_order_seed" in options and _takes(made, "class_order_seed"):
        given.setdefault("class_order_seed", options["class_order_seed"])
    refuse_call(made, path, "stream", given)
    try:
        found = made(**given)
    except RecollectError:
        raise
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"The stream {path!r} cannot be made: its function stops with {said}") from error
    if isinstance(found, Stream):
        options.pop("class_order_seed", None)
    return stream_from(found, name=path.partition(":")[2], **options)


def _arguments(given: Any) -> dict[str, Any]:
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(name, str) for name in given)):
        raise UsageError(f"arguments is a mapping from names to values, {{path: data.csv}}; got {given!r}.")
    return dict(given or {})


def _takes(made: Any, name: str) -> bool:
    try:
        return name in inspect.signature(made).parameters
    except (TypeError, ValueError):
        return False


def dataset_from(given: Any, name: str, keys: dict[str, str], channels_last: bool, test_fraction: float) -> Dataset:
    """The data set that this is."""
    if isinstance(given, Dataset):
        return given
    if isinstance(given, Mapping) and all(_is_table(part) for part in given.values()) and given:
        return _of_parts(_parts_of_tables(given, keys, name), name, channels_last, test_fraction)
    if _is_table(given):
        return _of_parts((_table(given, keys, name), None), name, channels_last, test_fraction)
    if isinstance(given, Mapping):
        arrays = {str(key): np.asarray(detached(value)) for key, value in given.items()}
        how: dict[str, Any] = {"keys": keys, "channels_last": channels_last, "test_fraction": test_fraction}
        return dataset_of_named(arrays, name, f"the arrays of {name}", **how)
    if isinstance(given, (tuple, list)) and len(given) == 2 and all(map(_is_items, given)):
        return _of_parts((_Items(given[0], name), _Items(given[1], name)), name, channels_last, test_fraction)
    if (
        isinstance(given, (tuple, list))
        and len(given) == 2
        and all(isinstance(p, (tuple, list)) and len(p) == 2 for p in given)
    ):
        given = (*given[0], *given[1])  # ((x, y), (x, y)), as keras has it
    if isinstance(given, (tuple, list)) and len(given) in (2, 4):
        named = dict(zip(FOUR if len(given) == 4 else ("x", "y"), given, strict=True))
        return dataset_from({k: detached(v) for k, v in named.items()}, name, {}, channels_last, test_fraction)
    if _is_items(given):
        return _of_parts((_Items(given, name), None), name, channels_last, test_fraction)
    raise UsageError(f"{name} gives a {type(given).__name__}; expected {_WHAT}.")


def _is_table(given: Any) -> bool:
    """Whether this is a Hugging Face data set: rows by number, columns by name."""
    return hasattr(given, "column_names") and hasattr(given, "features") and hasattr(given, "__getitem__")


def _is_items(given: Any) -> bool:
    """Whether this is a torch data set of the kind that has a length."""
    return not isinstance(given, (Mapping, str, bytes, np.ndarray, list, tuple)) and all(
        hasattr(given, method) for method in ("__getitem__", "__len__")
    ) and not hasattr(given, "__array__")  # fmt: skip


class _Items:
    """The items (x, y) of a torch data set; `classes` where it names them."""

    def __init__(self, given: Any, name: str) -> None:
        self._given, self._name = given, name
        classes = getattr(given, "classes", None)
        is_named = isinstance(classes, (list, tuple)) and all(isinstance(one, str) for one in classes)
        self.classes: Sequence[str] | None = classes if is_named else None

    def __len__(self) -> int:
        return len(self._given)

    def x(self, place: int) -> Any:
        return self._pair(place)[0]

    def _pair(self, place: int) -> tuple[Any, Any]:
        item = _item(self._given, place, self._name)
        if not isinstance(item, (tuple, list)) or len(item) < 2:
            raise UsageError(
                f"An item of {self._name} is a sample and its label, (x, y); item {place} is a {type(item).__name__}."
            )
        return item[0], item[1]

    def y(self) -> Any:
        for known in ("targets", "labels", "y"):
            values = getattr(self._given, known, None)
            if values is not None and not callable(values) and np.shape(detached(values)) == (len(self),):
                values = detached(values)
                if all(_agree(values[place], self._pair(place)[1]) for place in probed(len(self))):
                    return values
        return [_plain(self._pair(place)[1]) for place in range(len(self))]  # what the items say is learned


class _Rows:
    """The rows of a Hugging Face data set."""

    def __init__(self, given: Any, x: str, y: str, name: str) -> None:
        self._given, self._x, self._y, self._name = given, x, y, name
        names = getattr(given.features.get(y), "names", None) if isinstance(given.features, Mapping) else None
        self.classes: Sequence[str] | None = list(names) if names else None

    def __len__(self) -> int:
        return len(self._given)

    def x(self, place: int) -> Any:
        return _item(self._given, place, self._name)[self._x]

    def y(self) -> Any:
        return [_plain(value) for value in self._given[self._y]]


_Part = _Items | _Rows


def _item(given: Any, place: int, name: str) -> Any:
    """An item of somebody's data set, whose mistakes are told as its own."""
    try:
        return given[place]
    except RecollectError:
        raise
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(
            f"{name} says that it has {len(given)} items, and item {place} cannot be read: it stops with {said}. Mend"
            " the data set, or its length."
        ) from error


def probed(count: int) -> list[int]:
    """Some places, spread evenly, at which a data set is looked at before it is believed.

    >>> probed(3), len(probed(10**6))
    ([0, 1, 2], 16)
    """
    return np.unique(np.linspace(0, count - 1, min(count, _PROBED), dtype=np.int64)).tolist() if count else []


def _agree(known: Any, said: Any) -> bool:
    value = _plain(said)
    return bool(np.ndim(value) == 0 and known == value)


def _table(given: Any, keys: Mapping[str, str], name: str) -> _Rows:
    columns = list(given.column_names)
    chosen = []
    for what, usual in (("x", _X), ("y", _Y)):
        asked = keys.get(what)
        found = [column for column in ((asked,) if asked else usual) if column in columns]
        if not found:
            said = f"there is no column {asked!r}" if asked else "its columns do not say"
            raise UsageError(
                f"Which column of {name} is {what}? {said}; it has {', '.join(columns)}. Say it by keys:"
                " {x: image, y: label}."
            )
        chosen.append(found[0])
    return _Rows(given, chosen[0], chosen[1], name)


def _parts_of_tables(given: Mapping[str, Any], keys: Mapping[str, str], name: str) -> tuple[_Rows, _Rows | None]:
    train = keys.get("train", "train")
    if train not in given:
        raise UsageError(
            f"{name} has the parts {', '.join(given)}; which one is for training? Say keys: {{train: ...}}."
        )
    test = keys.get("test") or next((part for part in _TEST if part in given), None)
    if test is not None and test not in given:
        raise UsageError(f"{name} has no part {test!r}; it has {', '.join(given)}.")
    return _table(given[train], keys, name), None if test is None else _table(given[test], keys, name)


def _of_parts(parts: tuple[_Part, _Part | None], name: str, channels_last: bool, test_fraction: float) -> Dataset:
    train, test = parts
    if not len(train) or (test is not None and not len(test)):
        raise UsageError(f"{name} has no samples in one of its parts.")
    y = class_labels(train.y(), f"the labels of {name}")
    if test is None:
        held = stratified_test(y, test_fraction)
        places = [np.flatnonzero(~held), np.flatnonzero(held)]
        samples = [ItemSamples.over(train, where, name, channels_last) for where in places]
        return _called(numbered(name, samples[0], y[~held], samples[1], y[held]), train.classes)
    samples = [ItemSamples.over(part, np.arange(len(part)), name, channels_last) for part in (train, test)]
    if samples[0].shape != samples[1].shape or samples[0].dtype != samples[1].dtype:
        both = [f"{one.shape} {one.dtype}" for one in samples]
        raise UsageError(f"Training and test samples have one shape and one type; got {both[0]} and {both[1]}.")
    y_test = class_labels(test.y(), f"the test labels of {name}")
    return _called(numbered(name, samples[0], y, samples[1], y_test), train.classes)


def _called(data: Dataset, names: Sequence[str] | None) -> Dataset:
    """The data set with the names that it has for its class numbers, where they are good for that."""
    numbers = all(isinstance(c, int) and names is not None and 0 <= c < len(names) for c in data.classes)
    return renamed(data, tuple(names)) if names and numbers and len(set(names)) == len(names) else data


@dataclass(frozen=True, eq=False)
class ItemSamples:
    """Items of a data set with places, read when they are needed."""

    part: _Part
    places: NDArray[np.int64]
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    last: bool

    @classmethod
    def over(cls, part: _Part, places: NDArray[np.int64], name: str, last: bool) -> ItemSamples:
        """The items at these places; the first says the shape of all. Some are read twice, and must be the same.

        A transform that mirrors every other image would pass a single look half of the time.
        """
        first = _sample(part.x(int(places[0])), name, last)
        for place in probed(len(places)):
            one, again = (_sample(part.x(int(places[place])), name, last) for _ in range(2))
            if one.shape != again.shape or not np.array_equal(one, again):
                raise UsageError(
                    f"{name} gives other values when an item is read again: its transform draws at random. Give a data"
                    " set without augmentation; `augment` is an option of the learners."
                )
        return cls(part, places, name, first.shape, first.dtype, last)

    def __len__(self) -> int:
        return len(self.places)

    def _read(self, index: Index) -> Iterator[NDArray[Any]]:
        for place in self.places[index].tolist():
            sample = _sample(self.part.x(place), self.name, self.last)
            if sample.shape != self.shape or sample.dtype != self.dtype:
                raise UsageError(
                    f"The items of {self.name} have one shape and type; the first has {self.shape} {self.dtype}, item"
                    f" {place} has {sample.shape} {sample.dtype}. Resize them in a transform."
                )
            yield sample

    def take(self, index: Index) -> NDArray[Any]:
        """Read these items."""
        return np.stack(list(self._read(index))) if len(index) else np.empty((0, *self.shape), self.dtype)

    def digest(self, index: Index, into: Hash) -> None:
        """The bytes of the samples."""
        for sample in self._read(index):
            into.update(np.ascontiguousarray(sample).data)


def _sample(given: Any, name: str, last: bool) -> NDArray[Any]:
    """One sample as an array: images of uint8 with the channels first, everything else as float32."""
    is_picture = hasattr(given, "getbands")  # a PIL image has its channels last
    array = np.asarray(detached(given))
    if array.dtype.kind not in "buif" or 0 in array.shape or not array.ndim:
        raise UsageError(
            f"A sample of {name} is an array of numbers, an image or a tensor; got a {type(given).__name__}."
        )
    if is_picture and array.ndim == 2:
        array = array[None]
    elif array.ndim == 3 and (is_picture or last):
        array = array.transpose(2, 0, 1)
    elif array.ndim == 3:
        channels_first(array[None], f"The samples of {name}")
    if array.dtype == np.uint8 and array.ndim > 1:
        return array
    array = array.astype(np.float32)
    if not np.isfinite(array).all():
        raise UsageError(f"{name} has values that are not finite. Replace or drop them before making a stream.")
    return array


def _plain(value: Any) -> Any:
    """A label as a number or a text: a tensor of one number is that number."""
    value = detached(value)
    return value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value
