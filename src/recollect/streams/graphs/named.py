"""Graph streams by name or path: find, read, check, and cut into tasks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from recollect.errors import NotComputable, UsageError
from recollect.streams.graphs.graph import Graph, checked, with_row_sums_of_one
from recollect.streams.graphs.links import link_stream
from recollect.streams.graphs.many import graph_stream
from recollect.streams.graphs.molecules import MOLECULES, is_molecules
from recollect.streams.graphs.names import BLOCKS, TU, Source, source_of
from recollect.streams.graphs.nodes import node_stream
from recollect.streams.graphs.spec import GraphSpec, read_graph_options
from recollect.streams.locate import data_dirs
from recollect.streams.stream import Stream


def make_graph_stream(name: str, data: Path | str | None, options: Mapping[str, Any]) -> Stream:
    """The stream over a graph of this name, or of the file at this path."""
    spec, asked, batch_given = read_graph_options(options, f"The stream {name}")
    graph, level = load_graph(name, data)
    level = asked.level or level
    refuse_unused(graph, level, asked)
    if asked.features == "rows":
        graph = with_row_sums_of_one(graph)
    build = {"node": node_stream, "link": link_stream, "graph": graph_stream}[level]
    return build(graph, spec, asked, whole_batches=not batch_given)


# Options that say nothing at a level; there they would be passed over in silence.
_UNUSED = {
    "node": ("periods", "ask", "column"),
    "link": ("remainder", "column", "split"),
    "graph": ("periods",),
}


def refuse_unused(graph: Graph, level: str, asked: GraphSpec) -> None:
    """Raise UsageError for an option that was given and would change nothing."""
    default = GraphSpec()
    unused = [name for name in _UNUSED[level] if getattr(asked, name) != getattr(default, name)]
    if unused:
        raise UsageError(f"The option {unused[0]} says nothing of a stream over {level}s. Leave it out.")
    if level != "link" and asked.split_seed and asked.wants_public(graph.split):
        raise UsageError(f"split_seed draws a random split, and {graph.name} has its own: give split: random, too.")


def load_graph(name: str, data: Path | str | None = None) -> tuple[Graph, str]:
    """The graph of this name or path, and what its samples are by default."""
    path = Path(name)
    if path.suffix == ".npz":
        return _read(path, path.stem, "npz:read_npz_graph", path.stat().st_mtime_ns), "node"
    if path.name.endswith(MOLECULES) and is_molecules(path):
        return _read(path, path.name.partition(".")[0], "molecules:read_molecules", path.stat().st_mtime_ns), "graph"
    if path.suffix == ".csv":
        return _read(path, path.stem, "edges:read_edges", path.stat().st_mtime_ns), "link"
    if name.startswith(BLOCKS):
        return _read(path, name, "blocks:read_blocks", 0), "node"
    source = source_of(name)
    path = _find(name, source, data)
    return _read(path, name.removeprefix(TU), source.reader, path.stat().st_mtime_ns), source.level


@lru_cache(maxsize=4)
def _read(path: Path, name: str, reader: str, changed: int) -> Graph:
    module, _, function = reader.partition(":")
    return checked(getattr(import_module(f"recollect.streams.graphs.{module}"), function)(path, name))


def _find(name: str, source: Source, data: Path | str | None) -> Path:
    roots = data_dirs(data)
    for root in roots:
        for relative in source.paths:
            if (root / relative).exists():
                return root / relative
    raise NotComputable(
        f"The graph {name} is not here: looked for {' or '.join(source.paths[:3])} in"
        f" {', '.join(map(str, roots))}. --data DIR or RECOLLECT_DATA says where it is."
    )
