"""`.npy` files: one array, (rows, tasks) or with leading axes for runs. Pickled objects are never loaded."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from recollect.runs.importers.files import cannot_read, head, in_words, read_bytes
from recollect.runs.importers.matrices import Parts, runs_of, to_array
from recollect.runs.pickle_values import is_text
from recollect.runs.run import Run

NAME = "npy"
SUMMARY = "numpy: .npy with the score matrix (rows: time, columns: tasks), leading axes are runs"

_MAGIC = b"\x93NUMPY"
_DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|f16|U\d{1,4})")


def sniff(path: Path) -> bool:
    """The magic bytes of numpy's format."""
    return head(path, 6) == _MAGIC


def read(path: Path, *, rows: str | None = None) -> list[Run]:
    """A run for each matrix of the array; `rows` (time or tasks) says what its rows are."""
    array = parse(path, NAME, read_bytes(path, NAME))
    return runs_of(path, NAME, Parts(to_array(path, NAME, "the array", array)), rows=rows)


def parse(path: Path, tool: str, data: bytes) -> np.ndarray[Any, Any]:
    """The array in the bytes of a `.npy` file: numbers or short strings, as many as the file holds."""
    start, length = (10, 2) if data[6:7] == b"\x01" else (12, 4)
    if data[:6] != _MAGIC or data[6:7] not in (b"\x01", b"\x02", b"\x03") or len(data) < start:
        raise cannot_read(path, tool, "it does not begin as numpy's format does.")
    size = int.from_bytes(data[start - length : start], "little")
    header = data[start : start + size]
    if len(header) != size or size > 10_000:
        raise cannot_read(path, tool, "its header is cut off, or too long. Is the file whole?")
    kind, order, shape = _header(path, tool, header)
    body = memoryview(data)[start + size :]
    wanted = math.prod(shape) * kind.itemsize
    if wanted > len(body):
        raise cannot_read(
            path,
            tool,
            f"its header declares {wanted:,} bytes of numbers and {len(body):,} follow. Is the file whole?",
        )
    if not is_text(body[:wanted], kind):
        raise cannot_read(path, tool, "it holds strings with broken characters. Is the file whole?")
    return np.frombuffer(body[:wanted], dtype=kind).reshape(shape, order="F" if order else "C")


def _header(path: Path, tool: str, header: bytes) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    # Only characters a plain header has, so that the literal is shallow; Python 2 wrote lengths as `3L`.
    text = re.sub(r"(\d)L", r"\1", header.decode("latin-1").strip())
    fields: Any = None
    if re.fullmatch(r"\{[^{}\[\]()]*\([^{}\[\]()]*\)[^{}\[\]()]*\}", text) and "--" not in text:
        try:
            fields = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            fields = None
    if not isinstance(fields, dict) or set(fields) != {"descr", "fortran_order", "shape"}:
        raise cannot_read(path, tool, "its header is not one of an array of numbers (structured arrays are not read).")
    descr, order, shape = fields["descr"], fields["fortran_order"], fields["shape"]
    if not isinstance(descr, str) or not _DTYPE.fullmatch(descr):
        raise cannot_read(
            path,
            tool,
            f"it holds an array of dtype {in_words(descr)}; only numbers are read, and objects never:"
            " they are pickled. Save the scores as a float array.",
        )
    if not isinstance(shape, tuple) or not all(type(n) is int and 0 <= n < 2**40 for n in shape) or len(shape) > 8:
        raise cannot_read(path, tool, "its header has no shape of whole numbers.")
    if math.prod(n for n in shape if n) > 2**40:
        raise cannot_read(path, tool, f"its header declares the shape {in_words(str(shape))}.")
    return np.dtype(descr), bool(order), shape
