"""From groups of runs to the contents of a report: every number is computed here, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from recollect._version import __version__
from recollect.errors import NotComputable
from recollect.matrix import Array, ScoreMatrix
from recollect.metrics import evaluate, registry
from recollect.problems import Focus, problem_of
from recollect.report.by_construction import is_masked
from recollect.report.changes import changes_of, flows_between
from recollect.report.columns import applicable, cost_columns, gaps, metric_columns, sort_out, without_score
from recollect.report.common_rows import CommonRows, common_rows
from recollect.report.comparison import compare_by_all, known_by_seed, rank_learners
from recollect.report.learners import CURVES, MeasuredLearner, measure
from recollect.report.online import watched
from recollect.report.over_items import NULL_OF, estimate_over_items, null_of, pairs_over_items
from recollect.report.over_rows import row_names, row_numbers
from recollect.report.provenance import of_group, run_refusals
from recollect.report.results import Contents, Difference, Refusal, StreamResult
from recollect.report.row_costs import row_costs
from recollect.report.summary import labels_of, streams_of
from recollect.report.words import Words, few, focus_of, unscored, words_for
from recollect.runs import Group
from recollect.stats import Ranks, estimate
from recollect.stats.estimate import has_far_seed

# So many learners are switched on when a page opens; more lines than that cannot be told apart.
SHOWN_FIRST = 12
# So many learners of one run each have their intervals over test items drawn.
MOST_OVER_ITEMS = 12
# And so many cells together: each is drawn thousands of times. `score --interval items` has no such limit.
MOST_CELLS_OVER_ITEMS = 12_000
# Cells of differences between learners that a page carries with their intervals.
CELLS_OF_DIFFERENCES = 300_000


def gather(groups: Sequence[Group], *, title: str = "", command: str = "") -> Contents:
    """Compute all that a report on these groups says."""
    if not groups:
        raise NotComputable("a report needs at least one run; got none.")
    by_stream = streams_of(groups)
    streams, provenance = [], []
    for name, members in by_stream.items():
        labels = tuple(labels_of(members))
        streams.append(_stream(name, members, labels))
        provenance += [of_group(name, label, g) for label, g in zip(labels, members, strict=True)]
    labels = tuple(dict.fromkeys(learner.label for stream in streams for learner in stream.learners))
    ranks, refused = _ranks(streams, focus_of(groups).compared[:2])
    used = {id for stream in streams for column in stream.columns for id in column.ids}
    return Contents(
        title=title or _title(streams),
        streams=tuple(streams),
        labels=labels,
        shown_first=_shown_first(streams, labels),
        ranks=ranks,
        definitions=tuple(metric.card for metric in registry.resolve("all") if metric.card.id in used),
        provenance=tuple(provenance),
        refusals=(*refused, *run_refusals(groups)),
        notes=few(note for group in groups for run in group.runs for note in run.notes),
        n_runs=sum(len(group.runs) for group in groups),
        version=__version__,
        command=command,
    )


def _stream(key: str, groups: Sequence[Group], labels: Sequence[str]) -> StreamResult:
    first = groups[0].runs[0]
    words, problem = words_for(groups[0]), problem_of(first.problem)
    missing = unscored(groups)
    measured = measure(groups, labels, words, missing)
    cells = sum(group.matrix.R.size // len(group.runs) for group in groups)
    by_items = len(measured) <= MOST_OVER_ITEMS and cells <= MOST_CELLS_OVER_ITEMS
    if by_items:
        measured = [_over_items(one, problem.focus) for one in measured]
    learners = tuple(one.learner for one in measured)
    numbers = [learner.numbers for learner in learners]
    known = set(registry.all_ids())
    cost_keys = tuple(dict.fromkeys(id for of in numbers for id in of if id not in known))
    columns, dropped = applicable(metric_columns(words, problem.focus), numbers)
    columns += applicable(cost_columns(cost_keys), numbers)[0]
    left_out, lacking = sort_out(dropped, learners, problem)
    aside = [one.label for one in learners if not one.is_contestant]
    rows = common_rows({one.learner.label: one.group for one in measured}, aside)
    comparisons, refused = (
        ((), (Refusal("paired comparisons", str(rows.note)),))
        if not rows.groups
        else compare_by_all(
            {id: _by_label(measured, id, rows) for id in problem.focus.compared},
            registry.directions(problem.focus.compared, first.higher_is_better),
            aside,
        )
    )
    task_names = _task_names(groups, words)
    made = StreamResult(
        key=key,
        name=first.stream,
        scenario=first.scenario,
        online=first.online,
        metric=first.metric,
        higher_is_better=first.higher_is_better,
        problem=problem,
        words=words,
        tasks=task_names,
        rows=row_names(first, task_names, words) if words.by_rows else (),
        numbers=row_numbers(first) if words.by_rows else (),
        unscored=missing,
        n_classes=_total([task.n_classes for task in first.tasks]),
        n_samples=_total([task.n_samples for task in first.tasks]),
        family=first.family,
        fingerprints=tuple(dict.fromkeys(run.fingerprint for group in groups for run in group.runs)),
        learners=learners,
        columns=columns,
        comparisons=comparisons,
        differences=(),
        left_out=left_out,
        refusals=(*without_score(missing, words), *lacking, *refused, *gaps(learners, columns)),
        cautions=(*filter(None, (rows.note,)), *_cautions(measured)),
        notes=_notes(groups, words),
        bounded=all(group.matrix.unit != "raw" for group in groups),
        difficulty=_difficulty(groups[0].matrix),
        masked=tuple(one.learner.label for one in measured if is_masked(one.group.matrix)),
        **(_items(measured, problem.focus) if by_items else {}),
        watched=watched(groups, labels),
        costs=row_costs(groups, labels),
    )
    return replace(made, differences=_differences(measured, made))


def _over_items(one: MeasuredLearner, focus: Focus) -> MeasuredLearner:
    """A learner with one run has its intervals over the test items, where those are known."""
    if len(one.group.runs) > 1:
        return one
    numbers = dict(one.learner.numbers)
    for id in dict.fromkeys((focus.headline, *focus.shown, *focus.compared)):
        if id in numbers and numbers[id].is_known:
            numbers[id] = estimate_over_items(one.group, id, "auto") or numbers[id]
    null = null_of(one.group) if numbers[NULL_OF].method == "items" else None
    return replace(one, learner=replace(one.learner, numbers=numbers, null=null))


def _items(measured: Sequence[MeasuredLearner], focus: Focus) -> dict[str, Any]:
    """What test items say of learners with one run each: pairs, columns, and what became of single items."""
    flows = tuple(flow for one in measured for flow in flows_between(one.group, one.learner.label))
    if not flows and "changed" not in focus.questions:
        return {}
    known = [one for one in measured if one.learner.numbers[focus.headline].is_known]
    return {
        "over_items": pairs_over_items(
            [one.group for one in known], [one.learner.label for one in known], focus.headline
        ),
        "changes": tuple(change for one in measured for change in changes_of(one.group, one.learner.label)),
        "flows": flows,
    }


def _by_label(measured: Sequence[MeasuredLearner], id: str, rows: CommonRows) -> dict[str, Mapping[Any, float]]:
    """The values that are compared: those of the table, or over the rows that all contestants have."""
    if rows.note is None:
        groups = {one.learner.label: one.group for one in measured}
        return known_by_seed(groups, {one.learner.label: one.values[id] for one in measured})
    found = {one.learner.label: rows.values(one.learner.label, registry.get(id)) for one in measured}
    return {label: of for label, of in found.items() if of is not None and not np.isnan(list(of.values())).all()}


def _cautions(measured: Sequence[MeasuredLearner]) -> tuple[str, ...]:
    """What the numbers do not say by themselves."""
    same = [one.learner.label for one in measured if one.learner.is_constant]
    said = []
    if same:
        said.append(
            f"every seed gave the same scores with {', '.join(same)}: nothing in them is random, so that its runs are"
            " one observation, without an interval"
        )
    far = [one.learner.label for one in measured if has_far_seed(one.values.get("acc.average", ()))]
    if far:
        said.append(
            f"one seed of {', '.join(far)} lies far from all others: no interval of so few seeds is to be trusted;"
            " `--interval iqm` of `recollect score` asks for the typical seed"
        )
    return tuple(said)


def _notes(groups: Sequence[Group], words: Words) -> tuple[str, ...]:
    """What to know of a stream beside its numbers."""
    notes = []
    if len({tuple(task.name for task in run.tasks) for g in groups for run in g.runs}) > 1:
        notes.append(f"every seed has its own order of {words.tasks}: {words.task} 1 is the first of each seed's")
    others = dict.fromkeys(
        name
        for run in (group.runs[0] for group in groups)
        for row in run.rows
        for name in row.scores
        if name != run.metric
    )
    if others:
        notes.append(f"the same evaluations gave other scores, shown with `--target`: {', '.join(others)}")
    return tuple(notes)


def _task_names(groups: Sequence[Group], words: Words) -> tuple[str, ...]:
    """The names of the tasks; their places where the seed decides what a task is."""
    names = {tuple(task.name for task in run.tasks) for group in groups for run in group.runs}
    T = groups[0].runs[0].T
    return names.pop() if len(names) == 1 else tuple(f"{words.task} {j + 1}" for j in range(T))


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _differences(measured: Sequence[MeasuredLearner], stream: StreamResult) -> tuple[Difference, ...]:
    """Matrices of pairs of learners, seed by seed; the best learner's pairs first, as many as fit."""
    lead = stream.headline.lead if stream.headline else None
    best = lead.best if lead else measured[0].learner.label
    made: list[Difference] = []
    left = CELLS_OF_DIFFERENCES
    for a, b in combinations(sorted(measured, key=lambda one: one.learner.label != best), 2):
        left -= a.scores[0].size
        if left < 0:
            break
        if a.group.seeds == b.group.seeds and a.scores.shape == b.scores.shape:
            bounds = None if a.group.matrix.unit == "raw" else (-1, 1)
            made.append(Difference(a.learner.label, b.learner.label, estimate(a.scores - b.scores, bounds=bounds)))
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


