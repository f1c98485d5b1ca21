"""Decoded images on disk, memory-mapped: the second load is instant and processes share the pages."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import NotComputable
from recollect.streams.locate import cache_dir

_FORMAT = "recollect cache 1"


@dataclass(frozen=True, eq=False)
class Decoded:
    """Arrays by name, and facts about the files they came from."""

    arrays: Mapping[str, NDArray[Any]]
    facts: Mapping[str, Any]


def content_key(folder: Path, files: Iterable[os.PathLike[str] | str], *options: object) -> str:
    """A key that changes with the name, size or time of change of any file, and with the options."""
    hashed = hashlib.sha256(repr((_FORMAT, options)).encode())
    base = len(os.path.join(folder, ""))
    for path in files:
        status = os.stat(path)
        relative = os.fspath(path)[base:]
        hashed.update(f"{relative}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return hashed.hexdigest()[:24]


def decoded(name: str, key: str, decode: Callable[[], Decoded]) -> Decoded:
    """What `decode` gives, from the cache if it is there; written to it otherwise.

    Entries are made in a folder of their own and renamed: a killed process leaves no half entry. Where the
    cache cannot be written the arrays are kept in memory.
    """
    entry = cache_dir() / "decoded" / f"{name}-{key}"
    found = _read(entry)
    if found is not None:
        return found
    made = decode()
    try:
        _write(entry, made)
    except OSError:
        return made
    return _read(entry) or made


def _read(entry: Path) -> Decoded | None:
    try:
        index = json.loads((entry / "index.json").read_text())
        arrays = {}
        for name, (shape, dtype) in index["arrays"].items():
            array = np.load(entry / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            if list(array.shape) != shape or array.dtype.str != dtype:
                return None
            # A plain view of the mapped pages: taking batches from a `memmap` object costs more.
            arrays[name] = np.asarray(array)
        return Decoded(arrays, index["facts"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(entry: Path, made: Decoded) -> None:
    entry.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent))
    try:
        for name, array in made.arrays.items():
            np.save(work / f"{name}.npy", array, allow_pickle=False)
        arrays = {name: [list(a.shape), a.dtype.str] for name, a in made.arrays.items()}
        (work / "index.json").write_text(json.dumps({"arrays": arrays, "facts": dict(made.facts)}))
        if entry.exists() and _read(entry) is None:
            shutil.rmtree(entry)
        if not entry.exists():
            os.replace(work, entry)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def md5(path: Path) -> str:
    """The MD5 hash of a file: what the data sets publish. It finds damage; it is no protection."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    except OSError as error:
        raise NotComputable(f"Cannot read {path}: {error.strerror or error}.") from None
