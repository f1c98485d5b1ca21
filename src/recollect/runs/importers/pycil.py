"""PyCIL and PILOT: the log, with a printed dictionary of accuracies of class groups after each task."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from recollect.runs.importers.build import Score, check_size, make_run, number, whole
from recollect.runs.importers.files import cannot_read, in_words, mentions, read_text
from recollect.runs.importers.literals import NotALiteral, parse
from recollect.runs.run import ACCURACY, Row, Run, Task

NAME = "pycil"
SUMMARY = "PyCIL and PILOT: the log with '=> CNN: {..}' and '=> NME: {..}' after each task"

_ENTRY = re.compile(r"=> (?P<key>CNN|NME): (?P<groups>\{.*\})\s*$")
_SETTING = re.compile(r"=> (?P<key>seed|model_name|dataset|init_cls|increment|prefix): (?P<value>.*?)\s*$")
_GROUP = re.compile(r"(\d{1,7})-(\d{1,7})")

Groups = dict[tuple[int, int], Score]


@dataclass
class _Pass:
    """One run in the log: its settings and, for each classifier, the groups after each task."""

    settings: dict[str, str] = field(default_factory=dict)
    entries: dict[str, list[Groups]] = field(default_factory=lambda: {"CNN": [], "NME": []})


def sniff(path: Path) -> bool:
    """A log line with the accuracies of class groups."""
    return mentions(path, b"=> CNN: {") and mentions(path, b"'total':")


def read(path: Path, *, classifier: str | None = None) -> list[Run]:
    """A run for each seed and classifier of the log, or only those of `classifier` (CNN or NME)."""
    if classifier not in (None, "CNN", "NME"):
        raise cannot_read(path, NAME, f"the classifier is CNN or NME; got '{in_words(classifier)}'.")
    passes = [p for p in _passes(path, read_text(path, NAME)) if any(p.entries.values())]
    if not passes:
        raise cannot_read(path, NAME, "no line '=> CNN: {'total': ..}' is in it.")
    runs = []
    longest = max(len(p.entries["CNN"]) for p in passes)
    for one in passes:
        for name, entries in one.entries.items():
            if entries and classifier in (None, name):
                runs.append(_run(path, one.settings, name, entries, longest, len(passes)))
    if not runs:
        raise cannot_read(path, NAME, f"no line of the classifier {classifier} is in it.")
    return runs


def _passes(path: Path, text: str) -> list[_Pass]:
    """Split the log into runs: all seeds of one call land in one file, one after the other."""
    passes = [_Pass()]
    for line in text.split("\n"):
        if "=> " not in line:
            continue
        if found := _SETTING.search(line):
            if any(passes[-1].entries.values()):
                passes.append(_Pass())
            passes[-1].settings[found["key"]] = found["value"]
        elif found := _ENTRY.search(line):
            groups = _groups(path, found["groups"])
            before = passes[-1].entries[found["key"]]
            if before and len(groups) < len(before[-1]):
                passes.append(_Pass())
                before = passes[-1].entries[found["key"]]
            before.append(groups)
    return passes


def _groups(path: Path, text: str) -> Groups:
    try:
        printed = parse(text)
    except NotALiteral as error:
        raise cannot_read(path, NAME, f"'{in_words(text)}' is not a printed dictionary ({error}).") from None
    groups: Groups = {}
    for key, value in printed.items() if isinstance(printed, dict) else ():
        found = _GROUP.fullmatch(key) if isinstance(key, str) else None
        if found:
            try:
                groups[int(found[1]), int(found[2])] = number(value)
            except ValueError as error:
                raise cannot_read(path, NAME, f"the group {key}: {error}.") from None
    if not groups:
        raise cannot_read(path, NAME, f"'{in_words(text)}' has no class groups like '00-09'.")
    # By number, not as strings: '100-109' comes after '20-29'.
    return dict(sorted(groups.items()))


def _run(path: Path, settings: dict[str, str], classifier: str, entries: list[Groups], longest: int, seeds: int) -> Run:
    last = list(entries[-1])
    check_size(path, NAME, len(entries), len(last))
    _refuse_other_groups(path, settings, entries)
    learner = settings.get("model_name") or path.stem
    notes = [
        f"accuracies of the classifier {classifier}, in percent with 2 decimals",
        "each group of classes is one task: after task i the log holds i + 1 of them",
    ]
    if seeds > 1:
        notes.append(f"the log holds {seeds} runs, one after the other")
    if len(entries) < longest:
        notes.append(f"this run ends after {len(entries)} tasks; another one in the log has {longest}")
    return make_run(
        path,
        NAME,
        rows=[Row(i, scores={ACCURACY: tuple(groups.values())}) for i, groups in enumerate(entries)],
        tasks=[Task(f"classes {low}-{high}", n_classes=high - low + 1) for low, high in last],
        learner=learner if classifier == "CNN" else f"{learner} ({classifier})",
        stream=settings.get("dataset") or "unknown",
        seed=_seed(settings.get("seed")),
        unit="percent",
        scenario="class-incremental",
        seen_only=True,
        notes=notes,
    )


def _refuse_other_groups(path: Path, settings: dict[str, str], entries: list[Groups]) -> None:
    """PyCIL always groups by ten classes; only where the tasks have ten classes are the groups the tasks."""
    first, step = (whole(settings.get(key)) for key in ("init_cls", "increment"))
    last = list(entries[-1])
    counts = [len(groups) for groups in entries]
    wrong = counts != list(range(1, len(entries) + 1)) or any(list(g) != last[: len(g)] for g in entries)
    contiguous = all(a[1] + 1 == b[0] for a, b in pairwise(last)) and last[0][0] == 0
    widths = [high - low + 1 for low, high in last]
    if first is not None and step is not None:
        wrong = wrong or widths != [first or step] + [step] * (len(last) - 1)
    if wrong or not contiguous or min(widths) < 1:
        said = f" The log says init_cls {first}, increment {step}." if step is not None else ""
        raise cannot_read(
            path,
            NAME,
            "its groups of classes are not the tasks: after the tasks in turn it holds"
            f" {in_words(', '.join(map(str, counts)))} groups.{said} PyCIL always groups by"
            " ten classes, so only tasks of ten classes are told apart. Group by init_cls and increment, as"
            " PILOT's accuracy() does, or save the accuracy of each task.",
        )


def _seed(text: str | None) -> int | None:
    """`1993`, or `[1993]` where the list of seeds was printed."""
    return None if text is None else whole(text.strip("[] "))
