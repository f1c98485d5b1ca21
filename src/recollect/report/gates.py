"""Bounds that a pipeline must keep, and whether it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recollect.matrix import ScoreMatrix
from recollect.metrics import Metric, evaluate
from recollect.metrics.cells import Cells
from recollect.report.provenance import seeds_text
from recollect.report.summary import Line, number, summarise
from recollect.report.words import interval, shown
from recollect.runs import Group


@dataclass(frozen=True)
class Bound:
    """A metric must stay below ("max") or above ("min") a value."""

    metric: Metric
    side: Literal["max", "min"]
    value: float


@dataclass(frozen=True)
class Verdict:
    """Whether a group keeps a bound, and the sentence that says it."""

    bound: Bound
    line: Line
    holds: bool
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.line.id,
            "learner": self.line.group.learner,
            "stream": self.line.group.stream,
            "side": self.bound.side,
            "bound": self.bound.value,
            "value": number(self.line.estimate.value),
            "low": number(self.line.estimate.low),
            "high": number(self.line.estimate.high),
            "n": int(self.line.estimate.n),
            "holds": self.holds,
            "sentence": self.sentence,
        }


def judge(groups: Sequence[Group], bounds: Sequence[Bound], *, sure: bool = False, **params: Any) -> list[Verdict]:
    """Check every bound for every group. What cannot be computed, or not surely, does not hold.

    Nor does a bound of a learner of which runs failed, are not finished, have no value, or seeds are missing.
    """
    seeds: dict[str, set[int]] = {}
    for group in groups:
        there = {seed for seed in group.seeds if seed is not None}
        planned = {seed for run in group.runs for seed in run.planned_seeds}
        seeds[group.family] = seeds.get(group.family, set()) | there | planned
    return [
        _judge_one(bound, line, sure, _incomplete(line, seeds[line.group.family]))
        for bound in bounds
        for line in summarise(groups, [bound.metric], **params)
    ]


def _incomplete(line: Line, seeds: set[int]) -> str | None:
    """Why the runs of a group are not all that there should be."""
    runs = line.group.runs
    for run in runs:
        why = run.why_incomplete
        if why is not None:
            return f"{run.name} is not whole ({why})"
    missing = seeds - set(line.group.seeds) if None not in line.group.seeds else set()
    if missing:
        return f"{'seed' if len(missing) == 1 else 'seeds'} {seeds_text(sorted(missing))} of {len(seeds)} have no run"
    n = int(line.estimate.n)
    if 0 < n < len(runs):
        return f"{len(runs) - n} of {len(runs)} runs have no value"
    return None


def _judge_one(bound: Bound, line: Line, sure: bool, incomplete: str | None) -> Verdict:
    who = f"{line.id} of {line.group.learner} on {line.group.stream}"
    limit = f"the {'largest' if bound.side == 'max' else 'smallest'} allowed, {bound.value:g}"
    made = line.estimate
    value = float(made.value)
    if np.isnan(value):
        return Verdict(bound, line, False, f"{who} cannot be checked: {line.reason}.")
    said = f"{who} is {shown(value)}"
    if incomplete is not None:
        return Verdict(bound, line, False, f"{said}, but cannot be relied on: {incomplete}.")
    if sure:
        end = float(made.high if bound.side == "max" else made.low)
        if np.isnan(end):
            why = made.reason or "one seed gives no interval"
            return Verdict(bound, line, False, f"{said}, n = {made.n}, which cannot be sure: {why}.")
        behind = "over test items" if made.method == "items" else f"n = {made.n}"
        said += f" {interval(float(made.low), float(made.high))}, {behind} ({(1 + made.level) / 2:.1%} sure, one-sided)"
        value = end
    holds = _keeps(value, bound)
    broken = "above" if bound.side == "max" else "below"
    word = "within" if holds else "not surely within" if _keeps(float(made.value), bound) else broken
    unusual = f" {made.reason[:1].upper()}{made.reason[1:]}." if sure and isinstance(made.reason, str) else ""
    return Verdict(bound, line, holds, f"{said}: {word} {limit}.{unusual}{_worst(bound, line)}")


def _keeps(value: float, bound: Bound) -> bool:
    return value <= bound.value if bound.side == "max" else value >= bound.value


def _worst(bound: Bound, line: Line) -> str:
    """A mean over held-out columns can hide the loss of one: which is worst, and whether it would keep the bound."""
    values = _held_out(line.group.runs[0].matrix, bound.metric) if len(line.group.runs) == 1 else {}
    if len(values) < 2:
        return ""
    name = (max if bound.side == "max" else min)(values, key=lambda column: values[column])
    alone = "" if _keeps(values[name], bound) else ", which alone is beyond it"
    return f" Of {len(values)} columns the worst is {name} with {shown(values[name])}{alone}."


def _held_out(matrix: ScoreMatrix, metric: Metric) -> dict[str, float]:
    """A metric of held-out tasks for each of them alone, by its name; nothing for other metrics."""
    if metric.card.reads is not Cells.HELD_OUT or matrix.b is None or matrix.names is None:
        return {}
    values = {}
    for j in np.flatnonzero(matrix.held_out).tolist():
        alone = ScoreMatrix(
            matrix.R[:, [j]],
            b=matrix.b[[j]],
            learned_at=["held out"],
            unit="raw" if matrix.unit == "raw" else "fraction",
            higher_is_better=matrix.higher_is_better,
            orientation="time_rows",
        )
        values[matrix.names[j]] = float(evaluate(alone, metric).value)
    return {name: value for name, value in values.items() if not np.isnan(value)}
