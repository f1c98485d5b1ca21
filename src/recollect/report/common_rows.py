"""Learners that were evaluated after different tasks are compared over the rows that both have, or not at all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.metrics import Metric, evaluate
from recollect.metrics.cells import Cells
from recollect.report.words import words_for
from recollect.runs import Group
from recollect.runs.reduced import at_rows


@dataclass(frozen=True)
class CommonRows:
    """The groups over the rows that all contestants have.

    `short` are references that lack some of these: only their last row can be compared. `note` says what was done.
    """

    groups: Mapping[str, Group]
    short: frozenset[str] = frozenset()
    note: str | None = None

    def values(self, label: str, metric: Metric, **params: Any) -> dict[Any, float] | None:
        """The values of one learner by seed; None where the rows that it has cannot answer."""
        group = self.groups.get(label)
        if group is None or (label in self.short and metric.card.reads is not Cells.NOW):
            return None
        return dict(zip(group.keys, map(float, evaluate(group.matrix, metric, **params).value), strict=True))


def common_rows(groups: Mapping[str, Group], left_aside: Collection[str] = ()) -> CommonRows:
    """Find the rows that all contestants were to have; where all learners were to have the same, nothing changes."""
    if any(run.learned_at is not None for group in groups.values() for run in group.runs):
        return CommonRows(groups)
    rows = {label: frozenset(np.flatnonzero(group.matrix.planned).tolist()) for label, group in groups.items()}
    if len(set(rows.values())) < 2:
        return CommonRows(groups)
    contest = [label for label in groups if label not in left_aside] or list(groups)
    common = frozenset.intersection(*(rows[label] for label in contest))
    short = frozenset(label for label in groups if not common <= rows[label])
    made = {
        label: group
        if label in short or rows[label] == common
        else Group(tuple(at_rows(run, common) for run in group.runs))
        for label, group in groups.items()
    }
    words = words_for(next(iter(groups.values())))
    T = next(iter(groups.values())).matrix.T
    if not common:
        return CommonRows({}, frozenset(groups), f"no {words.task} is one after which all learners were evaluated")
    where = f"{words.task} {max(common) + 1}" if len(common) == 1 else f"the same {len(common)} of {T} {words.tasks}"
    note = f"differences are taken over the rows that all contestants have, after {where}"
    if short:
        note += f"; of {', '.join(sorted(short))}, evaluated less often, over the last row alone"
    return CommonRows(made, short, note)
