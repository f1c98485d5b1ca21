"""Intervals over the test items of single runs: what their records and files tell of the items behind each score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recollect.errors import NotComputable, UsageError
from recollect.matrix import Array
from recollect.problems import problem_of
from recollect.report.item_flows import items_of
from recollect.runs import Group, Row, Run
from recollect.runs.fingerprint import is_partial
from recollect.runs.item_answers import ABSENT, ItemTable, Right
from recollect.runs.shares import is_share
from recollect.stats import (
    Estimate,
    Noise,
    difference_over_items,
    holm,
    mcnemar,
    noise_of,
    null_forgetting,
    over_items,
)
from recollect.stats.item_noise import ItemDifference

# What test noise alone shows, and of which metric.
NULL, NULL_OF = "forgetting.null", "forgetting.chaudhry2018"


def noise_of_run(run: Run) -> Noise:
    """What is known of the items behind a run's scores; found once, and kept with its matrix."""
    cache = run.matrix.cache
    if "noise" not in cache:
        tables = _tables(run)
        cache["items"] = tables
        cache["noise"] = _noise(run, [None if one is None else one.right for one in tables])
    noise: Noise = cache["noise"]
    return noise


def _tables(run: Run) -> list[ItemTable | None]:
    """For each column its items, the base row first if there is one."""
    found = {table.task: table for table in items_of(run, _rows_of(run))}
    return [found.get(task.name) for task in run.tasks]


def _rows_of(run: Run) -> list[Row]:
    time = run.timeline
    absent = Row(-1)  # a planned row that was never evaluated has no items
    return [*([] if time.base is None else [time.base]), *(row or absent for row in time.rows)]


def are_shares(run: Run) -> bool:
    """Whether the scores of a run are shares of its test items that are answered right."""
    return is_share(run.metric) or any(row.correct is not None for row in run.rows)


def _noise(run: Run, items: Sequence[Right | None]) -> Noise:
    rows = _rows_of(run)
    scale = 100 if run.unit == "percent" else 1
    # Of samples drawn from a test set the record has the error against the whole of it, which is another question.
    errors = _block([None if row.correct is not None else row.standard_error for row in rows], run.T) / scale
    known = are_shares(run)
    trials = np.full(errors.shape, np.nan)
    if known:
        sizes = _block([[task.n_samples for task in run.tasks]], run.T)
        trials = _block([row.n for row in rows], run.T)
        trials = np.where(np.isnan(trials), sizes, trials)
    start = len(rows) - run.matrix.S
    base = (errors[0], trials[0]) if start else (np.full(run.T, np.nan),) * 2
    return noise_of(
        run.matrix,
        items=items if any(of is not None for of in items) else None,
        errors=errors[start:],
        base_errors=base[0],
        trials=trials[start:],
        base_trials=base[1],
        shares=known,
    )


def _block(rows: Sequence[Sequence[float | None] | None], T: int) -> Array:
    made = np.full((len(rows), T), np.nan)
    for place, row in enumerate(rows):
        if row is not None:
            made[place, : len(row)] = [np.nan if value is None else value for value in row]
    return made


def estimate_over_items(group: Group, id: str, method: str) -> Estimate | None:
    """The value of one run with an interval over its test items, where that is asked for; None for one over seeds."""
    if method not in ("items", "auto"):
        return None
    if len(group.runs) > 1:
        if method == "items":
            raise UsageError(
                f"--interval items is of one run, and {group.learner} on {group.stream} has {len(group.runs)}. Give one"
                " of them, or --interval seeds."
            )
        return None
    run = group.runs[0]
    if method == "auto" and not _tells_items(run):
        return None
    try:
        return over_items(run.matrix, id, noise=noise_of_run(run))
    except NotComputable as why:
        if method == "auto":
            return None
        problem = problem_of(run.problem)
        no_share = (
            "" if problem.counts(run.metric) else f"{problem.score_name(run.metric)} is no share of right answers; "
        )
        raise NotComputable(f"{id} of {group.learner}: {no_share}{why}.") from None


def _tells_items(run: Run) -> bool:
    """Whether a run says anything of test items: their numbers, errors, or who was right on them."""
    of_tasks = run.items is not None or any(task.n_samples is not None for task in run.tasks)
    return of_tasks or any(row.n or row.standard_error or row.items for row in run.rows)


def null_of(group: Group) -> Estimate | None:
    """The forgetting that test noise alone would show in a single run; None where that is not known."""
    if len(group.runs) > 1:
        return None
    run = group.runs[0]
    try:
        return null_forgetting(run.matrix, noise=noise_of_run(run))
    except NotComputable:
        return None


@dataclass(frozen=True)
class ItemPair:
    """Two single runs over their test items: the difference, Holm's p, and McNemar's test of every shared column."""

    first: str
    second: str
    difference: ItemDifference
    p_holm: float
    columns: tuple[ColumnPair, ...]


@dataclass(frozen=True)
class ColumnPair:
    """One column in the last rows of two runs: the items that only the first, and only the second, answers right."""

    task: str
    first_only: int
    second_only: int
    items: int
    p: float


