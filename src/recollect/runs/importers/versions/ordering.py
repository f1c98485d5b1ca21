"""The order of versions: by step, by date, or as they were given. It is found, and it is said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from recollect.errors import UsageError
from recollect.runs.importers.versions.evaluation import Evaluation, Measured
from recollect.runs.version_names import is_base, is_dated, listed, numbers_in, step_of, without_step


def families(found: Sequence[Evaluation]) -> list[list[Evaluation]]:
    """The evaluations of each training: checkpoints of one model belong together.

    Versions that stand alone belong to the one training that there is. Beside several trainings a single one, or the
    one that is called base, belongs to each of them; others stand for themselves.
    """
    named: dict[str, list[Evaluation]] = {}
    for one in found:
        named.setdefault(one.family, []).append(one)
    if len(named) > 1:
        return [family for members in named.values() for family in families(members)]
    if found and found[0].family:
        return [list(found)]
    kinds: dict[str, list[Evaluation]] = {}
    for one in found:
        kinds.setdefault(without_step(one.version) if one.step is not None else one.version, []).append(one)
    several = {name: members for name, members in kinds.items() if len({one.version for one in members}) > 1}
    if len(several) < 2:
        return [list(found)]
    alone = {name: members for name, members in kinds.items() if name not in several}
    bases = {name: members for name, members in alone.items() if is_base(name)} or alone
    if len(bases) != 1:
        return [*several.values(), *([[one for members in alone.values() for one in members]] if alone else [])]
    (base,) = bases
    rest = [one for name, members in alone.items() if name != base for one in members]
    return [*([*alone[base], *members] for members in several.values()), *([rest] if rest else [])]


def told_apart(found: Sequence[Evaluation]) -> tuple[list[Evaluation], list[str]]:
    """Versions that are all called alike (a pipeline has one path) are told apart by their folders or files."""
    if len({one.version for one in found}) > 1 or len(found) < 2 or found[0].step is not None or found[0].family:
        return list(found), []
    tasks = [set(one.scores) for one in found]
    if not any(tasks[a] & tasks[b] for a in range(len(found)) for b in range(a)):
        return list(found), []  # one version, a file per task
    parents = [one.path.absolute().parent.parts for one in found]
    depth = next((at for at, parts in enumerate(zip(*parents, strict=False)) if len(set(parts)) > 1), None)
    stems = [re.sub(r"_?\d{4}-\d{2}-\d{2}T[-0-9.]+$", "", one.path.stem) for one in found]
    if depth is not None and all(len(parts) > depth for parts in parents):
        names, by = [parts[depth] for parts in parents], "folders"
    elif depth is None and len(set(stems)) > 1 and all(stems):
        names, by = stems, "files"
    else:
        return list(found), []
    note = f"all versions are called {found[0].version}: they are told apart by their {by}"
    return [
        replace(one, model=name, revision="", step=step_of(name)) for one, name in zip(found, names, strict=True)
    ], [note]


def merged(found: Sequence[Evaluation]) -> tuple[list[Evaluation], list[str]]:
    """One evaluation per version: of a task that was evaluated again the last counts, by date."""
    versions: dict[str, list[Evaluation]] = {}
    for one in found:
        versions.setdefault(one.version, []).append(one)
    notes: list[str] = []
    return [_merged_one(members, notes) for members in versions.values()], notes


def _merged_one(members: list[Evaluation], notes: list[str]) -> Evaluation:
    if len(members) == 1:
        return members[0]
    dated = all(one.date is not None for one in members)
    if dated:
        members = sorted(members, key=lambda one: one.date or 0.0)
    scores: dict[str, dict[str, Measured]] = {}
    differ: list[str] = []
    again: set[str] = set()
    for one in members:
        for task, values in one.scores.items():
            known = scores.setdefault(task, {})
            again |= {task} if known else set()
            differ += [
                f"{task} {metric}: {known[metric].score:.6g}, then {new.score:.6g}"
                for metric, new in values.items()
                if metric in known and known[metric].score != new.score
            ]
            known.update(values)
    last = members[-1]
    if differ and not dated:
        raise UsageError(
            f"{len(members)} files are of the version {last.version} and disagree ({listed(differ, 2)}), and they carry"
            f" no date that says which is the last: {listed([str(one.path) for one in members], 2)}. Leave one of them"
            " out."
        )
    if again:
        options = sorted(
            {key for one in members for key, value in one.details.items() if last.details.get(key) != value}
        )
        how = f", with other {', '.join(options)}" if options else ""
        said = f"; scores differ ({listed(differ, 2)})" if differ else ", with equal scores"
        notes.append(f"{last.version} was evaluated {len(members)} times{how}: the last counts{said}")
    return replace(
        last,
        scores=scores,
        higher={task: ways for one in members for task, ways in one.higher.items()},
        units={metric: unit for one in members for metric, unit in one.units.items()},
        conditions={task: told for one in members for task, told in one.conditions.items() if task in one.scores},
        groups={group: tasks for one in members for group, tasks in one.groups.items()},
        files={task: one.path for one in members for task in one.scores},
    )


def ordered(found: Sequence[Evaluation], labels: Sequence[str]) -> tuple[list[int], str]:
    """The places of the versions in time, and by what they were ordered."""
    places = list(range(len(found)))
    steps = [one.step for one in found]
    stepped = [step for step in steps if step is not None]
    plain = [place for place in places if steps[place] is None]
    if stepped and len(plain) <= 1 and max(Counter(stepped).values()) == 1:
        by_step = sorted(places, key=lambda place: -1 if steps[place] is None else steps[place] or 0)
        return by_step, "the step or number in their names" + (
            f" ({labels[plain[0]]} has none and is first)" if plain else ""
        )
    others = [place for place in places if not is_base(labels[place])]
    numbers = numbers_in([labels[place] for place in others]) if len(others) > 1 else None
    rank = dict(zip(others, numbers, strict=True)) if numbers and len(places) - len(others) <= 1 else {}
    by_number = sorted(places, key=lambda place: rank.get(place, ()))
    if rank and all(is_dated(labels[place]) for place in others):
        return by_number, "the dates in their names"
    dates = [one.date for one in found]
    if len(found) > 1 and all(date is not None for date in dates) and len(set(dates)) == len(dates):
        by_date = sorted(places, key=lambda place: dates[place] or 0.0)
        other = "; the numbers in their names tell another order (--order)" if rank and by_date != by_number else ""
        return by_date, f"the date of the evaluation{other}"
    if rank:
        return by_number, "the numbers in their names"
    return places, "the order in which they were found: no step in the names and no date tells another"
