"""L2Logger's folders, as l2metrics reads them: blocks of training and of testing, an experience a line."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from recollect.errors import UsageError
from recollect.inputs import plain_number
from recollect.runs.importers.build import Score, check_size, make_run, named, whole
from recollect.runs.importers.events import Evaluated, Learned, lay_out
from recollect.runs.importers.files import (
    cannot_read,
    find_files,
    head_lines,
    in_words,
    is_folder,
    load_json,
    natural,
    read_text,
)
from recollect.runs.importers.reconcile import WARNING, agreeing
from recollect.runs.run import Run

NAME = "l2metrics"
SUMMARY = "L2Logger/l2metrics: a run's folder with <worker>/<n>-{train,test}/data-log.tsv"

_COLUMNS = ("block_num", "exp_num", "block_type", "task_name")
_LOG = "data-log.tsv"


class _Experience(NamedTuple):
    block: int
    number: int
    kind: str
    task: str
    score: float


def sniff(path: Path) -> bool:
    """A `data-log.tsv` with its columns, or a folder with one."""
    if is_folder(path):
        path = next(find_files(path, lambda name: name == _LOG), path)
    lines = head_lines(path, 4096)
    return path.name == _LOG and bool(lines) and set(_COLUMNS) <= set(lines[0].split("\t"))


def read(path: Path, *, metric: str | None = None) -> list[Run]:
    """A run for each scenario folder. `metric` names the column, by default the first in `logger_info`."""
    if not is_folder(path):
        if path.name != _LOG or len(path.absolute().parents) < 4:
            raise cannot_read(path, NAME, f"it is not a folder, and not one of its {_LOG}.")
        # One block says little: the log is <run>/<worker>/<n>-test/data-log.tsv, and the run is read.
        read_text(path, NAME)
        path = path.absolute().parents[2]
    files = list(find_files(path, lambda name: name == _LOG))
    scenarios: dict[Path, list[Path]] = {}
    for file in files:
        scenarios.setdefault(_scenario(path, file), []).append(file)
    if not scenarios:
        raise cannot_read(path, NAME, f"no {_LOG} is in or below it.")
    found = [
        _read(folder, scenarios[folder], metric)
        for folder in sorted(scenarios, key=lambda folder: natural(str(folder)))
    ]
    runs = [run for run in found if run is not None]
    if not runs:
        raise cannot_read(path, NAME, "it has no test blocks: a single-task expert's log has training only.")
    experts = len(found) - len(runs)
    note = (f"{experts} logs beside it have training only (experts): left out",) if experts else ()
    return [replace(run, notes=run.notes + note) for run in runs]


def _scenario(root: Path, file: Path) -> Path:
    """The run's folder: the one with `logger_info.json`, else two above the block's."""
    for folder in file.parents:
        if (folder / "logger_info.json").is_file():
            return folder
        if folder == root:
            break
    above = file.parents[min(2, len(file.parents) - 1)]
    return above if above.is_relative_to(root) else root


def _read(folder: Path, logs: list[Path], metric: str | None) -> Run | None:
    """The run of one scenario folder; None if nothing was ever tested in it."""
    information = _json(folder / "logger_info.json")
    columns = information.get("metrics_columns")
    listed = [c for c in columns if isinstance(c, str)] if isinstance(columns, list) else []
    column = metric or (listed[0] if listed else "performance")
    experiences = sorted(experience for log in logs for experience in _experiences(log, column))
    events = list(_events(experiences))
    if not any(isinstance(event, Evaluated) for event in events):
        return None
    line = lay_out(events, column)
    if not line.learned:
        raise cannot_read(folder, NAME, "it has no training blocks: no task was ever learned.")
    check_size(folder, NAME, len(line.rows), len(line.tasks))
    scenario = _json(folder / "scenario_info.json")
    stream = scenario.get("scenario_type")
    run = make_run(
        folder,
        NAME,
        rows=line.rows,
        tasks=named(line.tasks),
        learner=folder.absolute().name,
        guessed=folder.absolute().name,
        stream=stream if isinstance(stream, str) else "unknown",
        unit="raw",
        metric=column,
        complete=line.learned_at is not None,
        learned_at=line.learned_at,
        config={key: value for key, value in scenario.items() if isinstance(value, str)},
        notes=(
            f"a score is the mean '{in_words(column)}' of a test block's complete experiences, as logged",
            "tasks are in the order of their first training; names are in lower case, as l2logger makes them",
            *line.notes,
        ),
    )
    return _reconciled(run, folder, column, [event for event in events if isinstance(event, Evaluated)])


def _reconciled(run: Run, folder: Path, column: str, evaluated: Sequence[Evaluated]) -> Run:
    """The run, checked against the report that l2metrics wrote of it, where one lies near."""
    for path, report in _reports(folder):
        if report.get("metrics_column", column) != column:
            continue
        try:
            printed = {task: [*map(float, one["avg_eval_perf_vals"])] for task, one in report["task_metrics"].items()}
            ranges = {
                task: (float(one["min"]), float(one["max"]))
                for task, one in (report.get("normalization_data_range") or {}).items()
            }
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            continue
        scores = {task: [event.scores[task] for event in evaluated if task in event.scores] for task in printed}
        ends = [end for pair in ranges.values() for end in pair] or [1.0, 101.0]
        theirs = [value for values in printed.values() for value in values]
        # A report scales the scores of each task to 1 .. 101, or those of the run, or leaves them (1 to 101 are these).
        for scale in (ranges, {}):
            ours = [
                _scaled(s, *scale.get(task, (min(ends), max(ends)))) for task, values in scores.items() for s in values
            ]
            checked = agreeing(run, f"the report {in_words(path.name)}", theirs, ours, slack=1e-4)
            if not checked.notes[-1].startswith(WARNING):
                break
        return checked
    return run


def _scaled(score: Score, low: float, high: float) -> float:
    return math.nan if score is None else 1 + 100 * (score - low) / ((high - low) or 1)


def _reports(folder: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """What l2metrics saved of this run: in its folder, in one above, or in `results` beside those."""
    above = [folder, *folder.absolute().parents[:2]]
    for place in dict.fromkeys((*above, *(one / "results" for one in above))):
        for path in sorted(place.glob("*_metrics.json"))[:20] if is_folder(place) else ():
            try:
                found = load_json(path, NAME)
            except UsageError:
                continue
            for report in found if isinstance(found, list) else [found]:
                if isinstance(report, dict) and report.get("run_id") == folder.absolute().name:
                    yield path, report


def _events(experiences: list[_Experience]) -> Iterator[Learned | Evaluated]:
    """What each block did: the tasks it trained, or the mean score of each task it tested."""
    for _, block in groupby(experiences, key=lambda experience: experience.block):
        tested: dict[str, list[float]] = {}
        trained: dict[str, None] = {}
        for experience in block:
            if experience.kind == "train":
                trained.setdefault(experience.task)
            else:
                scores = tested.setdefault(experience.task, [])
                if not math.isnan(experience.score):
                    scores.append(experience.score)
        yield from (Learned(task) for task in trained)
        if tested:
            yield Evaluated({task: sum(s) / len(s) if s else None for task, s in tested.items()})


def _experiences(log: Path, column: str) -> Iterator[_Experience]:
    try:
        lines = csv.DictReader(read_text(log, NAME).split("\n"), delimiter="\t")
        names = lines.fieldnames or []
        missing = [name for name in (*_COLUMNS, column) if name not in names]
        if missing:
            raise cannot_read(log, NAME, f"it has no column {', '.join(map(in_words, missing))}.")
        for place, fields in enumerate(lines, start=2):
            # A row that says `incomplete` is followed by the experience's final one.
            if fields.get("exp_status", "complete") == "incomplete":
                continue
            yield _experience(log, place, fields, column)
    except csv.Error as error:
        raise cannot_read(log, NAME, f"{error}.") from None


def _experience(log: Path, place: int, fields: dict[str, Any], column: str) -> _Experience:
    block, number = whole(fields["block_num"]), whole(fields["exp_num"])
    kind, task, text = (fields[key] for key in ("block_type", "task_name", column))
    if block is None or number is None or kind not in ("train", "test") or not task:
        raise cannot_read(log, NAME, f"line {place} does not name its block, experience, type and task. Is it whole?")
    try:
        score = plain_number(text) if text else float("nan")
    except ValueError:
        raise cannot_read(log, NAME, f"line {place} says '{in_words(text)}' for {in_words(column)}.") from None
    if abs(score) > 1e100:
        raise cannot_read(log, NAME, f"line {place} says {score} for {in_words(column)}; a score is a finite number.")
    return _Experience(block, number, kind, task.lower(), score)


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_text(path, NAME))
    except (UsageError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
