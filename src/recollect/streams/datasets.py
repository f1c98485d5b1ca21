"""Data sets by name, and the streams that are named after them."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import MissingExtra, UsageError
from recollect.nearest import nearest
from recollect.streams.arrays import dataset_from_npz, stratified_test
from recollect.streams.cache import Decoded, content_key, decoded
from recollect.streams.catalogue import CATALOGUE, IDX_NAMES, published
from recollect.streams.concepts.named import holds_concepts, is_concept_source, make_concept_stream, stream_from_file
from recollect.streams.concepts.pyclad_folder import holds_pyclad_tables, stream_from_pyclad_folder
from recollect.streams.data import Dataset
from recollect.streams.given import stream_from_function
from recollect.streams.graphs.names import GRAPHS, holds_graphs, is_graph_source
from recollect.streams.images import dataset_from_images
from recollect.streams.locate import find_folder, present
from recollect.streams.npz import npz_names
from recollect.streams.published import Published
from recollect.streams.readers import cifar, idx, tiny_imagenet
from recollect.streams.scenarios import build_stream
from recollect.streams.spec import Spec, plain, takes_options
from recollect.streams.stream import Stream
from recollect.streams.values import VALUE_SETS, stream_of_values
from recollect.streams.verify import check_counts, other_hashes
from recollect.values import shown

DIGITS_TEST = 0.2


# No file system takes a longer path.
_LONGEST_NAME = 4000


@dataclass(frozen=True)
class NamedStream:
    """A stream that people call by a name: a data set and the options that the name stands for."""

    dataset: str
    options: Mapping[str, Any] = field(default_factory=dict)


_DOMAINS: dict[str, Mapping[str, Any]] = {
    "permuted": {"scenario": "domain-incremental", "domain": "permutations", "tasks": 10},
    "rotated": {"scenario": "domain-incremental", "domain": "rotations", "tasks": 10},
}
_SPLITS = {"digits": 5, "mnist": 5, "fashion-mnist": 5, "cifar10": 5, "cifar100": 10, "tiny-imagenet": 100}

STREAMS: dict[str, NamedStream] = {
    **{f"split-{name}": NamedStream(name, {"tasks": tasks}) for name, tasks in _SPLITS.items()},
    **{
        f"{kind}-{name}": NamedStream(name, options)
        for kind, options in _DOMAINS.items()
        for name in ("digits", "mnist", "fashion-mnist")
    },
}


def stream_names() -> tuple[str, ...]:
    """The names that `make_stream` knows, beside `adbench:shuttle` and the like and paths of files."""
    return (*CATALOGUE, *STREAMS, *GRAPHS, *VALUE_SETS)


@takes_options
def make_stream(
    name: str | Path,
    *,
    data: Path | str | None = None,
    size: int | Sequence[int] | None = None,
    partial: bool = False,
    grey: bool = False,
    crop: bool = False,
    test_fraction: float | None = None,
    predict: str | None = None,
    by: str | None = None,
    keys: Mapping[str, str] | None = None,
    channels_last: bool = False,
    arguments: Mapping[str, Any] | None = None,
    **options: Any,
) -> Stream:
    """The stream of this name: of a data set, a named stream, a path of an `.npz` or `.csv` file, a folder of images.

    `name` is such as "digits" (then say how to split it), "split-cifar100" (10 tasks of 10 classes),
    "split-tiny-imagenet" (100 of 2), "permuted-mnist", or "my/data.npz". `data` is the folder that holds the
    data set's folder; else RECOLLECT_DATA, else the cache is searched. For Tiny ImageNet, `size` is the side
    that images are brought to and `partial` accepts that training images are missing. A folder with one folder of
    images per class is read as it is needed, each image brought to `size` (see `dataset_from_images`). For an `.npz`
    file or a folder that does not say which samples are for testing, `test_fraction` is the part of each class that
    is. With `predict`, the column or array of a file that holds a number for each sample, the stream asks for that
    number, and `by` names what its tasks are made of (see `stream_of_values`). "package.module:function" is called with
    `arguments`, and returns arrays, a data set or a stream (see `stream_from`); `keys` says which array of a file, or
    column, is what, `channels_last` that images have their channels last. The other options are those of `Spec`:
    tasks, classes_per_task, scenario, passes, batch, class_order_seed, ...

    Anomaly detection streams are "nsl-kdd", "unsw-nb15", "skab", "nab", "adbench:shuttle", ...,
    "pyclad-nsl-kdd", and files with a concept and one label per row; their options are those of `ConceptSpec` and
    `SourceSpec`: scenario, batch, order, visits, concepts, n_concepts, ...

    Streams over graphs are "cora", "citeseer", "amazon-computers", "tu:ENZYMES", ... and `.npz` files with an adjacency
    matrix; they take the options of `GraphSpec`, too: visibility, test_nodes, remainder, ...

    >>> stream = make_stream("digits", tasks=5)
    >>> stream.n_batches, stream.n_samples, stream.tasks[0].original
    (145, 1438, (3, 2))
    """
    if not isinstance(name, str | Path) or len(str(name)) > _LONGEST_NAME:
        raise UsageError(
            "A stream is called by a name such as 'split-mnist', or the path of an .npz or .csv file; got"
            f" {shown(name)}."
        )
    name = str(name)
    split: dict[str, Any] = {} if test_fraction is None else {"test_fraction": test_fraction}
    if predict is not None or by is not None or name in VALUE_SETS:
        path = None if name in VALUE_SETS else _path_of(name, data)
        return stream_of_values(name, path, predict, by, **split, **options)
    if name.endswith((".npz", ".csv", ".csv.gz", ".npy")):
        _refuse(name, size=size, partial=partial or None, grey=grey or None, crop=crop or None, arguments=arguments)
        path = _path_of(name, data)
        if _holds_graph(path):
            from recollect.streams.graphs.named import make_graph_stream

            return make_graph_stream(str(path), None, {**options, **split})
        if holds_concepts(path, options):
            return stream_from_file(path, {**options, **split})
        return build_stream(dataset_from_npz(path, keys=keys, channels_last=channels_last, **split), Spec.of(options))
    if ":" in name and not is_concept_source(name) and not is_graph_source(name):
        _refuse(name, size=size, partial=partial or None, grey=grey or None, crop=crop or None)
        return stream_from_function(name, arguments, keys=keys, channels_last=channels_last, **split, **options)
    _refuse(name, keys=keys, channels_last=channels_last or None, arguments=arguments)
    if is_concept_source(name):
        _refuse(name, size=size, partial=partial or None, grey=grey or None, crop=crop or None)
        return make_concept_stream(name, data, {**options, **split})
    if is_graph_source(name):
        from recollect.streams.graphs.named import make_graph_stream

        _refuse(name, size=size, partial=partial or None, grey=grey or None, crop=crop or None)
        return make_graph_stream(name, data, {**options, **split})
    named = STREAMS.get(name) or NamedStream(name)
    if named.dataset not in CATALOGUE and name and (folder := _found(name, data, Path.is_dir)):
        _refuse(name, partial=partial or None)
        if holds_graphs(folder):
            from recollect.streams.graphs.named import make_graph_stream

            _refuse(name, size=size, grey=grey or None, crop=crop or None)
            return make_graph_stream(str(folder), None, {**options, **split})
        if holds_pyclad_tables(folder):
            _refuse(name, size=size, grey=grey or None, crop=crop or None)
            return stream_from_pyclad_folder(folder, {**options, **split})
        images = dataset_from_images(folder, size=size, grey=grey, crop=crop, **split)
        return build_stream(images, Spec.of(options))
    _refuse(name, test_fraction=test_fraction, grey=grey or None, crop=crop or None)
    if named.dataset not in CATALOGUE:
        if _found(name, data, Path.is_file):
            raise UsageError(
                f"{name} is a file of a kind that is not read as a stream. Give a table as .csv, arrays as .npz (X, y,"
                " concept, or x_train, y_train, x_test, y_test), or pyCLAD's concepts as .npy; the ending in small"
                " letters."
            )
        near = nearest(name, stream_names(), cutoff=0.6)
        hint = "there are" if near is None else f"did you mean {near!r}? There are"
        raise UsageError(
            f"There is no stream {name!r}; {hint} {', '.join(stream_names())}. Data of your own are named by their"
            " path: a table (.csv), arrays (.npz with X, y and concept, or x_train, y_train, x_test and y_test),"
            " pyCLAD's concepts (.npy, or the folder of its tables) or a folder of images."
        )
    spec = Spec.of({**_defaults(named, options), **options})
    dataset = load_dataset(named.dataset, data=data, size=size, partial=partial)
    # What differs from the published data set is in the name that stands in tables.
    suffix = dataset.name.removeprefix(named.dataset)
    return build_stream(dataset, spec, name=name + suffix)


def load_dataset(name: str, *, data: Path | str | None = None, size: Any = None, partial: bool = False) -> Dataset:
    """Find, read and check a data set; samples stay uint8, large ones memory-mapped.

    >>> len(load_dataset("digits").train), load_dataset("digits").input_shape
    (1438, (1, 8, 8))
    """
    entry = published(name)
    if name not in READ_BY:
        raise UsageError(f"{name} is for {entry.problem}: its rows are made concepts by make_stream({name!r}).")
    reader = READ_BY[name]
    if reader is None:
        return _tiny_imagenet(entry, data, size, partial)
    _refuse(name, size=size, partial=partial or None)
    dataset = reader(entry, data)
    check_counts(entry, dataset)
    return dataset


def _digits(entry: Published, data: Path | str | None) -> Dataset:
    """Scikit-learn's digits, a fixed fifth of each class for testing."""
    return Dataset(entry.name, *_digit_parts(), tuple(range(10)))


