"""Columns of a replay memory that lie where the network is: what is replayed is not sent again at each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from recollect.learners.base import Array
from recollect.learners.devices import to_array, to_tensor

# Samples that take more stay in the processor's memory.
_MOST_BYTES = 2**30
# What is asked on the processor, sample by sample.
_ON_HOST = ("y", "age")


class OnDevice:
    """A column of fixed size on a device, filled in place like an array; what is taken from it is a tensor there.

    >>> column = OnDevice(3, (2,), np.dtype(np.uint8), torch.device("cpu"))
    >>> column[0:2] = np.array([[1, 2], [3, 4]], np.uint8)
    >>> column[np.array([1])].tolist(), column.array(2).tolist()
    ([[3, 4]], [[1, 2], [3, 4]])
    """

    def __init__(self, capacity: int, shape: tuple[int, ...], dtype: np.dtype[Any], device: torch.device) -> None:
        kind = torch.from_numpy(np.zeros(0, dtype)).dtype
        self._values = torch.zeros((capacity, *shape), dtype=kind, device=device)

    def __getitem__(self, places: Any) -> Tensor:
        return self._values[self._index(places)]

    def __setitem__(self, places: Any, values: Array | Tensor) -> None:
        new = values if isinstance(values, Tensor) else to_tensor(np.ascontiguousarray(values), self._values.device)
        self._values[self._index(places)] = new

    def _index(self, places: Any) -> Any:
        if isinstance(places, slice):
            return places
        return to_tensor(np.asarray(places, np.int64), self._values.device)

    def array(self, count: int) -> Array:
        """A copy of the first rows on the processor."""
        return to_array(self._values[:count])


class Maker:
    """Makes the columns of a memory: samples and outputs on the device, labels on the processor."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def __call__(self, name: str, capacity: int, like: Any) -> Any:
        shape = tuple(like.shape[1:])
        dtype = like.dtype if isinstance(like, np.ndarray) else to_array(like[:0]).dtype
        size = capacity * int(np.prod(shape)) * dtype.itemsize
        if name in _ON_HOST or (name == "x" and size > _MOST_BYTES):
            return np.zeros((capacity, *shape), dtype)
        return OnDevice(capacity, shape, dtype, self._device)


def joined(x: Array, held: Array | Tensor) -> Any:
    """Samples of the stream and of a memory, one after the other, where those of the memory are."""
    if isinstance(held, Tensor):
        return torch.cat((to_tensor(x, held.device), held))
    return np.concatenate((x, held))
