"""What each row cost: the seconds of its training and evaluation, and the highest memory meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recollect.runs import Group, Run
from recollect.stats import Estimate


def row_costs(groups: Sequence[Group], labels: Sequence[str]) -> dict[str, Mapping[str, Estimate]]:
    """By learner: "seconds" and "megabytes" at each row of its matrix, the mean over seeds, where its runs say them."""
    return {label: made for label, group in zip(labels, groups, strict=True) if (made := _of_group(group)) is not None}


def _of_group(group: Group) -> dict[str, Estimate] | None:
    lines = [_of_run(run) for run in group.runs]
    known = [line for line in lines if line is not None]
    if len(known) < len(lines) or len({line.shape for line in known}) != 1:
        return None
    mean = np.mean(known, axis=0)
    nothing = np.full(len(mean), np.nan)
    return {
        name: Estimate(mean[:, place], nothing, nothing, len(known), "mean", nothing)
        for place, name in enumerate(("seconds", "megabytes"))
    }


def _of_run(run: Run) -> np.ndarray[tuple[int, int], np.dtype[np.float64]] | None:
    """(rows, 2); None where the run does not say it of every row, or has rows that are no part of the matrix."""
    if not run.row_costs:
        return None
    if run.packed is None:
        has_base, count = run.timeline.base is not None, -1 if None in run.timeline.rows else run.matrix.S
    else:
        has_base, count = run.packed.layout.has_base, run.T
    costs = run.row_costs[1:] if has_base else run.row_costs
    if not costs or len(costs) != count:
        return None
    seconds = [sum(v for k, v in cost.items() if k.endswith("_seconds")) for cost in costs]
    memory = [max((v for k, v in cost.items() if k.endswith("_bytes")), default=np.nan) / 1e6 for cost in costs]
    return np.array([seconds, memory], dtype=np.float64).T
