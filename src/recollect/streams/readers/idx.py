"""The idx files of MNIST and its kin, plain or gzipped."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError

_UBYTE = 0x08


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """The unsigned bytes of an idx file; a plain file is memory-mapped, a gzipped one read.

    An idx file starts with two zeros, the type (8: unsigned byte), the number of dimensions and, as
    big-endian numbers of four bytes, the size of each.
    """
    head_size = 4 + 4 * dimensions
    raw: NDArray[Any]
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                raw = np.frombuffer(file.read(), dtype=np.uint8)
        elif path.stat().st_size:
            raw = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
        else:
            raw = np.empty(0, dtype=np.uint8)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"Cannot read {path}: {error}. Fetch the file again.") from None
    head = raw[:head_size].tobytes()
    if len(head) < head_size or head[:4] != bytes([0, 0, _UBYTE, dimensions]):
        raise UsageError(
            f"{path} is not an idx file of {dimensions}-dimensional bytes: it should start with"
            f" 00 00 08 {dimensions:02x}, and starts with {head[:4].hex(' ') or 'nothing'}. Fetch it again."
        )
    shape = tuple(int(n) for n in np.frombuffer(head, dtype=">u4", offset=4))
    expected = int(np.prod(shape, dtype=np.int64))
    if len(raw) - head_size != expected:
        raise UsageError(
            f"{path} announces {' x '.join(map(str, shape))} = {expected:,} bytes and holds"
            f" {len(raw) - head_size:,}. It is cut or damaged; fetch the file again."
        )
    return raw[head_size:].reshape(shape)
