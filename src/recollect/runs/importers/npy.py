"""`.npy` files: one array, (rows, tasks) or with leading axes for runs. Pickled objects are never loaded."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from recollect.runs.importers.files import cannot_read, head, in_words, read_bytes
from recollect.runs.importers.matrices import Parts, runs_of, to_array
from recollect.runs.pickle_values import is_text
from recollect.runs.run import Run

NAME = "npy"
SUMMARY = "numpy: .npy with the score matrix (rows: time, columns: tasks), leading axes are runs"

_DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|f16|U\d{1,4})")
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# What numpy says of a header that is none, and what Python says of one that is nested too deep.
_NO_HEADER = (
    ValueError,
    TypeError,
    LookupError,
    SyntaxError,
    TokenError,
    OverflowError,
    RecursionError,
    MemoryError,
)


def sniff(path: Path) -> bool:
    """The magic bytes of numpy's format."""
    return head(path, 6) == np.lib.format.MAGIC_PREFIX


def read(path: Path, *, rows: str | None = None) -> list[Run]:
    """A run for each matrix of the array; `rows` (time or tasks) says what its rows are."""
    array = parse(path, NAME, read_bytes(path, NAME))
    return runs_of(path, NAME, Parts(to_array(path, NAME, "the array", array)), rows=rows)


def parse(path: Path, tool: str, data: bytes) -> np.ndarray[Any, Any]:
    """The array in the bytes of a `.npy` file: numbers or short strings, as many as the file holds."""
    file = io.BytesIO(data)
    try:
        shape, fortran, kind = _HEADERS[np.lib.format.read_magic(file)](file, max_header_size=10_000)
        size = math.prod(shape) * kind.itemsize
    except _NO_HEADER:
        raise cannot_read(path, tool, "it does not begin as numpy's format does. Is the file whole?") from None
    if not _DTYPE.fullmatch(kind.str) or kind.shape:
        what = "a structured array" if kind.fields else f"an array of dtype {in_words(str(kind))}"
        raise cannot_read(
            path,
            tool,
            f"it holds {what}; only numbers are read, and objects never: they are pickled. Save the scores as a float"
            " array.",
        )
    if len(shape) > 8 or not all(0 <= n < 2**40 for n in shape) or size > len(data) - file.tell():
        raise cannot_read(
            path,
            tool,
            f"its header declares the shape {in_words(str(shape))}, and {len(data) - file.tell():,} bytes follow. Is"
            " the file whole?",
        )
    body = memoryview(data)[file.tell() : file.tell() + size]
    if not is_text(body, kind):
        raise cannot_read(path, tool, "it holds strings with broken characters. Is the file whole?")
    try:
        return np.frombuffer(body, dtype=kind).reshape(shape, order="F" if fortran else "C")
    except ValueError:
        raise cannot_read(path, tool, f"its header declares the shape {in_words(str(shape))}.") from None
