"""TU's folders of text files with many small graphs: `NAME_A.txt`, `NAME_graph_indicator.txt`, ..."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.graphs.raw import RawGraph, whole_numbers


def read_tu(folder: Path, name: str | None = None) -> RawGraph:
    """The graphs of a folder. Node labels become features (one column each) beside the attributes."""
    name = name or folder.name
    place = folder / "raw" if (folder / "raw").is_dir() else folder
    needed = [f"{name}_{part}.txt" for part in ("A", "graph_indicator")]
    missing = [file for file in needed if not (place / file).is_file()]
    if missing:
        raise UsageError(f"{place} lacks {' and '.join(missing)}; a TU data set {name} has both.")
    graph_of = _column(place / f"{name}_graph_indicator.txt")
    n = len(graph_of)
    edges = _table(place / f"{name}_A.txt", columns=2)
    whole_numbers(edges, f"A node in {place / f'{name}_A.txt'}", low=1, high=n + 1, hint=" TU numbers them from 1.")
    unread = [file.name for file in sorted(place.glob(f"{name}_edge_*.txt"))]
    n_graphs = int(graph_of.max()) - int(graph_of.min()) + 1
    return RawGraph(
        name=name,
        source=str(place),
        edges=edges.T.astype(np.int64) - 1,
        n_nodes=n,
        features=_features(place, name, n),
        labels=_graph_labels(place, name, n_graphs),
        graph_of=graph_of,
        notes=(f"what is known of edges is not used: {', '.join(unread)}",) if unread else (),
    )


def _graph_labels(place: Path, name: str, n_graphs: int) -> NDArray[Any]:
    """Classes as they are called, or numbers to predict: one or several for each graph."""
    classes, numbers = place / f"{name}_graph_labels.txt", place / f"{name}_graph_attributes.txt"
    if not classes.is_file() and not numbers.is_file():
        raise UsageError(f"{place} lacks {classes.name} (or {numbers.name}): what is to be said of a graph?")
    path = classes if classes.is_file() else numbers
    table = _table(path)
    if len(table) != n_graphs:
        raise UsageError(
            f"The files in {place} disagree: {name}_graph_indicator.txt has {n_graphs:,} graphs and {path.name}"
            f" {len(table):,} lines."
        )
    if path == numbers or table.shape[1] > 1:
        return table.astype(np.float64)
    if not np.isfinite(table).all():
        raise UsageError(f"{path} has a label for each graph; {int((~np.isfinite(table)).sum()):,} are no numbers.")
    return np.array([f"{value:g}" for value in table[:, 0]])


def _features(place: Path, name: str, n: int) -> NDArray[Any] | None:
    parts = []
    labels, attributes = place / f"{name}_node_labels.txt", place / f"{name}_node_attributes.txt"
    if attributes.is_file():
        parts.append(_table(attributes))
    if labels.is_file():
        for column in _table(labels).T:
            values, places = np.unique(column, return_inverse=True)
            parts.append(np.eye(len(values))[places])
    for part, path in zip(parts, [path for path in (attributes, labels) if path.is_file()], strict=False):
        if len(part) != n:
            raise UsageError(
                f"The files in {place} disagree: {name}_graph_indicator.txt has {n:,} nodes and {path.name}"
                f" {len(part):,} lines."
            )
    return np.hstack(parts) if parts else None


def _column(path: Path) -> NDArray[np.int64]:
    return whole_numbers(_table(path, columns=1)[:, 0], f"A line of {path}", low=0)


def _table(path: Path, columns: int | None = None) -> NDArray[np.float64]:
    """Numbers separated by commas, one row in a line; the line ends of any system."""
    try:
        lines = [line for line in path.read_text(encoding="utf-8", errors="strict").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file.") from None
    if not lines:
        raise UsageError(f"{path} is empty.")
    try:
        rows: NDArray[np.float64] = np.loadtxt(lines, delimiter=",", ndmin=2)
    except ValueError:
        widths = [line.count(",") for line in lines]
        place = next((k for k, line in enumerate(lines) if not _is_numbers(line)), None)
        if place is None:
            place = next(k for k, width in enumerate(widths) if width != widths[0])
        raise UsageError(
            f"Line {place + 1} of {path} is {lines[place][:60]!r}; every line has the same count of numbers, separated"
            " by commas."
        ) from None
    if columns is not None and rows.shape[1] != columns:
        raise UsageError(f"{path} has {columns} numbers in a line; got {rows.shape[1]}.")
    return rows


def _is_numbers(line: str) -> bool:
    try:
        return all(np.isfinite(float(part)) for part in line.split(","))
    except ValueError:
        return False
