"""The score matrices of many alike runs at once.

Most experiments are many runs with the same rows: one per task, each whole. Their matrices are made and checked
together here, which costs a small part of making each. Anything else, and anything that looks wrong, is left to
`Run.matrix`, which says what is wrong with which run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.matrix import ScoreMatrix
from recollect.runs.assemble import PROBE, added_classes

if TYPE_CHECKING:
    from recollect.runs.run import Row, Run

Array = NDArray[np.float64]


def matrix_of_runs(runs: Sequence[Run]) -> ScoreMatrix:
    """The matrices of runs on one stream, with the runs as the leading axis."""
    made = matrix_of_alike(runs) if len(runs) > 1 else None
    return ScoreMatrix.stack([run.matrix for run in runs]) if made is None else made


def matrix_of_alike(runs: Sequence[Run]) -> ScoreMatrix | None:
    """What stacking their matrices gives; None where they are not alike, or one of them has to be refused."""
    first = runs[0]
    kind = _kind(first)
    if kind is None or any(_kind(run) != kind for run in runs[1:]):
        return None
    try:
        return _made(runs)
    except (UsageError, TypeError, ValueError, OverflowError):
        return None


def _kind(run: Run) -> tuple[Any, ...] | None:
    """What alike runs share; None of a run whose rows are not simply the ends of its tasks."""
    rows = run.rows
    has_base = bool(rows) and rows[0].after == -1
    is_plain = (
        [row.after for row in rows] == list(range(-1 if has_base else 0, run.T))
        and run.T > 0
        and run.learned_at is None
        and run.joint_run is None
        and run.unit == "fraction"
        and run.status != "imported"
        and not any(task.held_out for task in run.tasks)
        and all(_is_plain(row) for row in rows)
    )
    if not is_plain:
        return None
    return (
        has_base,
        run.T,
        run.metric,
        run.higher_is_better,
        run.plan.subsample is None,
        rows[-1].correct is None,
    )


def _is_plain(row: Row) -> bool:
    return row.task_end and row.joint is None and row.pooled is None and row.online is None


def _made(runs: Sequence[Run]) -> ScoreMatrix:
    first = runs[0]
    start = int(first.rows[0].after == -1)
    sizes = np.array([[task.n_samples for task in run.tasks] for run in runs], dtype=np.float64)
    if np.isnan(sizes).any():
        raise ValueError("sizes are to be found row by row")
    subsample = first.plan.subsample
    classes, counts = added_classes(first)
    others = [added_classes(run) for run in runs[1:] if run.tasks is not first.tasks or run.scenario != first.scenario]
    same_classes, same_counts = (all(other[k] == (classes, counts)[k] for other in others) for k in (0, 1))
    scores, correct, n = _cells(runs, start, sizes, subsample is None)
    exact = n is not None and bool(((n == sizes[:, None]) | np.isnan(n)).all())
    base = _cells(runs, None, sizes, subsample is None)[0][:, 0] if start else None
    steps: list[Any] = [[row.step for row in run.rows[start:]] for run in runs]
    same = bool((sizes == sizes[0]).all())
    restricted = _values(runs, start, lambda row: row.restricted)
    masked = _values(runs, start, lambda row: row.masked)
    if masked is not None and not ((masked >= 0) & (masked <= _numbers(n, sizes)) | np.isnan(masked)).all():
        raise ValueError("counts are to be looked at run by run")
    return ScoreMatrix(
        scores,
        b=base,
        restricted=None if restricted is None else restricted / _numbers(n, sizes)[..., None],
        masked=None if masked is None else masked / _numbers(n, sizes),
        probe=_values(runs, start, lambda row: _probes(row, first.T)),
        correct=correct if exact else None,
        n_classes=classes if same_classes else None,
        n_samples=sizes[0] if same else sizes,
        class_counts=counts if same_counts else None,
        learned_at=range(first.T),
        planned=[True] * first.T,
        inside=[False] * first.T,
        steps=None if None in steps[0] or any(some != steps[0] for some in steps) else steps[0],
        names=_shared(runs, "name"),
        unit="fraction",
        higher_is_better=first.higher_is_better,
        orientation="time_rows",
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
    )


def _cells(
    runs: Sequence[Run], start: int | None, sizes: Array, whole: bool
) -> tuple[Array, Array | None, Array | None]:
    """Scores, counts and sizes, each (runs, rows, tasks); of the base row alone where `start` is None."""
    metric = runs[0].metric
    scores = _values(runs, start, lambda row: row.scores.get(metric))
    correct = _values(runs, start, lambda row: row.correct)
    if correct is None:
        if scores is None:
            raise ValueError("no scores")
        return scores, None, None
    n = _values(runs, start, lambda row: row.n)
    n = np.broadcast_to(sizes[:, None], correct.shape) if n is None else n
    fits = (n > 0) & (correct >= 0) & (correct <= n) & ((n == sizes[:, None]) if whole else (n <= sizes[:, None]))
    if scores is not None or not (fits | np.isnan(correct)).all() or np.isnan(correct).all(axis=(1, 2)).any():
        raise ValueError("counts are to be looked at run by run")
    return correct / n, correct, n


def _probes(row: Row, T: int) -> tuple[float | None, ...] | None:
    """The probes of a row, which end with the last task learned."""
    given = row.scores.get(PROBE)
    return None if given is None else (*given, *[None] * (T - len(given)))


def _numbers(n: Array | None, sizes: Array) -> Array:
    return sizes[:, None] if n is None else n


def _values(runs: Sequence[Run], start: int | None, of: Callable[[Row], Any]) -> Array | None:
    """One value of every row of every run; None where no row has it, ValueError where some have not."""
    chosen = slice(0, 1) if start is None else slice(start, None)
    given = [[of(row) for row in run.rows[chosen]] for run in runs]
    if all(value is None for row in given for value in row):
        return None
    made = np.array(given, dtype=np.float64)
    if made.ndim < 3 or made.shape[2] != runs[0].T or made.shape[3:] not in ((), (runs[0].T,)):
        raise ValueError("rows of other lengths")
    return made


def _shared(runs: Sequence[Run], name: str) -> list[Any] | None:
    """What all tasks of all runs say, if they say the same."""
    given = [getattr(task, name) for task in runs[0].tasks]
    same = all(run.tasks is runs[0].tasks or [getattr(task, name) for task in run.tasks] == given for run in runs[1:])
    return None if not same or any(value is None for value in given) else given
