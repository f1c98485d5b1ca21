"""Streams whose samples are links: does a pair of nodes have one, or does the link hold?

Both directions and all repeats of a pair are on one side of the split. The graph that is seen is made of training links
only; negatives are drawn once, and are a link of no time and no part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.assemble import assemble
from recollect.streams.data import Dataset
from recollect.streams.graphs.graph import Graph, clean
from recollect.streams.graphs.spec import GraphSpec
from recollect.streams.graphs.view import View
from recollect.streams.order import permutation
from recollect.streams.periods import cuts_of
from recollect.streams.spec import Spec
from recollect.streams.stream import Stream, StreamTask

SPLIT_SEED = 20231102
NEGATIVE_SEED = 20231103

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Samples: ordered pairs of nodes, their labels (1 or 0), tasks, and which of them are for testing.

    `values` are what is asked where that is a number; then the labels say nothing.
    """

    pairs: Ints
    labels: Ints
    task: Ints
    test: NDArray[np.bool_]
    values: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class LinkViews:
    """The views of a stream of links: all nodes, and the training links of all tasks or of those up to now."""

    graph: Graph
    edges: Ints
    task_of: Ints
    visibility: str

    samples = "links"

    @property
    def input_shape(self) -> tuple[int, ...]:
        """How many features a node has; without any, its degrees and a one."""
        features = self.graph.features
        return (3,) if features is None else (int(features.shape[1]),)

    @property
    def n_edge_features(self) -> int:
        """None: what is known of a link is what is asked."""
        return 0

    @property
    def future(self) -> bool:
        """Whether links of tasks to come can be asked."""
        return self.visibility == "whole"

    def training(self, step: int) -> View:
        """What may be seen while task `step` is learned."""
        view: View = self._view(int(self.task_of.max()) if self.future else step)
        return view

    def evaluation(self, step: int) -> View:
        """The same: test links are never edges of the graph."""
        return self.training(step)

    @cached_property
    def _view(self) -> Any:
        return lru_cache(maxsize=1)(self._made)

    def _made(self, step: int) -> View:
        edges = self.edges[self.task_of <= step]
        n = self.graph.n_nodes
        adjacency, _ = clean(edges.T, n)
        features = self.graph.features
        if features is None:
            degrees = [np.bincount(edges[:, side], minlength=n) for side in (0, 1)]
            features = np.stack([np.log1p(degrees[0]), np.log1p(degrees[1]), np.ones(n)], 1).astype(np.float32)
        return View(np.arange(n), adjacency, features, n)


def link_stream(graph: Graph, spec: Spec, asked: GraphSpec, *, whole_batches: bool) -> Stream:
    """The stream over the links of a graph."""
    if SCENARIOS[spec.scenario].adds_classes:
        raise UsageError(
            f"Links have no classes to add, so a stream over the links of {graph.name} is time-incremental or"
            f" domain-incremental; got {spec.scenario}."
        )
    if asked.visibility == "seen-separate" or asked.test_nodes == "hidden":
        raise UsageError("Streams over links are whole or seen, and all nodes are visible: links are what is hidden.")
    if not len(graph.pairs):
        raise UsageError(f"{graph.name} has no edges to ask about.")
    names, found = _tasks(graph, spec, asked)
    made = _made(graph, found, asked)
    _check(made, names, graph.name)
    parts = {part: np.flatnonzero(made.test == (part == "test")) for part in ("train", "test")}
    train, test = parts["train"], parts["test"]
    data = Dataset(
        graph.name, made.pairs[train], made.labels[train], made.pairs[test], made.labels[test], (0, 1), graph.notes
    )
    if whole_batches:
        spec = replace(spec, batch=max(1, len(train)))
    classes: tuple[int, ...] = (0, 1) if made.values is None else ()
    tasks = tuple(
        StreamTask(name, classes, classes, np.flatnonzero(made.task[train] == k), np.flatnonzero(made.task[test] == k))
        for k, name in enumerate(names)
    )
    valid, tested = asked.fractions
    said = (
        f"{graph.content} links {asked.visibility} split {valid:g} {tested:g} seed {asked.split_seed} periods {names}"
    )
    is_edge = made.labels[train] == 1 if graph.pair_labels is None else np.ones(len(train), bool)
    views = LinkViews(graph, made.pairs[train][is_edge], made.task[train][is_edge], asked.visibility)
    more: dict[str, Any] = {"problem": "links", "adds_classes": False, "variant": said, "views": views}
    if made.values is not None:
        more |= {
            "problem": "regression",
            "variant": f"{said} values",
            "values": (made.values[train], made.values[test]),
        }
    return assemble(data, spec, graph.name, tasks, np.arange(2), **more)


def _tasks(graph: Graph, spec: Spec, asked: GraphSpec) -> tuple[list[str], Ints]:
    """The names of the tasks, and the task of each pair: by its time, or by the class of its first node."""
    if SCENARIOS[spec.scenario].is_domains:
        if graph.labels is None or not graph.classes:
            raise UsageError(f"The domains of links are the classes of their first nodes, and {graph.name} has none.")
        groups = np.array_split(np.arange(len(graph.classes)), spec.tasks or len(graph.classes))
        of_class = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        if any(not len(group) for group in groups):
            raise UsageError(f"{graph.name} has {len(graph.classes)} classes, which do not fill {spec.tasks} tasks.")
        names = [f"from {' '.join(str(graph.classes[c]) for c in group)}" for group in groups]
        labels = graph.labels[graph.pairs[:, 0]]
        return names, np.where(labels >= 0, of_class[labels], -1)
    times = graph.pair_times
    if times is None:
        raise UsageError(f"The edges of {graph.name} have no times; a time-incremental stream needs them.")
    cuts = cuts_of(times, spec.tasks, asked.periods)
    task = np.searchsorted(cuts, times, side="right")
    starts = [times.min(), *cuts.tolist()]
    short = [f"from {start:.10g}" for start in starts]
    return short if len(set(short)) == len(short) else [f"from {start}" for start in starts], task


