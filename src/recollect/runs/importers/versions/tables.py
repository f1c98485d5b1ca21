"""The single test items of versions: rows by their names, columns by their tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.errors import UsageError
from recollect.runs.importers.versions.evaluation import Evaluation
from recollect.runs.importers.versions.samples import ItemMarks, marks_of
from recollect.runs.item_answers import ItemAnswer, ItemTable, table_of
from recollect.runs.run import Row


class VersionItems:
    """Items that lie beside evaluations; `versions` are these by the names of rows, `metrics` the score by task."""

    def __init__(self, versions: Mapping[str, Evaluation], metrics: Mapping[str, str], unit: str) -> None:
        self._versions, self._metrics, self._unit = versions, metrics, unit
        self._read: dict[tuple[str, str], ItemMarks | None] = {}

    def tables(self, tasks: Sequence[str], rows: Sequence[Row]) -> list[ItemTable]:
        """A table for each task that has items in one of the rows."""
        names = [row.name or "" for row in rows]
        found = []
        for task in (task for task in tasks if task in self._metrics):
            marks = [self._marks(name, task) for name in names]
            if any(of is not None and of.by_item for of in marks):
                found.append(_table(task, names, [of or ItemMarks() for of in marks]))
        return found

    def _marks(self, name: str, task: str) -> ItemMarks | None:
        key = (name, task)
        if key not in self._read:
            one = self._versions.get(name)
            made = None if one is None else marks_of(one, task, self._metrics[task])
            if one is not None and made is not None:
                _refuse_contradiction(one, made, name, task, self._metrics[task], self._unit)
            self._read[key] = made
        return self._read[key]


def _table(task: str, names: Sequence[str], marks: Sequence[ItemMarks]) -> ItemTable:
    table = table_of(task, names, [of.by_item for of in marks])

    def show(row: int, item: int) -> ItemAnswer:
        return marks[row].show(table.keys[item])

    return ItemTable(table.task, table.versions, table.keys, table.right, show)


def _refuse_contradiction(one: Evaluation, marks: ItemMarks, name: str, task: str, metric: str, unit: str) -> None:
    """Items and the score that they should give must belong together; a group's score may weigh its tasks."""
    cell = one.scores.get(task, {}).get(metric)
    if not marks.by_item or marks.unmarked or cell is None or one.groups.get(task):
        return
    share = sum(marks.by_item.values()) / len(marks.by_item)
    score = cell.score / (100 if unit == "percent" else 1)
    if abs(share - score) > 1e-4:
        raise UsageError(
            f"The items of {task} in {name} are right in {share:.4f} of {len(marks.by_item)}, and the results say"
            f" {score:.4f}: they are not of one evaluation. Evaluate again with items, or leave {task} out."
        )
