"""The log of PyCIL and PILOT: its runs, each with its settings and what it prints after each task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from recollect.runs.importers.build import Score, number, whole
from recollect.runs.importers.files import cannot_read, in_words
from recollect.runs.importers.literals import NotALiteral, parse

NAME = "pycil"

_ENTRY = re.compile(r"=> (?P<key>CNN|NME): (?P<groups>\{.*\})\s*$")
_SETTING = re.compile(r"=> (?P<key>[A-Za-z_]\w*): (?P<value>.*?)\s*$")
_LEARNING = re.compile(r"=> Learning on (?P<low>\d{1,7})-(?P<high>\d{1,7})\s*$")
_ORDER = re.compile(r"=> \[(?P<classes>\d{1,7}(?:, \d{1,7})*)\]\s*$")
_PRINTED = re.compile(r"=> (?P<name>Average Accuracy|Forgetting) \((?P<key>CNN|NME)\): (?P<value>-?\d+(?:\.\d+)?)\s*$")
_GROUP = re.compile(r"(\d{1,7})-(\d{1,7})")
# Settings that say where or how a run was started, not what learned; and those that have a place of their own.
_NO_OPTIONS = frozenset(
    ["config", "prefix", "device", "seed", "model_name", "dataset", "init_cls", "increment", "shuffle", "class_order"]
)

Groups = dict[tuple[int, int], Score]


@dataclass(frozen=True)
class LogEntry:
    """What is printed after a task: pooled scores over all seen classes, the older and the new ones; class groups."""

    total: Score
    old: Score
    new: Score
    groups: Groups


@dataclass
class Pass:
    """One run in the log: its settings and, for each classifier, what it prints after each task."""

    settings: dict[str, str] = field(default_factory=dict)
    learned: list[tuple[int, int]] = field(default_factory=list)
    classes: int | None = None
    entries: dict[str, list[LogEntry]] = field(default_factory=lambda: {"CNN": [], "NME": []})
    printed: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def has_begun(self) -> bool:
        return bool(self.learned) or any(self.entries.values())

    @property
    def options(self) -> Mapping[str, str]:
        """The settings that make the learner what it is."""
        return {key: value for key, value in self.settings.items() if key not in _NO_OPTIONS}

    def bounds(self, count: int) -> list[tuple[int, int]] | None:
        """First class and end of each task, for at least `count` tasks; None if the log does not say it."""
        first, step = (whole(self.settings.get(key)) for key in ("init_cls", "increment"))
        if first is not None and step is not None and step > 0 and first >= 0:
            bounds = [(0, first or step)]
            while len(bounds) < count or (self.classes is not None and bounds[-1][1] < self.classes):
                if len(bounds) > 10_000:
                    return None
                end = bounds[-1][1] + step
                bounds.append((bounds[-1][1], end if self.classes is None else max(min(end, self.classes), 1)))
            return bounds
        return self.learned[:count] if len(self.learned) >= count else None


def passes(path: Path, text: str) -> list[Pass]:
    """Split the log into runs: all seeds of one call land in one file, and so does every later call."""
    found = [Pass()]
    for line in text.split("\n"):
        if "=> " in line:
            _take(path, line, found)
    return [one for one in found if one.settings or one.has_begun]


def _take(path: Path, line: str, found: list[Pass]) -> None:
    now = found[-1]
    if entry := _ENTRY.search(line):
        made = _entry(path, entry["groups"])
        before = now.entries[entry["key"]]
        if before and len(made.groups) < len(before[-1].groups):
            found.append(Pass())
            before = found[-1].entries[entry["key"]]
        before.append(made)
    elif learning := _LEARNING.search(line):
        now.learned.append((int(learning["low"]), int(learning["high"])))
    elif printed := _PRINTED.search(line):
        now.printed[printed["name"], printed["key"]] = float(printed["value"])
    elif order := _ORDER.search(line):
        now.classes = order["classes"].count(",") + 1 if now.classes is None else now.classes
    elif "[trainer.py]" in line or not now.has_begun:
        setting = _SETTING.search(line)
        if setting is None or setting["key"] in ("CNN", "NME"):
            return
        if now.has_begun or setting["key"] in now.settings:
            found.append(Pass())
        found[-1].settings[setting["key"]] = setting["value"]


def _entry(path: Path, text: str) -> LogEntry:
    try:
        printed = parse(text)
    except NotALiteral as error:
        raise cannot_read(path, NAME, f"'{in_words(text)}' is not a printed dictionary ({error}).") from None
    values = dict(_scores(path, printed)) if isinstance(printed, dict) else {}
    groups = {
        (int(found[1]), int(found[2])): value for key, value in values.items() if (found := _GROUP.fullmatch(key))
    }
    if not groups and "total" not in values:
        raise cannot_read(path, NAME, f"'{in_words(text)}' has no class groups like '00-09'.")
    # By number, not as strings: '100-109' comes after '20-29'.
    return LogEntry(values.get("total"), values.get("old"), values.get("new"), dict(sorted(groups.items())))


def _scores(path: Path, printed: Mapping[object, object]) -> Iterator[tuple[str, Score]]:
    for key, value in printed.items():
        if isinstance(key, str):
            try:
                yield key, number(value)
            except ValueError as error:
                raise cannot_read(path, NAME, f"the group {in_words(key)}: {error}.") from None
