"""Mammoth: `logs.pyd`, a printed dictionary a run, or the stderr of a run whose cells are not logged."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recollect.errors import UsageError
from recollect.runs.importers.build import Matrix, Score, check_size, make_run, named, number, origin_of, whole
from recollect.runs.importers.files import (
    cannot_read,
    find_files,
    head_lines,
    in_words,
    is_folder,
    mentions,
    read_text,
)
from recollect.runs.importers.literals import NotALiteral, parse
from recollect.runs.importers.reconcile import Claim, reconciled
from recollect.runs.run import ACCURACY, Row, Run

NAME = "mammoth"
SUMMARY = "Mammoth: logs.pyd (a results folder too), or stderr with 'Raw accuracy values' (Domain-IL)"

_CELL = re.compile(r"accuracy_(\d{1,6})_task(\d{1,6})")
_SETTINGS = {
    "class-il": "class-incremental",
    "task-il": "task-incremental",
    "domain-il": "domain-incremental",
    "general-continual": None,
    "biased-class-il": "class-incremental",
}
_HEADING = re.compile(
    r"(?P<what>Future Accuracy|Joint Accuracy|Accuracy)(?: \(epoch (?P<epoch>\d+)\))?"
    r"(?: for (?P<tasks>\d{1,6}) task\(s\))?: *\t? *\[(?:Class|Domain)-IL\]"
)
_RAW = re.compile(
    r"Raw accuracy values: (?P<setting>Class-IL|Domain-IL) (?P<first>\[.*?\])"
    r"(?: \| Task-IL (?P<second>\[.*\]))?\s*$"
)
_NO_CELLS = (
    "it has mean accuracies only (accmean_task*): Mammoth does not log the tasks' own scores in this setting."
    " Save the run's stderr and give that; its lines 'Raw accuracy values' hold them."
)


def sniff(path: Path) -> bool:
    """A `logs.pyd` with Mammoth's keys, a folder that has one, or stderr with its raw accuracies."""
    if is_folder(path):
        return next(find_files(path, lambda name: name == "logs.pyd"), None) is not None
    if mentions(path, b"Raw accuracy values: ", b"-IL]:"):
        return True
    lines = head_lines(path, 2**20) if mentions(path, b"'accmean_task") else []
    return any(line.lstrip().startswith("{'") and "'accmean_task" in line for line in lines)


def read(path: Path) -> list[Run]:
    """Every run of the file, or of all `logs.pyd` below the folder; a class-IL run has a task-IL twin."""
    if is_folder(path):
        files = list(find_files(path, lambda name: name == "logs.pyd"))
        if not files:
            raise cannot_read(path, NAME, "there is no logs.pyd in or below the folder.")
        return _read_all(files)
    text = read_text(path, NAME)
    if "Raw accuracy values: " in text and "'accmean_task" not in text:
        return _from_stderr(path, text)
    lines = text.split("\n")
    # The same line again is the same run: it is read once.
    made = {line: _from_line(path, place, line) for line, place in _first_places(lines).items()}
    if not made:
        raise cannot_read(path, NAME, "it is empty.")
    return [made[line] for line in lines if line in made]


def _first_places(lines: Sequence[str]) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, line in enumerate(lines, start=1):
        if line.strip():
            places.setdefault(line, place)
    return places


class _MeansOnly(UsageError):
    """A log of means: there is nothing wrong with it, and no matrix in it."""


def _read_all(files: list[Path]) -> list[Run]:
    """The runs of a results folder, where logs of other settings may lie between."""
    runs: list[Run] = []
    without: list[_MeansOnly] = []
    for file in files:
        try:
            runs += read(file)
        except _MeansOnly as error:
            without.append(error)
    if not runs:
        raise without[0]
    note = (f"{len(without)} logs in the folder hold mean accuracies only: left out",) if without else ()
    return [replace(run, notes=run.notes + note) for run in runs]


