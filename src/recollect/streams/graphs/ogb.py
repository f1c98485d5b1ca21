"""OGB's extracted folders: `raw/*.csv.gz` without headings and `split/NAME/{train,valid,test}.csv.gz`."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.graphs.graph import PARTS
from recollect.streams.graphs.raw import RawGraph, whole_numbers

_EDGES = "edge.csv.gz"
# What a sample is, by the file that holds its labels.
_LABELS = {"graph": "graph-label.csv.gz", "node": "node-label.csv.gz"}
_NODE_TIMES, _EDGE_TIMES = ("node_year.csv.gz",), ("edge_year.csv.gz", "edge_time.csv.gz")


def is_ogb(folder: Path) -> bool:
    """Whether this is such a folder."""
    return (folder / "raw" / _EDGES).is_file()


def ogb_level(folder: Path) -> str:
    """What a sample is: a graph or a node if they have labels, else a link."""
    return next((level for level, file in _LABELS.items() if (folder / "raw" / file).is_file()), "link")


def read_ogb(folder: Path, name: str) -> RawGraph:
    """The graph, or graphs, of a folder; the first of its splits by name is the public one."""
    raw = folder / "raw"
    if not is_ogb(folder):
        kinds = (
            "a graph of several kinds of nodes" if (raw / "triplet-type-list.csv.gz").is_file() else "another layout"
        )
        raise UsageError(f"{raw} lacks {_EDGES}, which OGB's nodes, links and graphs of one kind have; it is {kinds}.")
    sizes, counts = (_whole(raw / f"num-{what}-list.csv.gz") for what in ("node", "edge"))
    edges = _whole(raw / _EDGES, columns=2).T
    if counts.sum() != edges.shape[1] or len(counts) != len(sizes):
        raise UsageError(
            f"The files in {raw} disagree: num-edge-list.csv.gz has {counts.sum():,} edges of {len(counts):,} graphs,"
            f" {_EDGES} {edges.shape[1]:,}, and num-node-list.csv.gz {len(sizes):,} graphs."
        )
    level = ogb_level(folder)
    is_many = level == "graph"
    if not is_many and len(sizes) != 1:
        raise UsageError(f"{raw} holds {len(sizes):,} graphs and lacks {_LABELS['graph']}: what is to be said of them?")
    if is_many:
        edges = _shifted(edges, sizes, counts, raw)
    return RawGraph(
        name=name,
        source=str(raw),
        edges=edges,
        n_nodes=int(sizes.sum()),
        features=_table(raw / "node-feat.csv.gz", np.float32),
        labels=_labels(raw, level),
        split=_split(folder) if level in _LABELS else {},
        node_times=_times(raw, _NODE_TIMES),
        edge_times=_times(raw, _EDGE_TIMES),
        edge_features=_table(raw / "edge-feat.csv.gz", np.float32),
        graph_of=np.repeat(np.arange(len(sizes)), sizes) if is_many else None,
        notes=_notes(folder, level),
    )


def _shifted(edges: NDArray[Any], sizes: NDArray[Any], counts: NDArray[Any], raw: Path) -> NDArray[Any]:
    """Nodes are numbered from 0 in each graph; here from 0 in all of them together."""
    most = np.repeat(sizes, counts)
    wrong = np.flatnonzero((edges >= most).any(0))
    if len(wrong):
        one = int(np.repeat(np.arange(len(sizes)), counts)[wrong[0]])
        raise UsageError(
            f"Line {wrong[0] + 1} of {raw / _EDGES} joins {edges[0, wrong[0]]} and {edges[1, wrong[0]]}, and graph"
            f" {one} has {sizes[one]} nodes, numbered from 0."
        )
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    shifted: NDArray[Any] = edges + np.repeat(starts, counts)
    return shifted


def _labels(raw: Path, level: str) -> NDArray[Any] | None:
    """Whole numbers where there is one label, -1 for none; else one column for each, NaN for none."""
    if level not in _LABELS:
        return None
    path = raw / _LABELS[level]
    table = _table(path, np.float64)
    assert table is not None
    if table.shape[1] > 1:
        if level != "graph":
            raise UsageError(f"{path} has {table.shape[1]} labels for each node; a stream over nodes takes one.")
        return table
    column = table[:, 0]
    known = ~np.isnan(column)
    if (column[known] != np.floor(column[known])).any():
        return column
    return np.where(known, column, -1).astype(np.int64)


def _split(folder: Path) -> dict[str, NDArray[np.int64]]:
    for place in sorted(folder.glob("split/*")):
        if all((place / f"{part}.csv.gz").is_file() for part in PARTS):
            return {part: _whole(place / f"{part}.csv.gz") for part in PARTS}
    return {}


def _notes(folder: Path, level: str) -> tuple[str, ...]:
    there = sorted(place.name for place in folder.glob("split/*") if place.is_dir())
    if level not in _LABELS and there:
        return (f"OGB's split of links ({there[0]}) is not read: one is drawn from the edges in {_EDGES}",)
    return (f"of the splits {', '.join(there)} the first is the public one",) if len(there) > 1 else ()


def _times(raw: Path, files: tuple[str, ...]) -> NDArray[Any] | None:
    found = next((raw / file for file in files if (raw / file).is_file()), None)
    return None if found is None else _whole(found)


def _whole(path: Path, columns: int = 1) -> NDArray[np.int64]:
    table = _table(path, np.float64)
    if table is None:
        raise UsageError(f"{path.parent} lacks {path.name}, which every folder of OGB has.")
    if table.shape[1] != columns:
        raise UsageError(f"{path} has {columns} numbers in a line; got {table.shape[1]}.")
    numbers = whole_numbers(table, f"A number in {path}")
    return numbers if columns > 1 else numbers[:, 0]


def _table(path: Path, dtype: type) -> NDArray[Any] | None:
    """The numbers of a file, one row for each line; None where there is no such file."""
    if not path.is_file():
        return None
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            table: NDArray[Any] = np.loadtxt(file, dtype=dtype, delimiter=",", ndmin=2)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UsageError(f"{path} is not a packed table of numbers: {' '.join(str(error).split())}.") from None
    if not table.size:
        raise UsageError(f"{path} is empty.")
    return table
