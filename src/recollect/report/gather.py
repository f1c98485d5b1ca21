"""From groups of runs to the contents of a report: every number is computed here, once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from recollect._version import __version__
from recollect.errors import NotComputable
from recollect.matrix import Array, ScoreMatrix
from recollect.metrics import Outcome, evaluate, registry
from recollect.report.columns import TOTAL_TIME, applicable, cost_columns, metric_columns
from recollect.report.comparison import PLATEAU_CURVE
from recollect.report.contents import (
    Band,
    Bend,
    Column,
    Contents,
    Definition,
    Difference,
    Learner,
    Number,
    Refusal,
    Stream,
    Words,
)
from recollect.report.pairs import compare_learners, leader, rank_learners
from recollect.report.parts import bands, error_shares, split_parts
from recollect.report.provenance import config_text, of_group, run_refusals
from recollect.report.summary import labels_of
from recollect.runs import Group
from recollect.runs.groups import JOINT
from recollect.stats import Plateau, estimate, find_plateau

CURVES = (
    "acc.average",
    "raa.michel2023",
    "forgetting.chaudhry2018",
    "raf.michel2023",
    "split.lost",
    "split.confusion",
    "split.chance",
)
# So many learners are switched on when a page opens; more lines than that cannot be told apart.
SHOWN_FIRST = 8
# Cells of differences between learners that a page carries with their intervals.
CELLS_OF_DIFFERENCES = 300_000


def gather(groups: Sequence[Group], *, title: str = "", command: str = "") -> Contents:
    """Compute all that a report on these groups says."""
    if not groups:
        raise NotComputable("a report needs at least one run; got none.")
    by_stream: dict[tuple[str, str, str, bool], list[Group]] = {}
    for group in groups:
        first = group.runs[0]
        key = (group.stream, group.family, group.metric, first.higher_is_better)
        by_stream.setdefault(key, []).append(group)
    names = _unique([key[0] for key in by_stream])
    streams, provenance = [], []
    for name, members in zip(names, by_stream.values(), strict=True):
        labels = tuple(labels_of(members))
        streams.append(_stream(name, members, labels))
        provenance += [of_group(name, label, g) for label, g in zip(labels, members, strict=True)]
    labels = tuple(dict.fromkeys(learner.label for stream in streams for learner in stream.learners))
    ranks, refused = rank_learners(
        [{one.label: one.numbers for one in stream.learners} for stream in streams],
        ["higher" if stream.higher_is_better else "lower" for stream in streams],
    )
    used = {id for stream in streams for column in stream.columns for id in column.ids}
    return Contents(
        title=title or _title(names),
        streams=tuple(streams),
        labels=labels,
        shown_first=_shown_first(streams, labels),
        ranks=ranks,
        definitions=tuple(_definition(id) for id in registry.all_ids() if id in used),
        provenance=tuple(provenance),
        refusals=(*refused, *run_refusals(groups)),
        notes=tuple(dict.fromkeys(note for group in groups for run in group.runs for note in run.notes)),
        n_runs=sum(len(group.runs) for group in groups),
        version=__version__,
        command=command,
    )


def words_for(group: Group) -> Words:
    """Concepts and their score for anomaly detection, tasks and accuracy else."""
    run = group.runs[0]
    concepts = (run.scenario or "").startswith("concept") or (run.source is not None and run.source.tool == "pyclad")
    score = run.metric if run.metric.isupper() or "-" in run.metric else run.metric.lower()
    return Words("concept", "concepts", score) if concepts else Words(score=score)


def _stream(key: str, groups: Sequence[Group], labels: Sequence[str]) -> Stream:
    first = groups[0].runs[0]
    words = words_for(groups[0])
    references = _references(groups)
    learners = tuple(_learner(label, g, g.learner in references) for label, g in zip(labels, groups, strict=True))
    numbers = [learner.numbers for learner in learners]
    known = set(registry.all_ids())
    cost_keys = tuple(dict.fromkeys(id for of in numbers for id in of if id not in known))
    columns, dropped = applicable(metric_columns(words), numbers)
    if words.task == "concept":
        dropped = tuple(_of_concepts(refusal) for refusal in dropped)
    columns += applicable(cost_columns(cost_keys), numbers)[0]
    reference_labels = [one.label for one in learners if one.is_reference]
    comparisons, refused = compare_learners(groups, labels, reference_labels)
    matrix = groups[0].matrix
    return Stream(
        key=key,
        name=first.stream,
        scenario=first.scenario,
        online=first.online,
        metric=first.metric,
        higher_is_better=first.higher_is_better,
        words=words,
        tasks=_task_names(groups, words),
        n_classes=_total([task.n_classes for task in first.tasks]),
        n_samples=_total([task.n_samples for task in first.tasks]),
        family=first.family,
        fingerprints=tuple(dict.fromkeys(run.fingerprint for group in groups for run in group.runs)),
        learners=learners,
        columns=columns,
        comparisons=comparisons,
        differences=_differences(groups, labels, reference_labels),
        refusals=(*dropped, *refused, *_gaps(learners, columns), *_not_split(learners, words)),
        difficulty=_difficulty(matrix),
    )


def _task_names(groups: Sequence[Group], words: Words) -> tuple[str, ...]:
    """The names of the tasks; their places where the seed decides what a task is."""
    names = {tuple(task.name for task in run.tasks) for group in groups for run in group.runs}
    T = groups[0].runs[0].T
    return names.pop() if len(names) == 1 else tuple(f"{words.task} {j + 1}" for j in range(T))


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _learner(label: str, group: Group, is_reference: bool) -> Learner:
    matrix = group.matrix
    outcomes = [evaluate(matrix, registry.get(id), curve=id in CURVES) for id in registry.all_ids()]
    curves = {made.id: made.curve for made in outcomes if made.curve is not None and not np.isnan(made.curve).all()}
    rising = curves.get(PLATEAU_CURVE)
    ends: list[int | None] = [None] * matrix.S
    for task, row in enumerate(matrix.learned_at.tolist()):
        if row >= 0:
            ends[row] = task + 1
    return Learner(
        label=label,
        name=group.learner,
        config=config_text(group),
        seeds=group.seeds,
        is_reference=is_reference,
        numbers={**_numbers(outcomes), **_costs(group)},
        curves=bands(curves),
        bend=None if rising is None else _bend(find_plateau(rising, higher_is_better=matrix.higher_is_better)),
        ends=tuple(ends),
        matrix=Band.of(estimate(matrix.R)),
        untrained=None if matrix.b is None else Band.of(estimate(matrix.b)),
        joint=None if matrix.joint is None else Band.of(estimate(matrix.joint)),
        parts=split_parts(matrix),
        errors=error_shares(group),
    )


def _numbers(outcomes: Sequence[Outcome]) -> dict[str, Number]:
    """All metrics at once: one estimate over seeds costs what one metric's does."""
    together = estimate(np.stack([made.value for made in outcomes], axis=1))
    return {
        made.id: Number.of(together.at(place), made.reason if np.isnan(together.at(place).value) else None)
        for place, made in enumerate(outcomes)
    }


