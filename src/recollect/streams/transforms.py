"""What a domain does to samples: a fixed permutation of the inputs, a rotation of the images."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.streams.order import permutation


@dataclass(frozen=True)
class Permutation:
    """All inputs of a sample in another order, the same for every sample of the domain.

    The order is made from (seed, number) when it is needed: a thousand domains cost no memory.

    >>> shuffled = Permutation(seed=0, number=1)
    >>> shuffled(np.array([[10, 11, 12, 13]], dtype=np.uint8))
    array([[11, 13, 12, 10]], dtype=uint8)
    """

    seed: int
    number: int

    @property
    def description(self) -> str:
        """Seed and number say it all."""
        return f"permutation {self.number} of seed {self.seed}"

    def __call__(self, x: NDArray[Any]) -> NDArray[Any]:
        """The samples with their inputs moved."""
        order = _input_order(int(np.prod(x.shape[1:])), self.seed, self.number)
        return x.reshape(len(x), -1).take(order, axis=1).reshape(x.shape)


@dataclass(frozen=True)
class Rotation:
    """Images turned counter-clockwise by an angle in degrees, about their centre.

    Multiples of 90 degrees move pixels of square images exactly. Other angles interpolate linearly between
    the four nearest pixels, with 0 outside the image, and round where the images are uint8.

    >>> Rotation(90)(np.array([[[[1, 2], [3, 4]]]], dtype=np.uint8))[0, 0]
    array([[2, 4],
           [1, 3]], dtype=uint8)
    """

    angle: float

    @property
    def description(self) -> str:
        """The angle."""
        return f"rotation by {self.angle:g}"

    def __call__(self, x: NDArray[Any]) -> NDArray[Any]:
        """The samples, turned."""
        height, width = x.shape[-2:]
        quarter, rest = divmod(self.angle, 90)
        if rest == 0 and (height == width or quarter % 2 == 0):
            return np.ascontiguousarray(np.rot90(x, int(quarter), axes=(-2, -1)))
        places, weights = _nearest_four(float(self.angle), height, width)
        pixels = x.reshape(-1, height * width)
        turned = np.zeros(pixels.shape, dtype=np.float32)
        for place, weight in zip(places, weights, strict=True):
            turned += pixels.take(place, axis=1) * weight
        if x.dtype == np.uint8:
            turned = np.rint(turned)
        return turned.astype(x.dtype).reshape(x.shape)


@lru_cache(maxsize=64)
def _input_order(size: int, seed: int, number: int) -> NDArray[np.int64]:
    return permutation(size, seed, number)


@lru_cache(maxsize=64)
def _nearest_four(angle: float, height: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For every pixel of the turned image: four pixels of the old one, and how much each counts."""
    cos, sin = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    middle_row, middle_column = (height - 1) / 2, (width - 1) / 2
    row, column = np.mgrid[:height, :width].reshape(2, -1) - np.array([[middle_row], [middle_column]])
    old_row, old_column = cos * row + sin * column + middle_row, -sin * row + cos * column + middle_column
    # The rim of the image is a sum of rounded numbers: without this it would come and go with the last bit.
    old_row, old_column = np.round(old_row, 9), np.round(old_column, 9)
    top, left = np.floor(old_row).astype(np.int64), np.floor(old_column).astype(np.int64)
    down, right = old_row - top, old_column - left
    inside = (old_row >= 0) & (old_row <= height - 1) & (old_column >= 0) & (old_column <= width - 1)
    places, weights = [], []
    for below, beside in ((0, 0), (0, 1), (1, 0), (1, 1)):
        r, c = np.clip(top + below, 0, height - 1), np.clip(left + beside, 0, width - 1)
        places.append(r * width + c)
        weights.append(np.where(inside, (down if below else 1 - down) * (right if beside else 1 - right), 0))
    return np.array(places), np.array(weights, dtype=np.float32)
