"""Rows that are versions: which is the base, in which order they come, what each was trained on, what is held out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recollect.errors import UsageError
from recollect.runs.run import Row, Run
from recollect.runs.version_names import is_base, listed, one_named


@dataclass(frozen=True)
class Choices:
    """What the user says about versions; everything else is found by names and said.

    `base` names the version before any training. `held_out` are tasks that are never trained on. `trained` maps a task
    to the row after which it was trained; the base is row 0. `order` are names of versions, first to last. `target` is
    the score to read; `without` are tasks that will be left out; `subtasks` takes the tasks of a group in its
    place; `different_conditions` compares what was evaluated under different conditions.
    """

    base: str | None = None
    held_out: tuple[str, ...] = ()
    trained: tuple[tuple[str, int], ...] = ()
    order: tuple[str, ...] = ()
    target: str | None = None
    without: tuple[str, ...] = ()
    lower_is_better: bool = False
    subtasks: bool = False
    different_conditions: bool = False


def arrange(
    run: Run,
    choices: Choices,
    *,
    trained: Mapping[str, int] | None = None,
    by: str | None = None,
    full: Sequence[str] | None = None,
    elsewhere: Sequence[str] = (),
) -> Run:
    """Lay out a run whose rows are versions, in the order in which they come.

    `trained` maps tasks to the place of the row that trained them, as names tell it; `full` are the long names of the
    rows, by which the user may call them; `by` says how the order was found; `elsewhere` are tasks of the same versions
    under scores of other kinds. What was decided is in the run's notes.
    """
    rows = list(run.rows)
    labels = [row.name or f"row {place + 1}" for place, row in enumerate(rows)]
    long = list(labels if full is None else full)
    tasks = [task.name for task in run.tasks]
    _refuse_unknown_tasks(choices, [*tasks, *elsewhere])
    by_names = {task: rows[place] for task, place in (trained or {}).items() if task not in choices.held_out}
    if choices.trained and elsewhere:
        by_names = {}
        choices = replace(choices, trained=tuple(one for one in choices.trained if one[0] in tasks))
    if choices.order:
        places = _in_order(choices, labels, long)
        rows = [rows[place] for place in places]
        labels, long = [labels[place] for place in places], [long[place] for place in places]
        by = "--order"
    base = _base_of(choices, rows, labels, long, by_names, tasks)
    timed = [row for place, row in enumerate(rows) if place != base]
    known = _learned(choices, tasks, timed, by_names, base is not None)
    order = sorted(range(len(tasks)), key=lambda j: known.get(tasks[j], len(rows) + 1))
    first = None if base is None else rows[base]
    laid = _laid_out(first, timed, known, [tasks[j] for j in order])
    how = ", by --trained" if choices.trained else ", by the names of the versions" if by_names else ""
    if choices.held_out and not choices.trained and set(known) - set(by_names):
        how += ", else from the first version on, since nothing tells more (--trained a=1,b=2)"
    told = _said(first, timed, known, tasks, by, how)
    held = [name for name in tasks if name not in known]
    return replace(
        run,
        tasks=tuple(replace(run.tasks[j], held_out=tasks[j] in held) for j in order),
        rows=tuple(_permuted(row, order) for row in laid[0]),
        learned_at=laid[1],
        row_facts=None,
        plan=replace(run.plan, rows=None, columns="all" if held else _columns(laid[0], order)),
        notes=(*run.notes, *told),
    )


def arrange_any(run: Run, choices: Choices) -> Run:
    """Apply what was said of rows and columns to a run of any kind, whose rows are laid out already."""
    time = run.timeline
    tasks = [task.name for task in run.tasks]
    _refuse_unknown_tasks(choices, tasks)
    base = [] if time.base is None else [replace(time.base, name=time.base.name or "untrained")]
    absent = {
        place
        for j, place in enumerate(time.learned_at)
        if place >= 0 and time.rows[place] is None and tasks[j] not in choices.held_out
    }
    if absent and (choices.order or choices.base or choices.trained):
        raise UsageError(f"{run.name} lacks planned rows: --order, --base and --trained need all of them.")
    if absent:
        return replace(
            run,
            tasks=tuple(replace(task, held_out=task.held_out or task.name in choices.held_out) for task in run.tasks),
        )
    timed = [row for row in time.rows if row is not None]
    at = {id(row): place for place, row in enumerate(timed, start=len(base))}
    rows = [*base, *(replace(row, name=row.name or _named_by(run, row, place)) for place, row in enumerate(timed, 1))]
    known = {
        tasks[j]: at[id(row)]
        for j, place in enumerate(time.learned_at)
        if place >= 0 and tasks[j] not in choices.held_out and (row := time.rows[place]) is not None
    }
    named = replace(run, rows=tuple(rows))
    asked = choices if choices.base or not base else replace(choices, base=base[0].name)
    return arrange(named, asked, trained=known)


def _named_by(run: Run, row: Row, place: int) -> str:
    return run.tasks[row.after].name if row.task_end and 0 <= row.after < run.T else f"row {place}"


def _refuse_unknown_tasks(choices: Choices, tasks: Sequence[str]) -> None:
    for option, names in (("--held-out", choices.held_out), ("--trained", [name for name, _ in choices.trained])):
        unknown = [name for name in names if name not in tasks]
        if unknown:
            raise UsageError(
                f"{option} names {', '.join(unknown)}, and there is no such column. There are: {listed(tasks)}."
            )
    both = [name for name, _ in choices.trained if name in choices.held_out]
    if both:
        raise UsageError(
            f"{', '.join(both)} cannot be held out and trained: leave it out of --held-out or of --trained."
        )


def _in_order(choices: Choices, labels: Sequence[str], long: Sequence[str]) -> list[int]:
    places = [one_named(name, labels, long, "--order") for name in choices.order]
    if len(set(places)) != len(places):
        raise UsageError(f"--order names a version twice: {','.join(choices.order)}.")
    base = None if choices.base is None else one_named(choices.base, labels, long, "--base")
    left = [place for place in range(len(labels)) if place not in places]
    if set(left) - {base}:
        raise UsageError(
            f"--order does not name {', '.join(labels[p] for p in left if p != base)}: name every version."
        )
    return [*left, *places]


def _base_of(
    choices: Choices,
    rows: Sequence[Row],
    labels: Sequence[str],
    long: Sequence[str],
    by_names: Mapping[str, Row],
    tasks: Sequence[str],
) -> int | None:
    if choices.base is not None:
        return one_named(choices.base, labels, long, "--base")
    called = [place for place, label in enumerate(labels) if is_base(label)]
    if len(called) == 1:
        return called[0]
    if choices.trained:
        return 0 if any(row == 0 for _, row in choices.trained) else None
    if len(rows) < 2 or any(row is rows[0] for row in by_names.values()):
        return None
    return 0 if set(tasks) - set(by_names) else None


def _learned(
    choices: Choices, tasks: Sequence[str], timed: Sequence[Row], by_names: Mapping[str, Row], has_base: bool
) -> dict[str, int]:
    """The row after which each task had been learned, counted from 1 (0 is the base); held-out tasks are absent."""
    if choices.trained:
        known = dict(choices.trained)
        last = len(timed)
        wrong = [f"{name}={row}" for name, row in known.items() if row > last or (row == 0 and not has_base)]
        if wrong:
            raise UsageError(
                f"--trained says {', '.join(wrong)}: rows count from {0 if has_base else 1}"
                f"{' (the base)' if has_base else ''} to {last}."
            )
    else:
        known = {
            task: next(p for p, other in enumerate(timed, start=1) if other is row)
            for task, row in by_names.items()
            if any(other is row for other in timed)
        }
    if choices.held_out:
        # Who says what is held out says that the rest is trained: from the first version on, if nothing tells more.
        known = {task: known.get(task, 1) for task in tasks if task not in choices.held_out}
    return known


def _laid_out(
    base: Row | None, timed: Sequence[Row], known: Mapping[str, int], tasks: Sequence[str]
) -> tuple[list[Row], dict[int, int] | None]:
    first = [] if base is None else [replace(base, after=-1, task_end=True)]
    learned = [known[task] for task in tasks if task in known]
    if learned == list(range(1, len(timed) + 1)) and len(learned) == len(tasks):
        return [*first, *(replace(row, after=j, task_end=True) for j, row in enumerate(timed))], None
    # Where a task is known in the base, the base is a row in time, too.
    start = 0 if 0 in learned else 1
    every = ([] if start or base is None else [base]) + list(timed)
    placed = []
    for place, row in enumerate(every, start=start):
        after = bisect_right(learned, place) - 1
        placed.append(replace(row, after=after, task_end=False))
    return [*first, *placed], {j: known[task] - start for j, task in enumerate(tasks) if task in known}


def _permuted(row: Row, order: Sequence[int]) -> Row:
    """The row with its columns in another order."""
    if list(order) == list(range(len(order))):
        return row

    def moved(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
        return None if values is None else tuple(values[j] if j < len(values) else None for j in order)

    return replace(
        row,
        scores={target: moved(values) or () for target, values in row.scores.items()},
        correct=moved(row.correct),
        n=moved(row.n),
        standard_error=moved(row.standard_error),
    )


def _columns(rows: Sequence[Row], order: Sequence[int]) -> str:
    """Whether only tasks learned so far were evaluated."""
    future = [
        scores[j]
        for row in rows
        for scores in row.scores.values()
        for i, j in enumerate(order)
        if i > row.after >= 0 and j < len(scores)
    ]
    return "seen" if future and all(value is None for value in future) else "all"


def _said(
    base: Row | None,
    timed: Sequence[Row],
    known: Mapping[str, int],
    tasks: Sequence[str],
    by: str | None,
    how: str,
) -> list[str]:
    versions = listed([row.name or "" for row in timed], 8)
    start = "" if base is None else "base, then " if base.name == "base" else f"base {base.name}, then "
    several = len(timed) + (base is not None) > 1
    notes = [f"versions in the order {start}{versions}" + (f", by {by}" if by else "")] if several else []
    learned = [f"{task} after {'the base' if at == 0 else timed[at - 1].name}" for task, at in known.items()]
    if learned:
        notes.append(f"trained{how}: {listed(learned, 6)}")
    held = [task for task in tasks if task not in known]
    if held:
        against = "no base to measure them against" if base is None else f"measured against {base.name}"
        notes.append(f"held out, {against}: {listed(held, 6)}")
    return notes
