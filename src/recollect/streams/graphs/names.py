"""The graphs that have a name: where their files are looked for, and who reads them. Nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """Where a graph is: paths below a data folder; `reader` is its "module:function", called with path and name.

    `level` is what its samples are by default.
    """

    paths: tuple[str, ...]
    reader: str
    level: str
    summary: str


def _planetoid(name: str, title: str, summary: str) -> Source:
    folders = ("graphs/planetoid_raw/", "planetoid_raw/", f"Planetoid/{title}/raw/", f"{title}/raw/", "")
    return Source(tuple(f"{folder}ind.{name}.graph" for folder in folders), "planetoid:read_planetoid", "node", summary)


def _npz(stem: str, summary: str, *others: str) -> Source:
    files = tuple(f"{folder}{one}.npz" for folder in ("graphs/node/", "node/", "") for one in (stem, *others))
    return Source(files, "npz:read_npz_graph", "node", summary)


GRAPHS: dict[str, Source] = {
    "cora": _planetoid("cora", "Cora", "2,708 papers in 7 fields, with the public split"),
    "citeseer": _planetoid("citeseer", "CiteSeer", "3,327 papers in 6 fields, with the public split"),
    "amazon-computers": _npz("amazon_computers", "13,752 goods in 10 groups", "amazon_electronics_computers"),
    "amazon-photo": _npz("amazon_photo", "7,650 goods in 8 groups", "amazon_electronics_photo"),
    "coauthor-cs": _npz("coauthor_cs", "18,333 authors in 15 fields", "ms_academic_cs"),
    "coauthor-physics": _npz("coauthor_physics", "34,493 authors in 5 fields", "ms_academic_phy"),
    "dblp": _npz("dblp", "17,716 papers in 4 fields"),
    "bitcoin-otc": Source(
        (
            "graphs/bitcoin-otc/soc-sign-bitcoinotc.csv",
            "bitcoin-otc/soc-sign-bitcoinotc.csv",
            "soc-sign-bitcoinotc.csv",
        ),
        "edges:read_edges",
        "link",
        "35,592 signed ratings of users by users, with times",
    ),
    "tox21": Source(
        ("graphs/molecules/tox21.csv.gz", "molecules/tox21.csv.gz", "tox21.csv.gz", "tox21.csv"),
        "molecules:read_molecules",
        "graph",
        "about 8,000 molecules and 12 properties (needs rdkit)",
    ),
    "cora-ml": _npz("cora_ml", "2,995 papers in 7 fields"),
}
TU = "tu:"
BLOCKS = "sbm:"
OGB = "ogb:"


def is_graph_source(name: str) -> bool:
    """Is this the name of a graph, or of a set of graphs?

    >>> is_graph_source("cora"), is_graph_source("tu:ENZYMES"), is_graph_source("digits")
    (True, True, False)
    """
    return name in GRAPHS or name.startswith((TU, BLOCKS, OGB))


def holds_graphs(folder: Path) -> bool:
    """Whether this is a folder of OGB's or of TU's."""
    tu = f"{folder.name}_A.txt"
    return any((folder / file).is_file() for file in ("raw/edge.csv.gz", tu, f"raw/{tu}"))


def source_of(name: str) -> Source:
    """Where the graph of this name is."""
    if name in GRAPHS:
        return GRAPHS[name]
    if name.startswith(OGB):
        folder = name.removeprefix(OGB).replace("-", "_")
        places = tuple(f"{place}{folder}" for place in ("ogb/", "graphs/ogb/", "dataset/", ""))
        return Source(places, "ogb:read_ogb", "node", "a folder of OGB")
    folder = name.removeprefix(TU)
    return Source(
        tuple(f"{place}{folder}" for place in ("graphs/tu/", "tu/", "TUDataset/", "")),
        "tu:read_tu",
        "graph",
        "many small graphs",
    )
