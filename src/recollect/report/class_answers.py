"""What each class is answered with: at the end, and how much of it right over time.

Seeds that bring the classes in orders of their own are put together by the classes' names, in the names' order; over
time a class then has a value from where every seed has seen it.
"""

from __future__ import annotations

import numpy as np

from recollect.matrix import Array
from recollect.report.results import Classes
from recollect.runs import Group, Run
from recollect.runs.confusion import class_names, confusion_of
from recollect.stats import estimate


def classes_of(group: Group) -> Classes | None:
    """The shares over a learner's seeds; None where they were not counted, or the seeds have other classes."""
    if not all(run.plan.confusion for run in group.runs):
        return None
    orders = [class_names(run) for run in group.runs]
    names = orders[0] if len(set(orders)) == 1 else tuple(sorted(orders[0], key=lambda name: (str(type(name)), name)))
    if not names or any(set(order) != set(names) for order in orders):
        return None
    placed = zip(group.runs, _places(orders, names), strict=True)
    shares = np.stack([_over_time(run)[:, places][:, :, places] for run, places in placed])
    shares[:, np.isnan(shares).any(axis=0)] = np.nan
    rows = np.flatnonzero(np.isfinite(shares).any(axis=(0, 2, 3)))
    if not len(rows):
        return None
    right = np.diagonal(shares, axis1=2, axis2=3)
    return Classes(tuple(map(str, names)), estimate(shares[:, rows[-1]]), estimate(right))


def _places(orders: list[tuple[int | str, ...]], names: tuple[int | str, ...]) -> list[list[int]]:
    """Where each of the names is in each order."""
    found = [{name: place for place, name in enumerate(order)} for order in orders]
    return [[of[name] for name in names] for of in found]


def _over_time(run: Run) -> Array:
    """Shares of each class's samples, (T, C, C); NaN where a class has not been seen or a row was not evaluated."""
    C = len(class_names(run))
    made = np.full((run.T, C, C), np.nan)
    for task in run.timeline.ended:
        row = run.timeline.end_of(task)
        counts = None if row is None else confusion_of(run, row)
        if counts is not None:
            n = counts.sum(axis=1, keepdims=True)
            made[task] = np.divide(counts, n, out=np.full((C, C), np.nan), where=n > 0)
    return made
