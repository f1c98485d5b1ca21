"""The code of Michel et al. 2023: `results/<tag>/run<seed>/acc.csv`, a file for each classifier."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from recollect.errors import UsageError
from recollect.inputs import plain_number
from recollect.runs.importers.build import (
    Matrix,
    Score,
    check_size,
    make_run,
    named,
    number,
    task_rows,
    whole,
)
from recollect.runs.importers.files import (
    cannot_read,
    fields_of,
    find_files,
    head_lines,
    in_words,
    is_folder,
    read_text,
)
from recollect.runs.run import Run

NAME = "michel"
SUMMARY = "Michel et al. 2023: results/<tag>/run<seed>/acc.csv (a run, a tag or a results folder)"

_RUN = re.compile(r"run(\d{1,18})")
# Beside the scores of each classifier the folder holds averages and forgetting.
_DERIVED = re.compile(r"avg|avg_forgetting|forgetting|.*_forgetting|runs_.*")


def sniff(path: Path) -> bool:
    """A CSV of tasks in a folder `run<seed>`, or a folder with one."""
    if is_folder(path):
        return next((True for file in _files(path)), False)
    return _is_scores(path) or (_DERIVED.fullmatch(path.stem) is not None and _in_run(path))


def read(path: Path, *, classifier: str | None = None) -> list[Run]:
    """A run for each seed and classifier found, or only those of `classifier` (acc, ncm, knn, ...)."""
    files = _files(path) if is_folder(path) else [path]
    if not files:
        raise cannot_read(path, NAME, "no folder run<seed> with scores (acc.csv) is in or below it.")
    wanted = [file for file in files if classifier in (None, file.stem)]
    if not wanted:
        have = ", ".join(sorted({in_words(file.stem) for file in files}))
        raise cannot_read(
            path, NAME, f"there are no scores of the classifier '{in_words(classifier)}'; it has: {have}."
        )
    return [_read(file) for file in wanted]


def _files(folder: Path) -> list[Path]:
    found = find_files(folder, lambda name: name.endswith(".csv"))
    return [file for file in found if _is_scores(file)]


def _is_scores(path: Path) -> bool:
    if _DERIVED.fullmatch(path.stem) or not _in_run(path):
        return False
    lines = head_lines(path)
    return bool(lines) and _is_header(lines[0])


def _in_run(path: Path) -> bool:
    return path.suffix == ".csv" and _RUN.fullmatch(path.absolute().parent.name) is not None


def _is_header(line: str) -> bool:
    names = [name.strip() for name in line.split(",")]
    return names == [f"task {j}" for j in range(len(names))]


def _read(path: Path) -> Run:
    if _DERIVED.fullmatch(path.stem):
        raise cannot_read(path, NAME, "it holds averages or forgetting, not scores. Give acc.csv beside it.")
    lines = fields_of(path, NAME, read_text(path, NAME).split("\n"))
    if not lines or not _is_header(",".join(lines[0])):
        raise cannot_read(
            path,
            NAME,
            "its header is not 'task 0,task 1,..'; offline runs and core50 have one pooled score only.",
        )
    T = len(lines[0])
    check_size(path, NAME, len(lines) - 1, T)
    if len(lines) - 1 > T:
        raise cannot_read(path, NAME, f"it has {len(lines) - 1} rows for {T} tasks; expected a row after each task.")
    matrix: Matrix = []
    for i, row in enumerate(lines[1:]):
        if len(row) != T:
            raise cannot_read(path, NAME, f"row {i} has {len(row)} cells; expected {T}. Is the file whole?")
        matrix.append([_score(path, i, cell) for cell in row])
    parameters = _parameters(path)
    learner, stream = _names(path, parameters)
    found = _RUN.fullmatch(path.absolute().parent.name)
    return make_run(
        path,
        NAME,
        rows=task_rows(matrix),
        tasks=named(T, _new_classes(parameters, T)),
        learner=learner if path.stem == "acc" else f"{learner} ({path.stem})",
        stream=stream,
        seed=whole(found[1]) if found else whole(parameters.get("seed")),
        unit="fraction",
        scenario="class-incremental" if parameters.get("training_type") == "inc" else None,
        seen_only=all(cell is None for i, row in enumerate(matrix) for cell in row[i + 1 :]),
        notes=(
            f"scores of the classifier {path.stem}; empty cells are tasks that had not come yet",
            None if found else "the file is not in a folder run<seed>: its seed is not known",
        ),
    )


def _score(path: Path, i: int, cell: str) -> Score:
    if not cell.strip():
        return None
    try:
        return number(plain_number(cell))
    except ValueError:
        raise cannot_read(path, NAME, f"row {i} holds '{in_words(cell)}', not a score.") from None


def _parameters(path: Path) -> dict[str, Any]:
    """`params_used.json` beside the scores, if it is there and whole."""
    try:
        value = json.loads(read_text(path.with_name("params_used.json"), NAME))
    except (UsageError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _names(path: Path, parameters: dict[str, Any]) -> tuple[str, str]:
    """Learner and data set of the parameters, else of the tag `<learner>,<dataset>,...`."""
    learner, dataset = parameters.get("learner"), parameters.get("dataset")
    if isinstance(learner, str) and isinstance(dataset, str):
        return learner, dataset
    tag = path.absolute().parent.parent.name.split(",")
    return (tag[0], tag[1]) if len(tag) > 2 else (",".join(tag), "unknown")


def _new_classes(parameters: dict[str, Any], T: int) -> list[int] | None:
    """The code deals its classes out in equal parts."""
    classes = whole(parameters.get("n_classes"))
    if parameters.get("training_type") != "inc" or classes is None or not 0 < classes < 10**6 or classes % T:
        return None
    return [classes // T] * T
