"""A section for a model's card, and its results as the Hugging Face Hub takes them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from recollect._version import __version__
from recollect.report.changes import Change
from recollect.report.results import Contents, StreamResult
from recollect.report.sentences import answers
from recollect.report.words import interval, shown, shown_p
from recollect.runs import Run
from recollect.text import Table


def model_card(contents: Contents) -> str:
    """Markdown: what a report answers first, then every column with its change."""
    parts = ["## What this version keeps", ""]
    for stream in contents.streams:
        parts += [f"### {stream.key}", ""] if len(contents.streams) > 1 else []
        for one in answers(stream):
            parts += [f"**{one.question}** {' '.join(map(str, one.said))}", ""]
        if stream.changes:
            parts += [_table(stream).markdown(), ""]
    return "\n".join([*parts, f"Made with Recollect {__version__}: `{contents.command}`.", ""])


def _table(stream: StreamResult) -> Table:
    several = len(stream.learners) > 1
    rows = tuple(
        (
            *((one.label,) if several else ()),
            one.task,
            one.since,
            shown(one.before, 3),
            shown(one.after, 3),
            _change(one),
            "" if one.p != one.p else shown_p(one.p),
        )
        for one in stream.changes
    )
    columns = (*(("learner",) if several else ()), stream.words.task, "since", "before", "now", "change [95 %]", "p")
    return Table(columns, rows, right=tuple(range(len(columns) - 4, len(columns))))


def _change(one: Change) -> str:
    made = one.difference
    return f"{shown(float(made.value), 3)} {interval(float(made.low), float(made.high), 3)}".rstrip()


def eval_results(run: Run) -> str:
    """The last row's scores as a file of `.eval_results`: one entry per column, in the unit of the run.

    >>> from recollect.runs import Row, Task
    >>> run = Run(learner="m", stream="s", tasks=(Task("gpqa"),), rows=(Row(0, scores={"accuracy": (0.71,)}),))
    >>> print(eval_results(run).splitlines()[1])
    - dataset: {id: "gpqa", task_id: "gpqa"}
    """
    last = run.matrix.R[-1].tolist()
    scale = 100 if run.unit == "percent" else 1
    lines: Sequence[str] = [
        line
        for task, score in zip(run.tasks, last, strict=True)
        if score == score
        for line in (
            f"- dataset: {{id: {json.dumps(task.name)}, task_id: {json.dumps(task.name)}}}",
            f"  value: {round(score * scale, 6)}",
            f"  notes: {json.dumps(f'{run.metric}, {run.unit}; read by recollect {__version__}')}",
        )
    ]
    # The Hub wants the id of a data set of its own, which the files of an evaluation mostly do not tell.
    said = "# Put the Hub's own ids of the data sets in the place of the tasks' names."
    return "\n".join([said, *lines, ""]) if lines else ""