def _bend(made: Plateau) -> Bend:
    before, after = Number.of(made.slope_before), Number.of(made.slope_after)
    return Bend(made.kind, made.found, made.at, made.low, made.high, before, after, made.n, made.reason)


def _costs(group: Group) -> dict[str, Number]:
    """Mean time, memory and storage of the runs that say them."""
    found: dict[str, list[float]] = {}
    for run in group.runs:
        for prefix, values in (("timings", run.timings), ("cost", run.cost)):
            for key, value in values.items():
                if isinstance(value, int | float):
                    scale = 1e-6 if key.endswith("_bytes") else 1
                    found.setdefault(f"{prefix}.{key}", []).append(float(value) * scale)
        if {"train_seconds", "evaluate_seconds"} <= set(run.timings):
            total = run.timings["train_seconds"] + run.timings["evaluate_seconds"]
            found.setdefault(TOTAL_TIME, []).append(total)
    return {id: Number.of(estimate(values)) for id, values in found.items()}


def _references(groups: Sequence[Group]) -> set[str]:
    """Learners that others are measured against: the joint learner is no contestant."""
    named = {run.joint_learner or JOINT for group in groups for run in group.runs}
    return named | {run.joint_run.learner for g in groups for run in g.runs if run.joint_run is not None}


def _differences(groups: Sequence[Group], labels: Sequence[str], references: Sequence[str]) -> tuple[Difference, ...]:
    """Matrices of pairs of learners, seed by seed; the best learner's pairs first, as many as fit."""
    scores = {
        label: dict(enumerate(evaluate(g.matrix, registry.get("acc.average")).value.tolist()))
        for label, g in zip(labels, groups, strict=True)
    }
    known = {label: of for label, of in scores.items() if not all(np.isnan(v) for v in of.values())}
    better = "higher" if groups[0].matrix.higher_is_better else "lower"
    best = leader(known, better, references) if known else labels[0]
    order = sorted(range(len(groups)), key=lambda place: labels[place] != best)
    made: list[Difference] = []
    left = CELLS_OF_DIFFERENCES
    for a, b in combinations(order, 2):
        left -= groups[a].matrix.S * groups[a].matrix.T
        if left < 0:
            break
        if groups[a].seeds == groups[b].seeds and groups[a].matrix.R.shape == groups[b].matrix.R.shape:
            cells = groups[a].matrix.R - groups[b].matrix.R
            made.append(Difference(labels[a], labels[b], Band.of(estimate(cells))))
    return tuple(made)