@cache  # reading the text file takes longer than a pass over it
def _digit_parts() -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Training and test parts, read-only; the 17 levels of grey are spread over 0 to 255, as in every other image."""
    table = _digits_table()
    x, y = table[:, :-1], table[:, -1].astype(np.int64)
    images = np.rint(x * (255 / 16)).astype(np.uint8).reshape(-1, 1, 8, 8)
    test = stratified_test(y, DIGITS_TEST)
    parts = images[~test], y[~test], images[test], y[test]
    for part in parts:
        part.setflags(write=False)
    return parts


def _digits_table() -> NDArray[np.float64]:
    """The rows of scikit-learn's digits, the label last, from the file that it brings: its import would take longer."""
    found = find_spec("sklearn")
    if found is None:
        raise MissingExtra.of("scikit-learn", "sklearn")
    places = (Path(place) / "datasets" / "data" / "digits.csv.gz" for place in found.submodule_search_locations or ())
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        from sklearn.datasets import load_digits

        x, y = load_digits(return_X_y=True)
        return np.column_stack([x, y])
    with gzip.open(file, "rt") as lines:
        return np.loadtxt(lines, delimiter=",", ndmin=2)


def _idx(entry: Published, data: Path | str | None) -> Dataset:
    folder = find_folder(entry, data)
    paths = [path for name in IDX_NAMES if (path := present(folder, name)) is not None]

    def decode() -> Decoded:
        x_train, y_train, x_test, y_test = (
            idx.read_idx(path, dimensions) for path, dimensions in zip(paths, (3, 1, 3, 1), strict=True)
        )
        for x, y, part in ((x_train, y_train, "training"), (x_test, y_test, "test")):
            if len(x) != len(y):
                raise UsageError(f"{folder} has {len(x):,} {part} images and {len(y):,} labels. Fetch it again.")
        arrays: dict[str, NDArray[Any]] = {
            "x_train": x_train[:, None],
            "y_train": y_train.astype(np.int64),
            "x_test": x_test[:, None],
            "y_test": y_test.astype(np.int64),
        }
        names = _FASHION if entry.name == "fashion-mnist" else tuple(range(10))
        return Decoded(arrays, {"classes": names, "other": other_hashes(entry, folder)})

    return _from_cache(entry.name, decoded(entry.name, content_key(folder, paths), decode))


