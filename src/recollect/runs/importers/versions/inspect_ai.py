"""inspect_ai: a log per task and model, as `.eval` (a zip) or `.json`."""

from __future__ import annotations

import datetime
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from recollect.runs.arrange import Choices
from recollect.runs.importers.build import whole
from recollect.runs.importers.files import (
    cannot_read,
    find_files,
    guess_json,
    head,
    in_words,
    is_folder,
    load_json,
    once,
)
from recollect.runs.importers.versions.assemble import runs_of
from recollect.runs.importers.versions.evaluation import Evaluation, Measured, listing, mapping, measured
from recollect.runs.importers.versions.zipped import member
from recollect.runs.run import Run
from recollect.runs.version_names import step_of

NAME = "inspect"
SUMMARY = "inspect_ai: logs of one task and model each, .eval or .json; a folder of them"

_ERRORS = ("stderr", "stderr_clustered", "bootstrap_stderr")
_NO_SCORES = (*_ERRORS, "std", "var", "ci_lower", "ci_upper")


def sniff(path: Path) -> bool:
    """A log with `eval` and `status`, or a folder with one."""
    if is_folder(path):
        return any(sniff(file) for file in islice(_files(path), 200))
    if path.suffix == ".eval":
        return zipfile.is_zipfile(path)
    return path.suffix == ".json" and b'"eval"' in head(path, 2**14) and _is_log(guess_json(path))


def read(path: Path) -> list[Run]:
    """The run of all logs at or below a path: rows are models, columns tasks."""
    return runs_of(evaluations(path), path, NAME, Choices())


def evaluations(path: Path) -> list[Evaluation]:
    """One evaluation per log; a log that failed leaves a note."""
    files = list(_files(path)) if is_folder(path) else [path]
    found, failed = [], []
    for file in files:
        if is_folder(path) and file.suffix == ".json" and b'"eval"' not in head(file, 2**14):
            continue
        log = header_of(file)
        if log is None:
            if is_folder(path):
                continue
            raise cannot_read(file, NAME, "it holds no eval and no status.")
        if log.get("status") == "success" and mapping(log.get("results")).get("scores"):
            found.append(_evaluation(file, log))
        else:
            failed.append(f"{file.name} ({in_words(log.get('status'))})")
    if not found and failed:
        raise cannot_read(path, NAME, f"no log has results: {', '.join(failed[:3])}.")
    note = f"{len(failed)} logs without results left out: {', '.join(failed[:3])}"
    return found if not failed else [*found[:-1], *(_with_note(one, note) for one in found[-1:])]


def _with_note(one: Evaluation, note: str) -> Evaluation:
    return replace(one, notes=(*one.notes, note))


def _files(folder: Path) -> Iterator[Path]:
    return find_files(folder, lambda name: name.endswith((".eval", ".json")))


def header_of(path: Path) -> dict[str, Any] | None:
    """What a log says of itself, without its samples where they lie apart; None if it is no log."""
    if path.suffix == ".eval":
        data = member(path, "header.json", NAME)
        if data is None:
            # A log that was never finished has its start alone.
            start = member(path, "_journal/start.json", NAME)
            return None if start is None else {**_parsed(path, start), "status": "started"}
        log = _parsed(path, data)
    else:
        log = mapping(load_json(path, NAME))
    return log if _is_log(log) else None


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    try:
        return mapping(json.loads(data, object_pairs_hook=once))
    except (ValueError, RecursionError) as error:
        raise cannot_read(path, NAME, f"its header is not JSON: {error}.") from None


def _is_log(data: Any) -> bool:
    return isinstance(data, dict) and "status" in data and {"task", "model"} <= mapping(data.get("eval")).keys()


def _evaluation(path: Path, log: Mapping[str, Any]) -> Evaluation:
    about = mapping(log["eval"])
    arguments = mapping(about.get("model_args"))
    revision = in_words(str(arguments.get("revision") or ""), 100)
    model = in_words(str(arguments.get("model_path") or about["model"]), 300)
    task = in_words(str(about["task"]), 200)
    config, data = mapping(about.get("config")), mapping(about.get("dataset"))
    told = {
        "version": about.get("task_version"),
        "limit": config.get("limit", "none"),
        "epochs": config.get("epochs"),
        "data": data.get("name"),
        "arguments": json.dumps(about.get("task_args"), sort_keys=True) if about.get("task_args") else None,
    }
    return Evaluation(
        path=path,
        model=model,
        revision=revision,
        step=step_of(revision, model),
        date=_date(about.get("created")),
        scores={task: _scores(path, mapping(log["results"]))},
        conditions={task: {name: in_words(str(value)) for name, value in told.items() if value is not None}},
    )


def _scores(path: Path, results: Mapping[str, Any]) -> dict[str, Measured]:
    """The metrics of every scorer; those of the first, or of the one that `headline` names, by their own names."""
    scorers = [mapping(score) for score in listing(results.get("scores"))]
    headline = results.get("headline")
    if not scorers:
        raise cannot_read(path, NAME, "its results have no scores.")
    first = str(headline) if any(score.get("name") == headline for score in scorers) else str(scorers[0].get("name"))
    found = {}
    for score in sorted(scorers, key=lambda score: score.get("name") != first):
        metrics = {name: mapping(metric).get("value") for name, metric in mapping(score.get("metrics")).items()}
        error = next((metrics[name] for name in _ERRORS if name in metrics), None)
        n = whole(score.get("scored_samples")) or whole(results.get("completed_samples"))
        for name, value in metrics.items():
            if name in _NO_SCORES:
                continue
            key = name if score.get("name") == first else f"{score.get('name')}/{name}"
            try:
                cell = measured(value, error, n)
            except ValueError as wrong:
                raise cannot_read(path, NAME, f"{in_words(name)}: {wrong}.") from None
            if cell is not None:
                found[key] = cell
    return found


def _date(value: Any) -> float | None:
    try:
        return datetime.datetime.fromisoformat(value).timestamp()
    except (TypeError, ValueError):
        return None
