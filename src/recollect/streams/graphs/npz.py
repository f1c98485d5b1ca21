"""Graphs in `.npz` files: the parts of two sparse matrices and labels, in the layouts that are published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.graphs.planetoid import csr
from recollect.streams.graphs.raw import RawGraph, whole_numbers
from recollect.streams.npz import read_npz

_SPLITS = {"train": ("train_idx", "train_mask"), "valid": ("val_idx", "val_mask"), "test": ("test_idx", "test_mask")}


def read_npz_graph(path: Path, name: str | None = None) -> RawGraph:
    """The graph: `adj_indptr, adj_indices, adj_shape[, adj_data]` (or `adj_matrix.indptr`, ...), features likewise.

    Features are under `attr_` (or `attr_matrix.`), or dense under `features`; `labels` have one number for each node.
    Without data every entry is a one. `train_idx, val_idx, test_idx` (or masks) are a split, `unlabelled` lists nodes
    whose label is none. `node_times` and `node_domains` have one value for each node.
    """
    arrays = read_npz(path)
    notes: tuple[str, ...] = ()
    adjacency = _matrix(arrays, "adj", path)
    if adjacency is None:
        if "edge_index" not in arrays:
            raise UsageError(f"{path} has {', '.join(arrays) or 'no arrays'}; a graph has adj_indptr, adj_indices, ...")
        edges, n = arrays["edge_index"], None
    else:
        if adjacency.shape[0] != adjacency.shape[1]:
            raise UsageError(f"The adjacency matrix in {path} is square; got {adjacency.shape}.")
        edges, notes = _entries(adjacency, path)
        n = int(adjacency.shape[0])
    features = _matrix(arrays, "attr", path)
    if features is None:
        features = arrays.get("features", arrays.get("x"))
    labels = arrays.get("labels", arrays.get("y"))
    names = arrays.get("class_names")
    return RawGraph(
        name=path.stem if name is None else name,
        source=str(path),
        edges=edges,
        n_nodes=n if n is not None or not np.shape(features) else int(features.shape[0]),
        features=features,
        labels=None if labels is None else _without(labels, arrays.get("unlabelled"), path),
        class_names=() if names is None else _names(names, path),
        split={
            part: _listed(arrays, key, labels, path) for part, keys in _SPLITS.items() for key in keys if key in arrays
        },
        node_times=arrays.get("node_times"),
        node_domains=arrays.get("node_domains"),
        notes=notes,
    )


def _entries(adjacency: Any, path: Path) -> tuple[NDArray[Any], tuple[str, ...]]:
    """The edges of a matrix, and notes on values other than one: a zero is no edge, a weight is not used."""
    found = adjacency.tocoo()
    bad = int(np.count_nonzero(~np.isfinite(found.data)))
    if bad:
        raise UsageError(f"{bad:,} edges in {path} have a weight that is not finite. Take them out, or give ones.")
    there = found.data != 0
    zeros, weights = int(np.count_nonzero(~there)), int(np.count_nonzero(found.data[there] != 1))
    notes = (
        f"{zeros:,} entries of the adjacency are 0 and no edges" if zeros else "",
        f"{weights:,} edges have another weight than 1, which is not used" if weights else "",
    )
    return np.stack([found.row, found.col])[:, there], tuple(note for note in notes if note)


def _names(names: NDArray[Any], path: Path) -> tuple[str, ...]:
    if names.ndim != 1 or len({str(one) for one in names.tolist()}) < len(names):
        raise UsageError(
            f"class_names in {path} has one name for each class, all different; got {names.tolist()!r:.80}."
        )
    return tuple(str(one) for one in names.tolist())


def _matrix(arrays: Mapping[str, NDArray[Any]], stem: str, path: Path) -> Any:
    for prefix in (f"{stem}_", f"{stem}_matrix."):
        parts = {part: arrays.get(prefix + part) for part in ("data", "indices", "indptr", "shape")}
        if parts["indptr"] is None:
            continue
        absent = [prefix + part for part in ("indices", "shape") if parts[part] is None]
        if absent:
            raise UsageError(f"{path} has {prefix}indptr and lacks {' and '.join(absent)}.")
        return csr(parts["data"], parts["indices"], parts["indptr"], parts["shape"], f"{path} ({prefix}*)")
    return None


def _without(labels: NDArray[Any], unlabelled: NDArray[Any] | None, path: Path) -> NDArray[Any]:
    if unlabelled is None or not unlabelled.size:
        return labels
    if labels.dtype.kind not in "iu" or labels.ndim != 1 or unlabelled.ndim != 1:
        raise UsageError(
            f"unlabelled in {path} lists nodes whose label, a whole number, is none; got labels of {labels.dtype}"
            f" {labels.shape} and unlabelled of shape {unlabelled.shape}."
        )
    nodes = whole_numbers(unlabelled, f"unlabelled in {path}", high=len(labels))
    kept = labels.astype(np.int64)
    kept[nodes] = -1
    return kept


def _listed(arrays: Mapping[str, NDArray[Any]], key: str, labels: NDArray[Any] | None, path: Path) -> NDArray[Any]:
    part = arrays[key]
    if not key.endswith("_mask"):
        if part.ndim != 1:
            raise UsageError(f"{key} in {path} is one list of nodes, for one split; got the shape {part.shape}.")
        return part
    n = len(part) if labels is None else len(labels)
    if part.shape != (n,) or part.dtype.kind not in "biu" or not np.isin(part, (0, 1)).all():
        raise UsageError(f"{key} in {path} has {n} values, true or false; got {part.dtype} of shape {part.shape}.")
    return np.flatnonzero(part)
