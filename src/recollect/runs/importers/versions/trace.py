"""TRACE: `results-<round>-<i_task>-<task>.json`, one file per round and task, each task with a score of its own."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from recollect.runs.arrange import Choices
from recollect.runs.importers.files import cannot_read, find_files, in_words, is_folder, load_json
from recollect.runs.importers.versions.assemble import runs_of
from recollect.runs.importers.versions.evaluation import Evaluation, Measured, listing, mapping, measured
from recollect.runs.run import Run

NAME = "trace"
SUMMARY = "TRACE: a folder with results-<round>-<i_task>-<task>.json"

_FILE = re.compile(r"results-(\d{1,6})-(\d{1,6})-(.+)\.json")


def sniff(path: Path) -> bool:
    """A file of that name, or a folder with one."""
    if is_folder(path):
        return any(True for _ in find_files(path, lambda name: _FILE.fullmatch(name) is not None))
    return _FILE.fullmatch(path.name) is not None and path.is_file()


def read(path: Path) -> list[Run]:
    """One run per folder and per kind of score: rows are rounds, columns tasks."""
    return runs_of(evaluations(path), path, NAME, Choices())


def evaluations(path: Path) -> list[Evaluation]:
    """One evaluation per round."""
    files = list(find_files(path, lambda name: _FILE.fullmatch(name) is not None)) if is_folder(path) else [path]
    rounds: dict[tuple[Path, int], list[tuple[int, str, Path]]] = {}
    for file in files:
        match = _FILE.fullmatch(file.name)
        if match is None:
            raise cannot_read(file, NAME, "its name is not results-<round>-<i_task>-<task>.json.")
        rounds.setdefault((file.parent, int(match[1])), []).append((int(match[2]), in_words(match[3], 200), file))
    names = {(folder, place): task for (folder, _), found in rounds.items() for place, task, _ in found}
    return _like_units(
        [
            Evaluation(
                path=found[0][2],
                model=f"round {number}",
                family=folder.absolute().name,
                step=number,
                trained=names.get((folder, number)),
                scores={task: _scores(file) for _, task, file in found},
            )
            for (folder, number), found in sorted(rounds.items())
        ]
    )


def _scores(file: Path) -> dict[str, Measured]:
    data = mapping(load_json(file, NAME))
    n = len(listing(data.get("results"))) or len(listing(data.get("labels"))) or None
    found = {}
    for name, value in mapping(data.get("eval")).items():
        try:
            cell = measured(value[0] if isinstance(value, list) and len(value) == 1 else value, None, n)
        except ValueError:
            continue  # sari is an object of its parts in some versions
        if cell is not None:
            found[name.lower()] = cell
    if not found:
        raise cannot_read(file, NAME, "it has no score in eval.")
    return found


def _like_units(found: list[Evaluation]) -> list[Evaluation]:
    """Whether a score is a share or percent shows in its largest value; sums of both kinds are never made."""
    largest: dict[str, float] = {}
    for one in found:
        for values in one.scores.values():
            for name, cell in values.items():
                largest[name] = max(largest.get(name, 0.0), cell.score)
    units = {name: "fraction" if top <= 1 else "percent" if top <= 100 else "raw" for name, top in largest.items()}
    return [replace(one, units=units) for one in found]
