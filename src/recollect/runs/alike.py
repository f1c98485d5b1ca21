"""The score matrices of many alike runs at once.

Most experiments are many runs with the same rows: one per task, each whole. Their matrices are made and checked
together here, which costs a small part of making each. Anything else, and anything that looks wrong, is left to
`Run.matrix`, which says what is wrong with which run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.matrix import ScoreMatrix
from recollect.runs.assemble import added_classes
from recollect.runs.packed import array_of, getters, stacked

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
    kind = kind_of(first)
    if kind is None or any(kind_of(run) != kind for run in runs[1:]):
        return None
    try:
        return _made(runs, kind[0])
    except (UsageError, TypeError, ValueError, OverflowError):
        return None


def kind_of(run: Run) -> tuple[Any, ...] | None:
    """What alike runs share; None of a run whose rows are not simply the ends of its tasks."""
    if run.packed is not None:
        return _shared_kind(run, run.packed.layout.has_base, "correct" not in run.packed.layout.fields)
    rows = run.rows
    has_base = bool(rows) and rows[0].after == -1
    is_plain = (
        [row.after for row in rows] == list(range(-1 if has_base else 0, run.T))
        and run.T > 0
        and run.learned_at is None
        and run.unit == "fraction"
        and run.status != "imported"
        and not any(task.held_out for task in run.tasks)
        and all(_is_plain(row) for row in rows)
    )
    if not is_plain:
        return None
    return _shared_kind(run, has_base, rows[-1].correct is None)


def _shared_kind(run: Run, has_base: bool, is_uncounted: bool) -> tuple[Any, ...]:
    return (
        has_base,
        run.T,
        run.metric,
        run.higher_is_better,
        run.plan.subsample is None,
        is_uncounted,
        run.joint_run is None,
    )


def _is_plain(row: Row) -> bool:
    return row.task_end and row.joint is None and row.pooled is None and row.online is None


def _made(runs: Sequence[Run], has_base: bool) -> ScoreMatrix:
    first = runs[0]
    sizes = np.array([[task.n_samples for task in run.tasks] for run in runs], dtype=np.float64)
    if np.isnan(sizes).any():
        raise ValueError("sizes are to be found row by row")
    subsample = first.plan.subsample
    classes, counts = added_classes(first)
    others = [added_classes(run) for run in runs[1:] if run.tasks is not first.tasks or run.scenario != first.scenario]
    same_classes, same_counts = (all(other[k] == (classes, counts)[k] for other in others) for k in (0, 1))
    start = int(has_base)
    scores, correct, n = _cells(runs, start, sizes, subsample is None)
    exact = n is not None and bool(((n == sizes[:, None]) | np.isnan(n)).all())
    base = _cells(runs, None, sizes, subsample is None)[0][:, 0] if start else None
    same = bool((sizes == sizes[0]).all())
    joint = matrix_of_alike([run.joint_run for run in runs if run.joint_run is not None]) if first.joint_run else None
    if first.joint_run is not None and (joint is None or joint.T != first.T):
        raise ValueError("the joint learner's runs are to be looked at one by one")
    restricted = _values(runs, start, "restricted")
    masked = _values(runs, start, "masked")
    if masked is not None and not ((masked >= 0) & (masked <= _numbers(n, sizes)) | np.isnan(masked)).all():
        raise ValueError("counts are to be looked at run by run")
    return ScoreMatrix(
        scores,
        b=base,
        joint=None if joint is None else joint.R,
        restricted=None if restricted is None else restricted / _numbers(n, sizes)[..., None],
        masked=None if masked is None else masked / _numbers(n, sizes),
        probe=_values(runs, start, "probe"),
        correct=correct if exact else None,
        n_classes=classes if same_classes else None,
        n_samples=sizes[0] if same else sizes,
        class_counts=counts if same_counts else None,
        learned_at=range(first.T),
        planned=[True] * first.T,
        inside=[False] * first.T,
        steps=_steps(runs, start),
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
    scores = _values(runs, start, "scores")
    correct = _values(runs, start, "correct")
    if correct is None:
        if scores is None:
            raise ValueError("no scores")
        return scores, None, None
    n = _values(runs, start, "n")
    n = np.broadcast_to(sizes[:, None], correct.shape) if n is None else n
    fits = (n > 0) & (correct >= 0) & (correct <= n) & ((n == sizes[:, None]) if whole else (n <= sizes[:, None]))
    if scores is not None or not (fits | np.isnan(correct)).all() or np.isnan(correct).all(axis=(1, 2)).any():
        raise ValueError("counts are to be looked at run by run")
    return correct / n, correct, n


def _numbers(n: Array | None, sizes: Array) -> Array:
    return sizes[:, None] if n is None else n


def _values(runs: Sequence[Run], start: int | None, name: str) -> Array | None:
    """One value of every row of every run; None where no row has it, ValueError where some have not."""
    packed = [run.packed for run in runs if run.packed is not None]
    if len(packed) == len(runs):
        return stacked(packed, name if start is not None else f"base {name}")
    first = runs[0]
    of = getters(first.metric, first.T)[name]
    chosen = slice(0, 1) if start is None else slice(start, None)
    return array_of([[of(row) for row in run.rows[chosen]] for run in runs], first.T)


def _steps(runs: Sequence[Run], start: int) -> list[int] | None:
    """Samples seen at each row, where every row of every run says the same."""
    packed = [run.packed for run in runs if run.packed is not None]
    if len(packed) == len(runs):
        steps: list[Any] = [one.layout.steps for one in {id(one.layout): one for one in packed}.values()]
    else:
        steps = [[row.step for row in run.rows[start:]] for run in runs]
    return None if None in steps[0] or any(some != steps[0] for some in steps) else steps[0]


def _shared(runs: Sequence[Run], name: str) -> list[Any] | None:
    """What all tasks of all runs say, if they say the same."""
    given = [getattr(task, name) for task in runs[0].tasks]
    same = all(run.tasks is runs[0].tasks or [getattr(task, name) for task in run.tasks] == given for run in runs[1:])
    return None if not same or any(value is None for value in given) else given
