"""Readers of `.npz` files: ADBench's (X, y) and the concepts of pyCLAD's example."""

from __future__ import annotations

import re
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.runs.safe_pickle import load
from recollect.streams.concepts.checks import checked_features, checked_labels, there_are
from recollect.streams.concepts.concepts import Concepts, concepts_from_parts
from recollect.streams.concepts.rows import Rows
from recollect.streams.npz import npz_names, read_npz

_FIRST = "c0_train_data"


def adbench_files(folder: Path) -> dict[str, Path]:
    """The data sets in a folder of ADBench by name: `32_shuttle.npz` is shuttle."""
    found = {}
    for path in folder.glob("*.npz"):
        match = re.fullmatch(r"(\d+)_(.+)", path.stem)
        if match:
            found[int(match[1]), match[2]] = path
    return {name: path for (_, name), path in sorted(found.items())}


def read_adbench(folder: Path, name: str) -> Rows:
    """One data set of ADBench: X, and y with 1 for an anomaly; nothing says which rows are for testing."""
    files = {known.lower(): path for known, path in adbench_files(folder).items()}
    if name.lower() not in files:
        raise UsageError(
            f"ADBench in {folder} has no data set {name!r}; {there_are(name, list(adbench_files(folder)))}"
        )
    path = files[name.lower()]
    arrays = read_npz(path)
    if not {"X", "y"} <= {*arrays}:
        raise UsageError(f"{path} is not a file of ADBench: it holds {', '.join(arrays) or 'nothing'}, not X and y.")
    x = checked_features(arrays["X"], f"X in {path.name}")
    return Rows(name=f"adbench:{name.lower()}", x=x, y=checked_labels(arrays["y"], len(x), f"y in {path.name}"))


def is_pyclad(path: Path) -> bool:
    """Does the file hold concepts under the names c0_name, c0_train_data, c0_test_data, c0_test_labels, c1_...?

    pyCLAD's own file, an `.npy` of pickled dictionaries, is one too.
    """
    return path.suffix == ".npy" or _FIRST in npz_names(path)


def read_pyclad(path: Path, name: str | None = None) -> Concepts:
    """The concepts as they are, in their order; float64 stays float64.

    Of pyCLAD's own `.npy` files, pickled dictionaries, arrays and plain containers are read and nothing else is.
    """
    arrays = _pickled_concepts(path) if path.suffix == ".npy" else read_npz(path)
    parts: list[tuple[str, Any, Any, Any]] = []
    while f"c{len(parts)}_train_data" in arrays:
        k = len(parts)
        wanted = [f"c{k}_{what}" for what in ("name", "train_data", "test_data", "test_labels")]
        missing = [key for key in wanted if key not in arrays]
        if missing:
            raise UsageError(f"{path} lacks {missing[0]}: a concept is {', '.join(wanted)}.")
        title, train, test, labels = (arrays[key] for key in wanted)
        parts.append((str(title), train, test, labels))
    if not parts:
        raise UsageError(f"{path} has no concepts: {_FIRST} is missing.")
    return concepts_from_parts(parts, name=name or path.stem)


def _pickled_concepts(path: Path) -> dict[str, Any]:
    """The concepts of pyCLAD's `.npy` file under the names that an `.npz` file would give them."""
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            _, _, kind = header(file)
            pickled = file.read()
    except (OSError, ValueError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError) as error:
        raise UsageError(f"Cannot read {path} as a numpy file: {error}.") from None
    content = load(pickled, objects=True) if kind.hasobject else None
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise UsageError(
            f"{path} holds one array; a stream is made of several. Expected pyCLAD's concepts (a list of dictionaries"
            " with name, train_data, test_data, test_labels), or an .npz file with x_train, y_train, x_test and y_test."
        )
    names = ("name", "train_data", "test_data", "test_labels")
    return {f"c{k}_{what}": one[what] for k, one in enumerate(content) for what in names if what in one}
