"""Avalanche's metrics as series: `get_all_metrics()` saved as JSON, and JSON lines of metrics at a step."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.runs.importers.avalanche_log import METRIC, NAME, no_scores
from recollect.runs.importers.build import Score, check_size, number, whole
from recollect.runs.importers.files import cannot_read, in_words, once
from recollect.runs.run import ACCURACY, Row


@dataclass(frozen=True)
class Series:
    """The rows of a file of series, its experiences, what was assumed, and whether every end was evaluated."""

    rows: tuple[Row, ...]
    experiences: tuple[int, ...]
    notes: tuple[str, ...]
    complete: bool


def calls_of_lines(path: Path, text: str, wanted: str) -> list[tuple[Mapping[str, Any], ...]]:
    """The runs of JSON lines in which each evaluation is of one experience more than the last; none if it is not so.

    The lines of linear probes are such; their steps count probes, not iterations.
    """
    runs: list[list[Mapping[str, Any]]] = []
    for record in _records(path, text):
        seen = sorted(
            int(match["exp"]) for key in record if (match := METRIC.fullmatch(key)) and match["stream"] == wanted
        )
        if not seen:
            continue
        if seen == [0]:
            runs.append([])
        if not runs or seen != list(range(len(runs[-1]) + 1)):
            return []
        runs[-1].append(record)
    if len(runs) < 2 and (not runs or len(runs[0]) < 2):
        return []
    return [tuple(run) for run in runs]


def are_json_lines(lines: Sequence[str]) -> bool:
    """Whether a file begins as JSON lines do; its first line may be spoiled."""
    return any(_record(line) is not None for line in lines[:2])


def _record(line: str) -> dict[str, Any] | None:
    """The object on a line of JSON lines, metrics at a step; None if the line is none."""
    try:
        record = json.loads(line, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return None
    step = whole(record.get("step")) if isinstance(record, dict) else None
    return None if step is None or step < 0 else {**record, "step": step}


def _records(path: Path, text: str) -> list[dict[str, Any]]:
    records = []
    for place, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        record = _record(line)
        if record is None:
            raise cannot_read(
                path,
                NAME,
                f"line {place} is '{in_words(line)}'; expected an object with a step. Is the file whole?",
            )
        records.append(record)
    return records


def series_of_lines(path: Path, text: str) -> dict[str, tuple[list[int], list[Any]]]:
    """The accuracies of JSON lines as `get_all_metrics()` has them: steps and values under each name."""
    series: dict[str, tuple[list[int], list[Any]]] = {}
    for record in _records(path, text):
        for name in filter(METRIC.fullmatch, record):
            steps, values = series.setdefault(name, ([], []))
            # The file is appended to: of two runs in it, the second would overwrite parts of the first.
            if steps and record["step"] < steps[-1]:
                raise cannot_read(
                    path,
                    NAME,
                    f"the step falls from {steps[-1]} to {record['step']}:"
                    " two runs in one file? Give the lines of one.",
                )
            steps.append(record["step"])
            values.append(record[name])
    return series


def lay_out_series(path: Path, metrics: Any, wanted: str) -> Series:
    """The evaluations of each experience over iterations, as rows."""
    if not isinstance(metrics, dict):
        raise cannot_read(path, NAME, "it is not the dictionary of get_all_metrics().")
    series: dict[int, tuple[list[int], list[Score]]] = {}
    other = set()
    for name, value in metrics.items():
        match = METRIC.fullmatch(name)
        if match and match["stream"] != wanted:
            other.add(match["stream"])
        elif match:
            if int(match["exp"]) in series:
                raise cannot_read(path, NAME, f"experience {int(match['exp'])} has several task labels in '{name}'.")
            series[int(match["exp"])] = _series(path, name, value)
    if not series:
        raise no_scores(path, wanted, other)
    exps = sorted(series)
    check_size(path, NAME, max(len(xs) for xs, _ in series.values()), len(exps))
    ends, moments = _task_ends(path, series)
    # Of several values at one moment the last counts.
    cells = [dict(zip(*series[exp], strict=True)) for exp in exps]
    after = -1
    rows = []
    for x in moments:
        after = ends.get(x, after)
        score = tuple(column.get(x) for column in cells)
        rows.append(Row(after, task_end=x in ends or x == 0, scores={ACCURACY: score}, notes={"iteration": x}))
    notes = [
        "experiences are taken to have been learned in the order of their numbers: the metrics do not say it",
        f"{len(ends)} of {len(moments)} moments of evaluation are ends of experiences; x counts iterations",
    ]
    return Series(tuple(rows), tuple(exps), tuple(notes), len(ends) == len(exps))


def _task_ends(path: Path, series: dict[int, tuple[list[int], list[Score]]]) -> tuple[dict[int, int], Sequence[int]]:
    """Which moments are ends of experiences: all, or those evaluated once more before training went on."""
    T = len(series)
    counts: Counter[int] = Counter()
    for xs, _ in series.values():
        counts |= Counter(xs)
    moments = sorted(counts)
    trained = [x for x in moments if x > 0]
    twice = [x for x in trained if counts[x] > 1]
    if len(trained) == T:
        return {x: i for i, x in enumerate(trained)}, moments
    if len(twice) == T:
        return {x: i for i, x in enumerate(twice)}, moments
    untrained = sum(0 in xs for xs, _ in series.values())
    if len(trained) == 1 and untrained in (0, T):
        # One evaluation, after everything: it is the last experience's end.
        return {trained[0]: T - 1}, moments
    raise cannot_read(
        path,
        NAME,
        f"{T} experiences were evaluated at {len(trained)} moments of training, and which of them are ends of"
        " experiences cannot be told from iterations. Give eval_results.csv or the text log of that run.",
    )


def _series(path: Path, name: str, value: Any) -> tuple[list[int], list[Score]]:
    if not (isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(v, list) for v in value)):
        raise cannot_read(path, NAME, f"'{name}' is not a pair of lists, iterations and values.")
    xs, values = value
    steps = [whole(x) for x in xs]
    if len(xs) != len(values) or any(x is None or x < 0 for x in steps):
        raise cannot_read(path, NAME, f"'{name}' is not a list of iterations with a value each.")
    if len(xs) > 100_000:
        raise cannot_read(path, NAME, f"'{name}' has {len(xs):,} evaluations; up to 100,000 are read.")
    try:
        return [x for x in steps if x is not None], [number(v) for v in values]
    except ValueError as error:
        raise cannot_read(path, NAME, f"in '{name}', {error}.") from None
