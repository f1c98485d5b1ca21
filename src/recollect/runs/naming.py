"""Which files are runs of one learner: the one rule.

1. What a file says counts: a record, and a tool's file that names its learner, its options and its seed. Options in a
   file are part of the learner, so that files with other options are no seeds of one another.
2. Else `--name PATTERN` says it: `{learner}/{seed}/results.csv`, `{learner}_s{seed}`, `{stream}/{learner}/*.npy`. It is
   held against the end of each path, and wins over what the file says.
3. Else the paths do. A part of a path that is a seed is taken out (`seed0`, `s0`, `run0` alone or beside a separator,
   or a folder that is a number); what then differs between the paths names the learner.

Files that are put together by rule 3 are said. Files that are byte for byte the same are one observation, and said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from recollect.errors import UsageError
from recollect.runs.run import Run

_FIELDS = {"learner": "[^/]+?", "seed": "[0-9]{1,18}", "stream": "[^/]+?"}
_WORD = r"(?:seed|run|rep|trial|s)"
_ALONE = re.compile(rf"(?:{_WORD}[-_ =]?)?([0-9]{{1,18}})", re.IGNORECASE)
_LAST = re.compile(rf"(.*[^-_. ])(?:[-_. ]+{_WORD}|[-_. ]*seed)[-_ =]?([0-9]{{1,18}})", re.IGNORECASE)
_FIRST = re.compile(rf"{_WORD}[-_ =]?([0-9]{{1,18}})[-_. ]+(.+)", re.IGNORECASE)
# What every tool calls its file: it names no learner.
_NO_NAMES = frozenset(
    ("acc", "accuracy", "eval", "eval_results", "evaluation", "log", "logs", "matrix", "metrics", "output", "result")
) | {"results", "run", "scores"}


def named(runs: Sequence[Run], pattern: str | None = None) -> list[Run]:
    """The runs with learners and seeds by the rule above; copies are left out."""
    by_pattern = list(runs) if pattern is None else _by_pattern(runs, pattern)
    return _pooled_is_said(_without_copies(_by_paths(by_pattern) if pattern is None else by_pattern))


def _by_pattern(runs: Sequence[Run], pattern: str) -> list[Run]:
    expression = _expression(pattern)
    made = []
    for run in runs:
        if run.source is None:
            made.append(run)
            continue
        path = PurePosixPath(Path(run.source.path).as_posix())
        match = next((m for text in (path, path.with_suffix("")) if (m := expression.fullmatch(str(text)))), None)
        if match is None:
            raise UsageError(f"--name {pattern} does not fit {path}: it is held against the end of the path.")
        found = match.groupdict()
        changes: dict[str, Any] = {key: found[key] for key in ("learner", "stream") if found.get(key)}
        if run.source.guessed is not None and "learner" in changes:
            # What was added to the name tells runs of one file apart.
            changes["learner"] += run.learner.removeprefix(run.source.guessed)
        seed = int(found["seed"]) if found.get("seed") and run.source.part is None else run.seed
        made.append(replace(run, **changes, seed=seed, source=replace(run.source, guessed=None)))
    if not any(run.source is not None for run in runs):
        raise UsageError("--name is for files; what was given are records, which say whose they are.")
    return made


def _expression(pattern: str) -> re.Pattern[str]:
    """A pattern of the command line as a regular expression.

    >>> bool(_expression("{learner}_s{seed}").fullmatch("runs/er_s0"))
    True
    """
    pieces = re.split(r"(\{[^{}]*\}|\*)", pattern)
    fields = [piece[1:-1] for piece in pieces if piece.startswith("{")]
    unknown = [field for field in fields if field not in _FIELDS]
    if unknown or not fields or len(set(fields)) != len(fields):
        raise UsageError(
            "--name is a pattern of the path with {learner}, {seed} or {stream}, each once, such as"
            f" '{{learner}}/{{seed}}/results.csv'; got {pattern!r}."
        )
    text = "".join(
        f"(?P<{piece[1:-1]}>{_FIELDS[piece[1:-1]]})"
        if piece.startswith("{")
        else "[^/]*"
        if piece == "*"
        else re.escape(piece)
        for piece in pieces
    )
    return re.compile(rf"(?:.*/)?{text}")


def _by_paths(runs: Sequence[Run]) -> list[Run]:
    """Learners and seeds of the runs whose names were guessed, by what differs between their paths."""
    files = dict.fromkeys(run.source.path for run in runs if run.source is not None and run.source.guessed is not None)
    if not files:
        return list(runs)
    split = {file: _split(file) for file in files}
    learners = _differing({file: parts for file, (parts, _) in split.items()})
    made = []
    for run in runs:
        if run.source is None or run.source.guessed is None:
            made.append(run)
            continue
        name = (learners[run.source.path] or run.source.guessed) + run.learner.removeprefix(run.source.guessed)
        seed = run.seed if run.seed is not None or run.source.part is not None else split[run.source.path][1]
        made.append(replace(run, learner=name, seed=seed))
    return made


def _split(file: str) -> tuple[tuple[str, ...], int | None]:
    """The parts of a path without its seed, and the seed; the seed nearest to the file counts.

    >>> _split("x/er/0/results.csv"), _split("x/er_s1.npy"), _split("x/s2/er.csv"), _split("x/cifar100/er.csv")
    ((('x', 'er', 'results'), 0), (('x', 'er'), 1), (('x', 'er'), 2), (('x', 'cifar100', 'er'), None))
    """
    path = PurePosixPath(Path(file).as_posix())
    parts = [*path.parts[:-1], path.stem]
    # A number far above the file (a year, a size) is no seed.
    for place in range(len(parts) - 1, max(len(parts) - 4, -1), -1):
        part = parts[place]
        if place < len(parts) - 1 and (found := _ALONE.fullmatch(part)):
            return (*parts[:place], *parts[place + 1 :]), int(found[1])
        if found := _LAST.fullmatch(part):
            return (*parts[:place], found[1], *parts[place + 1 :]), int(found[2])
        if found := _FIRST.fullmatch(part):
            return (*parts[:place], found[2], *parts[place + 1 :]), int(found[1])
    return tuple(parts), None


def _differing(files: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """For each file the parts that are not common to all, or its last telling part where nothing differs."""
    kinds = set(files.values())
    first = next(iter(kinds))
    begin = next((i for i, part in enumerate(first) if any(k[i : i + 1] != (part,) for k in kinds)), len(first))
    end = 0
    while end < min(map(len, kinds)) - begin and len({kind[len(kind) - 1 - end] for kind in kinds}) == 1:
        end += 1
    names = {}
    for file, kind in files.items():
        rest = kind[begin : len(kind) - end] if len(kinds) > 1 else ()
        telling = [part for part in rest if part.lower() not in _NO_NAMES] or list(rest)
        names[file] = "/".join(telling) if telling else _telling(kind)
    return (
        names
        if len(set(names.values())) == len(kinds)
        else {file: "/".join(kind[begin:]) for file, kind in files.items()}
    )


def _telling(parts: Sequence[str]) -> str:
    """The last part that is not what every tool calls its file; nothing if there is none."""
    return next((part for part in reversed(parts) if part.lower() not in _NO_NAMES and part.strip("./")), "")


def _without_copies(runs: Sequence[Run]) -> list[Run]:
    """Of runs of one learner that come from files which are byte for byte the same, the first."""
    seen: dict[tuple[object, ...], Run] = {}
    kept: list[Run] = []
    copies: dict[int, list[str]] = {}
    for run in runs:
        if run.source is None or run.source.sha256 is None:
            kept.append(run)
            continue
        key = (run.source.sha256, run.source.part, run.learner, run.metric, run.stream)
        first = seen.setdefault(key, run)
        if first is run or (
            first.source is not None and first.source.path == run.source.path and first.seed != run.seed
        ):
            kept.append(run)
        else:
            copies.setdefault(id(first), []).append(run.source.path)
    return [
        replace(run, notes=(*run.notes, _copied(run, copies[id(run)]))) if id(run) in copies else run for run in kept
    ]


def _copied(run: Run, others: Sequence[str]) -> str:
    first = "" if run.source is None else run.source.path
    return f"{', '.join(others[:3])} is byte for byte {first}: counted once"


def _pooled_is_said(runs: list[Run]) -> list[Run]:
    """Say which files are taken for seeds of one learner by their names, or without any seed."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, run in enumerate(runs):
        if run.source is not None:
            config = repr(sorted(run.learner_config.items(), key=str))
            groups.setdefault((run.learner, config, run.stream, run.family, run.metric), []).append(place)
    made = list(runs)
    for places in groups.values():
        members = [runs[place] for place in places]
        files = dict.fromkeys(run.source.path for run in members if run.source is not None)
        guessed = [run for run in members if run.seed is None or (run.source is not None and run.source.guessed)]
        if len(files) < 2 or not guessed:
            continue
        seeds = [str(run.seed) for run in members if run.seed is not None]
        what = f"seeds {', '.join(seeds[:8])}" if len(seeds) == len(members) else "runs (not all name a seed)"
        note = (
            f"{len(files)} files are taken for {what} of the learner {members[0].learner} by their names"
            f" ({', '.join(Path(file).name for file in list(files)[:3])}, ...); --name says it otherwise"
        )
        for place in places:
            made[place] = replace(made[place], notes=(*made[place].notes, note))
    return made
