"""LibContinual: the log, with the accuracy of each task after each task, in percent; future tasks are not evaluated."""

from __future__ import annotations

import re
from pathlib import Path

from recollect.inputs import plain_number
from recollect.runs.importers.build import Matrix, Score, check_size, matrix_run, number, origin_of
from recollect.runs.importers.files import cannot_read, in_words, mentions, read_text
from recollect.runs.importers.reconcile import Claim, reconciled
from recollect.runs.run import Run

NAME = "libcontinual"
SUMMARY = "LibContinual: the log with '* Per-Task Acc: [..]' after each task"

_RESULT = re.compile(r"=+ ?Result of Task (\d{1,6}) Testing!")
_ACCURACIES = re.compile(r"\* (?:\[[^\]]*\] )?Per-Task Acc: ?\[([^\]]*)\]")
_LAST = re.compile(r"\* (?:\[[^\]]*\] )?Last Average Acc: ?([^\s,]+)")


def sniff(path: Path) -> bool:
    """A log with the accuracy of each task."""
    return mentions(path, b"Per-Task Acc:", b"Testing!")


def read(path: Path) -> list[Run]:
    """The run of one log. Of several evaluations after a task, the last counts."""
    rows: dict[int, list[Score]] = {}
    last: float | None = None
    after: int | None = None
    for line in read_text(path, NAME).split("\n"):
        if found := _RESULT.search(line):
            if after is not None and int(found[1]) < after:
                raise cannot_read(path, NAME, f"task {found[1]} comes after task {after}: two runs in one log?")
            after = int(found[1])
        elif (found := _ACCURACIES.search(line)) and after is not None:
            rows[after] = _scores(path, found[1])
        elif found := _LAST.search(line):
            last = _scores(path, found[1])[0]
    if not rows or sorted(rows) != list(range(len(rows))):
        raise cannot_read(
            path, NAME, f"it has accuracies after the tasks {in_words(str(sorted(rows)))}, not 0, 1, 2, ..."
        )
    T = max(map(len, rows.values()))
    check_size(path, NAME, len(rows), T)
    cells: Matrix = []
    for i, row in sorted(rows.items()):
        if any(cell not in (0, None) for cell in row[i + 1 :]) or len(row) < i + 1:
            raise cannot_read(
                path, NAME, f"after task {i} it has {len(row)} accuracies; expected {i + 1}, or zeros after."
            )
        cells.append([*row[: i + 1], *[None] * (T - i - 1)])
    origin = origin_of(path)
    run = matrix_run(
        path,
        NAME,
        cells,
        learner=origin.learner,
        guessed=origin.learner,
        unit="percent",
        seen_only=True,
        notes=(
            "accuracies are those of the log, in percent; zeros of future tasks are left empty",
            f"{len(rows)} of {T} tasks were learned: later rows are missing" if len(rows) < T else None,
        ),
    )
    claims = [] if last is None else [Claim("Last Average Acc", last / 100, ("acc.average",))]
    return [reconciled(run, claims, places=4)]


def _scores(path: Path, text: str) -> list[Score]:
    words = re.findall(r"[^\s,]+", re.sub(r"np\.float\d*\(([^()]*)\)", r"\1", text))
    try:
        return [number(plain_number(word)) for word in words]
    except ValueError as error:
        raise cannot_read(path, NAME, f"in '{in_words(text)}', {error}.") from None