def _cifar(entry: Published, data: Path | str | None) -> Dataset:
    """The pickles, read once into the cache: they take seconds and four times their size in memory."""
    folder = find_folder(entry, data)
    names = [file.name for file in entry.files]
    *train, test, meta = (folder / name for name in names)
    label, names_key = ("fine_labels", "fine_label_names") if entry.name == "cifar100" else ("labels", "label_names")

    def decode() -> Decoded:
        arrays: dict[str, NDArray[Any]] = {}
        for part, paths in (("train", train), ("test", [test])):
            arrays[f"x_{part}"], arrays[f"y_{part}"] = cifar.read_images(paths, label)
        facts = {"classes": cifar.read_names(meta, names_key), "other": other_hashes(entry, folder)}
        return Decoded(arrays, facts)

    key = content_key(folder, [folder / name for name in names])
    return _from_cache(entry.name, decoded(entry.name, key, decode))


def _tiny_imagenet(entry: Published, data: Path | str | None, size: Any, partial: bool) -> Dataset:
    size = plain(size)
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 64):
        raise UsageError(f"size is the side of an image, 1 to 64 pixels; got {size!r}.")
    side = size or tiny_imagenet.SIDE
    folder = find_folder(entry, data)
    listing = tiny_imagenet.list_files(folder)
    counts = Dataset(
        entry.name,
        np.empty((0, *entry.input_shape), np.uint8),
        np.array(listing.y_train, dtype=np.int64),
        np.empty((0, *entry.input_shape), np.uint8),
        np.array(listing.y_test, dtype=np.int64),
        listing.classes,
    )
    check_counts(entry, counts, partial=partial)

    def decode() -> Decoded:
        arrays: dict[str, NDArray[Any]] = {
            "x_train": tiny_imagenet.decode(listing.train, side),
            "y_train": counts.y_train,
            "x_test": tiny_imagenet.decode(listing.test, side),
            "y_test": counts.y_test,
        }
        return Decoded(arrays, {"classes": listing.classes, "other": ()})

    try:
        key = content_key(folder, [*listing.files, folder / "val" / "val_annotations.txt"], side)
    except FileNotFoundError as error:
        raise UsageError(f"{error.filename} is listed and not there. Unpack the data set again.") from None
    dataset = _from_cache(entry.name, decoded(f"{entry.name}-{side}", key, decode))
    name, notes = dataset.name, dataset.notes
    if side != tiny_imagenet.SIDE:
        name += f" {side}x{side}"
        notes += (f"images brought from 64 x 64 to {side} x {side} by averaging",)
    if len(listing.train) < entry.n_train:
        name += " (partial)"
        notes += (f"partial: {len(listing.train):,} of {entry.n_train:,} training images",)
    return replace(dataset, name=name, notes=notes)