def _made(graph: Graph, task: Ints, asked: GraphSpec) -> Pairs:
    """What is asked: whether there is a link, which of two labels it has, or its label as a number."""
    labels, asks = graph.pair_labels, asked.ask
    if asks not in (None, "classes", "values") or (asks is not None and labels is None):
        raise UsageError(
            f"The edges of {graph.name} have {'one' if labels is not None else 'no'} label; got ask: {asks}."
        )
    if labels is None:
        return _existence(graph, task, asked)
    if not np.isfinite(labels).all():
        raise UsageError(f"{int((~np.isfinite(labels)).sum()):,} edges of {graph.name} have no label. Take them out.")
    return _valued(graph, task, asked, labels) if asks == "values" else _labelled(graph, task, asked, labels)


def _valued(graph: Graph, task: Ints, asked: GraphSpec, labels: NDArray[Any]) -> Pairs:
    """Every link with its label as the number that is asked."""
    side = _side(graph.pairs, graph.n_nodes, asked)
    kept = (side != "valid") & (task >= 0)
    zeros = np.zeros(int(kept.sum()), np.int64)
    return Pairs(graph.pairs[kept], zeros, task[kept], side[kept] == "test", labels[kept].astype(np.float64))


def _labelled(graph: Graph, task: Ints, asked: GraphSpec, labels: NDArray[Any]) -> Pairs:
    """Every link with its label: 1 for those above 0, or for the larger of two."""
    values = np.unique(labels)
    if len(values) < 2 or (len(values) > 2 and not (values[0] < 0 < values[-1])):
        raise UsageError(
            f"The labels of the edges of {graph.name} are two values, or numbers below and above 0; got {len(values)}"
            f" with {values[0]:g} and {values[-1]:g} at the ends."
        )
    truth = (labels > 0 if len(values) > 2 else labels == values[1]).astype(np.int64)
    side = _side(graph.pairs, graph.n_nodes, asked)
    kept = (side != "valid") & (task >= 0)
    return Pairs(graph.pairs[kept], truth[kept], task[kept], side[kept] == "test")


def _existence(graph: Graph, task: Ints, asked: GraphSpec) -> Pairs:
    """Every pair once, where it comes first, and as many pairs without a link in each task and part."""
    n = graph.n_nodes
    key = _key(graph.pairs, n)
    order = np.arange(len(key)) if graph.pair_times is None else np.argsort(graph.pair_times, kind="stable")
    _, first = np.unique(key[order], return_index=True)
    chosen = np.sort(order[first])
    chosen = chosen[task[chosen] >= 0]
    side = _side(graph.pairs[chosen], n, asked)
    chosen, side = chosen[side != "valid"], side[side != "valid"]
    true, of_task, test = graph.pairs[chosen], task[chosen], side == "test"
    false = _negatives(graph, true[:, 0].copy(), key, asked.split_seed)
    return Pairs(
        np.concatenate((true, false)),
        np.repeat([1, 0], len(true)),
        np.concatenate((of_task, of_task)),
        np.concatenate((test, test)),
    )


def _negatives(graph: Graph, starts: Ints, taken: Ints, seed: int) -> Ints:
    """For each start another end, such that the pair is no link at all, no loop and no other negative."""
    n = graph.n_nodes
    used = set(taken.tolist())
    if len(used) + len(starts) > n * (n - 1) // 2:
        raise UsageError(f"{graph.name} has too many links to draw as many pairs without one: {len(used):,}.")
    bits = np.random.PCG64(np.random.SeedSequence(NEGATIVE_SEED, spawn_key=(seed,)))
    ends = np.empty(len(starts), np.int64)
    for k, start in enumerate(starts.tolist()):
        for attempt in range(1000):
            end = int(bits.random_raw() % n)
            begin = start if attempt < 500 else int(bits.random_raw() % n)
            key = min(begin, end) * n + max(begin, end)
            if begin != end and key not in used:
                break
        else:
            raise UsageError(
                f"No pair without a link was found for node {start} of {graph.name}: it is nearly complete."
            )
        used.add(key)
        starts[k], ends[k] = begin, end
    return np.stack([starts, ends], 1)


def _side(pairs: Ints, n: int, asked: GraphSpec) -> NDArray[np.str_]:
    """The part of each pair: the same for both directions and all repeats."""
    unique, place = np.unique(_key(pairs, n), return_inverse=True)
    valid, test = (round(part * len(unique)) for part in asked.fractions)
    parts = np.full(len(unique), "train")
    order = permutation(len(unique), SPLIT_SEED, asked.split_seed)
    parts[order[:test]], parts[order[test : test + valid]] = "test", "valid"
    side: NDArray[np.str_] = parts[place]
    return side


def _key(pairs: Ints, n: int) -> Ints:
    key: Ints = pairs.min(1) * n + pairs.max(1)
    return key


def _check(made: Pairs, names: list[str], graph: str) -> None:
    for k, name in enumerate(names):
        for part, is_test in (("training", False), ("test", True)):
            if not ((made.task == k) & (made.test == is_test)).any():
                raise UsageError(f"The period or domain {name!r} of {graph} has no {part} links. Use fewer tasks.")
