"""Learners against each other, over the seeds and streams they share: the one comparer of all outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recollect.errors import NotComputable
from recollect.metrics import Metric, evaluate, registry
from recollect.report.common_rows import common_rows
from recollect.report.over_items import ItemPair, pairs_over_items
from recollect.report.results import Comparisons, Refusal
from recollect.report.summary import Line, labels_of, over_seeds_by, stream_names, summarise
from recollect.runs import Group
from recollect.stats import (
    Pairwise,
    Plateau,
    Ranks,
    compare_each,
    find_lead,
    find_plateau,
    friedman_nemenyi,
    holm,
    require_same_stream,
    shared,
)
from recollect.stats.lead import simultaneous
from recollect.stats.paired import difference

# The curve whose plateau tells where a learner stopped rising (Michel et al. 2023, 5.3).
PLATEAU_CURVE = "raa.michel2023"
# All sign flips of few seeds are counted in an instant, those of many take a tenth of a second per pair.
FEW_SEEDS = 16
PAIRS_OF_FEW = 400
PAIRS_OF_MANY = 24

Scores = Mapping[Any, float]


@dataclass(frozen=True)
class StreamComparison:
    """The learners of one stream: each one's estimate, the pairs, and where each stops rising.

    Learners with one run each are compared over their test items, where those are known.
    """

    stream: str
    lines: tuple[Line, ...]
    labels: tuple[str, ...]
    compared: Comparisons
    plateaus: tuple[Plateau | None, ...]
    notes: tuple[str, ...]
    over_items: tuple[ItemPair, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """One metric over all streams; `ranks` where several streams have the same learners."""

    metric: Metric
    streams: tuple[StreamComparison, ...]
    ranks: Ranks | None
    notes: tuple[str, ...]

    def _repr_html_(self) -> str:
        from recollect.report.notebook import comparison_html

        return comparison_html(self)


def compare(
    groups: Sequence[Group],
    metric: Metric,
    *,
    unpaired: bool = False,
    different_streams: bool = False,
    method: str = "t",
    **params: Any,
) -> Comparison:
    """Compare learners, stream by stream, on paired seeds; refuse what cannot be compared unless told.

    With `different_streams` all groups are compared as if they were on one stream, and the result says so.
    """
    if len(groups) < 2:
        raise NotComputable(
            "a comparison needs at least two learners; got "
            + (f"one, {groups[0].learner} on {groups[0].stream}." if groups else "none.")
        )
    by_stream: dict[str, list[Group]] = {}
    for group, stream in zip(groups, stream_names(groups), strict=True):
        by_stream.setdefault("all streams" if different_streams else stream, []).append(group)
    if all(len(members) < 2 for members in by_stream.values()):
        raise NotComputable(
            f"every group is alone on its stream ({', '.join(by_stream)}): their scores answer different"
            " questions. Compare learners of one stream, or say that different streams may be compared."
        )
    streams = tuple(
        _one_stream(name, members, metric, unpaired, different_streams, method, params)
        for name, members in by_stream.items()
    )
    values = [{line.label: float(line.estimate.value) for line in one.lines} for one in streams]
    ranks, refused = rank_learners(values, streams[0].lines[0].better)
    return Comparison(metric, streams, ranks, tuple(map(str, refused)))


def _one_stream(
    stream: str,
    groups: Sequence[Group],
    metric: Metric,
    unpaired: bool,
    different_streams: bool,
    method: str,
    params: dict[str, Any],
) -> StreamComparison:
    labels = tuple(labels_of(groups))
    notes = dict[str, None]()
    for other in groups[1:]:
        noted = require_same_stream(_fingerprints(groups[0]), _fingerprints(other), allow=different_streams)
        if noted:
            notes[noted] = None
    lines = tuple(
        replace(line, label=label)
        for line, label in zip(summarise(groups, [metric], method=method, **params), labels, strict=True)
    )
    aside = [label for label, group in zip(labels, groups, strict=True) if group.runs[0].role != "contestant"]
    rows = common_rows(dict(zip(labels, groups, strict=True)), aside)
    known = {label: rows.values(label, metric, **params) for label in labels}
    scores = {label: of for label, of in known.items() if of is not None}
    if len(scores) < 2:
        raise NotComputable(f"the learners on {stream} cannot be compared by {metric.card.id}: {rows.note}.")
    notes |= dict.fromkeys(filter(None, (rows.note,)))
    pairs = compare_scores(
        metric.card.id,
        scores,
        lines[0].better,
        left_aside=aside,
        unpaired=unpaired,
        method=over_seeds_by(method),
        by_mean=False,
    )
    notes |= dict.fromkeys(fewer_seeds(scores) if not unpaired else ())
    by_items: tuple[ItemPair, ...] = ()
    if all(line.estimate.method == "items" or not line.estimate.is_known for line in lines):
        by_items = pairs_over_items(groups, labels, metric.card.id)
    plateaus = tuple(_plateau(group) for group in groups)
    return StreamComparison(stream, lines, labels, pairs, plateaus, tuple(notes), by_items)


def compare_scores(
    id: str,
    scores: Mapping[str, Scores],
    better: str,
    *,
    left_aside: Sequence[str] = (),
    scope: str = "all",
    unpaired: bool = False,
    method: str = "t",
    by_mean: bool = True,
) -> Comparisons:
    """Compare learners by their scores per seed: every pair (or the best one's), and who is ahead.

    `by_mean` puts the better one of a pair first; else it is the one that came first.
    """
    higher = better == "higher"
    lead = find_lead(scores, higher_is_better=higher, unpaired=unpaired, method=method, left_aside=left_aside)
    if lead is None:
        lead = find_lead(scores, higher_is_better=higher, unpaired=unpaired, method=method)
    names = list(scores)
    if by_mean:
        means = {label: float(np.nanmean(list(of.values()))) for label, of in scores.items()}
        names.sort(key=lambda label: means[label], reverse=higher)
    wanted = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    if scope == "leader" and lead is not None:
        wanted = [(lead.best, other) for other in names if other != lead.best]
    given = [(scores[a], scores[b]) if unpaired else shared(scores[a], scores[b]) for a, b in wanted]
    results = compare_each(given, unpaired=unpaired, method=method, higher_is_better=higher)
    # Contestants are a family of their own, as in the lead; a pair with a reference is one of all pairs.
    family = {pair: len(scores) * (len(scores) - 1) // 2 for pair in wanted}
    if lead is not None:
        contest = {lead.best, *(rival.label for rival in lead.rivals)}
        family |= {pair: lead.pairs for pair in wanted if contest.issuperset(pair)}
    together = [
        difference(*two, unpaired=unpaired, method=method, level=simultaneous(0.95, family[pair]))
        for pair, two in zip(wanted, given, strict=True)
    ]
    corrected = holm([result.p for result in results]).tolist()
    pairs = tuple(
        Pairwise(*names, r, p, d) for names, r, p, d in zip(wanted, results, corrected, together, strict=True)
    )
    return Comparisons(id, better, pairs, lead, scope, tuple(dict.fromkeys(r.reason for r in results if r.reason)))


def compare_by_all(
    by_metric: Mapping[str, Mapping[str, Scores]], better: Mapping[str, str], left_aside: Sequence[str]
) -> tuple[tuple[Comparisons, ...], tuple[Refusal, ...]]:
    """Compare the learners of one stream by as many metrics as can be afforded.

    With many learners only the pairs of the best one (not a reference such as the joint learner) are made.
    """
    everyone = max(by_metric.values(), key=len, default={})
    if len(everyone) < 2:
        return (), (Refusal("paired comparisons", "there is one learner on this stream"),)
    seeds = [set(of) for of in everyone.values()]
    if not set.intersection(*seeds):
        why = "the learners have no seed in common; run them with the same seeds, or compare them unpaired"
        return (), (Refusal("paired comparisons", why),)
    refusals = tuple(Refusal("all seeds in all comparisons", why, part="seeds") for why in fewer_seeds(everyone))
    left = PAIRS_OF_FEW if len(set.union(*seeds)) <= FEW_SEEDS else PAIRS_OF_MANY
    scope = "all" if len(everyone) * (len(everyone) - 1) // 2 <= left // 2 else "leader"
    tables: list[Comparisons] = []
    for id, scores in by_metric.items():
        if len(scores) < 2:
            continue
        cost = len(scores) * (len(scores) - 1) // 2 if scope == "all" else len(scores) - 1
        if tables and cost > left:
            refusals += (Refusal(f"pairs by {id}", "too many learners and seeds; see `recollect compare`"),)
            continue
        left -= cost
        try:
            tables.append(compare_scores(id, scores, better[id], left_aside=left_aside, scope=scope))
        except NotComputable as cannot:
            tables.append(Comparisons(id, better[id], (), None, scope, (str(cannot),)))
    return tuple(tables), refusals


def rank_learners(streams: Sequence[Mapping[str, float]], better: str) -> tuple[Ranks | None, tuple[Refusal, ...]]:
    """Rank the learners that every stream has, by their values on each."""
    if len(streams) < 2:
        return None, ()
    what = "ranks across streams"
    everyone = list(dict.fromkeys(label for of in streams for label in of))
    common = [label for label in everyone if all(label in of for of in streams)]
    if len(common) < 2:
        return None, (Refusal(what, "the streams have fewer than two learners in common"),)
    table = np.array([[of[label] for label in common] for of in streams])
    if np.isnan(table).all(axis=1).any():
        return None, (Refusal(what, "there is no value on one of the streams"),)
    absent = [label for label in everyone if label not in common]
    alone = (Refusal(f"{', '.join(absent)} in the ranks", "not on every stream"),) if absent else ()
    return friedman_nemenyi(table, common, higher_is_better=better == "higher"), alone


def fewer_seeds(scores: Mapping[str, Scores]) -> Iterator[str]:
    """That not every learner was run with every seed, where that is so."""
    everyone = {seed for of in scores.values() for seed in of}
    less = [label for label, of in scores.items() if len(of) < len(everyone)]
    if less:
        yield f"{', '.join(less)}: not all of the {len(everyone)} seeds; each pair is compared on those that both have"


def known_by_seed(groups: Mapping[str, Group], values: Mapping[str, Any]) -> dict[str, Scores]:
    """The values of the learners that have any."""
    made = {label: dict(zip(groups[label].keys, map(float, of), strict=True)) for label, of in values.items()}
    return {label: of for label, of in made.items() if not all(np.isnan(v) for v in of.values())}


def _fingerprints(group: Group) -> dict[Any, str | None]:
    return {key: run.fingerprint for key, run in zip(group.keys, group.runs, strict=True)}


def _plateau(group: Group) -> Plateau | None:
    curves = evaluate(group.matrix, registry.get(PLATEAU_CURVE), curve=True).curve
    return None if curves is None else plateau_of(curves, group.matrix.higher_is_better)


def plateau_of(curves: Any, higher_is_better: bool) -> Plateau | None:
    """Where the curves of several seeds stop rising; None where there are none."""
    return None if np.isnan(curves).all() else find_plateau(curves, higher_is_better=higher_is_better)
