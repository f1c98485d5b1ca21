"""A-GEM's results: a pickle with the scores of every run, future tasks written as 0."""

from __future__ import annotations

import re
from pathlib import Path

from recollect.errors import UsageError
from recollect.runs.importers.build import (
    Matrix,
    array_matrix,
    blank_future_zeros,
    check_size,
    make_run,
    named,
    task_rows,
)
from recollect.runs.importers.files import cannot_read
from recollect.runs.importers.pickles import array_of, load_dict, may_hold
from recollect.runs.run import ACCURACY, Row, Run
from recollect.runs.safe_pickle import load

NAME = "agem"
SUMMARY = "A-GEM: <experiment>.pickle with {'mean': (runs, tasks, evaluations, tasks)}"

_OTHERS = ("acc_array", "exp_test", "acc per context")


def sniff(path: Path) -> bool:
    """A pickle with a key `mean` and none of the other tools' keys."""
    if not may_hold(path, "mean") or any(may_hold(path, key) for key in _OTHERS):
        return False
    try:
        value = load(path)
    except UsageError:
        # Refused or broken: it is ours as far as can be seen, and reading it will say what is wrong.
        return True
    return isinstance(value, dict) and "mean" in value


def read(path: Path) -> list[Run]:
    """A run for each entry of the first axis. The last evaluation inside a task is the task's end."""
    array = array_of(path, NAME, load_dict(path, NAME), "mean")
    if array.ndim not in (3, 4) or array.shape[1] != array.shape[-1]:
        raise cannot_read(
            path, NAME, f"'mean' has shape {array.shape}; expected (runs, N, N) or (runs, N, evaluations, N)."
        )
    runs, T = array.shape[0], array.shape[-1]
    inside = array.shape[2] if array.ndim == 4 else 1
    check_size(path, NAME, T * inside, T, runs)
    if not runs:
        raise cannot_read(path, NAME, "it holds no run.")
    try:
        every = [[array_matrix(block) for block in run] for run in array.reshape(runs, T, inside, T)]
    except ValueError as error:
        raise cannot_read(path, NAME, f"{error}.") from None
    ends, note = blank_future_zeros([[block[-1] for block in run] for run in every], "A-GEM")
    learner, stream = _names(path)
    notes = [note, "runs are numbered as they come in the file; A-GEM does not store their seeds"]
    if inside > 1:
        notes.append(f"of {inside} evaluations per task, the last is the task's end and the others lie inside it")
    made = []
    for index, end in enumerate(ends):
        rows: list[Row] = []
        for i, block in enumerate(every[index]):
            rows += [Row(i - 1, task_end=False, scores={ACCURACY: _inside(row, i, end)}) for row in block[:-1]]
            rows.append(task_rows(end)[i])
        made.append(
            make_run(
                path,
                NAME,
                rows=rows,
                tasks=named(T),
                learner=learner,
                guessed=path.stem if learner == path.stem else None,
                stream=stream,
                seed=index,
                part=index + 1,
                unit="fraction",
                notes=notes,
                scenario="task-incremental",
                seen_only=note is not None,
            )
        )
    return made


def _inside(row: list[float | None], i: int, end: Matrix) -> tuple[float | None, ...]:
    """A row inside task i, blank where the task's end is blank: the task under way has been evaluated."""
    return tuple(None if end[i][j] is None else score for j, score in enumerate(row))


def _names(path: Path) -> tuple[str, str]:
    """Method and data set of `SPLIT_CIFAR_HERDING_<arch>_<epoch>_<method>_...`."""
    found = re.match(
        r"(?P<data>[A-Z]+_[A-Z]+)_(?:HERDING|HYBRID|ONE_SHOT)?_?.*?_(?:True|False)_(?P<method>[A-Za-z0-9\-]+)_",
        path.name,
    )
    return (found["method"], found["data"]) if found else (path.stem, "unknown")
