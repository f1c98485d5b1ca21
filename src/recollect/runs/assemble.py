"""From rows to a score matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from recollect.errors import RecollectError, UsageError
from recollect.inputs import HELD_OUT
from recollect.matrix import Orientation, ScoreMatrix, Unit
from recollect.runs.packed import PROBE as PROBE
from recollect.runs.scenarios import SCENARIOS

if TYPE_CHECKING:
    from recollect.runs.run import Row, Run
    from recollect.runs.timeline import Timeline

Array = NDArray[np.float64]


def matrix_of(run: Run) -> ScoreMatrix:
    """The score matrix of a run; `Run.matrix` keeps it."""
    return _build(run, masked=False)


def masked_matrix_of(run: Run) -> ScoreMatrix:
    """The score matrix of the answers among each task's own classes; `Run.masked_matrix` keeps it."""
    if not any(row.masked for row in run.rows):
        raise UsageError(f"The run {run.name} has no task-masked counts; its rows hold no `masked`.")
    return _build(run, masked=True)


def _build(run: Run, masked: bool) -> ScoreMatrix:
    try:
        return _build_unchecked(run, masked)
    except RecollectError as error:
        raise type(error)(f"The run {run.name}{_place(run)}: {error}") from None
    except (TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        raise UsageError(
            f"The run {run.name}{_place(run)} has a row that is none ({error}). A row's `after` and `step` are whole"
            " numbers, its scores and counts hold one number per task, or None."
        ) from error


def _build_unchecked(run: Run, masked: bool) -> ScoreMatrix:
    layout = run.timeline
    _refuse_other_targets(run)
    scores, correct, n = _cells(run, layout.rows, masked)
    untrained = None
    if layout.base is not None:
        untrained = _cells(run, [layout.base], masked)[0][0]
    sizes = _sizes(run, n)
    samples = None if np.isnan(sizes).any() else sizes
    # Counts go along only where one n per task explains them all.
    exact = samples is not None and not np.isnan(correct).all() and bool(((n == samples) | np.isnan(n)).all())
    new_classes, class_counts = added_classes(run)
    return ScoreMatrix(
        scores,
        b=untrained,
        joint=_joint(run, layout),
        restricted=None if masked else _restricted(run, layout, sizes),
        masked=None if masked else _own_classes(run, layout.rows),
        probe=None if masked else _probe(run, layout.rows),
        pooled=None if masked else _pooled(run, layout.rows),
        online=None if masked else _online(run, layout.rows),
        correct=correct if exact else None,
        n_classes=new_classes,
        n_samples=samples,
        class_counts=class_counts,
        learned_at=[HELD_OUT if task.held_out else at for task, at in zip(run.tasks, layout.learned_at, strict=True)],
        planned=[own and not task.held_out for task, own in zip(run.tasks, layout.own, strict=True)],
        inside=layout.inside,
        steps=_steps(layout.rows),
        names=[task.name for task in run.tasks],
        unit=cast(Unit, "fraction" if run.unit == "percent" else run.unit),
        higher_is_better=run.higher_is_better,
        orientation=_orientation(run, layout),
        notes=run.notes,
    )


def added_classes(run: Run) -> tuple[list[int] | None, list[Any] | None]:
    """How many classes each task adds to those that are asked among, and its test samples by class.

    A learner that is told the task is asked among the task's own classes for ever: where all tasks have as many, that
    is one question with one chance, and where they do not, there is no one number of classes.
    """
    classes = _all_or_none([task.n_classes for task in run.tasks])
    counts = _all_or_none([task.class_counts for task in run.tasks])
    scenario = SCENARIOS.get(run.scenario or "")
    if classes is None or scenario is None or not (scenario.gives_task and scenario.adds_classes):
        return classes, counts
    if len(set(classes)) > 1:
        return None, None
    return [classes[0]] + [0] * (len(classes) - 1), counts


def _pooled(run: Run, rows: Sequence[Row | None]) -> Array | None:
    """The pooled score of each row, if it was measured in any."""
    measured = [None if row is None else row.pooled for row in rows]
    if all(value is None for value in measured):
        return None
    return np.array(measured, dtype=np.float64) / (100 if run.unit == "percent" else 1)


def _online(run: Run, rows: Sequence[Row | None]) -> Array | None:
    """The scores of the samples before each row, made before they were learned from, if any row has them."""
    blocks = [None if row is None else row.online for row in rows]
    if all(block is None for block in blocks):
        return None
    scores = [None if block is None else block.scores.get(run.metric) for block in blocks]
    return np.array(scores, dtype=np.float64) / (100 if run.unit == "percent" else 1)


def _orientation(run: Run, layout: Timeline) -> Orientation:
    """Only bare numbers can be the wrong way round: a record, and a tool's file, says what is a row.

    A run that stopped early has an empty lower triangle too.
    """
    is_known = run.source is not None and run.source.rows is not None
    return "time_rows" if is_known or run.status != "imported" or None in layout.rows else "auto"


def _refuse_other_targets(run: Run) -> None:
    """Rows that have scores, and none of the target that is asked for, are not rows without scores."""
    there = sorted({name for row in run.rows for name in row.scores})
    if there and run.metric not in there and not any(row.correct for row in run.rows):
        raise UsageError(f"its rows have scores of {', '.join(there)}, and none of {run.metric}, which it names.")


def _place(run: Run) -> str:
    return "" if run.path is None else f" ({run.path})"


def _cells(run: Run, rows: Sequence[Row | None], masked: bool) -> tuple[Array, Array, Array]:
    """Scores, counts and test-set sizes of the rows, each (rows, T)."""
    T = run.T
    counts = [None if row is None else row.masked if masked else row.correct for row in rows]
    scores = _block([None if row is None or masked else row.scores.get(run.metric) for row in rows], T, run.metric)
    correct = _block(counts, T, "correct")
    n = _block([None if row is None else row.n for row in rows], T, "n")
    sizes = _vector([task.n_samples for task in run.tasks], T, "n_samples")
    for i, row in enumerate(rows):
        if row is not None and row.n is None and counts[i] is not None:
            n[i] = sizes
    if run.unit == "percent":
        scores /= 100
    counted = ~np.isnan(correct)
    wrong = counted & ~((n > 0) & (correct >= 0) & (correct <= n))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise UsageError(
            "counts must satisfy 0 <= correct <= n with n > 0;"
            f" row {i}, task {j} says {correct[i, j]:g} of {n[i, j]:g}."
        )
    _refuse_other_sizes(run, n, sizes, counted)
    given = scores.copy()
    np.divide(correct, n, out=scores, where=counted)
    apart = np.argwhere(counted & (np.abs(given - scores) > np.minimum(0.5 / n, 5e-4) + 1e-9))
    if apart.size:
        i, j = apart[0]
        raise UsageError(
            f"counts and scores contradict each other: row {i}, task {j} says {correct[i, j]:g} of {n[i, j]:g} and"
            f" {given[i, j]:.6g}."
        )
    return scores, correct, n


def _refuse_other_sizes(run: Run, n: Array, sizes: Array, counted: NDArray[np.bool_]) -> None:
    """A count is of the task's whole test set, unless the plan draws a part of it."""
    wrong = counted & ((n > sizes) | ((n < sizes) & (run.plan.subsample is None)))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise UsageError(
            f"counts and test sets contradict each other: row {i}, task {j} counts {n[i, j]:g} answers, and the task"
            f" has {sizes[j]:g} test samples."
        )


def _block(rows: Sequence[Sequence[float | None] | None], T: int, what: str) -> Array:
    """Rows of values as an array (rows, T); NaN where a row is absent or ends early."""
    if all(row is not None and len(row) == T for row in rows):
        try:
            return np.array(rows, dtype=np.float64).reshape(len(rows), T)
        except (TypeError, ValueError, OverflowError):
            pass  # one of them is no number: row by row it is found
    block = np.full((len(rows), T), np.nan)
    for i, row in enumerate(rows):
        if row is not None:
            block[i] = _vector(row, T, what)
    return block


def _vector(values: Sequence[float | None], T: int, what: str) -> Array:
    vector = np.full(T, np.nan)
    if len(values) > T:
        raise UsageError(f"a row has {len(values)} values of {what} for {T} tasks.")
    try:
        vector[: len(values)] = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{what} holds numbers, or null where not evaluated; got {str(values)[:80]}.") from None
    return vector


def _sizes(run: Run, n: Array) -> Array:
    """The test-set size of each task: as stated, else as counted if all rows agree; NaN where unknown."""
    sizes = _vector([task.n_samples for task in run.tasks], run.T, "n_samples")
    for j in np.flatnonzero(np.isnan(sizes)):
        seen = set(n[~np.isnan(n[:, j]), j].tolist())  # np.unique would import numpy.ma
        if len(seen) == 1:
            sizes[j] = seen.pop()
    return sizes


def _joint(run: Run, layout: Timeline) -> Array | None:
    T = run.T
    if run.joint_run is not None:
        other = run.joint_run.matrix
        if other.T != T:
            raise UsageError(f"the joint learner's run has {other.T} tasks; expected {T}.")
        return _at_task_ends(other.R, other.learned_at)
    if not any(row is not None and row.joint for row in layout.rows):
        return None
    rows = _block([None if row is None else row.joint for row in layout.rows], T, "joint")
    return _at_task_ends(rows, np.array(layout.learned_at)) / (100 if run.unit == "percent" else 1)


def _restricted(run: Run, layout: Timeline, sizes: Array) -> Array | None:
    T = run.T
    if not any(row is not None and row.restricted for row in layout.rows):
        return None
    A = np.full((T, T, T), np.nan)
    for task, index in enumerate(layout.learned_at):
        row = layout.rows[index] if index >= 0 else None
        if row is None or row.restricted is None:
            continue
        if len(row.restricted) > T:
            raise UsageError(f"restricted has {len(row.restricted)} tasks; expected {T}.")
        counts = _block(row.restricted, T, "restricted")
        n = (sizes if row.n is None else _vector(row.n, T, "n"))[: len(counts), None]
        np.divide(counts, n, out=A[task, : len(counts)], where=n > 0)
    return A


def _own_classes(run: Run, rows: Sequence[Row | None]) -> Array | None:
    """The scores among each task's own classes, where rows hold those counts."""
    if not any(row is not None and row.masked for row in rows):
        return None
    return _cells(run, rows, masked=True)[0]


def _probe(run: Run, rows: Sequence[Row | None]) -> Array | None:
    """The scores of linear probes, where rows hold them."""
    if not any(row is not None and PROBE in row.scores for row in rows):
        return None
    return _block([None if row is None else row.scores.get(PROBE) for row in rows], run.T, PROBE)


def _at_task_ends(rows: Array, learned_at: NDArray[Any]) -> Array:
    ends = np.full((len(learned_at), rows.shape[-1]), np.nan)
    planned = learned_at >= 0
    ends[planned] = rows[learned_at[planned]]
    return ends


def _steps(rows: Sequence[Row | None]) -> list[int] | None:
    """Samples seen at each row, if every row says so; a row that is absent cannot go back in time."""
    steps: list[int] = []
    for row in rows:
        if row is not None and row.step is None:
            return None
        steps.append((steps[-1] if steps else 0) if row is None or row.step is None else row.step)
    return steps


def _all_or_none(values: list[Any]) -> list[Any] | None:
    return None if any(value is None for value in values) else values
