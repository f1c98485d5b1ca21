"""Scores over time of samples before they were learned: one curve per learner, on the steps of its first run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recollect.matrix import Array
from recollect.report.results import Watched
from recollect.runs import Group, Run
from recollect.runs.drifts import found_drifts
from recollect.stats import estimate

KINDS = ("sliding", "fading")


def watched(groups: Sequence[Group], labels: Sequence[str]) -> Watched | None:
    """What the runs scored before learning, under their own target; None where none did."""
    found = {label: group for label, group in zip(labels, groups, strict=True) if any(map(_steps, group.runs))}
    if not found:
        return None
    runs = [run for group in found.values() for run in group.runs]
    steps = next(steps for run in runs if (steps := _steps(run)))
    starts = {run.visits for run in runs}
    known = starts.pop() if len(starts) == 1 else ()
    bounds = (0.0, 1.0) if runs[0].unit == "fraction" else None
    curves = {
        label: {
            kind: estimate(np.stack([_along(run, kind, steps) for run in group.runs]), bounds=bounds) for kind in KINDS
        }
        for label, group in found.items()
    }
    plan = runs[0].plan
    return Watched(
        steps=steps,
        drifts=tuple(float(np.interp(step, steps, np.arange(len(steps)))) for step, _ in known[1:]),
        own_drifts=bool(starts),
        window=plan.online or 0,
        fading=plan.fading or 1 - 1 / (plan.online or 1),
        curves=curves,
        lines=tuple(line for label, group in zip(labels, groups, strict=True) if (line := _drifts_found(label, group))),
    )


def _drifts_found(label: str, group: Group) -> str:
    """How a learner that watches for drifts has found those that are known; nothing for another learner."""
    signals = [tuple(step for row in run.rows for step in row.signals) for run in group.runs]
    if not any(signals) and not any("drifts_missed" in run.cost for run in group.runs):
        return ""
    found = [found_drifts(run.visits, steps) for run, steps in zip(group.runs, signals, strict=True)]
    known = [delay for one in found for delay in one.delays]
    delays = [delay for delay in known if delay is not None]
    mean = f", {sum(delays) / len(delays):.0f} samples after them on average" if delays else ""
    false = sum(one.false_alarms for one in found) / len(found)
    return (
        f"{label} signalled {len(delays)} of {len(known)} drifts before the next one{mean}; false alarms per run:"
        f" {false:.1f}."
    )


def _steps(run: Run) -> tuple[int, ...]:
    rows = run.rows if run.packed is None else ()
    return tuple(step for row in rows if row.online is not None for step in row.online.steps)


def _along(run: Run, kind: str, steps: Sequence[int]) -> Array:
    """The run's curve at these steps: at each the newest point that is not after it."""
    own = np.array(_steps(run))
    blocks = [row.online for row in run.rows if row.online is not None and row.online.steps]
    values = [getattr(block, kind).get(run.metric, (None,) * len(block.steps)) for block in blocks]
    flat = np.array([value for part in values for value in part], dtype=np.float64)
    if not len(flat):
        return np.full(len(steps), np.nan)
    place = np.searchsorted(own, steps, side="right") - 1
    return np.where(place >= 0, flat[np.maximum(place, 0)], np.nan) / (100 if run.unit == "percent" else 1)
