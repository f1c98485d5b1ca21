"""The folders of Tiny ImageNet: JPEG files by class, and a list of labels for the validation images."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import MissingExtra, UsageError

SIDE = 64


@dataclass(frozen=True)
class Listing:
    """The files of both parts with the place of each one's class in `classes`."""

    classes: tuple[str, ...]
    train: tuple[str, ...]
    y_train: tuple[int, ...]
    test: tuple[str, ...]
    y_test: tuple[int, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """Every image file."""
        return self.train + self.test


def list_files(folder: Path) -> Listing:
    """Which images there are. Classes are in the order of their ids, images in that of their numbers."""
    classes = tuple(sorted(set(_text(folder / "wnids.txt").split())))
    place = {wnid: c for c, wnid in enumerate(classes)}
    train: list[str] = []
    y_train: list[int] = []
    for c, wnid in enumerate(classes):
        names = _images(folder / "train" / wnid / "images")
        train += names
        y_train += [c] * len(names)
    test: list[str] = []
    y_test: list[int] = []
    for line in _text(folder / "val" / "val_annotations.txt").splitlines():
        name, wnid = [*line.split("\t"), ""][:2]
        if wnid not in place or os.sep in name or name.startswith("."):
            raise UsageError(
                f"A line of {folder / 'val' / 'val_annotations.txt'} should be a file name and one of the"
                f" {len(classes)} ids of wnids.txt, with tabs between; got {line[:60]!r}."
            )
        test.append(str(folder / "val" / "images" / name))
        y_test.append(place[wnid])
    return Listing(classes, tuple(train), tuple(y_train), tuple(test), tuple(y_test))


def decode(files: Sequence[str], size: int = SIDE) -> NDArray[np.uint8]:
    """The images as (n, 3, size, size); grey ones get three equal channels, smaller sizes are averaged."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise MissingExtra.of("Pillow", "data") from None
    images: NDArray[Any] = np.empty((len(files), 3, size, size), dtype=np.uint8)
    for i, file in enumerate(files):
        try:
            with Image.open(file) as image:
                if image.size != (SIDE, SIDE):
                    raise UsageError(f"{file} should be {SIDE} x {SIDE}; it is {image.size[0]} x {image.size[1]}.")
                pixels = image.convert("RGB")
                if size != SIDE:
                    pixels = pixels.resize((size, size), Image.Resampling.BOX)
                images[i] = np.asarray(pixels).transpose(2, 0, 1)
        except FileNotFoundError:
            raise UsageError(f"{file} is listed and not there. Unpack the data set again.") from None
        except (UnidentifiedImageError, OSError) as error:
            raise UsageError(f"Cannot read the image {file}: {error}. Unpack the data set again.") from None
    return images


def _images(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [e.path for e in entries if e.name.lower().endswith((".jpeg", ".jpg"))]
    except FileNotFoundError:
        return []
    return sorted(names, key=lambda path: (len(path), path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read {path}: {error}.") from None
