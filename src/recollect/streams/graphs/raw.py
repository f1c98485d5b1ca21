"""A graph as a file holds it, before anything is checked: every reader gives one of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError


@dataclass(frozen=True, eq=False)
class RawGraph:
    """What a file says: edges as pairs of node numbers, and a table or a label for each node, edge or graph.

    Attributes
    ----------
    name, source : what tables call the graph; where it came from, for messages.
    edges : array of shape (2, m), sources and targets in the order of the file.
    n_nodes : how many nodes there are; None: one more than the largest number.
    features : a matrix with one row for each node, dense or of scipy's; None: there are none.
    labels : one label for each node; -1 means none.
    class_names : what the classes are called, where labels are places in it; or the columns, where they are numbers.
    split : node numbers under train, valid and test, where the data set has a public split.
    node_times, node_domains, edge_times, edge_labels : one value for each node or edge; the domain of each graph
        where there are several.
    edge_features : a matrix with one row for each edge.
    graph_of : the graph of each node, where there are several; then `labels` has one for each graph, or one row of
        values for each with NaN where nothing is known.
    """

    name: str
    source: str
    edges: NDArray[Any]
    n_nodes: int | None = None
    features: Any = None
    labels: NDArray[Any] | None = None
    class_names: tuple[str, ...] = ()
    split: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    node_times: NDArray[Any] | None = None
    node_domains: NDArray[Any] | None = None
    edge_times: NDArray[Any] | None = None
    edge_labels: NDArray[Any] | None = None
    edge_features: NDArray[Any] | None = None
    graph_of: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()


def whole_numbers(
    values: Any, what: str, *, low: int = 0, high: int | None = None, hint: str = ""
) -> NDArray[np.int64]:
    """The values as whole numbers from `low` to below `high`; UsageError with the first that is not one.

    >>> whole_numbers([0, 2.5], "a node")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: a node is a whole number of at least 0; number 1 is 2.5.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise UsageError(f"{what} is a whole number; got {array.dtype}.{hint}")
    wrong = ~np.isfinite(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    if array.dtype.kind == "f":
        wrong |= np.floor(np.where(wrong, 0, array)) != np.where(wrong, 0, array)
    wrong |= np.where(wrong, low, array) < low
    if high is not None:
        wrong |= np.where(wrong, low, array) >= high
    if wrong.any():
        place = int(np.flatnonzero(wrong.ravel())[0])
        bound = f"of at least {low}" if high is None else f"from {low} to {high - 1}"
        shown = array.ravel()[place].item()
        raise UsageError(f"{what} is a whole number {bound}; number {place} is {shown!r}.{hint}")
    return array.astype(np.int64)