def pairs_over_items(groups: Sequence[Group], labels: Sequence[str], id: str) -> tuple[ItemPair, ...]:
    """Every pair of single runs over their items; none if a learner has several seeds, or items are not known."""
    if any(len(group.runs) != 1 for group in groups):
        return ()
    made: list[tuple[str, str, ItemDifference, tuple[ColumnPair, ...]]] = []
    for (a, first), (b, second) in combinations(zip(labels, groups, strict=True), 2):
        found = _difference(first.runs[0], second.runs[0], id)
        if found is not None:
            made.append((a, b, *found))
    corrected = holm([difference.p for _, _, difference, _ in made]).tolist() if made else []
    return tuple(ItemPair(a, b, d, p, columns) for (a, b, d, columns), p in zip(made, corrected, strict=True))


def lead_over_items(pairs: Sequence[ItemPair], values: Mapping[str, float], higher_is_better: bool) -> str | None:
    """Who is ahead of whom over the test items, by Holm's p; None where there are no pairs."""
    known = {label: value for label, value in values.items() if not np.isnan(value)}
    if not pairs or len(known) < 2:
        return None
    best = (max if higher_is_better else min)(known, key=lambda label: known[label])
    against = {({pair.first, pair.second} - {best}).pop(): pair for pair in pairs if best in (pair.first, pair.second)}
    behind = [label for label, pair in against.items() if pair.p_holm < 0.05]
    level = [label for label, pair in against.items() if pair.p_holm >= 0.05]
    said = f"{best} is ahead of {', '.join(behind)} over the test items" if behind else ""
    open_ = f"{best} cannot be told from {', '.join(level)} over the test items" if level else ""
    return "; ".join(filter(None, (said, open_))) or None


def _difference(first: Run, second: Run, id: str) -> tuple[ItemDifference, tuple[ColumnPair, ...]] | None:
    try:
        noises = noise_of_run(first), noise_of_run(second)
        shared = _shared_items(first, second)
        if shared:
            noises = _noise_on(first, shared), _noise_on(second, shared)
        names = [task.name for task in second.tasks]
        same = [(j, names.index(task.name)) for j, task in enumerate(first.tasks) if task.name in shared]
        made = difference_over_items((first.matrix, noises[0]), (second.matrix, noises[1]), id, same_items=same)
    except NotComputable:
        return None
    columns = [_column(first, second, task) for task in shared]
    return made, tuple(one for one in columns if one is not None)


def _noise_on(run: Run, shared: dict[str, dict[str, int]]) -> Noise:
    """The noise of a run whose items stand in the places that it shares with another."""
    return _noise(run, [_placed(table, shared) for table in run.matrix.cache["items"]])


def _shared_items(first: Run, second: Run) -> dict[str, dict[str, int]]:
    """The items that both runs have answered, by task: where each stands. Places without names mean one test set."""
    tables = [{t.task: t for t in run.matrix.cache["items"] if t is not None} for run in (first, second)]
    same_data = first.fingerprint == second.fingerprint and not is_partial(first.fingerprint)
    shared: dict[str, dict[str, int]] = {}
    for task in tables[0].keys() & tables[1].keys():
        a, b = tables[0][task], tables[1][task]
        if a.named and b.named:
            both = [key for key, there in _complete(a) if there]
            of_second = {key for key, there in _complete(b) if there}
            keys = [key for key in both if key in of_second]
            if keys:
                shared[task] = {key: place for place, key in enumerate(keys)}
        elif same_data and len(a.keys) == len(b.keys):
            shared[task] = {}
    return {task.name: shared[task.name] for task in first.tasks if task.name in shared}


def _complete(table: ItemTable) -> list[tuple[str, bool]]:
    """Each item, and whether every row that has items of the task answered it."""
    rows = table.right[(table.right != ABSENT).any(1)]
    return list(zip(table.keys, (rows != ABSENT).all(0).tolist(), strict=True))


def _placed(table: ItemTable | None, shared: dict[str, dict[str, int]]) -> Right | None:
    """The items of a column in the places that both runs have them in; all of them where there is no other run."""
    if table is None or not shared.get(table.task):
        return None if table is None else table.right
    places = shared[table.task]
    own = {key: place for place, key in enumerate(table.keys) if key in places}
    return table.right[:, [own[key] for key in places]]


def _column(first: Run, second: Run, task: str) -> ColumnPair | None:
    """McNemar's test of the last rows of two runs on one column."""
    marks = []
    for run in (first, second):
        table = next(t for t in run.matrix.cache["items"] if t is not None and t.task == task)
        marks.append((table, table.right[-1]))
    (a, right_a), (b, right_b) = marks
    if a.named:
        at = {key: place for place, key in enumerate(b.keys)}
        pairs = [(place, at[key]) for place, key in enumerate(a.keys) if key in at]
        if not pairs:
            return None
        of_a, of_b = np.array(pairs).T
        right_a, right_b = right_a[of_a], right_b[of_b]
    both = (right_a != ABSENT) & (right_b != ABSENT)
    if not both.any():
        return None
    first_only = int((both & (right_a == 1) & (right_b == 0)).sum())
    second_only = int((both & (right_a == 0) & (right_b == 1)).sum())
    return ColumnPair(task, first_only, second_only, int(both.sum()), mcnemar(first_only, second_only))
