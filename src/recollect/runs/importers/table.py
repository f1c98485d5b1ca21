"""Long tables: one record per cell, with the columns after, on, score and, where known, run, seed, n, ..."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from recollect.inputs import plain_number
from recollect.runs.importers.build import MAX_CELLS, MAX_TASKS, Score, make_run, number, whole
from recollect.runs.importers.files import cannot_read, in_words
from recollect.runs.run import ACCURACY, Row, Run, Task

REQUIRED = ("after", "on", "score")
_GROUP = ("learner", "stream", "run", "seed")
_UNTRAINED = {"-1", "none", "untrained", "null", ""}
# What spreadsheets and pandas write for "not available".
_EMPTY = {
    "",
    "nan",
    "-nan",
    "na",
    "n/a",
    "n.a.",
    "#n/a",
    "#na",
    "<na>",
    "null",
    "none",
    "nil",
    "-",
    "--",
    "–",
    "—",
    "?",
}


def is_long(names: Iterable[str]) -> bool:
    """Whether these are the columns of a long table."""
    return set(REQUIRED) <= {str(name).strip().lower() for name in names}


def score_of(text: Any) -> Score:
    """A cell's score: a number, or None where the cell is empty or says so. Anything else is a ValueError.

    >>> score_of("0.5"), score_of(" "), score_of("NA"), score_of(None)
    (0.5, None, None, None)
    """
    if not isinstance(text, str):
        return number(text)
    word = text.strip().lower()
    return None if word in _EMPTY else number(plain_number(word))


def runs_of_table(path: Path, tool: str, records: Sequence[Mapping[str, Any]]) -> list[Run]:
    """A run for each learner, stream, run and seed that the records name."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for record in records:
        fields = {str(name).strip().lower(): value for name, value in record.items() if name is not None}
        key = tuple("" if fields.get(name) is None else str(fields[name]).strip() for name in _GROUP)
        groups.setdefault(key, []).append(fields)
    if not groups:
        raise cannot_read(path, tool, "the table has a header and no rows.")
    base, note = _count_from(groups.values())
    return [_run(path, tool, key, fields, base, note) for key, fields in groups.items()]


def _count_from(groups: Iterable[list[Mapping[str, Any]]]) -> tuple[int, str | None]:
    """Tasks are counted from 0; from 1 if the whole file never says 0 and says both after 1 and on 1."""
    ons = {whole(fields.get("on")) for group in groups for fields in group}
    if None in ons or not ons or min(o for o in ons if o is not None) != 1:
        return 0, None
    return 1, "tasks are numbered from 1 in the file: it has no task 0"


def _run(
    path: Path, tool: str, key: tuple[str, ...], records: list[Mapping[str, Any]], base: int, note: str | None
) -> Run:
    learner, stream, run, seed_text = key
    order = _tasks(path, tool, records, base)
    place = {name: j for j, name in enumerate(order)}
    T = len(order)
    cells: dict[tuple[int, bool, int | None], dict[int, Mapping[str, Any]]] = {}
    for fields in records:
        after, on = _after(fields.get("after"), base), _task(fields.get("on"), base)
        index = -1 if after is None else place[after]
        moment = (index, not _is_false(fields.get("task_end")), whole(fields.get("step")))
        row = cells.setdefault(moment, {})
        if place[on] in row:
            raise cannot_read(
                path,
                tool,
                f"the score after {'nothing' if after is None else _label(after)} on {_label(on)} comes twice"
                f"{' in run ' + in_words(run) if run else ''}. Give each run its own run or seed column.",
            )
        row[place[on]] = fields
    if T * len(cells) > MAX_CELLS:
        raise cannot_read(
            path, tool, f"it has {len(cells):,} rows of {T:,} tasks; up to {MAX_CELLS:,} scores are read."
        )
    ends = [moment[0] for moment in cells if moment[1]]
    if len(set(ends)) != len(ends):
        raise cannot_read(path, tool, "a task's end has several steps; rows inside a task say task_end = false.")
    rows = [_row(path, tool, moment, cells[moment], T) for moment in sorted(cells, key=_time)]
    samples = _samples(rows, T)
    seed = whole(seed_text)
    name = learner or path.stem
    return make_run(
        path,
        tool,
        rows=rows,
        tasks=[Task(_label(task), n_samples=samples[j]) for j, task in enumerate(order)],
        guessed=None if learner else path.stem,
        learner=name if seed is not None or not run or whole(run) is not None or learner else f"{name} {run}",
        stream=stream or "unknown",
        seed=seed if seed is not None else whole(run),
        unit="auto",
        notes=(
            note,
            "no seed column: the run's number stands for it" if seed is None and whole(run) is not None else None,
        ),
    )


