"""A wide table: one line per evaluation, one column per task, `_total` its test items; other columns name the line."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.errors import UsageError
from recollect.inputs import plain_number
from recollect.runs.arrange import Choices
from recollect.runs.importers.build import decimal_points, said_in_percent, whole
from recollect.runs.importers.files import cannot_read, fields_of, head_lines, in_words, is_folder, read_text
from recollect.runs.importers.versions.assemble import runs_of
from recollect.runs.importers.versions.evaluation import Evaluation, Measured, known_direction, measured
from recollect.runs.run import Run
from recollect.runs.version_names import step_of

NAME = "wide-csv"
SUMMARY = "CSV: one line per evaluation, one column per task (acc_task_0, acc_task_1, ..), <column>_total = test items"

_NUMBERED = re.compile(r"(.*?)(\d{1,6})(\D*)")
_MODEL = re.compile(
    r"(checkpoint.*|model.*|ckpt.*|version|learner|method|strategy|run|name|experiment.*)", re.IGNORECASE
)
_STEPS = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (r"(global_|train_)?steps?", r"(.*_)?steps?", r"(iteration|iter)s?", "epoch")
)
_DATE = re.compile(r"(.*_)?(date|time|timestamp)(_utc)?", re.IGNORECASE)


@dataclass(frozen=True)
class _Layout:
    """Which columns are scores (by metric and task), and which name a line."""

    scores: Mapping[str, Mapping[str, int]]
    model: int | None
    step: int | None
    date: int | None


def sniff(path: Path) -> bool:
    """A header with numbered score columns, and more than a square matrix below or beside them."""
    if is_folder(path) or path.suffix.lower() not in (".csv", ".tsv"):
        return False
    lines = head_lines(path, 2**20)
    try:
        table = _split(path, lines)
    except UsageError:
        return False
    layout = _layout(table[0]) if table else None
    if layout is None or not layout.scores:
        return False
    T = max(len(columns) for columns in layout.scores.values())
    other = len(table[0]) > T
    return (
        len(table) > 1
        and (len(table) - 1 > T + 1 or other)
        and (layout.step is not None or layout.model is not None or not other)
    )


def read(path: Path) -> list[Run]:
    """The runs of a table."""
    return runs_of(evaluations(path), path, NAME, Choices())


def evaluations(path: Path) -> list[Evaluation]:
    """One evaluation per line."""
    table = _split(path, read_text(path, NAME).split("\n"))
    layout = _layout(table[0]) if table else None
    if layout is None or not layout.scores:
        raise cannot_read(path, NAME, "numbered columns of scores are expected, such as acc_task_0,acc_task_1.")
    twice = next((name for name in table[0] if name and table[0].count(name) > 1), None)
    if twice is not None:
        raise cannot_read(path, NAME, f"two columns have the name {in_words(twice)}.")
    found = []
    for place, line in enumerate(table[1:], start=2):
        if len(line) != len(table[0]):
            raise cannot_read(
                path, NAME, f"line {place} has {len(line)} fields; the header has {len(table[0])}. Is it whole?"
            )
        found.append(_evaluation(path, place, table[0], line, layout))
    columns = [place for of in layout.scores.values() for place in of.values()]
    is_percent = said_in_percent(path, NAME, [line[place] for line in table[1:] for place in columns])
    top = max((cell.score for one in found for cells in one.scores.values() for cell in cells.values()), default=0.0)
    unit = "percent" if is_percent else "fraction" if top <= 1 else "percent" if top <= 100 else "raw"
    return [replace(one, units=dict.fromkeys(layout.scores, unit)) for one in found]


def _split(path: Path, lines: Sequence[str]) -> list[list[str]]:
    kept = [line for line in lines if line.strip()]
    separator = next((s for s in ("\t", ";") if kept and s in kept[0]), ",")
    table = [[field.strip() for field in row] for row in fields_of(path, NAME, kept, separator)]
    return table if separator == "," else decimal_points(table)


def _layout(header: Sequence[str]) -> _Layout | None:
    kinds: dict[tuple[str, str], dict[int, int]] = {}
    for place, name in enumerate(header):
        match = _NUMBERED.fullmatch(name)
        if match:
            kinds.setdefault((match[1], match[3]), {})[int(match[2])] = place
    scores: dict[str, dict[str, int]] = {}
    for (before, after), columns in kinds.items():
        metric = _metric(before, after)
        if len(columns) < 2 or metric is None or metric in scores:
            continue
        scores[metric] = {
            f"task {j}" if "task" in (before + after).lower() else header[place]: place
            for j, place in sorted(columns.items())
        }
    used = {place for columns in scores.values() for place in columns.values()}
    free = [place for place in range(len(header)) if place not in used]

    def first(pattern: re.Pattern[str]) -> int | None:
        return next((place for place in free if pattern.fullmatch(header[place])), None)

    step = next((place for place in map(first, _STEPS) if place is not None), None)
    return _Layout(scores, first(_MODEL), step, first(_DATE))


def _metric(before: str, after: str) -> str | None:
    """The name of a score in what stands around the number; None for counts and for what is no score.

    >>> _metric("task_", "_success"), _metric("accuracy_task_", ""), _metric("task_", "_success_total")
    ('success', 'accuracy', None)
    """
    words = re.sub(r"task|concept|domain|exp(erience)?", "", f"{before} {after}", flags=re.IGNORECASE)
    name = "_".join(re.findall(r"[A-Za-z@]+", words)).lower()
    if name.endswith(("_total", "_count", "_n", "_samples")):
        return None
    if not name and re.search(r"task|concept|domain", before, re.IGNORECASE):
        return "accuracy"
    return name if name and known_direction(name) is not None else None


def _evaluation(path: Path, place: int, header: Sequence[str], line: Sequence[str], layout: _Layout) -> Evaluation:
    scores: dict[str, dict[str, Measured]] = {}
    for metric, columns in layout.scores.items():
        for task, column in columns.items():
            total = header.index(f"{header[column]}_total") if f"{header[column]}_total" in header else None
            try:
                n = None if total is None or not line[total] else whole(plain_number(line[total]))
                text = line[column].removesuffix("%")
                cell = measured(plain_number(text) if text else None, None, n)
            except ValueError:
                raise cannot_read(
                    path, NAME, f"line {place} says '{in_words(line[column])}' for {header[column]}."
                ) from None
            if cell is not None:
                scores.setdefault(task, {})[metric] = cell
    model = in_words(line[layout.model], 300) if layout.model is not None else ""
    step = whole(line[layout.step]) if layout.step is not None else None
    if not model and step is None:
        # Lines without a name are evaluations of one learner, in their order.
        step = place - 1
    return Evaluation(
        path=path,
        model=model or path.stem,
        revision=f"step {step}" if step is not None else "",
        step=step if step is not None else step_of(model),
        date=_date(line[layout.date]) if layout.date is not None else None,
        scores=scores,
    )


def _date(text: str) -> float | None:
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
