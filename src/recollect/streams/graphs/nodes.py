"""Streams whose samples are nodes: which are trained and tested in each task, and what of the graph is seen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.assemble import assemble, class_order, some
from recollect.streams.data import Dataset
from recollect.streams.graphs.graph import PARTS, Graph
from recollect.streams.graphs.spec import GraphSpec
from recollect.streams.graphs.view import NodeViews
from recollect.streams.order import permutation
from recollect.streams.periods import cuts_of
from recollect.streams.scenarios import build_stream
from recollect.streams.spec import Spec
from recollect.streams.stream import Stream, StreamTask

SPLIT_SEED = 20231101

Parts = dict[str, NDArray[np.int64]]


def node_stream(graph: Graph, spec: Spec, asked: GraphSpec, *, whole_batches: bool) -> Stream:
    """The stream over the nodes of a graph; `whole_batches`: a task is one batch."""
    if graph.labels is None or not graph.classes:
        why = "" if graph.labels is None else f": their labels are numbers with fractions ({graph.labels.dtype})"
        raise UsageError(
            f"The nodes of {graph.name} have no classes{why}; a stream over nodes needs them: whole numbers or names."
        )
    if graph.features is None:
        raise UsageError(f"The nodes of {graph.name} have no features; a stream over nodes needs them.")
    parts = split_of(graph.labels, len(graph.classes), graph.split, asked, graph.name)
    graph, spec, dropped = fitted(graph, spec, asked.remainder)
    assert graph.labels is not None
    labelled = {part: nodes[graph.labels[nodes] >= 0] for part, nodes in parts.items()}
    if whole_batches:
        spec = replace(spec, batch=max(1, len(labelled["train"])))
    data = Dataset(
        graph.name,
        labelled["train"],
        graph.labels[labelled["train"]],
        labelled["test"],
        graph.labels[labelled["test"]],
        graph.classes,
        (*graph.notes, *dropped),
    )
    ids = {part: labelled[part] for part in ("train", "test")}
    stream, task_of = _cut(data, spec, graph, ids, asked)
    hidden = np.zeros(graph.n_nodes, bool)
    if asked.test_nodes == "hidden":
        hidden[parts["test"]] = True
    variant = " ".join(
        (stream.variant, graph.content, asked.visibility, f"test {asked.test_nodes}", asked.split_name(graph.split))
    )
    views = NodeViews(graph, task_of, asked.visibility, hidden)
    held = labelled["valid"]
    valid = tuple(
        (held[task_of[held] == k], stream.labels[graph.labels[held[task_of[held] == k]]])
        for k in range(len(stream.tasks))
    )
    told = valid if all(len(ids) for ids, _ in valid) else ()
    return replace(stream, variant=variant.strip(), views=views, valid=told)


def _cut(data: Dataset, spec: Spec, graph: Graph, ids: Parts, asked: GraphSpec) -> tuple[Stream, NDArray[np.int64]]:
    """The stream of the scenario, and the task of every node, -1 for a node of none."""
    if SCENARIOS[spec.scenario].is_domains:
        return _by_domain(data, spec, graph, ids)
    if not SCENARIOS[spec.scenario].is_timed:
        stream = build_stream(data, spec)
        return stream, task_of_class(graph, stream)
    times = graph.node_times
    if times is None:
        raise UsageError(f"The nodes of {graph.name} have no times; a time-incremental stream needs node_times.")
    when = {part: times[nodes] for part, nodes in ids.items()}
    cuts = cuts_of(when["train"], spec.tasks, asked.periods)
    spec = replace(spec, tasks=len(cuts) + 1)
    stream = build_stream(data, spec, time_train=when["train"], time_test=when["test"], cuts=cuts)
    return _saying(stream, np.searchsorted(cuts, times, side="right"))


def _by_domain(data: Dataset, spec: Spec, graph: Graph, ids: Parts) -> tuple[Stream, NDArray[np.int64]]:
    domains = graph.node_domains
    given = [
        name for name in ("domain", "domain_seed", "angles", "classes_per_task") if getattr(spec, name) is not None
    ]
    if domains is None or given:
        what = f"{given[0]} is for images" if given else "it has none"
        raise UsageError(
            f"A domain-incremental stream over the nodes of {graph.name} takes its tasks from node_domains: {what}."
        )
    names, place = np.unique(domains, return_inverse=True)
    if spec.tasks not in (None, len(names)):
        raise UsageError(f"{graph.name} has {len(names)} domains, and tasks = {spec.tasks} was asked for.")
    order = class_order(data, spec)
    labels = np.argsort(order)
    tasks = tuple(
        StreamTask(
            str(name),
            tuple(range(len(order))),
            tuple(data.classes[c] for c in order),
            np.flatnonzero(place[ids["train"]] == k),
            np.flatnonzero(place[ids["test"]] == k),
        )
        for k, name in enumerate(names.tolist())
    )
    empty = next((task.name for task in tasks if not len(task.train) or not len(task.test)), None)
    if empty is not None:
        raise UsageError(f"The domain {empty!r} of {graph.name} has no training or no test nodes.")
    return _saying(assemble(data, spec, data.name, tasks, labels), place)


def _saying(stream: Stream, task_of: NDArray[np.int64]) -> tuple[Stream, NDArray[np.int64]]:
    """The stream whose variant says which nodes are in which task, those without a label, too."""
    said = hashlib.sha256(task_of.astype(np.int64).tobytes()).hexdigest()[:20]
    return replace(stream, variant=f"{stream.variant} nodes {said}".strip()), task_of


def split_of(
    labels: NDArray[np.int64], n_classes: int, given: Mapping[str, NDArray[np.int64]], asked: GraphSpec, name: str
) -> Parts:
    """The samples for training, validation and testing: as published, or drawn in each class."""
    if asked.wants_public(given):
        absent = [part for part in ("train", "test") if not len(given.get(part, ()))]
        if absent:
            raise UsageError(f"{name} has no public split with {' and '.join(absent)} samples; give split: random.")
        return {part: given.get(part, np.zeros(0, np.int64)) for part in PARTS}
    valid, test = asked.fractions
    drawn: dict[str, list[NDArray[np.int64]]] = {part: [] for part in PARTS}
    for c in range(n_classes):
        mine = np.flatnonzero(labels == c)
        mine = mine[permutation(len(mine), SPLIT_SEED, asked.split_seed, c)]
        n_test, n_valid = (max(1, round(part * len(mine))) if len(mine) > 2 else 0 for part in (test, valid))
        drawn["test"].append(mine[:n_test])
        drawn["valid"].append(mine[n_test : n_test + n_valid])
        drawn["train"].append(mine[n_test + n_valid :])
    return {part: np.sort(np.concatenate(pieces)) for part, pieces in drawn.items()}


def fitted(graph: Graph, spec: Spec, remainder: str) -> tuple[Graph, Spec, tuple[str, ...]]:
    """Graph and spec such that the classes fill the tasks, and a note on what was done for that.

    The last classes of the order are dropped, or the first or last task takes them.
    """
    n, tasks = len(graph.classes), spec.tasks
    sizes = spec.classes_per_task
    if not SCENARIOS[spec.scenario].adds_classes or isinstance(sizes, tuple):
        return graph, spec, ()
    per_task = sizes if sizes is not None else None if tasks is None else n // tasks
    if per_task is None:
        return graph, spec, ()
    if per_task < 1 or n < per_task or (tasks is not None and tasks * per_task > n):
        raise UsageError(
            f"{graph.name} has {n} classes, which do not fill {tasks or 1} tasks"
            f"{'' if sizes is None else f' of {sizes}'}. Use fewer tasks, or fewer classes in a task."
        )
    count = tasks if tasks is not None else n // per_task
    left = n - count * per_task
    if not left:
        return graph, spec, ()
    none = np.zeros(0, np.int64)
    order = class_order(Dataset(graph.name, none, none, none, none, graph.classes), spec)
    if remainder != "drop":
        each = [per_task] * count
        each[0 if remainder == "first" else -1] += left
        note = f"{left} of {n} classes do not fill a task: the {remainder} task has {per_task + left}"
        return graph, replace(spec, tasks=None, classes_per_task=tuple(each)), (note,)
    assert graph.labels is not None
    gone = order[count * per_task :]
    names = [graph.classes[c] for c in gone]
    nodes = int(np.isin(graph.labels, gone).sum())
    kept = np.sort(order[: count * per_task])
    place = np.full(n + 1, -1)
    place[kept] = np.arange(len(kept))
    named = None if not isinstance(spec.class_order, tuple) else tuple(graph.classes[c] for c in order[: len(kept)])
    asked = [graph.classes[c] for c in order[: len(kept)]] if named is None else named
    note = f"{left} of {n} classes dropped, for they fill no task: {some(names)} with {nodes:,} nodes, now unlabelled"
    smaller = replace(graph, labels=place[graph.labels], classes=tuple(graph.classes[c] for c in kept))
    return smaller, replace(spec, tasks=count, classes_per_task=None, class_order=tuple(asked)), (note,)


def task_of_class(graph: Graph, stream: Stream) -> NDArray[np.int64]:
    """The task of each node, by its class; -1 for nodes without a label."""
    assert graph.labels is not None
    of_class = np.full(len(graph.classes) + 1, -1)
    for k, task in enumerate(stream.tasks):
        of_class[[graph.classes.index(name) for name in task.original]] = k
    of: NDArray[np.int64] = of_class[graph.labels]
    return of
