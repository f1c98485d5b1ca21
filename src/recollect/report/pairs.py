"""Which pairs of learners are compared in a report, and by which metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recollect.errors import NotComputable
from recollect.metrics import evaluate, registry
from recollect.report.contents import Number, Pair, PairTable, RankTable, Refusal
from recollect.runs import Group
from recollect.stats import compare_paired, friedman_nemenyi, holm

# What a reader compares learners by; the first is the one that decides who is ahead.
COMPARED = (
    "acc.average",
    "forgetting.chaudhry2018",
    "acc.incremental",
    "raf.michel2023",
    "split.lost",
    "split.confusion",
    "bwt.lopezpaz2017",
    "intransigence.begin",
)
# All sign flips of few seeds are counted in an instant, those of many take a tenth of a second a pair.
FEW_SEEDS = 16
PAIRS_OF_FEW = 400
PAIRS_OF_MANY = 24

Scores = Mapping[Any, float]


def compare_learners(
    groups: Sequence[Group], labels: Sequence[str], references: Sequence[str] = ()
) -> tuple[tuple[PairTable, ...], tuple[Refusal, ...]]:
    """Compare the learners of one stream on the seeds they share, by as many metrics as can be afforded.

    With many learners only the pairs of the best one (not a reference such as the joint learner) are made.
    """
    if len(groups) < 2:
        return (), (Refusal("paired comparisons", "there is one learner on this stream"),)
    shared, refusals = _shared_seeds(groups, labels)
    if not shared:
        return (), refusals
    all_pairs = len(groups) * (len(groups) - 1) // 2
    left = PAIRS_OF_FEW if len(shared) <= FEW_SEEDS else PAIRS_OF_MANY
    scope = "all" if all_pairs <= left // 2 else "leader"
    tables: list[PairTable] = []
    for id in COMPARED:
        scores, better = _scores(groups, labels, id, shared)
        if len(scores) < 2:
            continue
        cost = len(scores) * (len(scores) - 1) // 2 if scope == "all" else len(scores) - 1
        if tables and cost > left:
            refusals += (Refusal(f"pairs by {id}", "too many learners and seeds; see `recollect compare`"),)
            continue
        left -= cost
        tables.append(_table(id, scores, better, scope, references))
    return tuple(tables), refusals


def rank_learners(
    streams: Sequence[Mapping[str, Mapping[str, Number]]], better: Sequence[str]
) -> tuple[tuple[RankTable, ...], tuple[Refusal, ...]]:
    """Rank the learners that every stream has; `streams` are numbers by label and id."""
    if len(streams) < 2:
        return (), ()
    shared = [label for label in streams[0] if all(label in stream for stream in streams)]
    if len(shared) < 2:
        why = "the streams have fewer than two learners in common"
        return (), (Refusal("ranks across streams", why),)
    if len(set(better)) > 1:
        why = "a higher score is better on some streams and worse on others"
        return (), (Refusal("ranks across streams", why),)
    tables = []
    for id in COMPARED[:2]:
        table = np.array([[stream[label][id].value for label in shared] for stream in streams])
        if np.isnan(table).all(axis=1).any():
            continue
        higher = _better(id, better[0]) == "higher"
        made = friedman_nemenyi(table, shared, higher_is_better=higher)
        tables.append(
            RankTable(
                id,
                made.names,
                made.average,
                made.f_p,
                made.critical_difference,
                made.different,
                made.n,
                made.reason,
            )
        )
    return tuple(tables), ()


def leader(scores: Mapping[str, Scores], better: str, references: Sequence[str] = ()) -> str:
    """The label with the best mean, references left aside.

    >>> leader({"er": {0: .6, 1: .7}, "gdumb": {0: .5, 1: .9}}, "higher")
    'gdumb'
    """
    means = {label: float(np.nanmean(list(of.values()))) for label, of in scores.items()}
    candidates = [label for label in means if label not in references] or list(means)
    return (max if better == "higher" else min)(candidates, key=lambda label: means[label])


def _shared_seeds(groups: Sequence[Group], labels: Sequence[str]) -> tuple[tuple[Any, ...], tuple[Refusal, ...]]:
    seeds = [set(_keys(group)) for group in groups]
    shared = set.intersection(*seeds)
    if not shared:
        why = "the learners have no seed in common; run them with the same seeds, or compare them unpaired"
        return (), (Refusal("paired comparisons", why),)
    ordered = tuple(key for key in _keys(groups[0]) if key in shared)
    if all(of == shared for of in seeds):
        return ordered, ()
    more = [label for label, of in zip(labels, seeds, strict=True) if of != shared]
    what = f"seeds of {', '.join(more)} in the comparisons"
    return ordered, (Refusal(what, f"only the {len(shared)} seeds that all learners share are paired"),)


def _keys(group: Group) -> list[Any]:
    # Runs without a seed are paired by their place, as rows of a table would be.
    return [f"run {i}" if seed is None else seed for i, seed in enumerate(group.seeds)]


def _scores(
    groups: Sequence[Group], labels: Sequence[str], id: str, shared: Sequence[Any]
) -> tuple[dict[str, Scores], str]:
    metric = registry.get(id)
    scores: dict[str, Scores] = {}
    for label, group in zip(labels, groups, strict=True):
        values = dict(zip(_keys(group), evaluate(group.matrix, metric).value.tolist(), strict=True))
        kept = {seed: values[seed] for seed in shared}
        if not all(np.isnan(v) for v in kept.values()):
            scores[label] = kept
    return scores, _better(id, "higher" if groups[0].matrix.higher_is_better else "lower")


def _better(id: str, scores: str) -> str:
    """Which direction of a metric is better, where `scores` is the better direction of the scores."""
    card = registry.get(id).card
    turned = card.kind == "level" and scores == "lower"
    return {"higher": "lower", "lower": "higher"}[card.better] if turned else card.better


def _table(id: str, scores: Mapping[str, Scores], better: str, scope: str, references: Sequence[str]) -> PairTable:
    means = {label: float(np.nanmean(list(of.values()))) for label, of in scores.items()}
    names = sorted(scores, key=lambda label: means[label], reverse=better == "higher")
    best = leader(scores, better, references)
    if scope == "leader":
        wanted = [(best, other) for other in names if other != best]
    else:
        wanted = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    results = []
    for a, b in wanted:
        try:
            results.append(compare_paired(scores[a], scores[b], higher_is_better=better == "higher"))
        except NotComputable as cannot:
            return PairTable(id, better, (), scope, (str(cannot),))
    corrected = holm([result.p for result in results])
    pairs = tuple(
        Pair(
            a,
            b,
            Number.of(result.difference),
            result.p,
            float(p),
            result.smallest_p,
            result.wilcoxon_p,
            Number.of(result.improvement),
            result.reason,
        )
        for (a, b), result, p in zip(wanted, results, corrected, strict=True)
    )
    return PairTable(id, better, pairs, scope, tuple(dict.fromkeys(r.reason for r in results if r.reason)))
