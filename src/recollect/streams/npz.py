"""`.npz` files: plain arrays by name, never pickles."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError

_BROKEN = (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error)


def read_npz(path: Path, wanted: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of the file, or those whose names, in small letters, are wanted."""
    try:
        file = np.load(path, allow_pickle=False)
    except _BROKEN as error:
        raise _unreadable(path, error) from None
    if not isinstance(file, np.lib.npyio.NpzFile):
        raise UsageError(
            f"{path} is an .npy file, whatever its name: one array, of shape {file.shape}, and an .npz file has several"
            " with names. Make one of them: np.savez(path, X=..., y=...)."
        )
    with file:
        keys = [key for key in file.files if wanted is None or key.lower() in wanted]
        return {key: array for key in keys if isinstance(array := _array(file, key, path), np.ndarray)}


def npz_names(path: Path) -> tuple[str, ...]:
    """The names of the arrays in the file; none if it is not an .npz file."""
    try:
        with zipfile.ZipFile(path) as file:
            return tuple(name.removesuffix(".npy") for name in file.namelist())
    except (OSError, zipfile.BadZipFile):
        return ()


def in_small_letters(arrays: Mapping[str, NDArray[Any]], path: Path | str) -> dict[str, NDArray[Any]]:
    """The arrays with their names in small letters; X and x in one file are one too many."""
    named: dict[str, NDArray[Any]] = {}
    spelled: dict[str, str] = {}
    for key, array in arrays.items():
        small = key.lower()
        if small in named:
            raise UsageError(f"{path} has both {spelled[small]} and {key}; which one is meant? Keep one of them.")
        named[small], spelled[small] = array, key
    return named


def _array(file: Any, key: str, path: Path) -> Any:
    try:
        return file[key]
    except _BROKEN as error:
        if "allow_pickle" not in str(error):
            raise _unreadable(path, error) from None
        raise UsageError(
            f"Cannot read {key} in {path}: it holds Python objects, and only plain arrays are loaded. Save text as"
            f" {key}.astype(str), numbers as {key}.astype(float)."
        ) from None


def _unreadable(path: Path, error: Exception) -> UsageError:
    return UsageError(f"Cannot read {path} as an .npz file of plain arrays: {str(error).rstrip('.')}.")
