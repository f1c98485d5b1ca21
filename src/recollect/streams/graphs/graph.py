"""A graph that has been checked and cleaned: no loops, no repeats, every edge both ways, and the counts said."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recollect.errors import UsageError
from recollect.streams.graphs.raw import RawGraph, whole_numbers

# Features are kept sparse where fewer than this part of them are not zero.
SPARSE_BELOW = 0.1
PARTS = ("train", "valid", "test")
# A graph that says nothing of its nodes may have so many, or 100 for each edge: above that numbers are names.
MANY = 10_000_000

# A csr_array of scipy's, and a table that is dense or one of these: scipy has no types to check.
Matrix: TypeAlias = Any
Features: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes and what joins them.

    Attributes
    ----------
    adjacency : symmetric matrix of ones, without a diagonal.
    features : one row for each node, float32; sparse where nearly all are zero; None: there are none.
    labels : the class of each node (or graph) as a place in `classes`, -1 where it has none. Where there are
        several targets or numbers to predict, floats, with NaN where nothing is known.
    columns : what the numbers in `labels` are called, where they are floats.
    pairs, pair_labels, pair_times : the edges as the file has them, less loops: ordered, with repeats.
    offsets : where the nodes of each graph begin, and their number, where there are several graphs.
    edge_features, edge_rows : what is known of edges, one row for each edge of the file; and a matrix like `adjacency`
        that holds the number of each entry's row, plus one.
    """

    name: str
    adjacency: Matrix
    features: Features | None
    labels: NDArray[Any] | None
    classes: tuple[int | str, ...]
    columns: tuple[str, ...] = ()
    split: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    node_times: NDArray[Any] | None = None
    node_domains: NDArray[Any] | None = None
    pairs: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    pair_labels: NDArray[Any] | None = None
    pair_times: NDArray[Any] | None = None
    offsets: NDArray[np.int64] | None = None
    edge_rows: Matrix | None = None
    edge_features: NDArray[np.float32] | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return int(self.adjacency.shape[0])

    @property
    def n_edge_features(self) -> int:
        """How many numbers are known of an edge."""
        return 0 if self.edge_features is None else int(self.edge_features.shape[1])

    @cached_property
    def content(self) -> str:
        """The hash of nodes, edges, features and labels."""
        hashed = hashlib.sha256(b"recollect graph 1")
        for part in (self.adjacency, self.features, self.labels, self.pairs, self.pair_labels, self.offsets):
            for array in _arrays(part):
                _hash(array, hashed)
        if self.edge_features is not None:
            _hash(self.edge_features, hashed)
        return hashed.hexdigest()


def checked(raw: RawGraph) -> Graph:
    """The graph in a file, or one paragraph about what is wrong with it."""
    where = f" in {raw.source}"
    n = _n_nodes(raw, where)
    edges = _edges(raw, n, where)
    features = _features(raw.features, n, where)
    n_graphs, offsets = _graphs(raw.graph_of, n, edges, where)
    n_samples = n if offsets is None else n_graphs
    labels, classes = _labels(raw, n_samples, where, of_nodes=offsets is None)
    adjacency, notes = clean(edges, n)
    kept = edges[0] != edges[1]
    return Graph(
        name=raw.name,
        adjacency=adjacency,
        features=features,
        labels=labels,
        classes=classes,
        columns=() if classes else raw.class_names,
        split=_split(raw.split, n_samples, where),
        node_times=_times(raw.node_times, n, "node", where),
        node_domains=_domains(raw.node_domains, n_samples, where),
        pairs=edges.T[kept],
        pair_labels=_of_edges(raw.edge_labels, edges, "label", where, kept),
        pair_times=_times(_of_edges(raw.edge_times, edges, "time", where, kept), int(kept.sum()), "edge", where),
        offsets=offsets,
        edge_rows=None if raw.edge_features is None else _rows_of_edges(edges, adjacency),
        edge_features=_edge_features(raw.edge_features, edges.shape[1], where),
        notes=(*raw.notes, *notes),
    )


