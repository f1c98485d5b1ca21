"""BeGin's results: a pickle with untrained scores, the matrix and, in full mode, the joint learner's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from recollect.runs.importers.build import (
    Matrix,
    Score,
    array_matrix,
    blank_future_zeros,
    check_size,
    make_run,
    named,
    whole,
)
from recollect.runs.importers.files import cannot_read
from recollect.runs.importers.pickles import array_of, load_dict, may_hold
from recollect.runs.importers.reconcile import MOST_CELLS, WARNING, Claim, reconciled
from recollect.runs.run import Row, Run

NAME = "begin"
SUMMARY = "BeGin: result_*.pkl with exp_test, init_test and, in full mode, accum_test (joint)"

_INCREMENTS = {inc: f"{inc}-incremental" for inc in ("class", "task", "domain", "time")}
_LOWER_IS_BETTER = {"mae", "rmse", "mse"}


def sniff(path: Path) -> bool:
    """A pickle with a key `exp_test`."""
    return may_hold(path, "exp_test") and not may_hold(path, "acc_array")


def read(path: Path, *, metric: str = "accuracy") -> list[Run]:
    """The run of one file. `metric` says what was measured, the file does not (mae: lower is better)."""
    results = load_dict(path, NAME)
    test = array_of(path, NAME, results, "exp_test")
    if test.ndim != 2 or test.shape[1] != test.shape[0] + 1:
        raise cannot_read(
            path, NAME, f"'exp_test' has shape {test.shape}; expected (N, N + 1), with a pooled last column."
        )
    T = test.shape[0]
    check_size(path, NAME, T, T)
    learner, stream, increment = _names(path)
    matrix, future = _future(_tasks(path, test, T), increment)
    joint = _joint(path, results, T, increment)
    untrained = _untrained(path, results, T, blank=future is not None)
    raw = metric.lower() in _LOWER_IS_BETTER
    rows = [] if untrained is None else [Row(-1, scores={metric: untrained})]
    for i, row in enumerate(matrix):
        rows.append(Row(i, scores={metric: tuple(row)}, joint=None if joint is None else tuple(joint[i])))
    run = make_run(
        path,
        NAME,
        rows=rows,
        tasks=named(T),
        learner=learner,
        guessed=path.stem if learner == path.stem else None,
        stream=stream,
        seed=_seed(path),
        unit="raw" if raw else "fraction",
        metric=metric,
        higher_is_better=not raw,
        scenario=_INCREMENTS.get(increment),
        seen_only=future is not None,
        notes=(
            "the last column of exp_test pools all tasks: not a task of its own",
            future,
            "scores of the validation set (exp_val) were not read",
            None if joint is None else "accum_test is the joint learner's matrix",
            f"BeGin's file does not name its metric: taken for {metric}",
        ),
    )
    pooled = _pooled(matrix, _tasks(path, test[:, T:], 1))
    return [reconciled(replace(run, notes=(*run.notes, pooled)), _claims(results), places=6)]


_PRINTED = {"AP": "acc.average", "AF": "forgetting.first", "FWT": "fwt.lopezpaz2017"}


def _claims(results: Mapping[str, Any]) -> list[Claim]:
    """The numbers that BeGin's trainer gives back beside the arrays, where they were saved with them."""
    found = ((name, results.get(f"exp_{name}", results.get(name)), id) for name, id in _PRINTED.items())
    return [Claim(name, float(value), (id,)) for name, value, id in found if isinstance(value, float | np.floating)]


def _pooled(matrix: Matrix, column: Matrix) -> str:
    """Whether the pooled column is a mean of the tasks' scores with the same weights in every row, none negative."""
    from scipy.optimize import nnls

    T = len(matrix)
    if T * T > MOST_CELLS:
        return "the pooled column was not checked: the matrix is too large"
    R = np.array(matrix, dtype=np.float64)
    unit = max(1.0, float(np.nanmax(np.abs(R), initial=0.0)))
    # Shares of the test samples: gaps @ shares is 0 in each row, and they sum to 1.
    gaps = np.nan_to_num((R - np.array(column, dtype=np.float64)) / unit)
    try:
        shares = nnls(np.vstack([gaps, np.ones(T)]), np.append(np.zeros(T), 1.0))[0]
    except RuntimeError:  # it did not converge: no such shares were found
        shares = np.zeros(T)
    shares = shares / shares.sum() if shares.any() else np.full(T, 1.0 / T)
    worst = unit * float(np.abs(gaps @ shares).max())
    if worst < 1e-5 * unit:
        shown = ", ".join(f"{share:.3f}" for share in shares[:8]) + (", ..." if T > 8 else "")
        return f"the pooled column is the mean of the tasks' scores with the shares {shown} of the test samples"
    return (
        f"{WARNING}the pooled column is no mean of the tasks' scores ({worst:.4f} off at best): check the reading,"
        " unless the metric is one that has no such mean (an area under a curve)"
    )


def _tasks(path: Path, array: np.ndarray[Any, Any], T: int) -> Matrix:
    try:
        return array_matrix(array[:, :T])
    except ValueError as error:
        raise cannot_read(path, NAME, f"{error}.") from None


def _future(matrix: Matrix, increment: str) -> tuple[Matrix, str | None]:
    """Zeros above the diagonal are "not evaluated" where tasks are periods; elsewhere future tasks were evaluated."""
    if increment not in ("time", ""):
        return matrix, None
    (blanked,), note = blank_future_zeros([matrix], "BeGin")
    if note is not None and not increment:
        note += " in time-incremental files; the folder's name does not say which increment this is"
    return blanked, note


def _joint(path: Path, results: Any, T: int, increment: str) -> Matrix | None:
    if "accum_test" not in results:
        return None
    array = array_of(path, NAME, results, "accum_test")
    if array.shape != (T, T + 1):
        raise cannot_read(path, NAME, f"'accum_test' has shape {array.shape}; exp_test is for {T} tasks.")
    return _future(_tasks(path, array, T), increment)[0]


def _untrained(path: Path, results: Any, T: int, blank: bool) -> tuple[Score, ...] | None:
    if "init_test" not in results:
        return None
    array = array_of(path, NAME, results, "init_test")
    if array.shape != (T + 1,):
        raise cannot_read(path, NAME, f"'init_test' has shape {array.shape}; expected ({T + 1},).")
    row = _tasks(path, array[None, :], T)[0]
    # Where future tasks are not evaluated, the untrained model saw the first task alone.
    return tuple(None if blank and j > 0 and score == 0 else score for j, score in enumerate(row))


def _names(path: Path) -> tuple[str, str, str]:
    """Algorithm, data set and increment of the folder `benchmark_<problem>_<data>_<algorithm>_<incr>`."""
    found = re.fullmatch(r"benchmark_([A-Z]+)_(.+)_([A-Za-z]+)_(class|task|domain|time)", path.absolute().parent.name)
    return (found[3], f"{found[2]} ({found[1]})", found[4]) if found else (path.stem, "unknown", "")


def _seed(path: Path) -> int | None:
    found = re.fullmatch(r"result_.*_(\d+)", path.stem)
    return whole(found[1]) if found else None
