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
    adjacency = _matrix(arrays, "adj", path)
    if adjacency is None:
        if "edge_index" not in arrays:
            raise UsageError(f"{path} has {', '.join(arrays) or 'no arrays'}; a graph has adj_indptr, adj_indices, ...")
        edges, n = arrays["edge_index"], None
    else:
        if adjacency.shape[0] != adjacency.shape[1]:
            raise UsageError(f"The adjacency matrix in {path} is square; got {adjacency.shape}.")
        found = adjacency.tocoo()
        edges, n = np.stack([found.row, found.col]), int(adjacency.shape[0])
    features = _matrix(arrays, "attr", path)
    if features is None:
        features = arrays.get("features", arrays.get("x"))
    labels = arrays.get("labels", arrays.get("y"))
    names = arrays.get("class_names")
    return RawGraph(
        name=path.stem if name is None else name,
        source=str(path),
        edges=edges,
        n_nodes=n if n is not None else None if features is None else int(features.shape[0]),
        features=features,
        labels=None if labels is None else _without(labels, arrays.get("unlabelled"), path),
        class_names=() if names is None else tuple(str(one) for one in names.tolist()),
        split={
            part: _listed(arrays, key, labels, path) for part, keys in _SPLITS.items() for key in keys if key in arrays
        },
        node_times=arrays.get("node_times"),
        node_domains=arrays.get("node_domains"),
    )


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
    if unlabelled is None or not len(unlabelled):
        return labels
    nodes = whole_numbers(unlabelled, f"unlabelled in {path}", high=len(labels))
    kept = labels.astype(np.int64)
    kept[nodes] = -1
    return kept


def _listed(arrays: Mapping[str, NDArray[Any]], key: str, labels: NDArray[Any] | None, path: Path) -> NDArray[Any]:
    part = arrays[key]
    if not key.endswith("_mask"):
        return part
    n = len(part) if labels is None else len(labels)
    if part.shape != (n,) or part.dtype.kind not in "biu" or not np.isin(part, (0, 1)).all():
        raise UsageError(f"{key} in {path} has {n} values, true or false; got {part.dtype} of shape {part.shape}.")
    return np.flatnonzero(part)
