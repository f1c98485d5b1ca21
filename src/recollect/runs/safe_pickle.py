"""Pickles of other tools, read without running anything that is in them.

A pickle is a program: `pickle.load` calls whatever function it names. This reader is not `pickle` with a
filter but an interpreter of its own for the part of the language that data needs (`pickle_machine`). It
builds plain containers, strings, numbers and numpy arrays with its own code (`pickle_values`); a name in the
file is compared with a short list and never imported. What is not on the list is refused, and the message
says what the file asked for.

Pickles of Python 2 are read too; their strings become `str` (latin-1, so that bytes survive).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recollect.errors import UsageError
from recollect.runs.pickle_machine import Machine
from recollect.runs.pickle_values import Refused, data_only

MAX_BYTES = 512 * 2**20
MAX_DEPTH = 50


def load(source: Path | str | bytes, objects: bool = False) -> Any:
    r"""The object in a pickle file (or in bytes): numpy arrays, numbers, strings and plain containers.

    With `objects` an array of objects in one row is a list of them; each must be one of these things itself.

    >>> import pickle, numpy as np
    >>> load(pickle.dumps({"acc": np.eye(2)}))["acc"]
    array([[1., 0.],
           [0., 1.]])
    >>> load(b"cos\nsystem\n(S'echo hello'\ntR.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: Cannot read the pickle: it asks for os.system, ... Nothing of it was run. ...
    """
    data, what = (source, "the pickle") if isinstance(source, bytes) else (_read(Path(source)), str(source))
    try:
        value = Machine(data, objects).run()
        _check_shape(value)
        return value
    except Refused as refusal:
        raise UsageError(
            f"Cannot read {what}: {refusal}. Save its arrays with numpy.savez, or as JSON, and read that."
        ) from None


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise UsageError(f"{path} is not a file.")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UsageError(
                f"{path} has {size:,} bytes; a pickle of scores has at most {MAX_BYTES:,}."
                " Save the score matrix alone and read that."
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None


def _check_shape(value: Any) -> None:
    """Refuse what contains itself, is nested too deep, or holds a type where data belongs."""
    on_path: set[int] = set()
    done: set[int] = set()
    work: list[tuple[Any, bool]] = [(value, False)]
    while work:
        item, leaving = work.pop()
        if not isinstance(data_only(item), list | tuple | dict):
            continue
        if leaving:
            on_path.discard(id(item))
            done.add(id(item))
            continue
        if id(item) in on_path:
            raise Refused("it contains itself")
        if id(item) in done:
            continue
        on_path.add(id(item))
        if len(on_path) > MAX_DEPTH:
            raise Refused(f"it is nested more than {MAX_DEPTH} deep")
        work.append((item, True))
        work.extend((child, False) for child in (item.values() if isinstance(item, dict) else item))
