"""From evaluations of versions to runs: one run per training and per kind of score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from recollect.errors import UsageError
from recollect.runs.arrange import Choices, arrange
from recollect.runs.importers.build import make_run
from recollect.runs.importers.versions.columns import ScoreColumn, chosen, refuse_other_conditions, tasks_of
from recollect.runs.importers.versions.evaluation import Evaluation, Measured, items_behind, name_of
from recollect.runs.importers.versions.ordering import families, merged, ordered, told_apart
from recollect.runs.importers.versions.tables import VersionItems
from recollect.runs.run import Row, Run, Task
from recollect.runs.shares import is_share
from recollect.runs.version_names import in_one_form, is_base, listed, short_names, without_step


def runs_of(evaluations: Iterable[Evaluation], root: Path, tool: str, choices: Choices) -> list[Run]:
    """The runs of all evaluations that were found at a path or at several."""
    found, about_names = told_apart(list(evaluations))
    if not found:
        raise UsageError(f"{root}: no evaluation of any version is in it.")
    made = [one for members in families(found) for one in _of_family(members, root, tool, choices)]
    notes = tuple(dict.fromkeys((*about_names, *(note for one in found for note in one.notes))))
    return [
        replace(run, stream=stream, notes=(*run.notes, *notes))
        for run, stream in zip(made, _streams(made), strict=True)
    ]


def _streams(runs: Sequence[Run]) -> list[str]:
    """The names of the runs' streams: trainings at one path that have other tasks are on another stream."""
    sets = {run.metric: dict[frozenset[str], int]() for run in runs}
    for run in runs:
        of = sets[run.metric]
        of.setdefault(frozenset(task.name for task in run.tasks), len(of) + 1)
    names = []
    for run in runs:
        of = sets[run.metric]
        sizes = [len(tasks) for tasks in of]
        number = of[frozenset(task.name for task in run.tasks)]
        unlike = f", {run.T} tasks" + (f" #{number}" if sizes.count(run.T) > 1 else "")
        names.append(run.stream + (unlike if len(of) > 1 else ""))
    return names


def _of_family(found: Sequence[Evaluation], root: Path, tool: str, choices: Choices) -> list[Run]:
    versions, notes = merged(found)
    full = [one.version for one in versions]
    labels = short_names(full)
    places, by = ordered(versions, labels)
    versions, labels = [versions[place] for place in places], [labels[place] for place in places]
    tasks, about_groups = tasks_of(versions, choices)
    columns, about_scores = chosen(versions, tasks, choices.target, choices.lower_is_better)
    compared = [column for column in columns if column.task not in choices.without]
    different = refuse_other_conditions(versions, labels, compared)
    if different and not choices.different_conditions:
        raise UsageError(
            f"{root}: versions were evaluated under different conditions and are not comparable; {different}."
            " Evaluate them alike, leave tasks out (--without TASK), or say --different-conditions to compare them"
            " all the same."
        )
    kinds: dict[tuple[str, str, bool], list[ScoreColumn]] = {}
    for column in columns:
        kinds.setdefault(column.like, []).append(column)
    notes += [
        *about_groups,
        *about_scores,
        *([f"compared although conditions differ: {different}"] if different else []),
    ]
    if len(kinds) > 1:
        said = "; ".join(f"{_metric(like)} ({listed([c.task for c in like], 3)})" for like in kinds.values())
        notes.append(f"scores of different kinds are never averaged: one result for each of {said}")
    named = versions, labels, by
    by_name = dict(zip(labels, versions, strict=True))
    return [
        replace(
            _run(named, like, root, tool, choices, notes, [column.task for column in columns if column not in like]),
            items=VersionItems(by_name, {column.task: column.metric for column in like}, like[0].unit),
        )
        for like in kinds.values()
    ]


def _run(
    named: tuple[Sequence[Evaluation], Sequence[str], str],
    columns: Sequence[ScoreColumn],
    root: Path,
    tool: str,
    choices: Choices,
    notes: Sequence[str],
    elsewhere: Sequence[str],
) -> Run:
    versions, labels, by = named
    there = [one.trained is not None or any(column.task in one.scores for column in columns) for one in versions]
    kept = [(one, label) for one, label, is_row in zip(versions, labels, there, strict=True) if is_row]
    metric = _metric(columns)
    rows = _rows(kept, columns, metric)
    names = [one.version for one, _ in kept]
    run = make_run(
        root,
        tool,
        rows=rows,
        tasks=[Task(column.task, n_samples=_items(rows, place)) for place, column in enumerate(columns)],
        learner=versions[0].family or _learner(names, root),
        stream=root.absolute().name,
        unit=columns[0].unit,
        metric=metric,
        higher_is_better=columns[0].higher_is_better,
        complete=False,
        notes=(*_about_metrics(columns), *notes),
    )
    made = arrange(run, choices, trained=_trained_by(kept, columns), by=by, full=names, elsewhere=elsewhere)
    held = [task.held_out for task in made.tasks]
    return replace(made, problem="releases" if all(held) else "versions" if any(held) else "stages")