def _difficulty(matrix: ScoreMatrix) -> dict[str, Array]:
    """How hard the stream becomes: the random classifier's AA and AF, and the factors to RAA and RAF."""
    if matrix.n_classes is None or matrix.n_classes[0] == 0:
        return {}
    guess = np.repeat((1 / np.cumsum(matrix.n_classes))[:, None], matrix.T, axis=1)
    random = ScoreMatrix(guess, n_classes=matrix.n_classes, unit="fraction", orientation="time_rows")
    aa, raa, af, raf = (evaluate(random, registry.get(id), curve=True).curve for id in CURVES[:4])
    if aa is None or raa is None or af is None or raf is None:
        return {}
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"aa": aa, "af": af, "gamma": raa / aa, "beta": np.where(af > 0, raf / af, np.nan)}


def _gaps(learners: Sequence[Learner], columns: Sequence[Column]) -> tuple[Refusal, ...]:
    """Values that a learner lacks in a column which others fill, a line a reason."""
    found: dict[str, dict[str, None]] = {}
    for column in columns:
        for id in column.ids:
            for learner in learners:
                number = learner.numbers.get(id)
                if number is not None and not number.is_known and number.reason:
                    found.setdefault(f"{id}|{number.reason}", {})[learner.label] = None
    return tuple(
        Refusal(f"{id} of {', '.join(labels)}", why)
        for (id, _, why), labels in ((key.partition("|"), of) for key, of in found.items())
    )


def _not_split(learners: Sequence[Learner], words: Words) -> tuple[Refusal, ...]:
    if any(learner.parts for learner in learners):
        return ()
    if words.task == "concept":
        why = "a detector gives one score a sample, there are no classes to confuse"
    else:
        why = (
            "it needs the restricted counts: right answers when only the classes of earlier tasks may be"
            " given. Runs made with `recollect run` on class-incremental streams carry them"
        )
    return (Refusal("the split of forgetting", why),)


def _of_concepts(refusal: Refusal) -> Refusal:
    """Concepts bring no classes: say so, not that their number is missing."""
    by_classes = ("raa.", "raf.", "split.")
    if not any(f"({family}" in refusal.what for family in by_classes):
        return refusal
    return Refusal(refusal.what, "concepts bring no new classes, so the question does not become harder")


def _shown_first(streams: Sequence[Stream], labels: Sequence[str]) -> tuple[str, ...]:
    if len(labels) <= SHOWN_FIRST:
        return tuple(labels)
    numbers: dict[str, Any] = {}
    sign = 1 if streams[0].higher_is_better else -1
    for stream in streams:
        for learner in stream.learners:
            number = learner.numbers["acc.average"]
            numbers.setdefault(learner.label, sign * number.value if number.is_known else -np.inf)
    best = sorted(labels, key=lambda label: -numbers[label])[:SHOWN_FIRST]
    return tuple(label for label in labels if label in best)


def _definition(id: str) -> Definition:
    card = registry.get(id).card
    return Definition(
        card.id,
        card.summary,
        card.latex,
        card.source,
        card.better,
        card.undefined,
        card.printed_by,
        card.equals,
    )


def _unique(names: Sequence[str]) -> list[str]:
    """Names that occur twice get a number: they are different streams under one name.

    >>> _unique(["digits", "cifar", "digits"])
    ['digits', 'cifar', 'digits #2']
    """
    made: list[str] = []
    for place, name in enumerate(names):
        again = list(names[:place]).count(name)
        made.append(name if not again else f"{name} #{again + 1}")
    return made


def _title(streams: Sequence[str]) -> str:
    return f"Learners on {streams[0]}" if len(streams) == 1 else f"Learners on {len(streams)} streams"