def _time(moment: tuple[int, bool, int | None]) -> tuple[int, bool, int]:
    after, end, step = moment
    return after, not end, -1 if step is None else step


def _row(
    path: Path,
    tool: str,
    moment: tuple[int, bool, int | None],
    cells: Mapping[int, Mapping[str, Any]],
    T: int,
) -> Row:
    score: list[Score] = [None] * T
    correct: list[int | None] = [None] * T
    n: list[int | None] = [None] * T
    for j, fields in cells.items():
        try:
            score[j] = score_of(fields.get("score"))
        except ValueError:
            raise cannot_read(path, tool, f"'{in_words(fields.get('score'))}' is not a score.") from None
        correct[j], n[j] = (_count(path, tool, name, fields.get(name)) for name in ("correct", "n"))
    counted = any(c is not None and m is not None for c, m in zip(correct, n, strict=True))
    return Row(
        moment[0],
        step=moment[2],
        task_end=moment[1],
        scores={ACCURACY: tuple(score)},
        correct=tuple(correct) if counted else None,
        n=tuple(n) if any(m is not None for m in n) else None,
    )


def _samples(rows: list[Row], T: int) -> list[int | None]:
    """A task's test-set size, if all its cells agree on n."""
    sizes: list[set[int]] = [set() for _ in range(T)]
    for row in rows:
        for j, n in enumerate(row.n or ()):
            if n is not None:
                sizes[j].add(n)
    return [next(iter(size)) if len(size) == 1 else None for size in sizes]


def _tasks(path: Path, tool: str, records: list[Mapping[str, Any]], base: int) -> list[int | str]:
    """Numbered tasks in the order of numbers; named ones as they were learned, then as evaluated."""
    learned = (_after(fields.get("after"), base) for fields in records)
    found = dict.fromkeys(task for task in learned if task is not None)
    found |= dict.fromkeys(_task(fields.get("on"), base) for fields in records)
    numbers = [task for task in found if isinstance(task, int)]
    if len(numbers) < len(found):
        return list(found)
    if min(numbers) < 0 or max(numbers) >= MAX_TASKS:
        raise cannot_read(
            path, tool, f"it numbers tasks from {min(numbers)} to {max(numbers)}; expected 0 to {MAX_TASKS - 1:,}."
        )
    return list(range(max(numbers) + 1))


def _task(value: Any, base: int) -> int | str:
    number = whole(value)
    return in_words(value, 200) if number is None else number - base


def _label(task: int | str) -> str:
    return f"task {task}" if isinstance(task, int) else task


def _after(value: Any, base: int) -> int | str | None:
    """The task learned last, None before any training (empty, None, -1; 0 where tasks count from 1)."""
    if value is None or str(value).strip().lower() in _UNTRAINED:
        return None
    number = whole(value)
    return None if number is not None and number < base else _task(value, base)


def _is_false(value: Any) -> bool:
    return value is False or (isinstance(value, str) and value.strip().lower() in ("false", "0", "no"))


def _count(path: Path, tool: str, name: str, value: Any) -> int | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in _EMPTY):
        return None
    count = whole(plain_number(value)) if isinstance(value, str) and value.strip().endswith(".0") else whole(value)
    if count is None or count < 0:
        raise cannot_read(path, tool, f"{name} is '{in_words(value)}'; expected a whole number.")
    return count