def _from_line(path: Path, place: int, line: str) -> Run:
    try:
        logged = parse(line)
    except NotALiteral as error:
        raise cannot_read(
            path, NAME, f"line {place} is not a printed dictionary ({error}). Is the file whole?"
        ) from None
    if not isinstance(logged, dict):
        raise cannot_read(path, NAME, f"line {place} is {in_words(logged)}, not a printed dictionary.")
    cells: dict[tuple[int, int], Score] = {}
    for key, value in logged.items():
        found = _CELL.fullmatch(key) if isinstance(key, str) else None
        if found:
            try:
                cells[int(found[2]) - 1, int(found[1]) - 1] = number(value)
            except ValueError as error:
                raise cannot_read(path, NAME, f"on line {place}, {key}: {error}.") from None
    if not cells:
        raise _MeansOnly(str(cannot_read(path, NAME, f"on line {place}, {_NO_CELLS}")))
    S, T = (1 + max(cell[axis] for cell in cells) for axis in (0, 1))
    if min(min(cell) for cell in cells) < 0:
        raise cannot_read(path, NAME, f"line {place} numbers a task 0; Mammoth counts from 1.")
    check_size(path, NAME, S, T)
    matrix: Matrix = [[cells.get((i, j)) for j in range(T)] for i in range(S)]
    widths = [1 + max((j for j in range(T) if (i, j) in cells), default=-1) for i in range(S)]
    joint = bool(logged.get("joint")) and S == 1
    rows, notes = _rows(path, place, matrix, widths, joint)
    return _run(path, logged, _setting(path), rows, T, notes)


def _rows(path: Path, place: int, matrix: Matrix, widths: list[int], joint: bool) -> tuple[list[Row], list[str]]:
    """Rows by how many tasks they hold: row i holds i + 1; an evaluation inside a task repeats a width."""
    T = widths[-1]
    if joint:
        return [Row(T - 1, scores={ACCURACY: tuple(matrix[0])})], ["a joint run: one evaluation, after all tasks"]
    if sorted(widths) != widths or sorted(set(widths)) != list(range(1, T + 1)):
        raise cannot_read(
            path,
            NAME,
            f"on line {place} the rows hold {in_words(', '.join(map(str, widths)))} tasks; expected 1, 2,"
            " 3, ..., one more after each task. Runs with --eval_future log future scores as rows, too.",
        )
    rows = []
    for i, width in enumerate(widths):
        ends = i + 1 == len(widths) or widths[i + 1] != width
        rows.append(Row(width - 1 if ends else width - 2, task_end=ends, scores={ACCURACY: tuple(matrix[i])}))
    inside = len(rows) - T
    return rows, [f"{inside} evaluations lie inside tasks (--eval_epochs)"] if inside else []


def _from_stderr(path: Path, text: str) -> list[Run]:
    """Runs from lines of raw accuracies; the heading before each says after how many tasks it was."""
    runs: list[dict[int, tuple[str, list[Score], list[Score] | None]]] = []
    heading: re.Match[str] | None = None
    skipped = 0
    for line in text.split("\n"):
        if found := _HEADING.search(line):
            heading = found
        raw = _RAW.search(line)
        if raw is None or heading is None:
            continue
        if heading["what"] != "Accuracy" or heading["epoch"] is not None or heading["tasks"] is None:
            skipped += 1
            continue
        tasks = int(heading["tasks"])
        second = raw["second"]
        entry = (
            raw["setting"],
            _values(path, raw["first"]),
            None if second is None else _values(path, second),
        )
        if not runs or (tasks <= max(runs[-1]) and runs[-1].get(tasks) != entry):
            runs.append({})
        runs[-1][tasks] = entry
    if not runs:
        raise cannot_read(path, NAME, "no line 'Raw accuracy values' follows an 'Accuracy for .. task(s)'.")
    made = []
    for entries in runs:
        for twin in (0, 1):
            if twin and any(entry[2] is None for entry in entries.values()):
                continue
            # Several runs in one file are several seeds, and its folder names one at most.
            made.append(_stderr_run(path, entries, twin, skipped, alone=len(runs) == 1))
    return made


