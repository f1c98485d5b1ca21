"""Streams whose samples are whole graphs: which are trained and tested in each task, and which may be seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.assemble import assemble, class_order
from recollect.streams.data import Dataset
from recollect.streams.graphs.answers import domain_tasks, domains_of, property_stream, value_stream
from recollect.streams.graphs.graph import Graph
from recollect.streams.graphs.nodes import fitted, split_of, task_of_class
from recollect.streams.graphs.spec import GraphSpec
from recollect.streams.graphs.view import View, edges_among
from recollect.streams.scenarios import build_stream
from recollect.streams.spec import Spec
from recollect.streams.stream import Stream

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GraphViews:
    """The views of a stream of graphs: all of them, or those of tasks up to now, side by side in one matrix."""

    graph: Graph
    task_of: Ints
    visibility: str
    hidden: NDArray[np.bool_]

    samples = "graphs"

    @property
    def input_shape(self) -> tuple[int, ...]:
        """How many features a node has; without any, its degree and a one."""
        return (2,) if self.graph.features is None else (int(self.graph.features.shape[1]),)

    @property
    def n_edge_features(self) -> int:
        """How many numbers are known of an edge."""
        return self.graph.n_edge_features

    @property
    def future(self) -> bool:
        """Whether graphs of tasks to come can be asked."""
        return self.visibility == "whole"

    def training(self, step: int) -> View:
        """What may be seen while task `step` is learned."""
        view: View = self._view(len(self.task_of) if self.future else step, True)
        return view

    def evaluation(self, step: int) -> View:
        """What may be seen when a learner is asked after task `step`."""
        view: View = self._view(len(self.task_of) if self.future else step, False)
        return view

    @cached_property
    def _view(self) -> Any:
        return lru_cache(maxsize=2)(self._made)

    def _made(self, step: int, training: bool) -> View:
        there = np.ones(len(self.task_of), bool) if self.future else (self.task_of >= 0) & (self.task_of <= step)
        if training:
            there &= ~self.hidden
        return side_by_side(self.graph, np.flatnonzero(there))


def side_by_side(graph: Graph, chosen: Ints) -> View:
    """Some of the graphs in one matrix without edges between them; `nodes` are the numbers of the graphs."""
    assert graph.offsets is not None
    sizes = np.diff(graph.offsets)
    inside = np.repeat(np.isin(np.arange(len(sizes)), chosen), sizes)
    rows = np.flatnonzero(inside)
    adjacency, about = edges_among(graph, rows)
    features = graph.features
    if features is None:
        degree = np.diff(adjacency.indptr)
        features = np.stack([np.log1p(degree), np.ones(len(rows))], 1).astype(np.float32)
    else:
        features = features[rows]
    return View(chosen, adjacency, features, len(sizes), np.concatenate([[0], np.cumsum(sizes[chosen])]), about)


def graph_stream(graph: Graph, spec: Spec, asked: GraphSpec, *, whole_batches: bool) -> Stream:
    """The stream over many graphs: of their classes, of a number, or of properties."""
    if graph.offsets is None or graph.labels is None:
        raise UsageError(f"{graph.name} is no set of graphs with labels; a stream over graphs needs one.")
    ask = asked.ask or ("classes" if graph.classes else "properties" if _yes_or_no(graph.labels) else "values")
    if (ask == "classes") != bool(graph.classes):
        what = f"{len(graph.classes)} classes" if graph.classes else "numbers, and no classes"
        raise UsageError(f"The graphs of {graph.name} have {what}; got ask: {ask}.")
    if SCENARIOS[spec.scenario].is_timed:
        raise UsageError(f"The graphs of {graph.name} have no times; got scenario = {spec.scenario}.")
    if whole_batches:
        spec = replace(spec, batch=len(graph.labels) * max(1, graph.labels.size // len(graph.labels)))
    build = {"classes": _class_stream, "values": value_stream, "properties": property_stream}[ask]
    stream, task_of, tested = build(graph, spec, asked)
    if whole_batches and ask == "classes":
        stream = replace(stream, batch=len(stream.data.x_train))
    hidden = np.zeros(len(graph.labels), bool)
    hidden[tested] = asked.test_nodes == "hidden"
    split = asked.split_name(graph.split)
    if ask == "classes":  # the words of the first records: the same stream keeps its fingerprint
        split = split.replace("split random", "split")
    said = f"{graph.content} {asked.visibility} test {asked.test_nodes} {split}"
    views = GraphViews(graph, task_of, asked.visibility, hidden)
    notes = (
        *stream.notes,
        *_equal(graph, *(np.unique(np.asarray(ids)) for ids in (stream.data.x_train, stream.data.x_test))),
    )
    return replace(stream, variant=f"{stream.variant} {said}".strip(), views=views, notes=notes)


def _class_stream(graph: Graph, spec: Spec, asked: GraphSpec) -> tuple[Stream, Ints, Ints]:
    """Classes come with tasks, or all are in each domain.

    And the task of each graph (-1: none), and the test graphs.
    """
    assert graph.labels is not None
    parts = split_of(graph.labels, len(graph.classes), graph.split, asked, graph.name)
    graph, spec, dropped = fitted(graph, spec, asked.remainder)
    assert graph.labels is not None
    known = {part: parts[part][graph.labels[parts[part]] >= 0] for part in ("train", "test")}
    train, test = known["train"], known["test"]
    notes = (*graph.notes, *dropped)
    data = Dataset(graph.name, train, graph.labels[train], test, graph.labels[test], graph.classes, notes)
    if SCENARIOS[spec.scenario].is_domains:
        names, place = domains_of(graph, spec)
        order = class_order(data, spec)
        original = tuple(data.classes[c] for c in order)
        tasks = domain_tasks(names, place, known, tuple(range(len(order))), original, graph.name)
        return (
            assemble(data, spec, data.name, tasks, np.argsort(order), variant=f"domains {names}"),
            place,
            parts["test"],
        )
    stream = build_stream(data, spec)
    return stream, task_of_class(graph, stream), parts["test"]


def _yes_or_no(labels: NDArray[Any]) -> bool:
    return labels.ndim == 2 and bool(np.isin(labels[~np.isnan(labels)], (0, 1)).all())


def _equal(graph: Graph, train: Ints, test: Ints) -> tuple[str, ...]:
    """A note on test graphs that stand in the training set, node by node, too."""
    known = {_content(graph, one) for one in train.tolist()}
    count = sum(_content(graph, one) in known for one in test.tolist())
    return (f"{count} of {len(test)} test graphs are equal to a training graph",) if count else ()


def _content(graph: Graph, one: int) -> bytes:
    assert graph.offsets is not None
    low, high = graph.offsets[one : one + 2]
    rows = graph.adjacency[low:high]
    features = graph.features
    own = (
        b""
        if features is None
        else np.asarray(features[low:high].todense() if hasattr(features, "todense") else features[low:high]).tobytes()
    )
    return b"|".join((rows.indptr.tobytes(), (rows.indices - low).tobytes(), own))