def clean(edges: NDArray[np.int64], n: int) -> tuple[Matrix, tuple[str, ...]]:
    """The symmetric matrix of the edges, and what was done to them.

    >>> matrix, notes = clean(np.array([[0, 1, 1, 2, 2], [1, 0, 1, 0, 0]]), 4)
    >>> matrix.nnz, notes[:2]
    (4, ('1 loop removed', '1 repeat of an edge merged'))
    >>> notes[2:]
    ('1 edge had one direction and has both now', '1 node has no edge')
    """
    loops = edges[0] == edges[1]
    source, target = edges[:, ~loops]
    key = np.unique(source * n + target)
    repeats = len(source) - len(key)
    back = (key % n) * n + key // n
    one_way = int(np.count_nonzero(~np.isin(back, key, assume_unique=True)))
    both = np.union1d(key, back)
    ones = np.ones(len(both), np.float32)
    adjacency = sparse.csr_array((ones, (both // n, both % n)), shape=(n, n))
    alone = int(np.count_nonzero(np.diff(adjacency.indptr) == 0))
    notes = (
        _count(int(loops.sum()), "loop removed", "loops removed"),
        _count(repeats, "repeat of an edge merged", "repeats of edges merged"),
        _count(one_way, "edge had one direction and has both now", "edges had one direction and have both now"),
        _count(alone, "node has no edge", "nodes have no edge") if len(both) else "the graph has no edges",
    )
    return adjacency, tuple(note for note in notes if note)


def kept_sparse(features: Any) -> Features:
    """The features in the form in which they are kept: sparse if that is smaller by far."""
    if sparse.issparse(features):
        matrix = sparse.csr_array(features).astype(np.float32)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if matrix.nnz < SPARSE_BELOW * max(1, np.prod(matrix.shape)):
            return matrix
        return np.ascontiguousarray(matrix.toarray())
    dense = np.ascontiguousarray(features, np.float32)
    if np.count_nonzero(dense) < SPARSE_BELOW * max(1, dense.size):
        return sparse.csr_array(dense)
    return dense


def with_row_sums_of_one(graph: Graph) -> Graph:
    """The same graph, the features of each node divided by their sum; a row of zeros stays."""
    if graph.features is None:
        raise UsageError(f"features: rows divides the features of a node, and the nodes of {graph.name} have none.")
    total = np.asarray(graph.features.sum(1)).ravel()
    if (total < 0).any():
        raise UsageError(f"features: rows divides by the sum of a node's features; some of {graph.name} are below 0.")
    scale = sparse.diags_array((1 / np.where(total == 0, 1, total)).astype(np.float32))
    divided = scale @ graph.features
    return replace(graph, features=divided.tocsr() if sparse.issparse(divided) else divided)


def _n_nodes(raw: RawGraph, where: str) -> int:
    n = raw.n_nodes
    if n is None and raw.features is not None:
        n = int(raw.features.shape[0])
    if n is None:
        n = int(raw.edges.max()) + 1 if raw.edges.size and raw.edges.dtype.kind in "iu" else 0
    if n < 1:
        raise UsageError(f"The graph{where} has no nodes. Is it the right file?")
    if raw.n_nodes is None and raw.features is None and n > max(MANY, 100 * raw.edges.shape[-1]):
        raise UsageError(
            f"The largest number of a node{where} is {n - 1:,}, with {raw.edges.shape[-1]:,} edges. Nodes are numbered"
            " from 0 without gaps: number them anew."
        )
    return n


def _edges(raw: RawGraph, n: int, where: str) -> NDArray[np.int64]:
    edges = np.asarray(raw.edges)
    if edges.size == 0:
        return np.zeros((2, 0), np.int64)
    if edges.ndim != 2 or len(edges) != 2:
        raise UsageError(f"Edges{where} are pairs of node numbers, of shape (2, m); got {edges.shape}.")
    hint = f" The graph has {n:,} nodes, numbered from 0. Give every node a row, or take the edge out."
    return whole_numbers(edges, f"A node of an edge{where}", high=n, hint=hint)


def _features(given: Any, n: int, where: str) -> Features | None:
    if given is None:
        return None
    if len(getattr(given, "shape", ())) != 2 or given.shape[0] != n or given.shape[1] < 1:
        raise UsageError(
            f"The features{where} have one row for each of the {n:,} nodes; got the shape"
            f" {tuple(getattr(given, 'shape', ()))}."
        )
    values = given.data if sparse.issparse(given) else np.asarray(given)
    if values.dtype.kind not in "biuf":
        raise UsageError(f"The features{where} are numbers; got {values.dtype}.")
    with np.errstate(over="ignore"):  # what is too large for it is found as not finite
        bad = int(np.count_nonzero(~np.isfinite(values.astype(np.float32))))
    if bad:
        raise UsageError(
            f"The features{where} have {bad:,} values that are not finite (in 32 bits). Replace them, or drop those"
            " columns, first."
        )
    return kept_sparse(given)


def _labels(raw: RawGraph, n: int, where: str, *, of_nodes: bool) -> tuple[NDArray[Any] | None, tuple[int | str, ...]]:
    if raw.labels is None:
        return None, ()
    labels = np.asarray(raw.labels)
    thing = "nodes" if of_nodes else "graphs"
    if labels.shape[:1] != (n,):
        raise UsageError(f"There is one label for each of the {n:,} {thing}{where}; got the shape {labels.shape}.")
    if labels.dtype.kind == "f":  # targets, several of them or numbers to predict
        if np.isinf(labels).any():
            raise UsageError(
                f"{int(np.isinf(labels).sum()):,} labels{where} are infinite. Leave them out, or make them NaN."
            )
        return labels.astype(np.float64), ()
    if labels.dtype.kind in "SU":
        names, places = np.unique(labels, return_inverse=True)
        return places.astype(np.int64), tuple(names.tolist())
    if labels.dtype.kind not in "iu" or labels.ndim != 1:
        raise UsageError(f"Labels{where} are whole numbers or names; got {labels.dtype} of shape {labels.shape}.")
    labels = labels.astype(np.int64)
    known = len(raw.class_names) or None
    whole_numbers(labels, f"A label{where}", low=-1, high=known, hint=" -1 says that it has none." if known else "")
    if known:
        return labels, raw.class_names
    values = np.unique(labels[labels >= 0])
    return np.where(labels >= 0, np.searchsorted(values, labels), -1), tuple(values.tolist())


def _split(split: Mapping[str, NDArray[Any]], n: int, where: str) -> dict[str, NDArray[np.int64]]:
    there = [part for part in PARTS if part in split]
    parts = {part: np.unique(whole_numbers(split[part], f"The {part} split{where}", high=n)) for part in there}
    names = list(parts)
    for first, second in ((a, b) for k, a in enumerate(names) for b in names[k + 1 :]):
        common = np.intersect1d(parts[first], parts[second])
        if len(common):
            raise UsageError(
                f"The {first} and {second} parts{where} overlap in {len(common):,} samples, {common[0]} for one. A"
                " sample is in one of them."
            )
    return parts


def _graphs(
    graph_of: NDArray[Any] | None, n: int, edges: NDArray[np.int64], where: str
) -> tuple[int, NDArray[np.int64] | None]:
    if graph_of is None:
        return 0, None
    of = whole_numbers(graph_of, f"The graph of a node{where}")
    if len(of) != n:
        raise UsageError(f"Every node{where} belongs to a graph: {n:,} nodes, and {len(of):,} say to which.")
    if np.any(np.diff(of) < 0):
        place = int(np.flatnonzero(np.diff(of) < 0)[0]) + 1
        raise UsageError(f"The nodes{where} come graph by graph; node {place} goes back to graph {of[place]}.")
    first, count = int(of[0]), int(of[-1] - of[0]) + 1
    sizes = np.bincount(of - first, minlength=count)
    if (sizes == 0).any():
        raise UsageError(f"Graph {int(np.flatnonzero(sizes == 0)[0]) + first}{where} has no nodes.")
    across = np.flatnonzero(of[edges[0]] != of[edges[1]])
    if len(across):
        source, target = edges[:, across[0]]
        raise UsageError(
            f"An edge{where} joins node {source} of graph {of[source]} and node {target} of graph {of[target]}; the two"
            " ends of an edge are in one graph."
        )
    return count, np.concatenate([[0], np.cumsum(sizes)])


def _of_edges(
    values: NDArray[Any] | None, edges: NDArray[np.int64], what: str, where: str, kept: NDArray[np.bool_]
) -> NDArray[Any] | None:
    if values is None:
        return None
    if len(values) != edges.shape[1]:
        raise UsageError(f"There is one {what} for each of the {edges.shape[1]:,} edges{where}; got {len(values):,}.")
    return np.asarray(values)[kept]


def _edge_features(given: Any, m: int, where: str) -> NDArray[np.float32] | None:
    if given is None:
        return None
    table = np.asarray(given)
    if table.ndim != 2 or len(table) != m or table.dtype.kind not in "biuf":
        raise UsageError(
            f"The edge features{where} have one row of numbers for each of the {m:,} edges; got {table.shape} of"
            f" {table.dtype}."
        )
    bad = int(np.count_nonzero(~np.isfinite(table)))
    if bad:
        raise UsageError(f"The edge features{where} have {bad:,} values that are not finite. Replace them first.")
    return table.astype(np.float32)


def _rows_of_edges(edges: NDArray[np.int64], adjacency: Matrix) -> Matrix:
    """A matrix like the adjacency with the number of each entry's edge, plus one: its own, else that of its reverse."""
    n = adjacency.shape[0]
    known, first = np.unique(edges[0] * n + edges[1], return_index=True)
    found = adjacency.tocoo()
    wanted = found.row.astype(np.int64) * n + found.col
    place = np.minimum(np.searchsorted(known, wanted), max(0, len(known) - 1))
    back = np.searchsorted(known, found.col.astype(np.int64) * n + found.row)
    rows = first[np.where(known[place] == wanted, place, np.minimum(back, len(known) - 1))] if len(known) else place
    return sparse.csr_array((rows + 1, adjacency.indices, adjacency.indptr), shape=adjacency.shape)


def _times(times: NDArray[Any] | None, n: int, what: str, where: str) -> NDArray[Any] | None:
    if times is None:
        return None
    array = np.asarray(times)
    if array.shape != (n,) or array.dtype.kind not in "iufM":
        raise UsageError(f"There is one time for each of the {n:,} {what}s{where}; got {array.shape} of {array.dtype}.")
    missing = np.isnat(array) if array.dtype.kind == "M" else ~np.isfinite(array)
    if missing.any():
        raise UsageError(
            f"{int(missing.sum()):,} {what}s{where} have no time, number {int(missing.argmax())} for one. Give them"
            " theirs, or take them out."
        )
    return array


def _domains(domains: NDArray[Any] | None, n: int, where: str) -> NDArray[Any] | None:
    if domains is None:
        return None
    array = np.asarray(domains)
    if array.shape != (n,) or array.dtype.kind not in "iuSU":
        raise UsageError(
            f"There is one domain, a name or a whole number, for each of the {n:,} samples{where}; got {array.shape} of"
            f" {array.dtype}."
        )
    return array


def _hash(array: NDArray[Any], hashed: Any) -> None:
    hashed.update(f"{array.dtype.str}{array.shape};".encode())
    hashed.update(np.ascontiguousarray(array).tobytes())


def _count(n: int, one: str, several: str) -> str:
    return "" if n == 0 else f"{n:,} {one if n == 1 else several}"


def _arrays(part: Any) -> list[NDArray[Any]]:
    if part is None:
        return [np.zeros(0)]
    if sparse.issparse(part):
        return [part.indptr.astype(np.int64), part.indices.astype(np.int64), part.data]
    return [part]
