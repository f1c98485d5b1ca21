"""Metrics of groups of runs, over their seeds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.matrix import Array
from recollect.metrics import Metric, Outcome, evaluate
from recollect.report.text import Table, interval, shown
from recollect.runs import Group
from recollect.stats import Estimate, estimate


@dataclass(frozen=True)
class Line:
    """One metric of one group: the estimate over seeds, the curve's if it was asked for, and what to know of it.

    `missing` is True where a cell or an input was not given, False where the formula itself has no value.
    """

    group: Group
    label: str
    metric: Metric
    estimate: Estimate
    curve: Estimate | None
    reason: str | None
    missing: bool
    notes: tuple[str, ...]

    @property
    def id(self) -> str:
        return self.metric.card.id

    @property
    def better(self) -> str:
        """Which direction is better, for the group's scores."""
        card = self.metric.card
        turned = card.kind == "level" and not self.group.matrix.higher_is_better
        return {"higher": "lower", "lower": "higher"}[card.better] if turned else card.better

    def as_dict(self) -> dict[str, Any]:
        """What a program reads: numbers, null where undefined."""
        line: dict[str, Any] = {
            "id": self.id,
            "learner": self.group.learner,
            "label": self.label,
            "stream": self.group.stream,
            "value": number(self.estimate.value),
            "reason": self.reason,
            "n": int(self.estimate.n),
            "low": number(self.estimate.low),
            "high": number(self.estimate.high),
            "sd": number(self.estimate.sd),
            "method": self.estimate.method,
            "level": self.estimate.level,
            "better": self.better,
            "seeds": list(self.group.seeds),
            "notes": list(self.notes),
        }
        if self.curve is not None:
            line["curve"] = [number(v) for v in np.atleast_1d(self.curve.value)]
            line["curve_low"] = [number(v) for v in np.atleast_1d(self.curve.low)]
            line["curve_high"] = [number(v) for v in np.atleast_1d(self.curve.high)]
        return line


def summarise(
    groups: Iterable[Group],
    metrics: Sequence[Metric],
    *,
    curve: bool = False,
    method: str = "t",
    **params: Any,
) -> list[Line]:
    """Estimate each metric for each group, over its seeds.

    A seed whose value is NaN is left out and said; n counts the seeds that stand behind the number.
    """
    given = tuple(groups)
    streams = dict.fromkeys(group.stream for group in given)
    of_stream = [[group for group in given if group.stream == stream] for stream in streams]
    labels = {id(g): label for members in of_stream for g, label in zip(members, labels_of(members), strict=True)}
    return [
        _line(group, labels[id(group)], evaluate(group.matrix, metric, curve=curve, **params), method)
        for group in given
        for metric in metrics
    ]


def labels_of(groups: Sequence[Group]) -> list[str]:
    """Learner names; where one occurs twice, with what differs: their options, their streams, or a number."""
    labels: list[str] = []
    for group in groups:
        twins = [other for other in groups if other.learner == group.learner]
        options = [
            f"{name}={value}"
            for name, value in group.learner_config.items()
            if any(json.dumps(twin.learner_config.get(name)) != json.dumps(value) for twin in twins)
        ]
        if not options and any(twin.stream != group.stream for twin in twins):
            options = [group.stream]
        labels.append(f"{group.learner} ({', '.join(options)})" if options else group.learner)
    return [
        label if labels.count(label) == 1 else f"{label} #{labels[: place + 1].count(label)}"
        for place, label in enumerate(labels)
    ]


def _line(group: Group, label: str, outcome: Outcome, method: str) -> Line:
    over_seeds = estimate(outcome.value, method=method)
    notes = [*outcome.notes]
    if outcome.reason is None:
        reason = None
    elif np.isnan(over_seeds.value):
        reason = outcome.reason
    else:
        reason = None
        notes.append(f"a seed without a value: {outcome.reason}")
    notes += [note for note in over_seeds.notes if reason is None]
    curve = None if outcome.curve is None else estimate(outcome.curve, method=method)
    return Line(group, label, outcome.metric, over_seeds, curve, reason, outcome.missing, tuple(notes))


def learner_table(lines: Sequence[Line], columns: Mapping[str, str]) -> Table:
    """A row a group, a column a metric: ``columns`` maps headings to ids. Cells are value and interval."""
    labels = {id(line.group): line.label for line in lines}
    groups = list({id(line.group): line.group for line in lines}.values())
    several = len({group.stream for group in groups}) > 1
    found = {(id(line.group), line.id): line.estimate for line in lines}

    def cell(made: Estimate) -> str:
        return f"{shown(float(made.value), 3)} {interval(float(made.low), float(made.high), 3)}".rstrip()

    rows = tuple(
        (
            f"{labels[id(group)]} on {group.stream}" if several else labels[id(group)],
            *(cell(found[id(group), name]) for name in columns.values()),
            str(len(group.runs)),
        )
        for group in groups
    )
    return Table(("learner", *columns, "n"), rows, right=tuple(range(1, len(columns) + 2)))


def number(value: float | Array) -> float | None:
    """A JSON number: null for NaN."""
    return None if np.isnan(value) else float(value)
