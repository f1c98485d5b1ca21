"""A learner's state as bytes and back, and its digest: how a killed run goes on bit for bit.

A checkpoint is a pickle of plain containers and arrays, read back without running anything that is in it.
The digest does not depend on how the state is pickled (which strings are shared, how arrays are laid out),
so two learners with one digest are the same learner.
"""

from __future__ import annotations

import hashlib
import pickle
import struct
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.runs import safe_pickle


def encode(content: dict[str, Any]) -> bytes:
    """The bytes of a checkpoint.

    >>> decode(encode({"weights": np.ones(2, np.float32), "step": 3}))
    {'weights': array([1., 1.], dtype=float32), 'step': 3}
    """
    return pickle.dumps(content, protocol=5)


def decode(data: bytes) -> dict[str, Any]:
    """The content of a checkpoint, with arrays of its own that may be written to."""
    content = safe_pickle.load(data)
    if not isinstance(content, dict):
        raise UsageError("The checkpoint holds no run. Remove it: the run starts again from its first row.")
    own: dict[str, Any] = _own(content)
    return own


def digest(state: Any) -> str:
    """The SHA-256 of a state; UsageError, naming the place, if something in it is not plain.

    >>> digest({"a": 1, "b": [2.0]})[:12] == digest({"b": (2.0,), "a": 1})[:12]
    True
    >>> digest({"net": {"w": object()}})
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: state()['net']['w'] is of the type object. A learner's state holds plain \
containers, numbers, strings, bytes and numpy arrays: turn it into one of these (a tensor into an array).
    """
    hasher = hashlib.sha256()
    _feed(hasher, state, "state()")
    return hasher.hexdigest()


def _feed(hasher: Any, value: Any, where: str) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        hasher.update(b"d%d;" % len(value))
        for key in sorted(value, key=lambda key: (type(key).__name__, repr(key))):
            _feed(hasher, key, f"{where} (the key {key!r})")
            _feed(hasher, value[key], f"{where}[{key!r}]")
    elif isinstance(value, list | tuple):
        hasher.update(b"l%d;" % len(value))
        for place, item in enumerate(value):
            _feed(hasher, item, f"{where}[{place}]")
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biufSU":
        hasher.update(f"a{value.dtype.str}{value.shape};".encode())
        hasher.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data if value.size else b"")
    elif isinstance(value, float):
        hasher.update(b"f" + struct.pack("<d", value))
    elif isinstance(value, bytearray | bytes):
        hasher.update(b"y%d;" % len(value) + bytes(value))
    elif value is None or isinstance(value, bool | int | str):
        hasher.update(f"{type(value).__name__[0]}{len(str(value))};{value}".encode("utf-8", "surrogatepass"))
    else:
        raise UsageError(
            f"{where} is of the type {type(value).__name__}. A learner's state holds plain containers,"
            " numbers, strings, bytes and numpy arrays: turn it into one of these (a tensor into an array)."
        )


def _own(value: Any) -> Any:
    """The same containers with writable arrays; those of the reader are views of the file's bytes."""
    if isinstance(value, dict):
        return {key: _own(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_own(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_own(item) for item in value)
    return value.copy() if isinstance(value, np.ndarray) else value