def _stderr_run(
    path: Path, entries: Mapping[int, tuple[str, list[Score], Any]], twin: int, skipped: int, alone: bool
) -> Run:
    T = max(entries)
    check_size(path, NAME, T, T)
    rows = []
    for tasks, entry in sorted(entries.items()):
        scores: list[Score] = entry[2] if twin else entry[1]
        if len(scores) != tasks:
            raise cannot_read(path, NAME, f"after {tasks} tasks there are {len(scores)} raw accuracies.")
        rows.append(Row(tasks - 1, scores={ACCURACY: tuple(scores)}))
    setting = "task-il" if twin else next(iter(entries.values()))[0].lower()
    notes = ["read from stderr"]
    if skipped:
        notes.append(f"{skipped} evaluations of epochs, of future tasks or of a joint run were not read")
    origin = origin_of(path)
    if not alone or origin.note is None:
        return _run(path, {}, setting, rows, T, notes)
    return _run(path, {"model": origin.learner, "seed": origin.seed}, setting, rows, T, [*notes, origin.note])


def _values(path: Path, text: str) -> list[Score]:
    try:
        values = parse(text)
        return [number(value) for value in values]
    except (NotALiteral, ValueError, TypeError) as error:
        raise cannot_read(path, NAME, f"'{in_words(text)}' is not a list of accuracies ({error}).") from None


def _run(path: Path, logged: Mapping[Any, Any], setting: str | None, rows: list[Row], T: int, notes: list[str]) -> Run:
    dataset, model = (logged.get(key) for key in ("dataset", "model"))
    stream = dataset if isinstance(dataset, str) else "unknown"
    run = make_run(
        path,
        NAME,
        rows=rows,
        tasks=named(T),
        learner=model if isinstance(model, str) else path.absolute().parent.name,
        guessed=None if isinstance(model, str) else path.absolute().parent.name,
        # A class-IL run and its task-IL twin share data set, model and seed, and are not two seeds.
        stream=f"{stream} ({setting})" if setting else stream,
        seed=whole(logged.get("seed")),
        unit="percent",
        scenario=_SETTINGS.get(setting or ""),
        seen_only=True,
        complete=len({row.after for row in rows}) >= T,
        notes=["Mammoth evaluates the tasks seen so far only", *notes],
        config=_options(logged),
    )
    return reconciled(run, _claims(logged, T), places=6)


def _claims(logged: Mapping[Any, Any], T: int) -> list[Claim]:
    """The mean accuracy, forgetting and transfer that Mammoth logs beside the cells, in percent."""
    ids = {
        f"accmean_task{T}": ("acc.average",),
        "forgetting": ("forgetting.pycil", "forgetting.chaudhry2018"),
        "bwt": ("bwt.lopezpaz2017",),
    }
    return [
        Claim(name, float(logged[name]) / 100, expected)
        for name, expected in ids.items()
        if isinstance(logged.get(name), int | float)
        and not isinstance(logged[name], bool)
        and abs(logged[name]) < 1e300
    ]


# Arguments that say where and when a run was made, not what learned.
_NO_OPTIONS = re.compile(
    r"dataset|model|seed|device|notes|nowand|loadcheck|savecheck|non_verbose|disable_log|num_workers|debug_mode|joint"
    r"|eval_\w+|ckpt_name|start_from|stop_after|inference_only|enable_other_metrics|wandb_\w+|conf_\w+|\w+_path\w*"
    r"|save_\w+|cache_\w+|acc\w+|\w+_memory_usage|forgetting|bwt|fwt|forward_transfer|backward_transfer"
)


def _options(logged: Mapping[Any, Any]) -> dict[str, Any]:
    """The arguments that make the learner what it is."""
    return {
        key: value
        for key, value in logged.items()
        if isinstance(key, str)
        and isinstance(value, int | float | str)
        and not (isinstance(value, float) and not math.isfinite(value))
        and not _NO_OPTIONS.fullmatch(key)
    }


def _setting(path: Path) -> str | None:
    """The setting is a folder: `<setting>/<dataset>/<model>/logs.pyd`."""
    parts = path.absolute().parts
    return parts[-4] if len(parts) >= 4 and parts[-4] in _SETTINGS else None
