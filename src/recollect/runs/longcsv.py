"""Our long table: one line per cell, with everything that the score matrix needs.

Tables that others write (after, on, score and what else they know) are the csv importer's; this one is
read by the letter, because it is known who wrote it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.errors import UsageError
from recollect.inputs import plain_number, plain_whole
from recollect.runs.run import Plan, Row, Run, Task

_RUN = ("run", "learner", "stream", "scenario", "seed", "metric", "unit", "higher_is_better")
_ROW = ("after", "step", "task_end")
_TASK = ("on", "task", "n_classes", "n_samples", "learned_at")
_CELL = ("score", "correct", "n", "joint")
COLUMNS = (*_RUN, *_ROW, *_TASK, *_CELL, "planned")

Line = Mapping[str, str]


def write_long(runs: Iterable[Run]) -> str:
    """The long table of runs: all but restricted and masked counts, which have no place in a cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for number, run in enumerate(runs):
        if run.row_facts is not None and run.row_facts.inside:
            raise UsageError(
                f"The long table has no column for the rows inside tasks of {run.name}, which lost some of its tasks."
                " Write the whole run, and leave them out when it is read."
            )
        for cell in cells_of(run):
            writer.writerow({**cell, "run": number})
    return out.getvalue()


def cells_of(run: Run) -> Iterator[dict[str, Any]]:
    """Each cell of each row as a mapping from `COLUMNS`; what is not known is left out."""
    common = {
        "learner": run.learner,
        "stream": run.stream,
        "scenario": run.scenario,
        "seed": run.seed,
        "metric": run.metric,
        "unit": run.unit,
        "higher_is_better": int(run.higher_is_better),
    }
    tasks = [
        {
            "on": j,
            "task": task.name,
            "n_classes": task.n_classes,
            "n_samples": task.n_samples,
            "learned_at": None if run.learned_at is None else run.learned_at.get(j),
        }
        for j, task in enumerate(run.tasks)
    ]
    for row in run.rows:
        moment = {"after": row.after, "step": row.step, "task_end": int(row.task_end)}
        for j, task in enumerate(tasks):
            columns = {"score": row.scores.get(run.metric), "correct": row.correct, "n": row.n, "joint": row.joint}
            cell = {key: c[j] for key, c in columns.items() if c is not None and j < len(c)}
            yield _known(common | moment | task | cell)
    if run.plan.rows is not None:
        # What was never planned is said, so that it is not missing to whoever reads the table.
        for index in sorted(set(range(run.T)) - set(run.plan.rows)):
            yield _known(common) | {"after": index, "planned": 0}


def is_ours(start: str) -> bool:
    """Is this the first line of a table that `write_long` wrote?"""
    return start.split("\n", 1)[0].rstrip("\r") == ",".join(COLUMNS)


def read_long(text: str, path: Path) -> list[Run]:
    """The runs that `write_long` wrote."""
    groups: dict[str, list[tuple[int, Line]]] = {}
    try:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        for line in reader:
            if None in line or None in line.values():
                raise ValueError(f"line {reader.line_num} has not {len(COLUMNS)} fields")
            groups.setdefault(line["run"], []).append((reader.line_num, line))
        return [_run(lines, path) for lines in groups.values()]
    except (csv.Error, ValueError) as error:
        raise UsageError(f"{path} looks like a table that Recollect wrote, but {error}.") from None


def _run(lines: list[tuple[int, Line]], path: Path) -> Run:
    first = lines[0][1]
    unplanned = {_value(line, "after", plain_whole) for _, line in lines if line["planned"] == "0"}
    tasks: dict[int, Line] = {}
    rows: dict[tuple[str, ...], dict[int, Line]] = {}
    for number, line in lines:
        if line["planned"] == "0":
            continue
        j = plain_whole(line["on"])
        tasks.setdefault(j, line)
        cells = rows.setdefault(tuple(line[key] for key in _ROW), {})
        if cells.setdefault(j, line) is not line:
            raise ValueError(f"line {number} has a cell that was there before")
    if sorted(tasks) != list(range(len(tasks))) or not tasks:
        raise ValueError(f"its tasks are not numbered from 0 without a gap: {sorted(tasks)[:20]}")
    learned_at = {j: _value(line, "learned_at", plain_whole) for j, line in tasks.items() if line["learned_at"]}
    return Run(
        learner=first["learner"],
        stream=first["stream"],
        scenario=first["scenario"] or None,
        seed=_value(first, "seed", plain_whole),
        metric=first["metric"],
        unit=first["unit"],
        higher_is_better=first["higher_is_better"] != "0",
        tasks=tuple(
            Task(line["task"], _value(line, "n_classes", plain_whole), _value(line, "n_samples", plain_whole))
            for _, line in sorted(tasks.items())
        ),
        rows=tuple(_row(cells, len(tasks), first["metric"]) for cells in rows.values()),
        plan=Plan(tuple(sorted(set(range(len(tasks))) - unplanned)) if unplanned else None),
        learned_at={j: row for j, row in learned_at.items() if row is not None} or None,
        path=path,
        notes=(f"{path.name}: read as a long table of Recollect",),
    )


def _row(cells: Mapping[int, Line], T: int, metric: str) -> Row:
    line = next(iter(cells.values()))

    def column(key: str, convert: Callable[[str], Any]) -> tuple[Any, ...] | None:
        values = tuple(_value(cells[j], key, convert) if j in cells else None for j in range(T))
        return None if all(value is None for value in values) else values

    score = column("score", plain_number)
    return Row(
        plain_whole(line["after"]),
        _value(line, "step", plain_whole),
        line["task_end"] != "0",
        scores={} if score is None else {metric: score},
        correct=column("correct", plain_whole),
        n=column("n", plain_whole),
        joint=column("joint", plain_number),
    )


def _value(line: Line, key: str, convert: Callable[[str], Any]) -> Any:
    return convert(line[key]) if line[key] else None


def _known(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in cell.items() if value is not None}
