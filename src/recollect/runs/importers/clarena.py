"""CLArena: `results/acc.csv`, one line per task learned; the header grows, so older lines are shorter."""

from __future__ import annotations

from pathlib import Path

from recollect.runs.importers.build import Matrix, check_size, matrix_run, origin_of, whole
from recollect.runs.importers.files import cannot_read, fields_of, head_lines, in_words, read_text
from recollect.runs.importers.reconcile import Claim, reconciled
from recollect.runs.importers.table import score_of
from recollect.runs.run import Run

NAME = "clarena"
SUMMARY = "CLArena: acc.csv with after_training_task, average_accuracy, test_on_task_1, ..."

_START = ["after_training_task", "average_accuracy"]


def sniff(path: Path) -> bool:
    """The header of its table."""
    lines = head_lines(path, 2**16)
    return bool(lines) and [name.strip() for name in lines[0].split(",")][:2] == _START


def read(path: Path) -> list[Run]:
    """The run of one table; tasks are counted from 1 in it."""
    header, *lines = fields_of(path, NAME, read_text(path, NAME).split("\n")) or [[]]
    T = len(header) - 2
    check_size(path, NAME, len(lines), T)
    if header != [*_START, *(f"test_on_task_{j + 1}" for j in range(T))]:
        raise cannot_read(path, NAME, f"its header is not {','.join(_START)},test_on_task_1,test_on_task_2,...")
    cells: Matrix = []
    average = None
    for i, line in enumerate(lines):
        if whole(line[0]) != i + 1 or len(line) > len(header) or len(line) < 2:
            raise cannot_read(path, NAME, f"line {i + 2} begins with '{in_words(line[0])}'; expected task {i + 1}.")
        try:
            average = score_of(line[1])
            cells.append([score_of(field) for field in line[2:]] + [None] * (T + 2 - len(line)))
        except ValueError as error:
            raise cannot_read(path, NAME, f"line {i + 2}: {error}.") from None
    origin = origin_of(path)
    folder = path.absolute().parent.parent.name if origin.learner == "results" else origin.learner
    run = matrix_run(
        path,
        NAME,
        cells,
        learner=folder or origin.learner,
        guessed=folder or origin.learner,
        unit="auto",
        seen_only=all(cell is None for i, row in enumerate(cells) for cell in row[i + 1 :]),
        notes=("cells that a line ends before are tasks that had not come yet",),
    )
    claims = [] if average is None else [Claim("average_accuracy", average, ("acc.average",))]
    return [reconciled(run, claims, places=4)]
