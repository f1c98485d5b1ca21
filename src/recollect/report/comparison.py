"""Learners against each other, over the seeds and streams they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.errors import NotComputable
from recollect.metrics import Metric, evaluate, registry
from recollect.report.summary import Line, labels_of, stream_names, summarise
from recollect.runs import Group
from recollect.stats import (
    Pairwise,
    Plateau,
    Ranks,
    compare_all,
    find_plateau,
    friedman_nemenyi,
    require_same_stream,
)

# The curve whose plateau tells where a learner stopped accumulating knowledge (Michel et al. 2023, 5.3).
PLATEAU_CURVE = "raa.michel2023"


@dataclass(frozen=True)
class StreamComparison:
    """The learners of one stream: each one's estimate, every pair, and where each stops rising."""

    stream: str
    lines: tuple[Line, ...]
    labels: tuple[str, ...]
    pairs: tuple[Pairwise, ...]
    plateaus: tuple[Plateau | None, ...]
    notes: tuple[str, ...]


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
    ranks, notes = _ranks(streams, metric)
    return Comparison(metric, streams, ranks, notes)


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
    lines = tuple(summarise(groups, [metric], method=method, **params))
    scores = {
        label: _by_seed(group, evaluate(group.matrix, metric, **params).value)
        for label, group in zip(labels, groups, strict=True)
    }
    higher = lines[0].better == "higher"
    pairs = compare_all(scores, unpaired=unpaired, method=method, higher_is_better=higher)
    notes |= dict.fromkeys(_fewer(scores) if not unpaired else ())
    plateaus = tuple(_plateau(group) for group in groups)
    return StreamComparison(stream, lines, labels, pairs, plateaus, tuple(notes))


def _fewer(scores: Mapping[str, Mapping[Any, float]]) -> Iterator[str]:
    """That not every learner was run with every seed, where that is so."""
    everyone = {seed for of in scores.values() for seed in of}
    less = [label for label, of in scores.items() if len(of) < len(everyone)]
    if less:
        yield f"{', '.join(less)}: not all of the {len(everyone)} seeds; each pair is compared on those that both have"


def _fingerprints(group: Group) -> dict[Any, str | None]:
    return {key: run.fingerprint for key, run in zip(group.keys, group.runs, strict=True)}


def _by_seed(group: Group, values: np.ndarray[Any, Any]) -> dict[Any, float]:
    return dict(zip(group.keys, map(float, values), strict=True))


def _plateau(group: Group) -> Plateau | None:
    curves = evaluate(group.matrix, registry.get(PLATEAU_CURVE), curve=True).curve
    if curves is None or np.isnan(curves).all():
        return None
    return find_plateau(curves)


def _ranks(streams: Sequence[StreamComparison], metric: Metric) -> tuple[Ranks | None, tuple[str, ...]]:
    if len(streams) < 2:
        return None, ()
    shared = [label for label in streams[0].labels if all(label in s.labels for s in streams)]
    if len(shared) < 2:
        return None, ("no ranks over streams: they have fewer than two learners in common",)
    table = np.array([[s.lines[s.labels.index(label)].estimate.value for label in shared] for s in streams])
    if np.isnan(table).any():
        return None, (f"no ranks over streams: {metric.card.id} has no value for some learner",)
    higher = streams[0].lines[0].better == "higher"
    return friedman_nemenyi(table, shared, higher_is_better=higher), ()
