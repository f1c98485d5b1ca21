"""Tables of items for the runs at some paths: rows and columns as the runs have them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recollect.errors import UsageError
from recollect.runs.arrange import Choices
from recollect.runs.importers import ReadsVersions, detect, named
from recollect.runs.importers.versions.assemble import Assembled, assembled
from recollect.runs.importers.versions.evaluation import Evaluation
from recollect.runs.importers.versions.samples import Marks, marks_of
from recollect.runs.item_answers import Answer, ItemTable, table_of
from recollect.runs.run import Run


def item_tables(paths: Sequence[Path], tool: str | None, choices: Choices) -> list[tuple[Run, list[ItemTable]]]:
    """Every run at the paths, with a table for each of its columns that has items."""
    found: list[Evaluation] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"There is no {path}. Expected a folder of evaluations with their single items.")
        importer = detect(path) if tool is None else named(tool)
        if not isinstance(importer, ReadsVersions):
            raise UsageError(
                f"{path} holds no single test items that Recollect knows: samples_*.jsonl beside lm-eval's results"
                " (--log_samples), or logs of inspect_ai."
            )
        found += importer.evaluations(path)
    made = assembled(found, paths[0], "items", choices)
    return [(one.run, [table for task in one.columns if (table := _table(one, task)) is not None]) for one in made]


def _table(made: Assembled, task: str) -> ItemTable | None:
    names = [row.name or "" for row in made.run.rows]
    metric = made.columns[task].metric
    marks = [marks_of(made.versions[name], task, metric) for name in names]
    if not any(of is not None and of.by_item for of in marks):
        return None
    for name, of in zip(names, marks, strict=True):
        _refuse_contradiction(made, name, task, of)
    filled = [of if of is not None else Marks() for of in marks]
    table = table_of(task, names, [of.by_item for of in filled])

    def show(row: int, item: int) -> Answer:
        return filled[row].show(table.keys[item])

    return ItemTable(table.task, table.versions, table.keys, table.right, show)


def _refuse_contradiction(made: Assembled, name: str, task: str, marks: Marks | None) -> None:
    """Items and the score that they should give must belong together; a group's score may weigh its tasks."""
    one = made.versions[name]
    cell = one.scores.get(task, {}).get(made.columns[task].metric)
    if marks is None or not marks.by_item or marks.unmarked or cell is None or one.groups.get(task):
        return
    share = sum(marks.by_item.values()) / len(marks.by_item)
    score = cell.score / (100 if made.run.unit == "percent" else 1)
    if abs(share - score) > 1e-4:
        raise UsageError(
            f"The items of {task} in {name} are right in {share:.4f} of {len(marks.by_item)}, and the results say"
            f" {score:.4f}: they are not of one evaluation. Evaluate again with items, or leave {task} out."
        )