def _from_cache(name: str, found: Decoded) -> Dataset:
    a, facts = found.arrays, found.facts
    notes = _hash_note(tuple(facts["other"]))
    return Dataset(name, a["x_train"], a["y_train"], a["x_test"], a["y_test"], tuple(facts["classes"]), notes)


def _hash_note(different: tuple[str, ...]) -> tuple[str, ...]:
    if not different:
        return ()
    return (f"same counts, other hash than the published files: {', '.join(different)}",)


def _defaults(named: NamedStream, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the name stands for, less what the user says otherwise."""
    defaults = dict(named.options)
    scenario = defaults.get("scenario")
    if scenario is not None and options.get("scenario", scenario) != scenario:
        raise UsageError(
            f"This stream is {scenario} by its name; got scenario = {options['scenario']!r}. For another scenario take"
            f" {named.dataset!r} and say how to split it."
        )
    if "classes_per_task" in options or "angles" in options:
        defaults.pop("tasks", None)
    return defaults


def _holds_graph(path: Path) -> bool:
    if path.suffix in (".csv", ".gz"):
        from recollect.streams.graphs.edges import is_edge_list
        from recollect.streams.graphs.molecules import is_molecules

        return is_molecules(path) or is_edge_list(path)
    return any(name in ("adj_indptr", "adj_matrix.indptr", "edge_index") for name in npz_names(path))


def _path_of(name: str, data: Path | str | None) -> Path:
    found = _found(name, data, Path.is_file)
    if found is None:
        raise UsageError(f"There is no file {name}; looked in {', '.join(map(str, _roots(data)))}.")
    return found


def _found(name: str, data: Path | str | None, is_there: Callable[[Path], bool]) -> Path | None:
    """The path as given, or below the data folders."""
    return next((root / name for root in _roots(data) if is_there(root / name)), None)


def _roots(data: Path | str | None) -> list[Path]:
    given = [Path(), *([Path(data)] if data is not None else [])]
    return given + [Path(part) for part in os.environ.get("RECOLLECT_DATA", "").split(os.pathsep) if part]


def _refuse(name: str, **options: Any) -> None:
    for option, value in options.items():
        if value is not None:
            belongs = _BELONGS.get(option, "tiny-imagenet")
            raise UsageError(f"The option {option} belongs to {belongs}; {name} does not take it.")


_BELONGS = {
    "test_fraction": "an .npz file or a folder of images",
    "size": "tiny-imagenet and folders of images",
    **dict.fromkeys(("keys", "channels_last"), "an .npz file or a function"),
    "arguments": "a function, 'package.module:name'",
    **dict.fromkeys(("grey", "crop"), "folders of images"),
}
_FASHION = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
# Data sets with classes; None: the one whose reader takes options.
READ_BY: dict[str, Callable[[Published, Path | str | None], Dataset] | None] = {
    "tiny-imagenet": None,
    "digits": _digits,
    "mnist": _idx,
    "fashion-mnist": _idx,
    "cifar10": _cifar,
    "cifar100": _cifar,
}