def _ranks(streams: Sequence[StreamResult], ids: Sequence[str]) -> tuple[dict[str, Ranks], tuple[Refusal, ...]]:
    """Rank the learners that every stream has, by each metric."""
    if len({stream.higher_is_better for stream in streams}) > 1:
        why = "a higher score is better on some streams and worse on others"
        return {}, (Refusal("ranks across streams", why),)
    found: dict[str, Ranks] = {}
    refusals: dict[Refusal, None] = {}
    for id, better in registry.directions(ids, streams[0].higher_is_better).items():
        values = [{one.label: float(one.numbers[id].value) for one in stream.learners} for stream in streams]
        ranks, refused = rank_learners(values, better)
        refusals |= dict.fromkeys(refused)
        if ranks is not None:
            reason = ". ".join(filter(None, (ranks.reason, _same_data(streams)))) or None
            found[id] = replace(ranks, reason=reason)
    return found, tuple(refusals)


def _same_data(streams: Sequence[StreamResult]) -> str | None:
    """That streams are not independent: the same data in several scenarios, or under several scores."""
    if len({(stream.tasks, stream.n_samples) for stream in streams}) == len(streams):
        return None
    return (
        "Some of these streams are the same data in another scenario or under another score, which the test takes for"
        " independent: read the ranks, not the p"
    )


def _shown_first(streams: Sequence[StreamResult], labels: Sequence[str]) -> tuple[str, ...]:
    if len(labels) <= SHOWN_FIRST:
        return tuple(labels)
    numbers: dict[str, float] = {}
    for stream in streams:
        sign = 1 if stream.higher_is_better else -1
        for learner in stream.learners:
            number = learner.numbers[stream.focus.headline]
            numbers.setdefault(learner.label, sign * float(number.value) if number.is_known else -np.inf)
    best = sorted(labels, key=lambda label: -numbers[label])[:SHOWN_FIRST]
    return tuple(label for label in labels if label in best)


def _title(streams: Sequence[StreamResult]) -> str:
    who = "Versions" if all("changed" in stream.focus.questions for stream in streams) else "Learners"
    return f"{who} on {streams[0].key if len(streams) == 1 else f'{len(streams)} streams'}"
