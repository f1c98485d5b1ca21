"""What became of single test items between two versions: for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recollect.errors import UsageError
from recollect.runs.item_answers import Answer, Flow, ItemTable
from recollect.runs.item_files import FolderItems
from recollect.runs.run import Row, Run
from recollect.runs.version_names import one_named
from recollect.stats.paired_items import mcnemar


@dataclass(frozen=True, eq=False)
class ItemFlow:
    """The items of one task between two rows of a run, with McNemar's p."""

    learner: str
    table: ItemTable
    rows: tuple[int, int]
    flow: Flow
    p: float

    @property
    def task(self) -> str:
        return self.table.task

    @property
    def before(self) -> str:
        return self.table.versions[self.rows[0]]

    @property
    def after(self) -> str:
        return self.table.versions[self.rows[1]]

    def key(self, item: int) -> str:
        """What the item is called, short enough for a table."""
        name = self.table.keys[item].removeprefix(f"{self.task}/")
        return name[:12]

    def answer(self, item: int, now: bool) -> Answer:
        """What was asked and answered, where the file tells."""
        return Answer() if self.table.show is None else self.table.show(self.rows[1 if now else 0], item)


def items_of(run: Run, rows: Sequence[Row]) -> list[ItemTable]:
    """The items of these rows of a run, task by task, from wherever they lie; none where none were recorded."""
    source = run.items
    if source is None and run.path is not None and any(row.items for row in rows):
        source = FolderItems(run.path)
    return [] if source is None else source.tables(run, rows)


def flows_of(
    runs: Sequence[Run], *, before: str | None = None, after: str | None = None, task: str | None = None
) -> list[ItemFlow]:
    """The flow of every column that has items, between two rows of each run: the first and the last, or as named."""
    flows: list[ItemFlow] = []
    for run in runs:
        if task is not None and task not in [one.name for one in run.tasks]:
            continue
        tables = items_of(run, _rows(run, before, after))
        flows += [_flow(run, table) for table in tables if task in (None, table.task)]
        if task is not None and tables and not any(flow.task == task for flow in flows):
            raise UsageError(f"--task names {task!r}, which has no items; there are those of {_tasks(tables)}.")
    if task is not None and not any(task == one.name for run in runs for one in run.tasks):
        raise UsageError(f"--task names {task!r}, and there is no such column.")
    return flows


def _tasks(tables: Sequence[ItemTable]) -> str:
    return ", ".join(table.task for table in tables)


def _rows(run: Run, before: str | None, after: str | None) -> tuple[Row, Row]:
    time = run.timeline
    rows = [row for row in (time.base, *time.rows) if row is not None]
    rows = [row for place, row in enumerate(rows) if place == 0 or row is not rows[place - 1]]
    names = [row_name(run, row, place) for place, row in enumerate(rows)]
    if len(names) < 2:
        raise UsageError(f"{run.name} has one row alone; items are followed between two.")
    first = 0 if before is None else one_named(before, names, names, "--from")
    last = len(names) - 1 if after is None else one_named(after, names, names, "--to")
    if first == last:
        raise UsageError(f"--from and --to both name {names[first]}; items are followed between two versions.")
    return replace(rows[first], name=names[first]), replace(rows[last], name=names[last])


def row_name(run: Run, row: Row, place: int) -> str:
    """What a row is called: its own name, or the task that it follows."""
    if row.name:
        return row.name
    if row.after < 0:
        return "untrained"
    return run.tasks[row.after].name if row.task_end and row.after < run.T else f"row {place + 1}"


def _flow(run: Run, table: ItemTable) -> ItemFlow:
    flow = table.flow(0, 1)
    return ItemFlow(run.learner, table, (0, 1), flow, mcnemar(len(flow.forgotten), len(flow.learned)))
