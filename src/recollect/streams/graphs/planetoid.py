"""Planetoid's files `ind.NAME.tx, allx, y, ty, ally, graph, test.index`, with their public split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recollect.errors import UsageError
from recollect.runs import safe_pickle
from recollect.streams.graphs.raw import RawGraph, whole_numbers

SUFFIXES = ("tx", "allx", "y", "ty", "ally", "graph", "test.index")
VALIDATION = 500


def read_planetoid(path: Path, name: str) -> RawGraph:
    """The graph of this name, in the folder or beside the file at the path.

    Test nodes that no file describes (15 of CiteSeer) have no label and no features.
    """
    folder = path if path.is_dir() else path.parent
    missing = [f"ind.{name}.{suffix}" for suffix in SUFFIXES if not (folder / f"ind.{name}.{suffix}").is_file()]
    if missing:
        raise UsageError(f"{folder} lacks {', '.join(missing)}, which every graph of Planetoid has.")
    tx, allx = (_matrix(folder / f"ind.{name}.{part}") for part in ("tx", "allx"))
    y, ty, ally = (_one_hot(folder / f"ind.{name}.{part}") for part in ("y", "ty", "ally"))
    listed = _test_index(folder / f"ind.{name}.test.index")
    n = int(listed.max()) + 1
    if allx.shape[1] != tx.shape[1] or len(np.unique(listed)) < len(listed) or n > 2 * (len(ally) + len(listed)):
        raise UsageError(
            f"The files of {name} in {folder} do not belong together: allx has {allx.shape[1]} columns and tx"
            f" {tx.shape[1]}; {len(listed)} test nodes are listed, {len(np.unique(listed))} of them different, the last"
            f" one {n - 1}."
        )
    if len(listed) != tx.shape[0] or len(ty) != len(listed) or allx.shape[0] != len(ally) or listed.min() < len(ally):
        raise UsageError(
            f"The files of {name} in {folder} do not belong together: {len(listed)} test nodes are listed, tx has"
            f" {tx.shape[0]} rows and ty {len(ty)}, allx {allx.shape[0]} and ally {len(ally)}."
        )
    features = sparse.lil_array((n, allx.shape[1]), dtype=np.float32)
    features[: allx.shape[0]] = allx
    features[listed] = tx
    labels = np.full(n, -1, np.int64)
    labels[: len(ally)], labels[listed] = ally, ty
    alone = n - len(ally) - len(listed)
    first, last = len(y), min(len(y) + VALIDATION, len(ally))
    return RawGraph(
        name=name,
        source=f"{folder}/ind.{name}.*",
        edges=_edges(folder / f"ind.{name}.graph"),
        n_nodes=n,
        features=sparse.csr_array(features),
        labels=labels,
        split={"train": np.arange(len(y)), "valid": np.arange(first, last), "test": np.sort(listed)},
        notes=(f"{alone} nodes have no label and no features",) if alone else (),
    )


def _matrix(path: Path) -> Any:
    parts = safe_pickle.load(path)
    if isinstance(parts, np.ndarray):
        return sparse.csr_array(parts)
    if not isinstance(parts, dict) or "indptr" not in parts:
        raise UsageError(f"{path} should hold a matrix; got {type(parts).__name__}.")
    shape = parts.get("_shape", parts.get("shape"))
    return csr(parts["data"], parts["indices"], parts["indptr"], shape, str(path))


def csr(data: Any, indices: Any, indptr: Any, shape: Any, where: str) -> Any:
    """The sparse matrix of these parts, every one of them checked: scipy believes what it is given."""
    for part, what in ((data, "data"), (indices, "indices"), (indptr, "indptr")):
        array = np.asarray(part)
        if part is not None and (array.ndim != 1 or array.dtype.kind not in "biuf"):
            raise UsageError(f"{what} in {where} is one row of numbers; got {array.dtype} of shape {array.shape}.")
    sides = whole_numbers(np.asarray(shape).ravel(), f"The shape of a matrix in {where}")
    if len(sides) != 2:
        raise UsageError(f"The shape of a matrix in {where} is two numbers; got {len(sides)}.")
    rows, columns = sides.tolist()
    ends = whole_numbers(indptr, f"indptr in {where}")
    if len(ends) != rows + 1 or ends[0] != 0 or np.any(np.diff(ends) < 0):
        raise UsageError(
            f"indptr in {where} starts at 0 and does not fall, with {rows + 1:,} numbers for {rows:,} rows; got"
            f" {len(ends):,} numbers{', which fall' if np.any(np.diff(ends) < 0) else ''}."
        )
    places = whole_numbers(indices, f"indices in {where}", high=columns)
    values = np.ones(len(places), np.float32) if data is None else np.asarray(data)
    if not len(places) == len(values) == ends[-1]:
        raise UsageError(
            f"The parts of a matrix in {where} disagree: indptr ends at {ends[-1]:,}, indices has {len(places):,} and"
            f" data {len(values):,}."
        )
    return sparse.csr_array((values, places, ends), shape=(rows, columns))


def _one_hot(path: Path) -> NDArray[np.int64]:
    table = safe_pickle.load(path)
    is_table = isinstance(table, np.ndarray) and table.ndim == 2 and bool(np.isin(table, (0, 1)).all())
    if not is_table or (table.sum(1) > 1).any():
        raise UsageError(
            f"{path} should hold a table of zeros and ones, one column for each class, at most one 1 a row."
        )
    return np.where(table.any(1), table.argmax(1), -1)


def _edges(path: Path) -> NDArray[np.int64]:
    lists = safe_pickle.load(path)
    if not isinstance(lists, dict) or not all(isinstance(targets, list) for targets in lists.values()):
        raise UsageError(f"{path} should hold a dictionary of lists: the neighbours of each node.")
    sources = [source for source, targets in lists.items() for _ in targets]
    return np.array([sources, [target for targets in lists.values() for target in targets]])


def _test_index(path: Path) -> NDArray[np.int64]:
    try:
        listed = np.array([int(line) for line in path.read_text().split()], np.int64)
    except ValueError as error:
        raise UsageError(f"{path} lists one node in a line: {error}.") from None
    if not len(listed):
        raise UsageError(f"{path} is empty; it lists the test nodes.")
    return listed
