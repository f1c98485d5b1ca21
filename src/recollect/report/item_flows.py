"""What became of single test items between two versions: for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.errors import UsageError
from recollect.runs.arrange import Choices
from recollect.runs.item_answers import Answer, Flow, ItemTable
from recollect.runs.run import Run
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


def flows_of(
    paths: Sequence[Path],
    tool: str | None,
    choices: Choices,
    *,
    before: str | None = None,
    after: str | None = None,
    task: str | None = None,
) -> tuple[list[ItemFlow], tuple[str, ...]]:
    """The flow of every column that has items, and the notes of how the rows were laid out."""
    from recollect.runs.importers.versions.tables import item_tables

    flows: list[ItemFlow] = []
    notes: dict[str, None] = {}
    for run, tables in item_tables(paths, tool, choices):
        notes.update(dict.fromkeys(run.notes))
        rows = _rows(run, before, after)
        flows += [_flow(run, table, rows) for table in tables if task in (None, table.task)]
        if task is not None and tables and not any(flow.task == task for flow in flows):
            raise UsageError(f"--task names {task!r}, which has no items; there are those of {_tasks(tables)}.")
    return flows, tuple(notes)


def _tasks(tables: Sequence[ItemTable]) -> str:
    return ", ".join(table.task for table in tables)


def _rows(run: Run, before: str | None, after: str | None) -> tuple[int, int]:
    names = [row.name or "" for row in run.rows]
    if len(names) < 2:
        raise UsageError(f"{run.name} has one version alone; items are followed between two.")
    first = 0 if before is None else one_named(before, names, names, "--from")
    last = len(names) - 1 if after is None else one_named(after, names, names, "--to")
    if first == last:
        raise UsageError(f"--from and --to both name {names[first]}; items are followed between two versions.")
    return first, last


def _flow(run: Run, table: ItemTable, rows: tuple[int, int]) -> ItemFlow:
    flow = table.flow(*rows)
    return ItemFlow(run.learner, table, rows, flow, mcnemar(len(flow.forgotten), len(flow.learned)))
