"""Read what `export` wrote, and the small companion files of a matrix."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.inputs import plain_number
from recollect.runs.codec import header_from_json, row_from_json
from recollect.runs.importers.files import once
from recollect.runs.longcsv import is_ours, read_long
from recollect.runs.run import Run

MARK = '{"recollect": "runs"'
RECORD = "recollect_record"
_NOT_EVALUATED = frozenset(["nan", "none", "null", "na"])


def read_export(path: Path) -> list[Run] | None:
    """The runs in a file that `export` wrote; None if the file is another's."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _read_npz(path)
    if suffix not in (".json", ".csv"):
        return None
    with open(path, "rb") as file:
        start = file.read(1024).decode("utf-8", "replace")
    if suffix == ".json" and start.startswith(MARK):
        return runs_from_json(_text(path), path)
    if suffix == ".csv" and is_ours(start):
        return read_long(_text(path), path)
    return None


def runs_from_json(text: str, path: Path) -> list[Run]:
    """The runs in a JSON object as `export.to_json` writes it."""
    try:
        return [_run(run, path) for run in json.loads(text, object_pairs_hook=once)["runs"]]
    except UsageError as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} is not a file of runs as Recollect exports it ({error}).") from None


def read_vector(path: Path) -> list[float | None]:
    """One score per task: a row or a column of a text file, a list in JSON, an array in `.npy`."""
    if path.suffix.lower() == ".npy":
        from recollect.runs.importers import npy

        return [float(value) for value in npy.parse(path, npy.NAME, _bytes(path)).reshape(-1)]
    words = [word for word in re.split(r"[\s,;\[\]]+", _text(path)) if word]
    try:
        return [None if word.lower() in _NOT_EVALUATED else plain_number(word) for word in words]
    except ValueError as error:
        raise UsageError(f"{path}: numbers were expected, one per task ({error}).") from None


def _read_npz(path: Path) -> list[Run] | None:
    """The record beside the arrays, as long as the scores in the arrays are the record's."""
    from recollect.runs.importers import npz

    try:
        arrays = npz.arrays_of(path)
    except UsageError:
        return None  # not ours, or damaged: the importer of .npz files says what is wrong
    if not {RECORD, "R"} <= set(arrays):
        return None
    if arrays[RECORD].dtype != np.uint8 or arrays["R"].ndim != 3:
        return None
    runs = runs_from_json(_decoded(arrays[RECORD].tobytes(), path), path)
    same = len(arrays["R"]) == len(runs) and all(
        np.array_equal(run.matrix.R, scores, equal_nan=True) for run, scores in zip(runs, arrays["R"], strict=True)
    )
    return runs if same else None


def _run(data: Any, path: Path) -> Run:
    run = header_from_json(data, path=path)
    run = replace(run, rows=tuple(row_from_json(row, run.metric) for row in data["rows"]))
    joint = data.get("joint_run")
    return run if joint is None else replace(run, joint_run=_run(joint, path))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"Could not read {path}: {error.strerror}.") from None


def _text(path: Path) -> str:
    return _decoded(_bytes(path), path)


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file (UTF-8 was expected).") from None
