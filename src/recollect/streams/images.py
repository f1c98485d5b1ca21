"""Streams over a folder of images, one folder per class, read as they are needed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.options import is_finite
from recollect.streams.arrays import stratified_test
from recollect.streams.data import Dataset
from recollect.streams.samples import ImageFiles
from recollect.streams.scenarios import build_stream
from recollect.streams.spec import Spec, plain
from recollect.streams.stream import Stream

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp")
_TEST = ("test", "val", "valid", "validation")
Files = dict[str, list[str]]


def stream_from_images(folder: Path | str, *, name: str | None = None, **options: Any) -> Stream:
    """A stream over the images of a folder; `options` are those of `dataset_from_images` and of `Spec`."""
    own = {key: options.pop(key) for key in ("size", "grey", "crop", "test_fraction") if key in options}
    return build_stream(dataset_from_images(folder, name=name, **own), Spec.of(options))


def dataset_from_images(
    folder: Path | str,
    *,
    size: Any,
    grey: bool = False,
    crop: bool = False,
    test_fraction: float = 0.2,
    name: str | None = None,
) -> Dataset:
    """The images below a folder: `train/CLASS/*` and `test/CLASS/*` (or `val`), or `CLASS/*` alone.

    `size` is the side that images are brought to, or [height, width]; `crop` cuts the middle out before, so that
    nothing is stretched; `grey` keeps one channel. Without a folder for testing, `test_fraction` of each class are
    test images, drawn with a constant seed. Nothing is decoded before it is asked for.
    """
    place = Path(folder)
    shape = _checked_size(size)
    train, test = _parts(place)
    files, y = _numbered(train)
    if test is None:
        is_test = stratified_test(y, test_fraction)
        paths = np.array(files, dtype=object)
        parts = (paths[~is_test].tolist(), y[~is_test], paths[is_test].tolist(), y[is_test])
    else:
        strangers = sorted(set(test) - set(train))
        if strangers:
            raise UsageError(
                f"Every class of test images must occur in training; {strangers[0]!r} of {place} does not."
            )
        parts = (files, y, *_numbered({c: test.get(c, []) for c in train}))
    images = [ImageFiles(paths, shape, 1 if grey else 3, bool(crop)) for paths in (parts[0], parts[2])]
    made = Dataset(name or place.absolute().name, images[0], parts[1], images[1], parts[3], tuple(train))
    return made.with_overlap()


def _parts(folder: Path) -> tuple[Files, Files | None]:
    """The images of each class for training, and for testing if they have a folder of their own."""
    below = {entry.name.lower(): entry for entry in _folders(folder)}
    tests = [below[word] for word in _TEST if word in below]
    if "train" in below and len(tests) == 1:
        return _classes(below["train"]), _classes(tests[0])
    if "train" in below and len(tests) > 1:
        names = " and ".join(entry.name for entry in tests)
        raise UsageError(f"{folder} has {names}; which one is for testing? Keep one of them beside train.")
    return _classes(below["train"] if set(below) == {"train"} else folder), None


def _classes(folder: Path) -> Files:
    found = {entry.name: _images(entry) for entry in _folders(folder)}
    with_images = {name: files for name, files in found.items() if files}
    if not with_images:
        raise UsageError(
            f"{folder} has no folders with images in them; expected one folder per class, with files that end in"
            f" {', '.join(SUFFIXES)}."
        )
    return with_images


def _folders(folder: Path) -> list[Path]:
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise UsageError(f"Cannot read the folder {folder}: {error.strerror or error}.") from None
    return [entry for entry in entries if entry.is_dir()]


def _images(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(
            entry.path
            for entry in entries
            if entry.name.lower().endswith(SUFFIXES) and not entry.name.startswith(".") and entry.is_file()
        )


def _numbered(classes: Files) -> tuple[list[str], NDArray[np.int64]]:
    files = [file for paths in classes.values() for file in paths]
    return files, np.repeat(np.arange(len(classes)), [len(paths) for paths in classes.values()])


def _checked_size(size: Any) -> tuple[int, int]:
    given = plain(size)
    sides = given if isinstance(given, tuple) else (given, given)
    if len(sides) != 2 or not all(is_finite(side) and side == int(side) and 1 <= side <= 4096 for side in sides):
        raise UsageError(
            "A folder of images needs size, the side that they are brought to in pixels (or [height, width]), 1 to"
            f" 4096; got {size!r}."
        )
    return int(sides[0]), int(sides[1])
