"""Scores of public result files that print no metric, worked out from the files in a few lines and without our readers.

Each function takes the runs that were read and the files, and says whether every score (or the last ones, where the
docstring says so) is the file's. Used by `public_files.py`.
"""

from __future__ import annotations

import csv
import json
import math
import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from recollect.runs import Run

Scores = Iterable[float | None]


def close(ours: Scores, theirs: Scores) -> bool:
    """The same numbers in the same places."""
    pairs = list(zip(ours, theirs, strict=True))
    return bool(pairs) and all(a is not None and b is not None and math.isclose(a, b, abs_tol=1e-9) for a, b in pairs)


def last(run: Run) -> list[float | None]:
    return list(run.rows[-1].scores[run.metric])


def avalanche_table(runs: list[Run], places: Sequence[Path]) -> bool:
    """Every accuracy of the table, in its order: after each experience, on each."""
    with places[0].open() as file:
        printed = [float(line["eval_accuracy"]) for line in csv.DictReader(file)]
    return close([score for row in runs[0].rows for score in row.scores[runs[0].metric]], printed)


def avalanche_log(runs: list[Run], places: Sequence[Path]) -> bool:
    """Every accuracy of the log, in its order."""
    found = re.findall(r"Top1_Acc_Exp/eval_phase/test_stream/(?:Task\d+/)?Exp\d+ = ([0-9.]+)", places[0].read_text())
    return close([score for row in runs[0].rows for score in row.scores[runs[0].metric]], map(float, found))


def avalanche_lines(runs: list[Run], places: Sequence[Path]) -> bool:
    """The last accuracies of JSON lines, experience by experience."""
    values: dict[str, float] = {}
    for line in places[0].read_text().splitlines():
        values |= {k: v for k, v in json.loads(line).items() if k.startswith("Top1_Acc_Exp/eval_phase/test_stream")}
    return close(last(runs[0]), [values[key] for key in sorted(values)])


def continual_world(runs: list[Run], places: Sequence[Path]) -> bool:
    """Every success of the stochastic policy, evaluation by evaluation, of every run."""
    tables = {}
    for place in places:
        with (place / "progress.tsv").open() as file:
            lines = list(csv.DictReader(file, delimiter="\t"))
        names = [name for name in lines[0] if re.fullmatch(r"test/stochastic/\d+/.+/success", name)]
        tables[place.name] = [float(line[name]) for line in lines for name in names]
    return len(runs) == len(tables) and all(
        close([score for row in run.rows for score in row.scores[run.metric]], tables[run.path.name])
        for run in runs
        if run.path is not None
    )


def pythia(runs: list[Run], places: Sequence[Path]) -> bool:
    """Every accuracy (normalised, where there is one) of every checkpoint."""
    files = sorted(places[0].glob("*_step*.json"), key=lambda file: int(file.stem.rsplit("step", 1)[1]))
    run, same = runs[0], []
    for file, row in zip(files, run.rows, strict=True):
        results = json.loads(file.read_text())["results"]
        theirs = [results[task.name].get("acc_norm", results[task.name].get("acc")) for task in run.tasks]
        same.append(close(row.scores[run.metric], theirs))
    return len(same) == 27 and all(same)


def last_stage(runs: list[Run], places: Sequence[Path]) -> bool:
    """The exact matches after the last stage, in percent."""
    folders = sorted((places[0] / "outputs").iterdir(), key=lambda folder: int(folder.name.split("-")[0]))
    data = json.loads((folders[-1] / "all_results.json").read_text())
    theirs = [data[f"predict_exact_match_for_{task.name}"] for task in runs[0].tasks]
    return len(folders) == runs[0].T and close(last(runs[0]), theirs)


def inspect_header(runs: list[Run], places: Sequence[Path]) -> bool:
    """The accuracy in the header of the log."""
    with zipfile.ZipFile(places[0]) as archive:
        results = json.loads(archive.read("header.json"))["results"]
    return close(last(runs[0]), [results["scores"][0]["metrics"]["accuracy"]["value"]])


def wide_named(runs: list[Run], places: Sequence[Path]) -> bool:
    """The last evaluation of every version, under the names of the tasks, and no others."""
    with places[0].open() as file:
        told = sorted(csv.DictReader(file), key=lambda line: line["timestamp_utc"])
    # A line without a name is a version of its own.
    by_version = {(line["checkpoint_location"], line["global_step"] or place): line for place, line in enumerate(told)}
    rows = [
        {task.name: score for task, score in zip(run.tasks, row.scores[run.metric], strict=True)}
        for run in runs
        for row in run.rows
    ]
    wanted = [{f"task {j}": float(line[f"task_{j}_success"]) for j in range(10)} for line in by_version.values()]
    return all(one in rows for one in wanted) and all(row in wanted for row in rows)


def wide_plain(runs: list[Run], places: Sequence[Path]) -> bool:
    """Every accuracy of the tables."""
    same = []
    for run, place in zip(runs, places, strict=True):
        with place.open() as file:
            theirs = [float(value) for line in csv.DictReader(file) for value in line.values()]
        same.append(close([score for row in run.rows for score in row.scores[run.metric]], theirs))
    return all(same)
