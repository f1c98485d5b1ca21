"""What became of single test items between two versions: for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recollect.errors import UsageError
from recollect.runs.item_answers import Flow, ItemAnswer, ItemTable
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

    def answer(self, item: int, now: bool) -> ItemAnswer:
        """What was asked and answered, where the file tells."""
        return ItemAnswer() if self.table.show is None else self.table.show(self.rows[1 if now else 0], item)


def items_of(run: Run, rows: Sequence[Row], tasks: Sequence[str] | None = None) -> list[ItemTable]:
    """The items of these rows of a run, task by task, from wherever they lie; none where none were recorded."""
    source = run.items
    if source is None and run.path is not None and any(row.items for row in rows):
        source = FolderItems(run.path)
    return [] if source is None else source.tables([task.name for task in run.tasks] if tasks is None else tasks, rows)


def flows_of(
    runs: Sequence[Run], *, before: str | None = None, after: str | None = None, task: str | None = None
) -> list[ItemFlow]:
    """The flow of every column that has items, between two rows of each run.

    The later one is the last row, the earlier one that after which the task was learned; of a task that is held out, or
    was learned last, the base row or the first.
    """
    flows: list[ItemFlow] = []
    for run in runs:
        wanted = [one.name for one in run.tasks if task in (None, one.name)]
        of_run = [flow for flow in (_flow(run, name, before, after) for name in wanted) if flow is not None]
        flows += of_run
    if task is not None and not any(task == one.name for run in runs for one in run.tasks):
        raise UsageError(f"--task names {task!r}, and there is no such column.")
    return flows


def _flow(run: Run, task: str, before: str | None, after: str | None) -> ItemFlow | None:
    tables = items_of(run, _rows(run, task, before, after), [task])
    if not tables:
        return None
    flow = tables[0].flow(0, 1)
    return ItemFlow(run.learner, tables[0], (0, 1), flow, mcnemar(len(flow.forgotten), len(flow.learned)))


def _rows(run: Run, task: str, before: str | None, after: str | None) -> tuple[Row, Row]:
    rows = named_rows(run)
    names = [row.name or "" for row in rows]
    if len(names) < 2:
        raise UsageError(f"{run.name} has one row alone; items are followed between two.")
    last = len(names) - 1 if after is None else one_named(after, names, names, "--to")
    if before is not None:
        first = one_named(before, names, names, "--from")
    else:
        own = _own_row(run, task, rows)
        first = own if own < last else 0
    if first == last:
        raise UsageError(f"--from and --to both name {names[first]}; items are followed between two versions.")
    return rows[first], rows[last]


def named_rows(run: Run) -> list[Row]:
    """The rows of a run, the base first, each with a name."""
    time = run.timeline
    rows = [row for row in (time.base, *time.rows) if row is not None]
    # Where a task is known in the base, the base is a row in time, too.
    if time.base is not None and len(rows) > 1 and rows[1].name is not None and rows[1].name == rows[0].name:
        rows = rows[1:]
    tasks = [task.name for task in run.tasks]
    return [replace(row, name=_name(tasks, row, place)) for place, row in enumerate(rows)]


def _own_row(run: Run, task: str, rows: Sequence[Row]) -> int:
    """The place of the row after which a task was learned; the first where it was not, or that row is absent."""
    j = [one.name for one in run.tasks].index(task)
    at = run.timeline.learned_at[j]
    own = run.timeline.rows[at] if at >= 0 and not run.tasks[j].held_out else None
    return 0 if own is None else next((p for p, row in enumerate(rows) if _moment(row) == _moment(own)), 0)


def _moment(row: Row) -> tuple[object, ...]:
    return (row.after, row.step, row.task_end, row.scores, row.correct)


def _name(tasks: Sequence[str], row: Row, place: int) -> str:
    """What a row is called: its own name, or the task that it follows."""
    if row.name:
        return row.name
    if row.after < 0:
        return "untrained"
    return tasks[row.after] if row.task_end and row.after < len(tasks) else f"row {place + 1}"
