"""A table of nodes beside an edge list: their features, and their label, time, domain and part, if it has them."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.assemble import some
from recollect.streams.graphs.edges import numbers_in
from recollect.streams.graphs.graph import PARTS
from recollect.streams.graphs.raw import RawGraph, whole_numbers

_IDS, _LABELS = ("node", "id"), ("label", "class")
_LIKE_LABELS = ("labels", "lable", "classes", "y", "target", "targets", "class_id", "node_label")
_TIMES, _DOMAINS, _SPLITS = ("time", "timestamp"), ("domain",), ("split", "part")


def with_nodes(raw: RawGraph, path: Path) -> RawGraph:
    """The graph with what a `.csv` file says of its nodes: one line for each.

    `node` (or `id`) numbers them from 0, in any order; without it they are numbered by line. `label`, `time`, `domain`
    and `split` (train, valid or test) are what they say; every other column is a feature.
    """
    columns, n = _columns(path)

    def taken(names: tuple[str, ...]) -> list[str] | None:
        return next((columns.pop(name) for name in names if name in columns), None)

    order = _order(taken(_IDS), n, path)
    leaks = next((name for name in columns if name in _LIKE_LABELS), None)
    if leaks is not None:
        raise UsageError(
            f"The column {leaks!r} of {path} would be a feature of nodes, and by its name it says their class. Call it"
            " label if it does, and something else if it is a feature."
        )
    labels, times, domains, split = (taken(names) for names in (_LABELS, _TIMES, _DOMAINS, _SPLITS))
    features = [numbers_in(values, name, path) for name, values in columns.items()]
    said = f"{len(columns)} columns of {path.name} are features: {some(list(columns))}"
    return replace(
        raw,
        notes=(*raw.notes, said) if columns else raw.notes,
        n_nodes=n,
        features=np.stack(features, 1)[order] if features else None,
        labels=None if labels is None else _labels(labels, path)[order],
        node_times=None if times is None else numbers_in(times, "time", path, may_lack=True)[order],
        node_domains=None if domains is None else np.array(domains)[order],
        split={} if split is None else _split(np.array(split)[order], path),
    )


def _columns(path: Path) -> tuple[dict[str, list[str]], int]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            head, *lines = [line for line in csv.reader(file) if line]
    except FileNotFoundError:
        raise UsageError(f"There is no file {path}, which nodes names.") from None
    except (ValueError, OSError, csv.Error):
        raise UsageError(f"{path} is not a table with a first line of names, such as node,label,x1,x2.") from None
    names = [one.strip().lower() for one in head]
    twice = next((one for k, one in enumerate(names) if one in names[:k]), None)
    if twice is not None:
        raise UsageError(f"{path} has two columns {twice!r}; which one is meant?")
    uneven = next((k for k, line in enumerate(lines) if len(line) != len(names)), None)
    if uneven is not None:
        raise UsageError(
            f"Line {uneven + 2} of {path} has {len(lines[uneven])} values; the first line names {len(names)}."
        )
    if not lines:
        raise UsageError(f"{path} has no nodes.")
    return {name: [line[k].strip() for line in lines] for k, name in enumerate(names)}, len(lines)


def _order(ids: list[str] | None, n: int, path: Path) -> NDArray[np.int64]:
    """The line of each node."""
    if ids is None:
        return np.arange(n)
    nodes = whole_numbers(numbers_in(ids, "node", path), f"node in {path}", high=n, hint=" Every node has one line.")
    if len(np.unique(nodes)) < n:
        values, counts = np.unique(nodes, return_counts=True)
        raise UsageError(f"Node {values[counts > 1][0]} has {counts.max()} lines in {path}; every node has one.")
    return np.argsort(nodes)


def _labels(values: list[str], path: Path) -> NDArray[Any]:
    """Names, or whole numbers; an empty cell is no label."""
    known = [value for value in values if value]
    if all(value.lstrip("-").isdigit() for value in known):
        return np.array([int(value) if value else -1 for value in values], np.int64)
    if len(known) < len(values):
        raise UsageError(
            f"The node in line {values.index('') + 2} of {path} has no label, and others have names. Number the classes"
            " from 0, with -1 for none."
        )
    return np.array(values)


def _split(parts: NDArray[np.str_], path: Path) -> dict[str, NDArray[np.int64]]:
    small = np.char.lower(parts)
    strange = np.flatnonzero(~np.isin(small, (*PARTS, "val", "")))
    if len(strange):
        raise UsageError(f"split in {path} is train, valid or test; got {str(parts[strange[0]])[:40]!r}.")
    small = np.where(small == "val", "valid", small)
    return {part: np.flatnonzero(small == part) for part in PARTS if (small == part).any()}
