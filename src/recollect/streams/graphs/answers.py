"""What is asked of whole graphs beside their class: a number, or whether they have each of several properties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.nearest import nearest
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.assemble import assemble, some
from recollect.streams.data import Dataset
from recollect.streams.graphs.graph import PARTS, Graph
from recollect.streams.graphs.spec import GraphSpec
from recollect.streams.order import permutation
from recollect.streams.spec import Spec
from recollect.streams.stream import Stream, StreamTask

SPLIT_SEED = 20231105

Ints = NDArray[np.int64]
Parts = dict[str, Ints]


def parts_of(graph: Graph, n: int, asked: GraphSpec) -> Parts:
    """Samples for training, validation and testing: as published, or drawn from all."""
    if asked.wants_public(graph.split):
        absent = [part for part in ("train", "test") if not len(graph.split.get(part, ()))]
        if absent:
            raise UsageError(
                f"{graph.name} has no public split with {' and '.join(absent)} samples; give split: random."
            )
        return {part: graph.split.get(part, np.zeros(0, np.int64)) for part in PARTS}
    order = permutation(n, SPLIT_SEED, asked.split_seed)
    valid, test = (round(part * n) for part in asked.fractions)
    drawn = {"test": order[:test], "valid": order[test : test + valid], "train": order[test + valid :]}
    return {part: np.sort(drawn[part]) for part in PARTS}


def property_stream(graph: Graph, spec: Spec, asked: GraphSpec) -> tuple[Stream, Ints, Ints]:
    """One task for each property, over the graphs of which it is known.

    And the first task of each graph (-1: none), and the test graphs.
    """
    table = _table(graph)
    if not SCENARIOS[spec.scenario].gives_task:
        raise UsageError(
            f"The graphs of {graph.name} have {table.shape[1]} properties, one for each task, so the learner is told"
            f" which is asked: give scenario: task-incremental; got {spec.scenario}."
        )
    if spec.tasks not in (None, table.shape[1]) or spec.classes_per_task not in (None, 2):
        raise UsageError(f"{graph.name} has {table.shape[1]} properties, one for each task; leave tasks out.")
    if not np.isin(table[~np.isnan(table)], (0, 1)).all():
        raise UsageError(f"A property of a graph of {graph.name} is 0, 1 or not known; give ask: values for numbers.")
    parts = parts_of(graph, len(table), asked)
    names = [graph.columns[k] if graph.columns else f"property {k}" for k in range(table.shape[1])]
    ids, y, owner = {}, {}, {}
    for part in ("train", "test"):
        there = ~np.isnan(table[parts[part]])
        owner[part], place = np.nonzero(there.T)
        ids[part] = parts[part][place]
        y[part] = 2 * owner[part] + table[ids[part], owner[part]].astype(np.int64)
    classes = tuple(f"{name}: {answer}" for name in names for answer in ("no", "yes"))
    tasks = tuple(
        StreamTask(
            name,
            (2 * k, 2 * k + 1),
            classes[2 * k : 2 * k + 2],
            np.flatnonzero(owner["train"] == k),
            np.flatnonzero(owner["test"] == k),
        )
        for k, name in enumerate(names)
    )
    for k, task in enumerate(tasks):
        for part, found in (("training", y["train"][task.train]), ("test", y["test"][task.test])):
            if len(np.unique(found)) < 2:
                known = "the same for all" if len(found) else "known of no"
                raise UsageError(
                    f"The property {names[k]} of {graph.name} is {known} {part} graphs, so it cannot be asked. Take it"
                    " out, or give another split_seed."
                )
    data = Dataset(graph.name, ids["train"], y["train"], ids["test"], y["test"], classes, graph.notes)
    told = ~np.isnan(table)
    first = np.where(told.any(1), told.argmax(1), -1)
    made = assemble(data, spec, graph.name, tasks, np.arange(len(classes)), problem="properties")
    return made, first, parts["test"]


def value_stream(graph: Graph, spec: Spec, asked: GraphSpec) -> tuple[Stream, Ints, Ints]:
    """A number is asked for each graph; tasks are domains, or ranges of sizes.

    And the task of each graph (-1: none), and the test graphs.
    """
    if not SCENARIOS[spec.scenario].is_domains:
        raise UsageError(
            f"What is asked of the graphs of {graph.name} is a number, so the stream is domain-incremental; got"
            f" {spec.scenario}."
        )
    values = _column(graph, asked.column)
    parts = parts_of(graph, len(values), asked)
    known = {part: parts[part][~np.isnan(values[parts[part]])] for part in ("train", "test")}
    train, test = known["train"], known["test"]
    names, place = domains_of(graph, spec)
    tasks = domain_tasks(names, place, known, (), (), graph.name)
    zeros = (np.zeros(len(train), np.int64), np.zeros(len(test), np.int64))
    gaps = int(np.isnan(values).sum())
    notes = (*graph.notes, *([f"{gaps:,} graphs have no value and are not used"] if gaps else []))
    data = Dataset(graph.name, train, zeros[0], test, zeros[1], (0,), notes)
    said = f"values {asked.column if asked.column is not None else 0} domains {names}"
    more: dict[str, Any] = {"problem": "regression", "adds_classes": False, "variant": said}
    made = assemble(data, spec, graph.name, tasks, np.zeros(1, np.int64), **more)
    return replace(made, values=(values[train], values[test])), np.where(np.isnan(values), -1, place), parts["test"]


def domains_of(graph: Graph, spec: Spec) -> tuple[list[str], Ints]:
    """The names of the domains, and the domain of each graph: as given, or ranges of sizes with equally many graphs."""
    if graph.node_domains is not None and spec.tasks is None:
        names, place = np.unique(graph.node_domains, return_inverse=True)
        return [str(name) for name in names.tolist()], place.astype(np.int64)
    if spec.tasks is None:
        raise UsageError(f"The graphs of {graph.name} have no domains; with tasks (a number) they are ranges of sizes.")
    assert graph.offsets is not None
    sizes = np.diff(graph.offsets)
    cuts = np.sort(sizes)[[len(sizes) * k // spec.tasks for k in range(1, spec.tasks)]]
    place = np.searchsorted(cuts, sizes, side="right").astype(np.int64)
    if len(np.unique(place)) < spec.tasks:
        raise UsageError(f"The sizes of the graphs of {graph.name} do not give {spec.tasks} ranges. Use fewer tasks.")
    ends = [(sizes[place == k].min(), sizes[place == k].max()) for k in range(spec.tasks)]
    return [f"{low} to {high} nodes" for low, high in ends], place


def domain_tasks(
    names: list[str], place: Ints, parts: Parts, classes: tuple[int, ...], original: tuple[Any, ...], graph: str
) -> tuple[StreamTask, ...]:
    """One task for each domain, each with training and test samples."""
    train, test = place[parts["train"]], place[parts["test"]]
    tasks = tuple(
        StreamTask(name, classes, original, np.flatnonzero(train == k), np.flatnonzero(test == k))
        for k, name in enumerate(names)
    )
    empty = next((task.name for task in tasks if not len(task.train) or not len(task.test)), None)
    if empty is not None:
        raise UsageError(f"The domain {empty!r} of {graph} has no training or no test samples. Use fewer tasks.")
    return tasks


def _table(graph: Graph) -> NDArray[np.float64]:
    assert graph.labels is not None
    table: NDArray[np.float64] = graph.labels.reshape(len(graph.labels), -1).astype(np.float64)
    return table


def _column(graph: Graph, asked: str | int | None) -> NDArray[np.float64]:
    """The numbers of the column that was asked for, by its name or its place; the only one if none was."""
    table = _table(graph)
    names = [*(graph.columns or map(str, range(table.shape[1])))]
    if asked is None and len(names) > 1:
        raise UsageError(f"The graphs of {graph.name} have {len(names)} numbers; column says which: {some(names)}.")
    wanted = names[0] if asked is None else str(asked)
    if wanted not in names:
        raise UsageError(
            f"{graph.name} has no column {wanted!r}; the nearest is {nearest(wanted, names)!r}. There are"
            f" {some(names)}."
        )
    return table[:, names.index(wanted)]
