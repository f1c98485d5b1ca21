"""Generated graphs: communities whose features drift, joined by edges that have times; any size, seeded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recollect.errors import UsageError
from recollect.options import number_in
from recollect.streams.graphs.raw import RawGraph

N_FEATURES = 32
MOST = 100_000_000
DEGREE = 14
INSIDE = 0.8
DRIFT = 0.5


def block_graph(name: str, seed: int = 0) -> RawGraph:
    """The graph of a name such as "sbm:2000:8": so many nodes in so many communities of equal size.

    A node has about 14 neighbours, four of five in its own community. Features lie around the centre of the community,
    which moves with the time at which a node comes; an edge comes with the later of its two nodes.

    >>> graph = block_graph("sbm:400:4")
    >>> graph.n_nodes, len(set(graph.labels.tolist())), graph.features.shape
    (400, 4, (400, 32))
    """
    n, classes = _sizes(name)
    rng = np.random.default_rng(np.random.SeedSequence(20231104, spawn_key=(seed,)))
    labels = np.arange(n) % classes
    times = rng.random(n)
    m = n * DEGREE // 2
    source = rng.integers(0, n, m)
    # A node of the same community is a multiple of the number of communities away.
    inside = (source % classes + classes * rng.integers(0, n // classes, m)) % n
    target = np.where(rng.random(m) < INSIDE, inside, rng.integers(0, n, m))
    centres, ways = rng.normal(size=(2, classes, N_FEATURES))
    features = centres[labels] + DRIFT * times[:, None] * ways[labels]
    return RawGraph(
        name=name,
        source=name,
        edges=np.stack([source, target]),
        n_nodes=n,
        features=(features + 1.5 * rng.normal(size=(n, N_FEATURES))).astype(np.float32),
        labels=labels,
        node_times=times,
        edge_times=np.maximum(times[source], times[target]),
    )


def read_blocks(path: Path, name: str) -> RawGraph:
    """The same, as a reader of files is called."""
    return block_graph(name)


def _sizes(name: str) -> tuple[int, int]:
    parts = [number_in(part) for part in name.split(":")[1:]]
    whole = [int(part) for part in parts if isinstance(part, float) and 1 <= part <= MOST and part == int(part)]
    if len(whole) != len(parts) or len(parts) != 2 or whole[0] < 10 * whole[1]:
        raise UsageError(
            f"A generated graph is called sbm:NODES:CLASSES, with at least 10 nodes in a class and at most {MOST:,} in"
            f" all, such as sbm:2000:8; got {name!r}."
        )
    return whole[0], whole[1]
