"""PyCIL and PILOT: the log, with a printed dictionary of accuracies of class groups after each task.

PyCIL groups by ten classes whatever the tasks are. A task that is one group has its score; one that is several groups
has their mean where the log proves that the groups are equally large: in every row the mean of all groups is the
printed `total`. Of other tasks the newest is known (`new`), and the second row's first (`old`). `total` is the score
over all test samples of the classes seen, in every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from recollect.runs.importers.build import Score, check_size, make_run, whole
from recollect.runs.importers.files import cannot_read, in_words, mentions, read_text
from recollect.runs.importers.pycil_log import NAME, LogEntry, Pass, passes
from recollect.runs.importers.reconcile import WARNING, Claim, reconciled
from recollect.runs.run import ACCURACY, Row, Run, Task

SUMMARY = "PyCIL and PILOT: the log with '=> CNN: {..}' and '=> NME: {..}' after each task"

# What rounding to 2 decimals can make of a mean and a total.
_ROUNDING = 0.02

Bounds = list[tuple[int, int]]


def sniff(path: Path) -> bool:
    """A log line with the accuracies of class groups."""
    return mentions(path, b"=> CNN: {") and mentions(path, b"'total':")


def read(path: Path, *, classifier: str | None = None) -> list[Run]:
    """A run for each seed, setting and classifier of the log, or only those of `classifier` (CNN or NME)."""
    if classifier not in (None, "CNN", "NME"):
        raise cannot_read(path, NAME, f"the classifier is CNN or NME; got '{in_words(classifier)}'.")
    found = passes(path, read_text(path, NAME))
    if not any(any(one.entries.values()) for one in found):
        raise cannot_read(path, NAME, "no line '=> CNN: {'total': ..}' is in it.")
    runs = []
    longest = max(len(one.entries["CNN"]) for one in found)
    for place, one in enumerate(found, start=1):
        for name, entries in one.entries.items():
            if entries and classifier in (None, name):
                runs.append(_run(path, one, name, longest, place if len(found) > 1 else None))
    if not runs:
        raise cannot_read(path, NAME, f"no line of the classifier {classifier} is in it.")
    return _told_apart(runs, found) if len(found) > 1 else runs


def _run(path: Path, one: Pass, classifier: str, longest: int, part: int | None) -> Run:
    entries = one.entries[classifier]
    planned = one.bounds(len(entries)) or _groups_as_tasks(path, entries)
    bounds = planned[: len(entries)]
    check_size(path, NAME, len(entries), len(bounds))
    deviation = _deviation(entries, bounds)
    rows = [
        Row(
            i, scores={ACCURACY: tuple(_cell(entry, bounds, i, j, deviation) for j in range(i + 1))}, pooled=entry.total
        )
        for i, entry in enumerate(entries)
    ]
    learner = one.settings.get("model_name") or path.stem
    run = make_run(
        path,
        NAME,
        rows=rows,
        tasks=[Task(f"classes {low}-{end - 1}", n_classes=end - low) for low, end in bounds],
        guessed=None if one.settings.get("model_name") else path.stem,
        learner=learner if classifier == "CNN" else f"{learner} ({classifier})",
        stream=one.settings.get("dataset") or "unknown",
        seed=_seed(one.settings.get("seed")),
        unit="percent",
        scenario="class-incremental",
        seen_only=True,
        config=one.options,
        part=part,
        notes=[
            f"accuracies of the classifier {classifier}, in percent with 2 decimals",
            _how_tasks_are_known(entries, bounds, deviation),
            _how_much(len(entries), len(planned), longest),
            _newest(entries, bounds) if deviation is not None else None,
        ],
    )
    return reconciled(run, _claims(one, classifier, _all_single(entries, bounds)), places=4)


def _newest(entries: Sequence[LogEntry], bounds: Bounds) -> str | None:
    """A warning, if the score of the newest task that a row prints (new) is not that of its groups of classes."""
    for i, entry in enumerate(entries):
        known = [part for part in _parts(entry, bounds[i]) if part is not None]
        mean = sum(known) / len(known) if known else None
        if mean is not None and entry.new is not None and abs(mean - entry.new) > _ROUNDING:
            return (
                f"{WARNING}after task {i} the log says {entry.new:.2f} for the newest task (new), and its groups of"
                f" classes give {mean:.2f}; check the reading"
            )
    return None


def _how_much(done: int, planned: int, longest: int) -> str | None:
    if done < planned:
        return f"this run ends after {done} of {planned} tasks: its numbers are those of {done} tasks"
    if done < longest:
        return f"this run ends after {done} tasks; another one in the log has {longest}"
    return None


def _groups_as_tasks(path: Path, entries: Sequence[LogEntry]) -> Bounds:
    """The tasks of a log without settings: its groups, where each row has one more than the last."""
    last = list(entries[-1].groups)
    counts = [len(entry.groups) for entry in entries]
    each_one_more = counts == list(range(1, len(entries) + 1))
    same = all(list(entry.groups) == last[: len(entry.groups)] for entry in entries)
    contiguous = bool(last) and last[0][0] == 0 and all(a[1] + 1 == b[0] for a, b in pairwise(last))
    if not (each_one_more and same and contiguous):
        raise cannot_read(
            path,
            NAME,
            "it does not say init_cls and increment, and its groups of classes are not the tasks: after the tasks in"
            f" turn it holds {in_words(', '.join(map(str, counts)))} groups. Give the whole log.",
        )
    return [(low, high + 1) for low, high in last]


def _cell(entry: LogEntry, bounds: Bounds, i: int, j: int, deviation: float | None) -> Score:
    parts = _parts(entry, bounds[j])
    if len(parts) == 1:
        return parts[0]
    if i == j:
        return entry.total if i == 0 and entry.new is None else entry.new
    known = [part for part in parts if part is not None]
    if parts and len(known) == len(parts) and deviation is not None:
        return sum(known) / len(known)
    return entry.old if (i, j) == (1, 0) else None


def _parts(entry: LogEntry, task: tuple[int, int]) -> list[Score]:
    """The scores of the groups that make up a task exactly; none if they do not."""
    inside = [(low, high) for low, high in entry.groups if task[0] <= low and high < task[1]]
    width = sum(high - low + 1 for low, high in inside)
    return [entry.groups[group] for group in inside] if width == task[1] - task[0] else []


def _deviation(entries: Sequence[LogEntry], bounds: Bounds) -> float | None:
    """The largest difference between `total` and the mean of the groups; None if it is more than rounding."""
    largest = 0.0
    for i, entry in enumerate(entries):
        scores = [score for score in entry.groups.values() if score is not None]
        covered = sum(high - low + 1 for low, high in entry.groups)
        if entry.total is None or len(scores) < len(entry.groups) or covered != bounds[i][1]:
            return None
        largest = max(largest, abs(sum(scores) / len(scores) - entry.total))
    return largest if largest <= _ROUNDING else None


def _all_single(entries: Sequence[LogEntry], bounds: Bounds) -> bool:
    return all(len(_parts(entry, bounds[j])) == 1 for i, entry in enumerate(entries) for j in range(i + 1))


def _how_tasks_are_known(entries: Sequence[LogEntry], bounds: Bounds, deviation: float | None) -> str:
    if _all_single(entries, bounds):
        return "each group of classes is one task: after task i the log holds i + 1 of them"
    if deviation is not None and all(_parts(entries[-1], task) for task in bounds[: len(entries)]):
        return (
            "tasks are put together from groups of ten classes: in every row the mean of the groups is the log's"
            f" total within {deviation:.3f}"
        )
    return (
        "PyCIL's groups of ten classes do not make up the tasks, or are not equally large: of a row only the score"
        " over all classes seen (total), the newest task's (new) and tasks that are one group are known"
    )


def _claims(one: Pass, classifier: str, groups_are_tasks: bool) -> list[Claim]:
    claims = []
    if ("Average Accuracy", classifier) in one.printed:
        value = one.printed["Average Accuracy", classifier] / 100
        claims.append(Claim(f"Average Accuracy ({classifier})", value, ("acc.incremental_pooled",)))
    # Forgetting is computed from the groups, whatever the tasks are.
    if groups_are_tasks and ("Forgetting", classifier) in one.printed:
        value = one.printed["Forgetting", classifier] / 100
        claims.append(Claim(f"Forgetting ({classifier})", value, ("forgetting.pycil",)))
    return claims


def _told_apart(runs: list[Run], found: list[Pass]) -> list[Run]:
    """Say that the log holds several runs; runs of one seed and one setting are no seeds of each other."""
    evaluated = sum(any(one.entries.values()) for one in found)
    said = f"the log holds {len(found)} runs, one after the other"
    if evaluated < len(found):
        said += f"; {len(found) - evaluated} of them ended before anything was evaluated"
    twins: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        twins.setdefault((run.learner, tuple(sorted(run.learner_config.items())), run.seed, run.family), []).append(run)
    made = []
    for run in runs:
        key = (run.learner, tuple(sorted(run.learner_config.items())), run.seed, run.family)
        notes = [*run.notes, said]
        if len(twins[key]) == 1:
            made.append(replace(run, notes=tuple(notes)))
            continue
        first = next(twin for twin in twins[key] if twin.rows == run.rows)
        place = run.source.part if run.source is not None else None
        if first is not run:
            continue
        same = [twin for twin in twins[key] if twin.rows == run.rows]
        if len(same) > 1:
            notes.append(f"{len(same)} runs of the log are the same to the last digit: counted once")
        if len(same) == len(twins[key]):
            made.append(replace(run, notes=tuple(notes)))
            continue
        notes.append("runs of this log have one seed and the same settings, and other scores: told apart by number")
        made.append(replace(run, learner=f"{run.learner} (run {place})", notes=tuple(notes)))
    return made


def _seed(text: str | None) -> int | None:
    """`1993`, or `[1993]` where the list of seeds was printed."""
    return None if text is None else whole(text.strip("[] "))
