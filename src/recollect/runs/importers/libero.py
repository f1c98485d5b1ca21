"""LIBERO: `result.pt`, a zip of torch whose pickle holds arrays; read without torch and without running anything."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recollect.errors import UsageError
from recollect.runs import safe_pickle
from recollect.runs.importers.build import (
    array_matrix,
    blank_future_zeros,
    check_size,
    is_numeric,
    matrix_run,
)
from recollect.runs.importers.files import cannot_read, find_files, is_folder
from recollect.runs.importers.versions.zipped import member, names_in
from recollect.runs.run import Run

NAME = "libero"
SUMMARY = "LIBERO: result.pt with S_conf_mat (shares of successes) and L_conf_mat (losses)"

_FILE = "result.pt"


def sniff(path: Path) -> bool:
    """A `result.pt` that is a zip with a pickle, or a folder with one."""
    if is_folder(path):
        return any(sniff(file) for file in find_files(path, lambda name: name == _FILE))
    return path.name == _FILE and _pickle_of(path) is not None


def read(path: Path, *, metric: str = "success") -> list[Run]:
    """One run per file. `metric` is success (S_conf_mat), or loss (L_conf_mat)."""
    if metric not in ("success", "loss"):
        raise cannot_read(path, NAME, f"the scores are success or loss; got {metric}.")
    files = list(find_files(path, lambda name: name == _FILE)) if is_folder(path) else [path]
    if not files:
        raise cannot_read(path, NAME, f"no {_FILE} is in or below it.")
    return [_run(file, metric) for file in files]


def _pickle_of(path: Path) -> str | None:
    return next((name for name in names_in(path) if name.endswith("/data.pkl")), None)


def _run(file: Path, metric: str) -> Run:
    name = _pickle_of(file)
    data = None if name is None else member(file, name, NAME)
    if name is None or data is None:
        raise cannot_read(file, NAME, "it is not a zip of torch (torch.save) with a pickle in it.")
    if member(file, name.replace("/data.pkl", "/byteorder"), NAME) not in (None, b"little"):
        raise cannot_read(file, NAME, "its numbers were written by a machine of another byte order.")
    try:
        results = safe_pickle.load(data, storages=lambda key: member(file, name.replace(".pkl", f"/{key}"), NAME))
    except UsageError as refused:
        raise cannot_read(file, NAME, str(refused)) from None
    key = "S_conf_mat" if metric == "success" else "L_conf_mat"
    array = results.get(key) if isinstance(results, dict) else None
    if not isinstance(array, np.ndarray) or not is_numeric(array) or array.ndim != 2 or len(set(array.shape)) != 1:
        raise cannot_read(file, NAME, f"'{key}' is expected as a square array, one row after each task.")
    check_size(file, NAME, *array.shape)
    try:
        (matrix,), future = blank_future_zeros([array_matrix(array)], "LIBERO")
    except ValueError as error:
        raise cannot_read(file, NAME, f"{error}.") from None
    return matrix_run(
        file,
        NAME,
        matrix,
        learner=file.absolute().parent.parent.name or "unknown",
        unit="fraction" if metric == "success" else "raw",
        metric=metric,
        higher_is_better=metric == "success",
        seen_only=future is not None,
        notes=(future,),
    )
