"""Metrics of groups of runs, over their seeds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recollect.matrix import Array
from recollect.metrics import Metric, Outcome, evaluate, evaluate_all, registry
from recollect.metrics.registry import better_direction
from recollect.problems import problem_of
from recollect.report.by_construction import (
    OF_UNSEEN,
    PLAIN,
    is_masked,
    is_plain_at_the_end,
    said_of_masked,
    said_of_rescaled,
)
from recollect.report.over_items import NULL, NULL_OF, estimate_over_items, null_of
from recollect.report.words import Words, common_words, explain, interval, shown, unscored, words_for
from recollect.runs import Group, Run
from recollect.stats import Estimate, estimate
from recollect.text import Table


@dataclass(frozen=True)
class Line:
    """One metric of one group: the estimate over seeds, the curve's if it was asked for, and what to know of it.

    `missing` is True where a cell or an input was not given, False where the formula itself has no value. `null` is
    what test noise alone would show, of the forgetting of a single run.
    """

    group: Group
    stream: str
    label: str
    words: Words
    metric: Metric
    estimate: Estimate
    curve: Estimate | None
    reason: str | None
    missing: bool
    notes: tuple[str, ...]
    null: Estimate | None = None
    id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.metric.card.id)

    @property
    def better(self) -> str:
        """Which direction is better, for the group's scores."""
        return better_direction(self.metric, self.group.matrix.higher_is_better)

    def as_dict(self) -> dict[str, Any]:
        """What a program reads: numbers, null where undefined."""
        line: dict[str, Any] = {
            "id": self.id,
            "learner": self.group.learner,
            "label": self.label,
            "stream": self.stream,
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
        if self.null is not None:
            line["null"] = {name: number(getattr(self.null, name)) for name in ("value", "low", "high")}
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
    streams = stream_names(given)
    of_stream: dict[str, list[Group]] = {}
    for stream, one in zip(streams, given, strict=True):
        of_stream.setdefault(stream, []).append(one)
    labels = {
        id(g): label for members in of_stream.values() for g, label in zip(members, labels_of(members), strict=True)
    }
    curves = {metric.card.id for metric in metrics} if curve else ()
    lines = []
    for stream, group in zip(streams, given, strict=True):
        words = words_for(group)
        outcomes = evaluate_all(group.matrix, metrics, curves, **params)
        lines += [_line(group, stream, labels[id(group)], words, outcome, method) for outcome in outcomes]
    return lines


def labels_of(groups: Sequence[Group]) -> list[str]:
    """Learner names; where one occurs twice, with what differs: their options, their streams, or a number."""
    twins: dict[str, list[Group]] = {}
    for group in groups:
        twins.setdefault(group.learner, []).append(group)
    labels = [_label(group, twins[group.learner]) for group in groups]
    return _numbered(labels, every=True)


def _label(group: Group, twins: Sequence[Group]) -> str:
    if len(twins) == 1:
        return group.learner
    options = [
        f"{name}={value}"
        for name, value in group.told_by.items()
        if any(json.dumps(twin.told_by.get(name), default=repr) != json.dumps(value, default=repr) for twin in twins)
    ]
    if not options and any(twin.stream != group.stream for twin in twins):
        options = [group.stream]
    return f"{group.learner} ({', '.join(options)})" if options else group.learner


def streams_of(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """The groups of each stream, by its name; streams of one name are told apart by what differs, or a number."""
    found: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        first = group.runs[0]
        found.setdefault((group.stream, group.family, group.metric, first.higher_is_better), []).append(group)
    names = _told_apart([members[0].runs[0] for members in found.values()])
    return dict(zip(_numbered(names), found.values(), strict=True))


def stream_names(groups: Sequence[Group]) -> list[str]:
    """Each group's stream; where one name stands for several scenarios or scores, with those.

    >>> from recollect.runs import Row, Run, Task, group
    >>> def toy(kind):
    ...     rows = (Row(0, scores={"accuracy": (.9,)}),)
    ...     return Run(learner="naive", stream="toy", tasks=(Task("a"),), rows=rows, scenario=kind)
    >>> stream_names(group([toy("concept-aware"), toy("concept-agnostic")]))
    ['toy (concept-aware)', 'toy (concept-agnostic)']
    """
    return _told_apart([group.runs[0] for group in groups])


def _told_apart(runs: Sequence[Run]) -> list[str]:
    traits: dict[str, list[set[str | None]]] = {}
    for run in runs:
        scenarios, scores = traits.setdefault(run.stream, [set(), set()])
        scenarios.add(run.scenario)
        scores.add(_score_name(run))
    names = []
    for run in runs:
        scenarios, scores = traits[run.stream]
        differing = [
            trait
            for trait, of in ((run.scenario, scenarios), (_score_name(run), scores))
            if len(of) > 1 and trait is not None
        ]
        names.append(f"{run.stream} ({', '.join(differing)})" if differing else run.stream)
    return names


def _score_name(run: Run) -> str:
    return problem_of(run.problem).score_name(run.metric)


def _numbered(names: Sequence[str], every: bool = False) -> list[str]:
    """Give names that occur twice a number, the first too if `every`.

    >>> _numbered(["digits", "cifar", "digits"]), _numbered(["er", "er"], every=True)
    (['digits', 'cifar', 'digits #2'], ['er #1', 'er #2'])
    """
    total = Counter(names)
    seen: Counter[str] = Counter()
    made = []
    for name in names:
        seen[name] += 1
        is_marked = total[name] > 1 and (every or seen[name] > 1)
        made.append(f"{name} #{seen[name]}" if is_marked else name)
    return made


def _line(group: Group, stream: str, label: str, words: Words, outcome: Outcome, method: str) -> Line:
    over_items = None if np.isnan(outcome.value).all() else estimate_over_items(group, outcome.id, method)
    method = over_seeds_by(method)
    over_seeds = over_items or estimate(outcome.value, method=method, bounds=outcome.bounds)
    notes = [*outcome.notes]
    reason = None
    if outcome.reason is not None:
        why = explain(outcome.reason, any(outcome.unevaluated), unscored([group]), words)
        if np.isnan(over_seeds.value):
            reason = why
        else:
            notes.append(f"a seed without a value: {why}")
    if reason is None:
        notes += over_seeds.notes
    notes += _by_construction(group, outcome, words)
    curve = None if outcome.curve is None else estimate(outcome.curve, method=method, bounds=outcome.bounds)
    null = null_of(group) if over_items is not None and outcome.id == NULL_OF else None
    if null is not None:
        notes.append(
            f"{NULL}: test noise alone would show {shown(float(null.value))}"
            f" {interval(float(null.low), float(null.high))} as {NULL_OF} of {label}"
        )
    about = (over_seeds, curve, reason, outcome.missing, tuple(notes), null)
    return Line(group, stream, label, words, outcome.metric, *about)


def _by_construction(group: Group, outcome: Outcome, words: Words) -> list[str]:
    """What the value is whatever the learner: the plain metric of a rescaled one, or 0 where classes are masked."""
    if np.isnan(outcome.value).all():
        return []
    if outcome.id in OF_UNSEEN and is_masked(group.matrix):
        return [said_of_masked("", words)]
    plain = PLAIN.get(outcome.id)
    if plain is None:
        return []
    values = evaluate(group.matrix, registry.get(plain)).value
    is_plain = is_plain_at_the_end(np.ravel(outcome.value), np.ravel(values))
    return [said_of_rescaled(outcome.id, words)] if is_plain else []


def behind(made: Estimate) -> str:
    """How much stands behind a number: so many seeds, or so many test items."""
    if made.method != "items":
        return str(made.n)
    return f"{int(made.n):,} items" if made.n else "items"


def over_seeds_by(method: str) -> str:
    """The method over seeds, where an interval is asked for that may be over items."""
    return "t" if method in ("seeds", "items", "auto") else method


def metric_table(lines: Sequence[Line], curve: bool = False) -> Table:
    """One row per group and metric: value, interval, spread, what stands behind it; values after each task if asked."""
    words = common_words([line.words for line in lines] or [Words()])
    several = len({id(line.group) for line in lines}) > 1
    columns = (*(("learner", "stream") if several else ()), "metric", "value", "95 % interval", "sd", "n")
    rows = [
        (
            *((line.label, line.stream) if several else ()),
            line.id,
            shown(float(line.estimate.value)),
            interval(float(line.estimate.low), float(line.estimate.high)),
            shown(float(line.estimate.sd)),
            behind(line.estimate),
            *((" ".join(shown(v) for v in np.atleast_1d(line.curve.value)),) if line.curve else ()),
        )
        for line in lines
    ]
    first_number = len(columns) - 4
    title = "" if several or not lines else f"{lines[0].group.learner} on {lines[0].stream}"
    return Table(
        columns + ((f"after each {words.task}",) if curve else ()),
        tuple(rows),
        right=tuple(range(first_number, len(columns))),
        title=words.titled(title),
    )


def learner_table(lines: Sequence[Line], columns: Mapping[str, str], *, percent: bool = False) -> Table:
    """One row per group, one column per metric: ``columns`` maps headings to ids. Cells are value and interval.

    In percent the scores that are fractions, and what is made of them, are multiplied by 100, with one digit.
    """
    labels = {id(line.group): line.label for line in lines}
    groups = list({id(line.group): line.group for line in lines}.values())
    streams = {id(line.group): line.stream for line in lines}
    several = len(set(streams.values())) > 1
    found = {(id(line.group), line.id): line.estimate for line in lines}

    def cell(group: Group, made: Estimate) -> str:
        factor, digits = (100.0, 1) if percent and group.matrix.unit != "raw" else (1.0, 3)
        value, low, high = (factor * float(part) for part in (made.value, made.low, made.high))
        return f"{shown(value, digits)} {interval(low, high, digits)}".rstrip()

    rows = tuple(
        (
            f"{labels[id(group)]} on {streams[id(group)]}" if several else labels[id(group)],
            *(cell(group, found[id(group), name]) for name in columns.values()),
            str(len(group.runs)),
        )
        for group in groups
    )
    return Table(("learner", *columns, "n"), rows, right=tuple(range(1, len(columns) + 2)))


def number(value: float | Array) -> float | None:
    """A JSON number: null for NaN."""
    return None if np.isnan(value) else float(value)
