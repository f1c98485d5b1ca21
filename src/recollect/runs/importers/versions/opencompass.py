"""OpenCompass: `summary_<time>.csv`, in which models are columns; unrounded scores in `results/<model>/*.json`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from recollect.inputs import plain_number
from recollect.runs.arrange import Choices
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
from recollect.runs.importers.versions.assemble import runs_of
from recollect.runs.importers.versions.evaluation import Evaluation, Measured, listing, mapping, measured
from recollect.runs.run import Run
from recollect.runs.version_names import step_of

NAME = "opencompass"
SUMMARY = "OpenCompass: summary_<time>.csv (models are columns), with results/<model>/<data set>.json where they are"

_HEADER = ["dataset", "version", "metric", "mode"]


def sniff(path: Path) -> bool:
    """A table whose header begins with dataset, version, metric, mode; or a folder with one."""
    if is_folder(path):
        return any(sniff(file) for file in find_files(path, lambda name: name.endswith(".csv")))
    lines = head_lines(path, 2**16) if path.suffix == ".csv" else []
    return bool(lines) and lines[0].split(",")[:4] == _HEADER and len(lines[0].split(",")) > 4


def read(path: Path) -> list[Run]:
    """The runs of a summary: rows are models, columns data sets."""
    return runs_of(evaluations(path), path, NAME, Choices())


def evaluations(path: Path) -> list[Evaluation]:
    """One evaluation per model of each summary."""
    files = (
        [file for file in find_files(path, lambda name: name.endswith(".csv")) if sniff(file)]
        if is_folder(path)
        else [path]
    )
    return [one for place, file in enumerate(files) for one in _of_summary(file, float(place))]


def _of_summary(file: Path, date: float) -> list[Evaluation]:
    table = fields_of(file, NAME, read_text(file, NAME).split("\n"))
    if not table or table[0][:4] != _HEADER:
        raise cannot_read(file, NAME, f"a header that begins with {','.join(_HEADER)} is expected.")
    models = [in_words(name, 300) for name in table[0][4:]]
    if len(set(models)) != len(models):
        raise cannot_read(file, NAME, "two columns have the name of one model.")
    scores: list[dict[str, dict[str, Measured]]] = [{} for _ in models]
    conditions: dict[str, dict[str, str]] = {}
    for place, row in enumerate(table[1:], start=2):
        if len(row) != len(table[0]):
            raise cannot_read(file, NAME, f"line {place} has {len(row)} fields; the header has {len(table[0])}.")
        task, version, metric, mode = (in_words(text, 200) for text in row[:4])
        for model, text in enumerate(row[4:]):
            if text.strip() in ("", "-"):
                continue
            try:
                rounded = measured(plain_number(text))
                cell = _unrounded(file, models[model], task, metric) or rounded
            except ValueError:
                raise cannot_read(file, NAME, f"line {place} says '{in_words(text)}' for {task}.") from None
            if cell is None or rounded is None:
                continue
            if abs(cell.score - rounded.score) > 0.006:
                raise cannot_read(
                    file,
                    NAME,
                    f"line {place} says {in_words(text)} for {task}, and results/{models[model]} beside it"
                    f" {cell.score}. Remove the file that is not of this summary.",
                )
            if metric in scores[model].setdefault(task, {}):
                raise cannot_read(file, NAME, f"{task} has two lines with {metric}; which one counts is not said.")
            scores[model][task][metric] = cell
        if conditions.setdefault(task, {"version": version, "mode": mode}) != {"version": version, "mode": mode}:
            raise cannot_read(file, NAME, f"{task} has lines of two versions or modes. Leave one of them in the table.")
    units = {metric: "percent" for values in scores for found in values.values() for metric in found}
    return [
        Evaluation(
            path=file,
            model=name,
            step=step_of(name),
            date=date,
            scores=found,
            units=units,
            conditions=conditions,
            notes=("models are the columns of the summary, and rows here",),
        )
        for name, found in zip(models, scores, strict=True)
        if found
    ]


def _unrounded(file: Path, model: str, task: str, metric: str) -> Measured | None:
    """The score that the table rounds to two decimals, from `results/` beside `summary/`."""
    if not re.fullmatch(r"[^/\\]+", model + task) or model.startswith("."):
        return None
    data = mapping(guess_json(file.parent.parent / "results" / model / f"{task}.json"))
    value: Any = data.get(metric)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    details = data.get("details")
    n = len(listing(details)) or sum(key.isdigit() for key in mapping(details))
    return measured(value, None, n or None)
