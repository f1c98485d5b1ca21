"""All that is shown of one run: its matrix as far as it is filled, its options, its last lines, why it failed."""

from __future__ import annotations

import os
from typing import Any

from recollect.errors import RecollectError
from recollect.report.watch.looking import Seen
from recollect.runs import Run
from recollect.runs.reading import read_regular, read_run
from recollect.text import visible

# Files of a run's folder that tell what happened, the traceback of a failure first.
_LOGS = (".log", ".txt", ".out", ".err")
_BYTES = 16_000
_LINES = 60


def detail(one: Seen) -> dict[str, Any]:
    """One run in plain values; what cannot be read is said in `message`."""
    made: dict[str, Any] = {"id": one.id, "path": one.path, "message": one.message, "logs": logs(one.path)}
    try:
        run = read_run(one.path)
        made |= {
            "tasks": [task.name for task in run.tasks],
            "matrix": matrix(run),
            "base": None if run.matrix.b is None else _plain(run.matrix.b.tolist()),
            "said": said(run, one),
            "options": {str(name): visible(str(value)) for name, value in run.learner_config.items()},
            "notes": list(run.notes),
            "started": [start.at for start in run.starts],
            "higher_is_better": bool(run.higher_is_better),
        }
    except (RecollectError, OSError) as error:
        made["message"] = made["message"] or str(error)
    return made


def matrix(run: Run) -> list[dict[str, Any]]:
    """The rows of the score matrix in time; a row that is to come has no values."""
    if not run.rows:
        return []
    inside = run.timeline.inside
    return [
        {
            "after": k if row is None else row.after,
            "inside": inside[k] if k < len(inside) else False,
            "values": None if row is None else _plain(values),
        }
        for k, (row, values) in enumerate(zip(run.timeline.rows, run.matrix.R.tolist(), strict=True))
    ]


def said(run: Run, one: Seen) -> list[str]:
    """The last rows as lines of a log."""
    lines = []
    for row in run.rows[-_LINES:]:
        when = "untrained" if row.after < 0 else f"{one.word} {row.after + 1} of {run.T}"
        step = "" if row.step is None else f", {row.step:,} samples"
        inside = "" if row.task_end else ", inside the next"
        why = "" if row.reason is None else f": {row.reason}"
        lines.append(f"{when}{inside}{step}{why}")
    return lines


def logs(folder: str) -> list[dict[str, str]]:
    """The last lines of the text files in a run's folder."""
    found = []
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(_LOGS))
    except OSError:
        return []
    for name in names[:8]:
        try:
            text = read_regular(f"{folder}/{name}", most=_BYTES).decode("utf-8", "replace")
        except (OSError, RecollectError):
            continue
        found.append({"name": name, "text": "\n".join(visible(line) for line in text.splitlines()[-_LINES:])})
    return found


def _plain(values: list[float]) -> list[float | None]:
    return [round(value, 6) if value == value and abs(value) != float("inf") else None for value in values]
