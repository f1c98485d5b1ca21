"""Single runs column by column: what changed since a task was learned, or since the base, and what became of items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from recollect.report.item_flows import items_of, named_rows
from recollect.report.over_items import noise_of_run
from recollect.runs import Group, Row, Run
from recollect.runs.item_answers import ItemTable
from recollect.stats import Estimate, Noise, mcnemar
from recollect.stats.item_draws import spread_of

# With more columns a page shows those that changed most.
MOST_COLUMNS = 120
_Z = 1.959964


@dataclass(frozen=True)
class Change:
    """One column between two rows of a run: the scores, their difference over test items, McNemar's p or a z test's.

    `since` is the row after which the task was learned; of a held-out task, or of one that was learned last, the base
    or the first row. `counts` say what became of the items, where they are known.
    """

    label: str
    task: str
    held_out: bool
    since: str
    now: str
    before: float
    after: float
    difference: Estimate
    p: float
    counts: Mapping[str, int] | None = None
    unpaired: int = 0

    @property
    def shares(self) -> dict[str, float]:
        """What share of the items each kind has, in per cent."""
        total = sum((self.counts or {}).values())
        return {name: 100 * count / total for name, count in (self.counts or {}).items() if total}


@dataclass(frozen=True)
class RowFlow:
    """What became of the items of all columns between one version and the next."""

    label: str
    before: str
    after: str
    counts: Mapping[str, int]

    @property
    def shares(self) -> dict[str, float]:
        total = sum(self.counts.values())
        return {name: 100 * count / total for name, count in self.counts.items() if total}


def changes_of(group: Group, label: str) -> tuple[Change, ...]:
    """Every column of a learner that has one run; those with the largest changes if they are many."""
    if len(group.runs) != 1:
        return ()
    run = group.runs[0]
    noise = noise_of_run(run)
    found = [_change(run, noise, label, j) for j in range(run.T)]
    made = [one for one in found if one is not None]
    if len(made) > MOST_COLUMNS:
        largest = sorted(made, key=lambda one: -abs(float(one.difference.value)))[:MOST_COLUMNS]
        made = [one for one in made if one in largest]
    return tuple(made)


def _change(run: Run, noise: Noise, label: str, j: int) -> Change | None:
    matrix, time = run.matrix, run.timeline
    there = np.flatnonzero(~np.isnan(matrix.R[:, j]))
    if not there.size:
        return None
    last = int(there[-1])
    own = int(matrix.learned_at[j])
    first: int | None = own if 0 <= own < last and not np.isnan(matrix.R[own, j]) else None
    if first is None and matrix.b is not None and not np.isnan(matrix.b[j]):
        before, error = float(matrix.b[j]), float(noise.base[j])
    elif first is None and there[0] < last:
        first = int(there[0])
    elif first is None:
        return None
    if first is not None:
        before, error = float(matrix.R[first, j]), float(noise.errors[first, j])
    rows = time.base if first is None else time.rows[first], time.rows[last]
    if rows[0] is None or rows[1] is None:
        return None
    after = float(matrix.R[last, j])
    names = [_row_name(run, row) for row in rows if row is not None]
    tables = items_of(run, [row for row in rows if row is not None], [run.tasks[j].name])
    value, spread = after - before, float(np.hypot(error, noise.errors[last, j]))
    counts, unpaired, p = None, 0, _by_error(value, spread)
    if tables:
        flow = tables[0].flow(0, 1)
        if sum(flow.counts.values()):
            counts, unpaired = flow.counts, flow.unpaired
            p, spread = mcnemar(counts["forgotten"], counts["learned"]), _paired(tables[0])
    made = Estimate(value, value - _Z * spread, value + _Z * spread, int(noise.sizes[j]), "items", float("nan"))
    return Change(
        label, run.tasks[j].name, run.tasks[j].held_out, names[0], names[1], before, after, made, p, counts, unpaired
    )


def _by_error(value: float, spread: float) -> float:
    from scipy.special import ndtr

    if np.isnan(spread):
        return float("nan")
    return float(2 * ndtr(-abs(value) / spread)) if spread > 0 else float(value == 0)


def _paired(table: ItemTable) -> float:
    both = (table.right >= 0).all(0)
    return float(np.sqrt(spread_of(table.right[:, both] > 0, np.array([-1.0, 1.0]))))


def _row_name(run: Run, row: Row) -> str:
    named = named_rows(run)
    places = [place for place, one in enumerate(named) if (one.after, one.step) == (row.after, row.step)]
    return row.name or (named[places[0]].name if places else None) or ""


def flows_between(group: Group, label: str) -> tuple[RowFlow, ...]:
    """The items of all columns from each version to the next; none where no items are known."""
    if len(group.runs) != 1:
        return ()
    run = group.runs[0]
    rows = named_rows(run)
    made = []
    for before, after in pairwise(rows):
        counts: dict[str, int] = {}
        for table in items_of(run, [before, after]):
            for name, count in table.flow(0, 1).counts.items():
                counts[name] = counts.get(name, 0) + count
        if sum(counts.values()):
            made.append(RowFlow(label, before.name or "", after.name or "", counts))
    return tuple(made)
