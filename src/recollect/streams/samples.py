"""What a stream is cut from: arrays in memory or mapped from a file, images on disk, ids in something larger.

A stream keeps tasks, visits and order, and takes its samples by their places. Memories keep what `take` gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from recollect.errors import MissingExtra, UsageError

Index = NDArray[np.int64]
_CHUNK = 4096
_MOST_ROWS = 200_000


class Hash(Protocol):
    """A hash of `hashlib`'s that is being made."""

    def update(self, data: Any, /) -> None:
        """Add these bytes."""


@runtime_checkable
class Samples(Protocol):
    """Samples by their places 0 .. n - 1."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample; () for an id."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its values."""

    def __len__(self) -> int:
        """How many there are."""

    def take(self, index: Index) -> NDArray[Any]:
        """The samples at these places, one row each, in an array that the caller may change."""

    def digest(self, index: Index, into: Hash) -> None:
        """Add the content of these samples to a hash; it is the same however they are stored."""


@dataclass(frozen=True, eq=False)
class ArraySamples:
    """The rows of an array, which may be mapped from a file: it is never copied as a whole.

    >>> ArraySamples(np.arange(6).reshape(3, 2)).take(np.array([2, 0]))
    array([[4, 5],
           [0, 1]])
    """

    array: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row."""
        return tuple(self.array.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the array."""
        return self.array.dtype

    def __len__(self) -> int:
        return len(self.array)

    def take(self, index: Index) -> NDArray[Any]:
        """A copy of these rows."""
        return self.array.take(index, axis=0)

    def digest(self, index: Index, into: Hash) -> None:
        """The bytes of the rows."""
        is_all = len(index) == len(self.array) and bool((index == np.arange(len(index))).all())
        for low in range(0, len(index), _CHUNK):
            rows: Any = slice(low, low + _CHUNK) if is_all else index[low : low + _CHUNK]
            into.update(np.ascontiguousarray(self.array[rows]).data)


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Images on disk, read when they are needed; every one comes out as (channels, height, width) of uint8.

    `size` is (height, width). An image of another size is resized; with `crop` the largest piece of the right
    proportions is cut from its middle first, so that nothing is stretched. `channels` is 3 for colours, 1 for grey.
    The digest is that of the pixels: a stream over the same images in an array is the same stream.
    """

    files: Sequence[str]
    size: tuple[int, int]
    channels: int = 3
    crop: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Channels, height, width."""
        return (self.channels, *self.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Bytes."""
        return np.dtype(np.uint8)

    def __len__(self) -> int:
        return len(self.files)

    def take(self, index: Index) -> NDArray[Any]:
        """Decode these files."""
        return np.stack(list(self._decoded(index))) if len(index) else np.empty((0, *self.shape), np.uint8)

    def digest(self, index: Index, into: Hash) -> None:
        """The bytes of the pixels."""
        for image in self._decoded(index):
            into.update(np.ascontiguousarray(image).data)

    def checksum(self, index: Index) -> int:
        """Of the folder and name of each file and of the bytes in it, which are not decoded."""
        made = 0
        for place in index.tolist():
            path = Path(self.files[place])
            try:
                status = path.stat()
                content = _content(str(path), status.st_size, status.st_mtime_ns)
            except OSError as error:
                raise UsageError(f"Cannot read the image {path}: {error.strerror}. Put it back.") from None
            made = crc32(f"{path.parent.name}/{path.name} {content}\n".encode(), made)
        return made

    def _decoded(self, index: Index) -> Iterator[NDArray[np.uint8]]:
        try:
            from PIL import Image, ImageOps
        except ImportError:
            raise MissingExtra.of("Pillow", "data") from None
        mode, (height, width) = {1: "L", 3: "RGB"}[self.channels], self.size
        for place in index.tolist():
            file = self.files[place]
            try:
                with Image.open(file) as image:
                    pixels = in_bytes(image, file).convert(mode)
            except FileNotFoundError:
                raise UsageError(
                    f"The image {file} is not there any more. Put it back, or make the stream again."
                ) from None
            except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
                raise UsageError(
                    f"Cannot read the image {file}: {error}. Remove it, or put a whole one there."
                ) from None
            if pixels.size != (width, height):
                if self.crop:
                    pixels = ImageOps.fit(pixels, (width, height), Image.Resampling.BILINEAR)
                else:
                    pixels = pixels.resize((width, height), Image.Resampling.BILINEAR)
            array = np.asarray(pixels)
            yield array[None] if self.channels == 1 else array.transpose(2, 0, 1)


def in_bytes(image: Any, file: str) -> Any:
    """The image with 8 bits a channel: of 16 bits the upper ones, which a plain conversion would clip to white.

    Older versions of Pillow open a grey PNG of 16 bits with the mode of 32.
    """
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
        from PIL import Image

        return Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise UsageError(
            f"The image {file} has numbers of 32 bits (mode {image.mode}), and nothing says which of them is black and"
            " which is white. Save it with 8 or 16 bits a channel, or give the arrays themselves (.npz)."
        )
    return image


@cache
def _content(path: str, size: int, changed: int) -> int:
    """The checksum of a file's bytes, read once for as long as its size and time of change stay."""
    with open(path, "rb") as file:
        return crc32(file.read())


@runtime_checkable
class Listed(Protocol):
    """Samples in files, which are not decoded for a checksum."""

    def checksum(self, index: Index) -> int:
        """A checksum of the files: their names and bytes."""


def checksum(samples: Samples, index: Index) -> int:
    """A checksum of these samples; of samples in files, of the files' names and bytes.

    >>> first, second = (ArraySamples(np.array([[k], [9]])) for k in (1, 2))
    >>> checksum(first, np.array([0])) == checksum(second, np.array([0]))
    False
    """
    if isinstance(samples, Listed):
        return samples.checksum(index)
    running = _Running()
    samples.digest(index, running)
    return running.value


class _Running:
    """A checksum that takes bytes as a hash does."""

    value = 0

    def update(self, data: Any, /) -> None:
        self.value = crc32(data, self.value)


def in_both(train: Samples, test: Samples, most: int) -> int | None:
    """How many test samples are training samples too, byte for byte; None where finding out would cost too much.

    `most` is the most bytes that are read for it. Files are compared as files, and read only where their sizes agree.
    """
    if isinstance(train, ImageFiles) and isinstance(test, ImageFiles):
        return _files_in_both(train.files, test.files, most)
    size = (len(train) + len(test)) * int(np.prod(train.shape)) * train.dtype.itemsize
    if (
        not (isinstance(train, ArraySamples) and isinstance(test, ArraySamples))
        or size > most
        or len(train) > _MOST_ROWS
    ):
        return None
    there = {hash(row.tobytes()) for row in train.array}
    found = [row.tobytes() for row in test.array if hash(row.tobytes()) in there]
    again = {row.tobytes() for row in train.array} if found else set()
    return sum(row in again for row in found)


def _files_in_both(train: Sequence[str], test: Sequence[str], most: int) -> int | None:
    try:
        sizes = [{file: Path(file).stat().st_size for file in part} for part in (train, test)]
        shared = set(sizes[0].values()) & set(sizes[1].values())
        if sum(size for part in sizes for size in part.values() if size in shared) > most:
            return None
        read = [[Path(file).read_bytes() for file, size in part.items() if size in shared] for part in sizes]
    except OSError:  # what cannot be read is told when it is needed
        return None
    there = set(read[0])
    return sum(content in there for content in read[1])


def as_samples(given: NDArray[Any] | Samples) -> Samples:
    """An array as samples, one row each; samples as they are."""
    return ArraySamples(given) if isinstance(given, np.ndarray) else given
