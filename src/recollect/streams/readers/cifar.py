"""The pickles of CIFAR-10 and CIFAR-100, read without running anything that is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.runs import safe_pickle


def read_images(paths: list[Path], label_key: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (n, 3, 32, 32) and labels of one or more batch files."""
    images, labels = [], []
    for path in paths:
        content = _read(path)
        data, y = _get(content, "data", path), _get(content, label_key, path)
        if not (isinstance(data, np.ndarray) and data.dtype == np.uint8 and data.shape[1:] == (3072,)):
            came = f"{data.dtype} {data.shape}" if isinstance(data, np.ndarray) else type(data).__name__
            raise UsageError(f"data in {path} should be bytes of shape (n, 3072); got {came}.")
        y = np.asarray(y)
        if y.shape != data.shape[:1] or y.dtype.kind not in "ui":
            raise UsageError(f"{label_key} in {path} should be {len(data)} numbers; got {y.dtype} {y.shape}.")
        images.append(data.reshape(-1, 3, 32, 32))
        labels.append(y.astype(np.int64))
    return images[0] if len(images) == 1 else np.concatenate(images), np.concatenate(labels)


def read_names(path: Path, key: str) -> tuple[str, ...]:
    """The names of the classes."""
    names = _get(_read(path), key, path)
    return tuple(name.decode() if isinstance(name, bytes) else str(name) for name in names)


def _read(path: Path) -> dict[Any, Any]:
    content = safe_pickle.load(path)
    if not isinstance(content, dict):
        raise UsageError(f"{path} should hold a dictionary; got {type(content).__name__}.")
    return content


def _get(content: dict[Any, Any], key: str, path: Path) -> Any:
    """Keys are strings of Python 2: str or bytes, depending on who wrote the file."""
    for spelling in (key, key.encode()):
        if spelling in content:
            return content[spelling]
    raise UsageError(f"{path} has no {key!r}; it has {', '.join(map(repr, content)) or 'nothing'}.")