_NO_ERROR = Measured(math.nan, None, math.nan)


def _rows(kept: Sequence[tuple[Evaluation, str]], columns: Sequence[ScoreColumn], metric: str) -> list[Row]:
    wanted = [(column.task, column.metric) for column in columns]
    table = [one.cells(wanted) for one, _ in kept]
    counts = _counts(table, columns)
    return [
        _row(place, label, cells, of, columns, metric)
        for place, ((_, label), cells, of) in enumerate(zip(kept, table, counts, strict=True))
    ]


def _row(
    place: int,
    label: str,
    cells: Sequence[Measured | None],
    counts: Sequence[int | None],
    columns: Sequence[ScoreColumn],
    metric: str,
) -> Row:
    errors = [
        None if cell is None else cell.stderr if cell.stderr is not None else _error(cell.score, n, column)
        for cell, n, column in zip(cells, counts, columns, strict=True)
    ]
    return Row(
        place - 1,
        step=None,
        task_end=False,
        name=label,
        scores={metric: tuple([None if cell is None else cell.score for cell in cells])},
        n=tuple(counts) if any(counts) else None,
        standard_error=tuple(errors) if any(error is not None for error in errors) else None,
    )


def _counts(table: Sequence[Sequence[Measured | None]], columns: Sequence[ScoreColumn]) -> list[list[int | None]]:
    """The test items of each cell: as told, or as its standard error tells them."""
    told = [[None if cell is None else cell.n for cell in cells] for cells in table]
    if all(None not in counts for counts in told):
        return told
    pairs = [cell if cell is not None and cell.stderr is not None else _NO_ERROR for cells in table for cell in cells]
    n = items_behind(np.array([pair[0] for pair in pairs]), np.array([pair[2] for pair in pairs], np.float64))
    n = n.reshape(len(table), len(columns))
    n[:, [not is_share(column.metric) for column in columns]] = np.nan
    return [
        [int(f) if t is None and f == f else t for t, f in zip(counts, of, strict=True)]
        for counts, of in zip(told, n.tolist(), strict=True)
    ]


def _error(score: float, n: int | None, column: ScoreColumn) -> float | None:
    """The standard error of a share of so many items, where the file does not tell it."""
    if n is None or not is_share(column.metric):
        return None
    top = 100.0 if column.unit == "percent" else 1.0
    return math.sqrt(max(0.0, score * (top - score)) / (n - 1)) if n > 1 else None


def _items(rows: Sequence[Row], column: int) -> int | None:
    """The test items of a task, if all versions that tell agree."""
    told = {row.n[column] for row in rows if row.n is not None} - {None}
    return told.pop() if len(told) == 1 else None


def _metric(columns: Sequence[ScoreColumn]) -> str:
    names = {name_of(column.metric) for column in columns}
    return names.pop() if len(names) == 1 else "accuracy"


def _about_metrics(columns: Sequence[ScoreColumn]) -> list[str]:
    """Which scores are averaged together, where they have several names, and the filters of the answers."""
    names: dict[str, list[str]] = {}
    for column in columns:
        names.setdefault(column.metric, []).append(column.task)
    filters = [f"{metric} of {listed(tasks, 3)}" for metric, tasks in names.items()]
    plain = all(metric.endswith(",none") or "," not in metric for metric in names)
    if len({name_of(metric) for metric in names}) == 1 and plain:
        return []
    return [f"shares of right answers under several names, averaged together: {'; '.join(filters)}"]


def _learner(names: Sequence[str], root: Path) -> str:
    """What the versions are versions of: the model that they share, else the folder that they lie in."""
    own = [name for name in names if not is_base(name)] or names
    bases = {without_step(name) for name in own}
    alike = {name.split("@")[0] for name in own}
    shared = bases if len(bases) == 1 else alike
    name = shared.pop().rstrip("/").rsplit("/", 1)[-1] if len(shared) == 1 else ""
    return name or root.absolute().name or "model"


def _trained_by(kept: Sequence[tuple[Evaluation, str]], columns: Sequence[ScoreColumn]) -> dict[str, int]:
    """After which version each task was trained, where the names of versions say it: the first that names it."""
    places: dict[str, int] = {}
    words = [in_one_form(label) for _, label in kept]
    wanted = [(column.task, in_one_form(column.task)) for column in columns]
    for place, (one, _) in enumerate(kept):
        for task, name in wanted:
            if one.trained == task or (one.trained is None and name in words[place]):
                places.setdefault(task, place)
    # A name that every version has tells nothing.
    everywhere = {
        task for task, name in wanted if task in places and len(kept) > 1 and all(name in form for form in words)
    }
    return {task: place for task, place in places.items() if task not in everywhere}
