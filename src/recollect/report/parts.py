"""Task by task: how much of each one's forgetting is lost, chance and excess confusion; where errors go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from recollect.matrix import Array, ScoreMatrix
from recollect.metrics.reference import classes_seen
from recollect.metrics.split import labelled_peaks
from recollect.metrics.sweep import Sweep
from recollect.report.contents import Band, Errors
from recollect.runs import Group
from recollect.stats import estimate

SIDES = ("own", "older", "newer")


def split_parts(matrix: ScoreMatrix) -> tuple[dict[str, Array], dict[str, Array]] | None:
    """Split the forgetting of every task, over time and per task at the end, each part (runs, T).

    None without restricted scores or without an earlier task. The mean of a part over the earlier tasks is
    `split.lost`, `split.confusion`, `split.chance` of that row.
    """
    if matrix.restricted is None or matrix.unit == "raw":
        return None
    sweep = Sweep.of(matrix)
    rows = list(_rows(sweep))
    if not rows or len(rows[-1]["lost"]) == 0:
        return None
    over_time = {name: np.full((sweep.N, sweep.T), np.nan) for name in rows[0]}
    for r, row in enumerate(rows):
        for name, tasks in row.items():
            if len(tasks):
                over_time[name][:, sweep.seen[r] - 1] = tasks.mean(0)
    per_task = {name: np.full((sweep.N, sweep.T), np.nan) for name in rows[0]}
    for name, tasks in rows[-1].items():
        per_task[name][:, : len(tasks)] = tasks.T
    return over_time, per_task


def final_drops(matrix: ScoreMatrix) -> Array:
    """How much each task has dropped from its best score in the end, (runs, T); its mean is `forgetting.chaudhry2018`.

    >>> final_drops(ScoreMatrix([[.8, .1], [.6, .9]])).round(3)
    array([[0.2, nan]])
    """
    sweep = Sweep.of(matrix)
    drops = np.full((sweep.N, sweep.T), np.nan)
    for peak, now in sweep.peaks_since_learned():
        drops[:, : len(now)] = (peak - now).T
    return drops


def _rows(sweep: Sweep) -> Iterator[dict[str, Array]]:
    """At each planned row: the parts of every earlier task, (tasks, runs)."""
    given = sweep.matrix.n_classes
    is_known = given is not None and given[0] > 0
    share = 1 / classes_seen(sweep) if is_known else np.full(sweep.T, np.nan)
    for r, (peak, at, now) in enumerate(labelled_peaks(sweep, np.array(sweep.seen) - 1)):
        k = sweep.seen[r] - 1
        # The model of now, with only the answers that were possible at the peak.
        then = sweep.restricted_at(k, at)
        chance = share[at] - share[k]
        yield {
            "lost": np.where(np.isfinite(peak), peak, np.nan) - then,
            "confusion": then - now,
            "chance": chance,
            "excess": then - now - chance,
        }


def error_shares(group: Group) -> Errors | None:
    """Where the answers go, over the tasks seen so far; None where the rows do not say it.

    Rows carry, for every task, how many wrong answers were classes of the task itself, of older and of newer
    tasks. A share is of the task's test samples; over time it is the mean over the tasks seen.
    """
    T = group.runs[0].T
    shape = (len(group.runs), T)
    over_time = {side: np.full(shape, np.nan) for side in (*SIDES, "right")}
    per_task = {side: np.full(shape, np.nan) for side in (*SIDES, "right")}
    last = max((row.after for run in group.runs for row in run.rows), default=-1)
    for place, run in enumerate(group.runs):
        sizes = [task.n_samples for task in run.tasks]
        for row in run.rows:
            shares = _shares(row.errors, row.n or tuple(sizes), T)
            if shares is None or not row.task_end or row.after < 0:
                continue
            seen = row.after + 1
            for side, values in shares.items():
                over_time[side][place, row.after] = values[:seen].mean()
                if row.after == last:
                    per_task[side][place, :seen] = values[:seen]
    if all(np.isnan(values).all() for values in over_time.values()):
        return None
    return Errors(bands(over_time), bands(per_task))


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


def bands(values: Mapping[str, Array]) -> dict[str, Band]:
    """Estimate several arrays (seeds, ...) of one shape at once."""
    if not values:
        return {}
    made = Band.of(estimate(np.stack(list(values.values()), axis=1)))
    return {name: Band(made.value[place], made.low[place], made.high[place]) for place, name in enumerate(values)}
