"""From a ScoreMatrix to numbers, each with the reason where there is none."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from recollect.errors import NotComputable, UsageError
from recollect.matrix import Array, ScoreMatrix
from recollect.metrics import registry
from recollect.metrics.cells import Cells
from recollect.metrics.missing import missing_cells
from recollect.metrics.registry import Metric, spread
from recollect.metrics.rows import how_many
from recollect.metrics.sweep import Sweep, Undefined


class Score(float):
    """A float that knows its metric, and why it is NaN if it is.

    >>> s = Score.of(float("nan"), "raf.michel2023", "there is no earlier task")
    >>> s, s.reason
    (nan, 'there is no earlier task')
    """

    id: str
    reason: str | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, value: float, id: str, reason: str | None = None, notes: tuple[str, ...] = ()) -> Score:
        score = cls(value)
        score.id, score.reason, score.notes = id, reason, notes
        return score


@dataclass(frozen=True, eq=False)
class Outcome:
    """A metric on a matrix: `value` (...), `curve` (..., T), and for each NaN of `value` a reason.

    `missing` tells an input or a cell that was not given from a formula that has no value; `unevaluated`, run by run,
    whether it was a cell. `bounds` are what the value cannot leave on such scores, infinite where they have none.
    `id` is the metric's, `reason` that of the first run which has one.
    """

    metric: Metric
    value: Array
    curve: Array | None
    reasons: tuple[str | None, ...]
    missing: bool
    notes: tuple[str, ...]
    unevaluated: tuple[bool, ...] = ()
    bounds: tuple[float, float] = (-np.inf, np.inf)
    reason: str | None = None
    id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.metric.card.id)


@overload
def score(matrix: ScoreMatrix | ArrayLike, id: str, curve: Literal[False] = False, **params: Any) -> Score | Array: ...
@overload
def score(matrix: ScoreMatrix | ArrayLike, id: str, curve: Literal[True], **params: Any) -> Array: ...
def score(matrix: ScoreMatrix | ArrayLike, id: str, curve: bool = False, **params: Any) -> Score | Array:
    """Compute one metric; take what its card needs from the matrix.

    `matrix` may be an array, read as `ScoreMatrix` reads it; `id` may be a name that people type (AA, AF, ...).
    Gives a `Score` (a float with a reason) for one run, an array for several, the curve of length T with
    ``curve=True``. Where the metric cannot be computed the value is NaN.

    >>> matrix = ScoreMatrix([[.8, .1], [.6, .9]], n_classes=[2, 2])
    >>> score(matrix, "raa.michel2023")
    0.75
    >>> score(matrix, "raa.michel2023", curve=True)
    array([0.4 , 0.75])
    >>> score(matrix, "fwt.lopezpaz2017").reason
    "needs b, the untrained learner's scores (--untrained FILE, --base NAME)"
    """
    metric = registry.get(id)
    refuse_unknown(params, [metric])
    matrix = matrix if isinstance(matrix, ScoreMatrix) else ScoreMatrix(matrix)
    outcome = evaluate(matrix, metric, curve=curve, **params)
    if outcome.curve is not None:
        return outcome.curve
    if matrix.lead:
        return outcome.value
    said = registry.alias_note(id)
    notes = outcome.notes if said is None else (said, *outcome.notes)
    return Score.of(float(outcome.value), outcome.id, outcome.reason, notes)


def refuse_unknown(params: Mapping[str, object], metrics: Sequence[Metric]) -> None:
    """Refuse parameters that none of the metrics has: a misspelt one must not be ignored."""
    known = sorted({name for metric in metrics for name in metric.card.parameters})
    for name in params:
        if name not in known:
            has = f"there are {', '.join(known)}" if known else "there are none"
            raise UsageError(f"unknown parameter {name!r} of {', '.join(m.card.id for m in metrics[:3])}: {has}.")


def evaluate(matrix: ScoreMatrix, metric: Metric, *, curve: bool = False, **params: Any) -> Outcome:
    """Compute a metric for all runs of a matrix at once, with the reasons of what is NaN."""
    if not isinstance(matrix, ScoreMatrix):
        matrix = ScoreMatrix(matrix)
    params = {k: v for k, v in params.items() if k in metric.card.parameters}
    sweep = Sweep.of(matrix)
    reason, missing = None, False
    try:
        rows = metric.rows(matrix, **params)
    except NotComputable as cannot:
        rows = np.full((sweep.P, sweep.N), np.nan)
        reason, missing = str(cannot), not isinstance(cannot, Undefined)
    now = rows[-1] if len(rows) else np.full(sweep.N, np.nan)
    if reason is None and not len(rows):
        reason, missing = "no row has a score", True
    reasons: tuple[str | None, ...] = (reason,) * sweep.N
    unevaluated = (False,) * sweep.N
    undefined = np.flatnonzero(np.isnan(now))
    if undefined.size and reason is None:
        lacking = dict(zip(undefined.tolist(), missing_cells(metric.card, sweep, sweep.P - 1, undefined), strict=True))
        said = {
            run: f"reads {cells}, not evaluated" if cells else metric.card.undefined for run, cells in lacking.items()
        }
        reasons = tuple(map(said.get, range(sweep.N)))
        unevaluated = tuple(bool(lacking.get(run)) for run in range(sweep.N))
        reason, missing = said[int(undefined[0])], any(unevaluated)
    is_bounded = matrix.unit != "raw" and matrix.higher_is_better
    return Outcome(
        metric,
        now.reshape(matrix.lead),
        spread(rows, sweep, matrix.lead) if curve else None,
        reasons,
        missing,
        (*matrix.notes, *_left_out(metric, sweep)),
        unevaluated,
        metric.card.bounds if is_bounded else (-np.inf, np.inf),
        reason,
    )


def evaluate_all(
    matrix: ScoreMatrix, metrics: Iterable[Metric], curves: Container[str] = (), **params: Any
) -> list[Outcome]:
    """Compute several metrics of a matrix, those of the ids `curves` with their curves."""
    return [evaluate(matrix, metric, curve=metric.card.id in curves, **params) for metric in metrics]


# What is measured on tasks that have a row of their own.
_ON_OWN_ROWS = (
    Cells.SINCE_LEARNED,
    Cells.OWN_AND_NOW,
    Cells.EARLIER_TASKS,
    Cells.SQUARE,
    Cells.DIAGONAL,
)


def _left_out(metric: Metric, sweep: Sweep) -> tuple[str, ...]:
    """Say over how many tasks or rows a value is, where some tasks have no row of their own."""
    between = [
        value
        for name in ("online", "near_future")
        if name in metric.card.needs and (value := getattr(sweep.matrix, name)) is not None
    ]
    if between and np.isnan(between[0]).any():
        there = int(np.isfinite(between[0]).any(tuple(range(between[0].ndim - 1))).sum())
        return (f"over {there} of {between[0].shape[-1]} rows: the samples of the others have no score",)
    if (sweep.own >= 0).all() or metric.card.reads is Cells.HELD_OUT:
        return ()
    if metric.card.reads not in _ON_OWN_ROWS:
        return (f"over {sweep.P} planned rows of {sweep.T} tasks",)
    now = sweep.P - 1
    of_newest = metric.card.reads is Cells.DIAGONAL
    there = how_many((sweep.upto if of_newest else sweep.before)[now])
    # The newest task has dropped by nothing yet, unless it has been evaluated since.
    newest_is_new = sweep.own[sweep.seen[now] - 1] == now
    tasks = sweep.seen[now] - int(newest_is_new and not of_newest)
    return (f"over {there} of {tasks} tasks: the others have no row of their own",)


def over_rows(matrix: ScoreMatrix, id: str, **params: Any) -> Array:
    """The value after every row, (..., S), where `score(..., curve=True)` has one per task; NaN inside tasks.

    >>> over_rows(ScoreMatrix([[.9, .1], [.4, .9], [.9, .3]], learned_at=[0, 1]), "acc.average")
    array([0.9 , 0.65, 0.6 ])
    """
    metric = registry.get(id)
    refuse_unknown(params, [metric])
    sweep = Sweep.of(matrix)
    out = np.full((matrix.S, sweep.N), np.nan)
    with suppress(NotComputable):
        out[sweep.row_index[sweep.ends]] = metric.rows(matrix, **params)
    return np.ascontiguousarray(out.T).reshape(*matrix.lead, matrix.S)
