"""Which columns there are: one score per task, no group beside its tasks, nothing under other conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.errors import UsageError
from recollect.runs.arrange import Choices
from recollect.runs.importers.files import natural
from recollect.runs.importers.versions.evaluation import (
    Evaluation,
    known_direction,
    name_of,
    rank_of,
    unit_of,
)
from recollect.runs.shares import is_share
from recollect.runs.version_names import listed


@dataclass(frozen=True)
class ScoreColumn:
    """One task under one of its scores."""

    task: str
    metric: str
    unit: str
    higher_is_better: bool

    @property
    def like(self) -> tuple[str, str, bool]:
        """Columns that agree in this may be averaged: shares of right answers, or one and the same score."""
        name = name_of(self.metric)
        return ("share" if is_share(name) else name, self.unit, self.higher_is_better)


def tasks_of(found: Sequence[Evaluation], choices: Choices) -> tuple[list[str], list[str]]:
    """The tasks that are columns: groups in the place of their tasks, or the other way round; and what was left out."""
    every = sorted({task for shape in {one.shape for one in found} for task, _ in shape}, key=natural)
    inside: dict[str, set[str]] = {}
    for one in found:
        for group, members in one.groups.items():
            inside.setdefault(group, set()).update(members)
    subtasks = choices.subtasks
    left = set().union(*(one.aside for one in found)) - set(choices.held_out)
    notes = []
    if left:
        notes.append(
            f"averages over categories, left out (--held-out NAME takes one as a task): {listed(sorted(left), 6)}"
        )
    for group in every:
        below = _below(group, inside) & set(every)
        if not below or group in left:
            continue
        holders = [one for one in found if below & set(one.scores) or group in one.scores]
        whole = all(group in one.scores for one in holders)
        if subtasks or not whole:
            left.add(group)
            why = "" if subtasks else ", which some versions have without it"
            notes.append(f"{group} is the average of {len(below)} tasks{why}: they are the columns, it is not")
        else:
            left |= below
            notes.append(
                f"{group} stands for its {len(below)} tasks, which are no columns beside it (--subtasks: they instead)"
            )
    return [task for task in every if task not in left], notes


def _below(group: str, inside: Mapping[str, set[str]]) -> set[str]:
    """All tasks of a group, of the groups in it too."""
    found: set[str] = set()
    waiting = [group]
    while waiting:
        for member in inside.get(waiting.pop(), ()):
            if member not in found and member != group:
                found.add(member)
                waiting.append(member)
    return found


def chosen(
    found: Sequence[Evaluation], tasks: Sequence[str], target: str | None, lower: bool = False
) -> tuple[list[ScoreColumn], list[str]]:
    """The score of each task, and what was left out because its direction is not known."""
    columns, unknown, without = [], [], []
    with_ways = [one for one in found if one.higher]
    with_units = [one for one in found if one.units]
    of_task: dict[str, Counter[tuple[str, ...]]] = {}
    for whole, count in Counter(one.shape for one in found).items():
        for task, own in whole:
            of_task.setdefault(task, Counter())[own] += count
    for task in tasks:
        shapes = of_task[task]
        names = list(dict.fromkeys(metric for shape in shapes for metric in shape))
        if target is not None:
            names = [name for name in names if target in (name, name_of(name))]
        # A score that every version has is preferred to one that some lack.
        names.sort(key=lambda name: (sum(n for shape, n in shapes.items() if name not in shape), rank_of(name)))
        picked = [
            (name, way) for name in names if (way := _direction(with_ways, task, name, target, lower)) is not None
        ]
        if picked:
            metric, way = picked[0]
            told = (one.units[metric] for one in with_units if task in one.scores and metric in one.units)
            unit = next(told, unit_of(metric))
            columns.append(ScoreColumn(task, metric, unit, way))
        elif target is not None:
            without.append(task)
        else:
            unknown.append((task, names))
    if not columns:
        raise _nothing(found, tasks, target, unknown)
    notes = [f"no {target} in {listed(without, 5)}: left out"] if without else []
    if unknown:
        scores = dict.fromkeys(name_of(name) for _, names in unknown for name in names)
        notes.append(
            f"{len(unknown)} tasks left out, since it is not known whether more is better for their scores"
            f" ({listed(list(scores), 4)}; --target NAME takes one): {listed([task for task, _ in unknown], 3)}"
        )
    return columns, notes


def _direction(found: Sequence[Evaluation], task: str, metric: str, target: str | None, lower: bool) -> bool | None:
    if target is not None and lower:
        return False
    ways = (one.higher[task] for one in found if task in one.higher)
    told = (way.get(metric, way.get(name_of(metric))) for way in ways)
    said = next((way for way in told if way is not None), None)
    if said is not None:
        return said
    known = known_direction(metric)
    # A score that the user asks for by its name is taken as it is meant most often.
    return True if known is None and target is not None else known


def _nothing(
    found: Sequence[Evaluation], tasks: Sequence[str], target: str | None, unknown: Sequence[tuple[str, list[str]]]
) -> UsageError:
    if target is None:
        return UsageError(
            f"{found[0].path}: it is not known whether more is better for any score"
            f" ({listed([name for _, names in unknown for name in names], 6)})."
            " Name one with --target, and say --lower-is-better if it is an error."
        )
    there = dict.fromkeys(name for one in found for task in tasks for name in one.scores.get(task, {}))
    return UsageError(f"No task has a score {target!r}; there are {listed(list(there), 12)}.")


def refuse_other_conditions(
    found: Sequence[Evaluation], labels: Sequence[str], columns: Sequence[ScoreColumn]
) -> str | None:
    """A paragraph that says where versions were evaluated under other conditions, or None if all agree."""
    different: list[tuple[Evaluation, str]] = []
    for one, label in zip(found, labels, strict=True):
        if not any(
            one.conditions == other.conditions and one.scores.keys() <= other.scores.keys() for other, _ in different
        ):
            different.append((one, label))
    problems = []
    for column in columns:
        seen: dict[str, dict[str, str]] = {}
        for one, label in different:
            if column.task in one.scores:
                for name, value in one.conditions.get(column.task, {}).items():
                    seen.setdefault(name, {}).setdefault(value, label)
        problems += [
            f"{column.task} has {' and '.join(f'{name} {text} in {label}' for text, label in list(values.items())[:2])}"
            for name, values in seen.items()
            if len(values) > 1
        ]
    if not problems:
        return None
    several = f"{len(problems)} differences, such as: " if len(problems) > 1 else ""
    return several + "; ".join(problems[:3])
