"""Which pairs of learners are compared in a report, and by which metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recollect.errors import NotComputable
from recollect.metrics import registry
from recollect.report.contents import Number, Pair, PairTable, RankTable, Refusal, Stream
from recollect.report.learners import Measured
from recollect.report.words import Focus, focus_of
from recollect.stats import compare_paired, friedman_nemenyi, holm, shared

# All sign flips of few seeds are counted in an instant, those of many take a tenth of a second a pair.
FEW_SEEDS = 16
PAIRS_OF_FEW = 400
PAIRS_OF_MANY = 24

Scores = Mapping[Any, float]


def compare_learners(measured: Sequence[Measured], focus: Focus) -> tuple[tuple[PairTable, ...], tuple[Refusal, ...]]:
    """Compare the learners of one stream, each pair on the seeds that both have, by as many metrics as can be afforded.

    With many learners only the pairs of the best one (not a reference such as the joint learner) are made.
    """
    if len(measured) < 2:
        return (), (Refusal("paired comparisons", "there is one learner on this stream"),)
    most, refusals = _seeds(measured)
    if not most:
        return (), refusals
    references = [one.learner.label for one in measured if one.learner.is_reference]
    all_pairs = len(measured) * (len(measured) - 1) // 2
    left = PAIRS_OF_FEW if most <= FEW_SEEDS else PAIRS_OF_MANY
    scope = "all" if all_pairs <= left // 2 else "leader"
    tables: list[PairTable] = []
    for id in focus.compared:
        scores, better = _scores(measured, id)
        if len(scores) < 2:
            continue
        cost = len(scores) * (len(scores) - 1) // 2 if scope == "all" else len(scores) - 1
        if tables and cost > left:
            refusals += (Refusal(f"pairs by {id}", "too many learners and seeds; see `recollect compare`"),)
            continue
        left -= cost
        tables.append(_table(id, scores, better, scope, references))
    return tuple(tables), refusals


def rank_learners(streams: Sequence[Stream]) -> tuple[tuple[RankTable, ...], tuple[Refusal, ...]]:
    """Rank the learners that every stream has."""
    if len(streams) < 2:
        return (), ()
    everyone = list(dict.fromkeys(one.label for stream in streams for one in stream.learners))
    common = [label for label in everyone if all(label in stream.labels for stream in streams)]
    if len(common) < 2:
        why = "the streams have fewer than two learners in common"
        return (), (Refusal("ranks across streams", why),)
    if len({stream.higher_is_better for stream in streams}) > 1:
        why = "a higher score is better on some streams and worse on others"
        return (), (Refusal("ranks across streams", why),)
    scores_better = "higher" if streams[0].higher_is_better else "lower"
    focus = focus_of([stream.words for stream in streams])
    note = _same_data(streams)
    tables = []
    for id in focus.compared[:2]:
        table = np.array([[stream.learner(label).numbers[id].value for label in common] for stream in streams])
        if np.isnan(table).all(axis=1).any():
            continue
        made = friedman_nemenyi(table, common, higher_is_better=_better(id, scores_better) == "higher")
        reason = ". ".join(filter(None, (made.reason, note))) or None
        tables.append(
            RankTable(
                id,
                made.names,
                made.average,
                made.p,
                made.critical_difference,
                made.different,
                made.n,
                reason,
            )
        )
    absent = [label for label in everyone if label not in common]
    alone = (Refusal(f"{', '.join(absent)} in the ranks", "not on every stream"),) if absent and tables else ()
    return tuple(tables), alone


def _same_data(streams: Sequence[Stream]) -> str | None:
    """That streams are not independent: the same data in several scenarios, or under several scores."""
    kinds = {(stream.tasks, stream.n_samples) for stream in streams}
    if len(kinds) == len(streams) or not all(stream.words.is_concepts for stream in streams):
        return None
    return (
        "Some of these streams are the same data in another scenario or under another score, which the test takes for"
        " independent: read the ranks, not the p"
    )


def leader(scores: Mapping[str, Scores], better: str, references: Sequence[str] = ()) -> str:
    """The label with the best mean, references left aside.

    >>> leader({"er": {0: .6, 1: .7}, "gdumb": {0: .5, 1: .9}}, "higher")
    'gdumb'
    """
    means = {label: float(np.nanmean(list(of.values()))) for label, of in scores.items()}
    candidates = [label for label in means if label not in references] or list(means)
    return (max if better == "higher" else min)(candidates, key=lambda label: means[label])


def _seeds(measured: Sequence[Measured]) -> tuple[int, tuple[Refusal, ...]]:
    """How many seeds a learner has at most, and whether some have others than the rest."""
    seeds = [set(one.group.keys) for one in measured]
    everyone = set.union(*seeds)
    if not set.intersection(*seeds):
        why = "the learners have no seed in common; run them with the same seeds, or compare them unpaired"
        return 0, (Refusal("paired comparisons", why),)
    less = [one.learner.label for one, of in zip(measured, seeds, strict=True) if of != everyone]
    if not less:
        return len(everyone), ()
    what = f"all {len(everyone)} seeds in the comparisons of {', '.join(less)}"
    return len(everyone), (Refusal(what, "each pair is compared on the seeds that both have"),)


def _scores(measured: Sequence[Measured], id: str) -> tuple[dict[str, Scores], str]:
    scores: dict[str, Scores] = {}
    for one in measured:
        values = dict(zip(one.group.keys, one.values[id].tolist(), strict=True))
        if not all(np.isnan(v) for v in values.values()):
            scores[one.learner.label] = values
    return scores, _better(id, "higher" if measured[0].group.runs[0].higher_is_better else "lower")


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
            results.append(compare_paired(*shared(scores[a], scores[b]), higher_is_better=better == "higher"))
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
