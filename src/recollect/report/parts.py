"""Task by task: how much of each one's forgetting is within the task, older, newer; where errors go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from recollect.matrix import Array, ScoreMatrix
from recollect.metrics import score
from recollect.metrics.split import by_task
from recollect.metrics.sweep import Sweep
from recollect.report.results import Shares
from recollect.runs import Group
from recollect.stats import Estimate, estimate

SIDES = ("own", "older", "newer")


def split_parts(matrix: ScoreMatrix) -> tuple[dict[str, Array], dict[str, Array]] | None:
    """The parts of forgetting (`split.within`, `.older`, `.newer`), over time and per task at the end, each (runs, T).

    None where the scores among fewer classes are not there, or no earlier task is.
    """
    if matrix.masked is None or matrix.asked is None or matrix.unit == "raw":
        return None
    sweep, parts = Sweep.of(matrix), by_task(matrix)
    if np.isnan(parts["newer"]).all():
        return None
    over_time = {
        name: np.asarray(score(matrix, f"split.{name}", curve=True)).reshape(sweep.N, matrix.T) for name in parts
    }
    return over_time, {name: drops[:, -1] for name, drops in parts.items()}


def final_drops(matrix: ScoreMatrix) -> Array:
    """How much each task has dropped from its best score in the end, (runs, T); its mean is `forgetting.chaudhry2018`.

    >>> final_drops(ScoreMatrix([[.8, .1], [.6, .9]])).round(3)
    array([[0.2, nan]])
    """
    sweep = Sweep.of(matrix)
    drops = np.full((sweep.N, matrix.T), np.nan)
    for tasks, (peak, now) in zip(sweep.before, sweep.peaks_since_learned(), strict=True):
        drops[:, sweep.columns[tasks]] = (peak - now).T
    return drops


def error_shares(group: Group) -> Shares | None:
    """Where the answers go, over the tasks seen so far; None where the rows do not say it.

    Rows carry, for every task, how many wrong answers were classes of the task itself, of older and of newer
    tasks. A share is of the task's test samples; over time it is the mean over the tasks seen.
    """
    T = group.runs[0].T
    shape = (len(group.runs), T)
    over_time = {side: np.full(shape, np.nan) for side in (*SIDES, "right")}
    per_task = {side: np.full(shape, np.nan) for side in (*SIDES, "right")}
    last = max((task for run in group.runs for task in run.timeline.ended), default=-1)
    for place, run in enumerate(group.runs):
        sizes = [task.n_samples for task in run.tasks]
        for task in run.timeline.ended:
            row = run.timeline.end_of(task)
            shares = None if row is None else _shares(row.errors, row.n or tuple(sizes), T)
            if shares is None:
                continue
            seen = task + 1
            for side, values in shares.items():
                over_time[side][place, task] = values[:seen].mean()
                if task == last:
                    per_task[side][place, :seen] = values[:seen]
    if all(np.isnan(values).all() for values in over_time.values()):
        return None
    return Shares(bands(over_time), bands(per_task))


def _shares(errors: Any, sizes: tuple[int | None, ...], T: int) -> dict[str, Array] | None:
    if not isinstance(errors, Mapping) or not all(side in errors for side in SIDES):
        return None
    n = _floats(sizes, T)
    n[n == 0] = np.nan
    shares = {side: _floats(errors[side], T) / n for side in SIDES}
    shares["right"] = 1 - sum(shares.values(), np.zeros(T))
    return shares


def _floats(values: Any, T: int) -> Array:
    """A number a task, NaN for what is not one: rows of other tools may hold anything under this name."""
    out = np.full(T, np.nan)
    if isinstance(values, list | tuple):
        for place, value in enumerate(values[:T]):
            if isinstance(value, int | float) and not isinstance(value, bool):
                out[place] = value
    return out


def bands(values: Mapping[str, Array]) -> dict[str, Estimate]:
    """Estimate several arrays (seeds, ...) of one shape at once."""
    made = estimate(np.stack(list(values.values()), axis=1))
    return {name: made.at(place) for place, name in enumerate(values)}
