"""Graph streams by name or path: find, read, check, and cut into tasks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from recollect.errors import NotComputable, UsageError
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.graphs.graph import Graph, checked, with_row_sums_of_one
from recollect.streams.graphs.links import link_stream
from recollect.streams.graphs.many import graph_stream
from recollect.streams.graphs.molecules import MOLECULES, is_molecules
from recollect.streams.graphs.names import BLOCKS, OGB, Source, is_graph_source, source_of
from recollect.streams.graphs.node_table import with_nodes
from recollect.streams.graphs.nodes import node_stream
from recollect.streams.graphs.ogb import is_ogb, ogb_level
from recollect.streams.graphs.spec import GraphSpec, read_graph_options
from recollect.streams.locate import data_dirs
from recollect.streams.stream import Stream


def make_graph_stream(name: str, data: Path | str | None, options: Mapping[str, Any]) -> Stream:
    """The stream over a graph of this name, or of the file at this path."""
    spec, asked, batch_given = read_graph_options(options, f"The stream {name}")
    graph, level = load_graph(name, data, asked.nodes)
    level = asked.level or level
    refuse_unused(graph, level, asked, is_timed=SCENARIOS[spec.scenario].is_timed)
    if asked.features == "rows":
        graph = with_row_sums_of_one(graph)
    build = {"node": node_stream, "link": link_stream, "graph": graph_stream}[level]
    return build(graph, spec, asked, whole_batches=not batch_given)


# Options that say nothing at a level; there they would be passed over in silence.
_UNUSED = {
    "node": ("ask", "column"),
    "link": ("remainder", "column", "split"),
    "graph": (),
}


def refuse_unused(graph: Graph, level: str, asked: GraphSpec, *, is_timed: bool) -> None:
    """Raise UsageError for an option that was given and would change nothing."""
    default = GraphSpec()
    if asked.periods != default.periods and not is_timed:
        raise UsageError("The option periods is for time-incremental streams. Leave it out, or give that scenario.")
    unused = [name for name in _UNUSED[level] if getattr(asked, name) != getattr(default, name)]
    if unused:
        raise UsageError(f"The option {unused[0]} says nothing of a stream over {level}s. Leave it out.")
    if level != "link" and asked.split_seed and asked.wants_public(graph.split):
        raise UsageError(f"split_seed draws a random split, and {graph.name} has its own: give split: random, too.")


def load_graph(name: str, data: Path | str | None = None, nodes: str | None = None) -> tuple[Graph, str]:
    """The graph of this name or path, and what its samples are by default."""
    path = Path(name)
    if nodes is not None and (path.suffix != ".csv" or is_molecules(path)):
        raise UsageError(f"nodes is a table beside an edge list; {name} is none. Leave it out.")
    if path.name.endswith(MOLECULES) and is_molecules(path):
        return _read(path, path.name.partition(".")[0], "molecules:read_molecules"), "graph"
    if path.suffix == ".npz":
        return _read(path, path.stem, "npz:read_npz_graph"), "node"
    if path.suffix == ".csv":
        found = None if nodes is None else _beside(Path(nodes), path)
        graph = _read(path, path.stem, "edges:read_edges", found)
        return graph, "link" if graph.labels is None else "node"
    if name.startswith(BLOCKS):
        return _read(path, name, "blocks:read_blocks"), "node"
    if path.is_dir() and not is_graph_source(name):
        return (
            (_read(path, path.name, "ogb:read_ogb"), ogb_level(path))
            if is_ogb(path)
            else (_read(path, path.name, "tu:read_tu"), "graph")
        )
    source = source_of(name)
    path = _find(name, source, data)
    level = ogb_level(path) if name.startswith(OGB) else source.level
    return _read(path, name.partition(":")[2] or name, source.reader), level


def _beside(nodes: Path, edges: Path) -> Path:
    """The table of nodes: as given, or in the folder of the edge list."""
    return nodes if nodes.is_file() or nodes.is_absolute() else edges.parent / nodes


def _read(path: Path, name: str, reader: str, nodes: Path | None = None) -> Graph:
    changed = tuple(one.stat().st_mtime_ns for one in (path, nodes) if one is not None and one.exists())
    return _graph_of(path, name, reader, nodes, changed)


@lru_cache(maxsize=4)
def _graph_of(path: Path, name: str, reader: str, nodes: Path | None, changed: tuple[int, ...]) -> Graph:
    module, _, function = reader.partition(":")
    raw = getattr(import_module(f"recollect.streams.graphs.{module}"), function)(path, name)
    return checked(raw if nodes is None else with_nodes(raw, nodes))


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
