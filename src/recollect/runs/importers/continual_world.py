"""Continual World and COOM: `progress.tsv` with `config.json`, evaluations inside the tasks of one training."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from recollect.inputs import plain_number
from recollect.runs.importers.build import Score, check_size, make_run, named, number, whole
from recollect.runs.importers.files import (
    cannot_read,
    fields_of,
    find_files,
    guess_json,
    head_lines,
    in_words,
    is_folder,
    read_text,
)
from recollect.runs.run import Row, Run

NAME = "continual-world"
SUMMARY = "Continual World, COOM: folders with progress.tsv and config.json"

_FILE = "progress.tsv"
_COLUMN = re.compile(r"test/(stochastic|deterministic)/(\d{1,6})/(.+)/success")


@dataclass(frozen=True)
class _Table:
    """The lines of a log: which task was trained, how many steps were made, and the share of successes per task."""

    tasks: tuple[str, ...]
    active: tuple[int | None, ...]
    steps: tuple[int | None, ...]
    success: tuple[tuple[Score, ...], ...]


def sniff(path: Path) -> bool:
    """A `progress.tsv` with success on test environments, or a folder with one."""
    if is_folder(path):
        return any(sniff(file) for file in islice(_files(path), 20))
    lines = head_lines(path, 2**16) if path.name == _FILE else []
    return bool(lines) and any(_COLUMN.fullmatch(name) for name in lines[0].split("\t"))


def read(path: Path, *, metric: str = "stochastic") -> list[Run]:
    """One run per log. `metric` is the policy that was tested: stochastic (as the paper reports), or deterministic."""
    if metric not in ("stochastic", "deterministic"):
        raise cannot_read(path, NAME, f"the policy is stochastic or deterministic; got {in_words(metric)}.")
    files = list(_files(path)) if is_folder(path) else [path]
    runs = [_run(file, metric) for file in files]
    if not runs:
        raise cannot_read(path, NAME, f"no {_FILE} is in or below it.")
    return runs


def _files(folder: Path) -> Any:
    return find_files(folder, lambda name: name == _FILE)


def _run(file: Path, policy: str) -> Run:
    table = _table(file, policy)
    config = _config(file)
    S, T = len(table.success), len(table.tasks)
    check_size(file, NAME, S, T)
    ends = _ends(table, T)
    together = "cl_method" not in config and "task" not in config
    if together:
        # Multi-task training: all tasks have been learned when it is over.
        ends = dict.fromkeys(range(T), S - 1)
    rows = [
        Row(_after(ends, place), step=table.steps[place], task_end=False, scores={"success": scores})
        for place, scores in enumerate(table.success)
    ]
    missing = [table.tasks[j] for j in range(T) if j not in ends]
    return make_run(
        file.parent,
        NAME,
        rows=rows,
        tasks=named(table.tasks),
        learner=_learner(config, together),
        stream=f"{T} environments" if T > 1 else table.tasks[0],
        seed=whole(config.get("seed")),
        unit="fraction",
        metric="success",
        complete=False,
        learned_at=ends,
        role="reference" if together else "contestant",
        config={
            k: v
            for k, v in config.items()
            if isinstance(v, str | int | float | bool) and k not in ("seed", "cl_method")
        },
        notes=(
            f"share of successes of the {policy} policy; a task has been learned after the last row of its block",
            f"never trained in this log: {', '.join(missing)}" if missing else None,
            "all tasks were trained together" if together else None,
        ),
    )


def _learner(config: Mapping[str, Any], together: bool) -> str:
    if isinstance(config.get("task"), str):
        return "single-task"
    return "multi-task" if together else str(config.get("cl_method") or "finetuning")


def _after(ends: Mapping[int, int], place: int) -> int:
    return max((task for task, row in ends.items() if row <= place), default=-1)


def _ends(table: _Table, T: int) -> dict[int, int]:
    """The last row of the block in which each task was trained first."""
    if T == 1:
        return {0: len(table.active) - 1}
    ends: dict[int, int] = {}
    before = None
    for place, active in enumerate(table.active):
        if active is not None and active < T and (active not in ends or active == before):
            ends[active] = place
        before = active
    return ends


def _table(file: Path, policy: str) -> _Table:
    header, *body = fields_of(file, NAME, read_text(file, NAME).split("\n"), "\t") or [[]]
    columns = {
        int(m[2]): (m[3], place)
        for place, name in enumerate(header)
        if (m := _COLUMN.fullmatch(name)) and m[1] == policy
    }
    if not columns or not body:
        raise cannot_read(file, NAME, f"it has no success of the {policy} policy on any environment.")
    for place, line in enumerate(body, start=2):
        if len(line) != len(header):
            raise cannot_read(
                file, NAME, f"line {place} has {len(line)} fields; the header has {len(header)}. Is it whole?"
            )
    order = sorted(columns)
    try:
        success = tuple(tuple(_score(line[columns[j][1]]) for j in order) for line in body)
        steps, active = (_whole_column(header, body, name) for name in ("total_env_steps", "train/active_env"))
    except ValueError as wrong:
        raise cannot_read(file, NAME, f"{wrong}.") from None
    return _Table(
        tasks=_told_apart([in_words(columns[j][0], 200) for j in order]),
        active=active,
        steps=steps if _rising(steps) else (None,) * len(body),
        success=success,
    )


def _rising(steps: Sequence[int | None]) -> bool:
    known = [step for step in steps if step is not None]
    return len(known) == len(steps) and known == sorted(known)


def _told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """Environments that come twice in a sequence are two tasks."""
    return tuple(name if names.count(name) == 1 else f"{name} ({place})" for place, name in enumerate(names))


def _score(text: str) -> Score:
    return number(plain_number(text)) if text.strip() else None


def _whole_column(header: Sequence[str], body: Sequence[Sequence[str]], name: str) -> tuple[int | None, ...]:
    if name not in header:
        return (None,) * len(body)
    place = header.index(name)
    return tuple(whole(_score(line[place])) if re.fullmatch(r"[0-9.eE+-]+", line[place]) else None for line in body)


def _config(file: Path) -> Mapping[str, Any]:
    data = guess_json(file.parent / "config.json")
    return data if isinstance(data, dict) else {}
