"""OGB's folders, a table of nodes beside an edge list, molecules."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import MissingExtra, UsageError
from recollect.streams import make_stream
from recollect.streams.graphs.graph import checked
from recollect.streams.graphs.named import load_graph
from recollect.streams.graphs.ogb import read_ogb


def packed(path: Path, table: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [",".join(map(str, np.atleast_1d(row).tolist())) for row in table]  # type: ignore[attr-defined]
    with gzip.open(path, "wt") as file:
        file.write("\n".join(rows) + "\n")


def ogbn(folder: Path, n: int = 60, **change: object) -> Path:
    """Nodes in 3 classes, with years and a split by them."""
    rng = np.random.default_rng(0)
    files = {
        "raw/edge": rng.integers(0, n, (200, 2)),
        "raw/num-node-list": [n],
        "raw/num-edge-list": [200],
        "raw/node-feat": np.round(rng.normal(size=(n, 4)), 3),
        "raw/node-label": np.arange(n) % 3,
        "raw/node_year": 2000 + np.arange(n) % 10,
        "split/time/train": np.arange(0, 30),
        "split/time/valid": np.arange(30, 40),
        "split/time/test": np.arange(40, n),
        **change,
    }
    for name, table in files.items():
        if table is not None:
            packed(folder / f"{name}.csv.gz", table)
    return folder


def test_nodes_of_ogb_have_their_labels_features_times_and_public_split(tmp_path):
    folder = ogbn(tmp_path / "ogbn_toy")
    graph, level = load_graph(str(folder))
    assert level == "node"
    assert graph.classes == (0, 1, 2)
    assert graph.split["test"].tolist() == list(range(40, 60))
    assert graph.node_times.tolist() == (2000 + np.arange(60) % 10).tolist()
    by_name = make_stream("ogb:ogbn-toy", data=tmp_path, tasks=3)
    by_path = make_stream(folder, tasks=3)
    assert by_name.data_hash == by_path.data_hash
    assert sum(len(task.train) for task in by_name.tasks) == 30
    assert "split public" in by_name.variant


def ogbg(folder: Path, **change: object) -> Path:
    """Three kinds of graphs; nodes are numbered from 0 in each."""
    sizes, counts = [2, 3, 1] * 10, [1, 2, 0] * 10
    edges = [pair for _ in range(10) for pair in ([0, 1], [0, 1], [1, 2])]
    files = {
        "raw/edge": edges,
        "raw/num-node-list": sizes,
        "raw/num-edge-list": counts,
        "raw/node-feat": np.arange(60)[:, None],
        "raw/edge-feat": np.arange(30)[:, None],
        "raw/graph-label": np.arange(30) % 2,
        "split/scaffold/train": np.arange(20),
        "split/scaffold/valid": np.arange(20, 24),
        "split/scaffold/test": np.arange(24, 30),
        **change,
    }
    for name, table in files.items():
        if table is not None:
            packed(folder / f"{name}.csv.gz", table)
    return folder


def test_graphs_of_ogb_are_numbered_through(tmp_path):
    graph, level = load_graph(str(ogbg(tmp_path / "ogbg_toy")))
    assert level == "graph"
    assert graph.offsets.tolist()[:4] == [0, 2, 5, 6]
    assert graph.pairs[:3].tolist() == [[0, 1], [2, 3], [3, 4]]
    found = graph.edge_rows.tocoo()
    assert graph.edge_features[found.data[(found.row == 3) & (found.col == 4)] - 1].tolist() == [[2.0]]
    assert graph.edge_features[found.data[(found.row == 4) & (found.col == 3)] - 1].tolist() == [[2.0]]
    made = make_stream(tmp_path / "ogbg_toy", tasks=2)
    assert made.samples == "graphs"
    assert made.n_edge_features == 1
    assert sorted(made.data.x_test.tolist()) == list(range(24, 30))


def test_graphs_of_ogb_with_gaps_in_several_labels_are_properties(tmp_path):
    labels = np.stack([np.arange(30) % 2, np.arange(30) // 2 % 2], 1).astype(float)
    labels[3, 1] = np.nan
    made = make_stream(ogbg(tmp_path / "ogbg_two", **{"raw/graph-label": labels}), scenario="task-incremental")
    assert made.problem == "properties"
    assert [len(task.train) for task in made.tasks] == [20, 19]


def test_links_of_ogb_have_times_and_their_split_is_said_not_to_be_read(tmp_path):
    change = {"raw/node-label": None, "raw/edge_year": np.arange(200), "raw/node_year": None}
    folder = ogbn(tmp_path / "ogbl_toy", **change)
    made = make_stream(folder, scenario="time-incremental", tasks=2)
    assert made.problem == "links"
    assert any("OGB's split of links (time) is not read" in note for note in made.notes)


@pytest.mark.parametrize(
    ("make", "change", "said"),
    [
        (ogbn, {"raw/num-node-list": None}, "lacks num-node-list.csv.gz"),
        (ogbn, {"raw/num-edge-list": [199]}, "disagree: num-edge-list.csv.gz has 199 edges"),
        (ogbn, {"raw/node-feat": np.zeros((59, 4))}, r"one row for each of the 60 nodes; got the shape \(59, 4\)"),
        (ogbn, {"raw/node-feat": [["x", 1]] * 60}, "not a packed table of numbers"),
        (ogbn, {"raw/node-label": np.arange(59) % 3}, "one label for each of the 60 nodes"),
        (ogbn, {"raw/node-label": np.zeros((60, 2))}, "2 labels for each node"),
        (ogbn, {"raw/edge": [[0, 60]] * 200}, "from 0 to 59; number 200 is 60"),
        (ogbn, {"raw/edge": [[0, 1, 2]] * 200}, "2 numbers in a line; got 3"),
        (ogbn, {"raw/edge": [[0, 1.5]] * 200}, "number 1 is 1.5"),
        (ogbn, {"raw/node_year": np.arange(3)}, "one time for each of the 60 nodes"),
        (ogbn, {"split/time/train": np.arange(41)}, "overlap"),
        (ogbg, {"raw/edge": [[0, 2]] * 30}, "graph 0 has 2 nodes, numbered from 0"),
        (ogbg, {"raw/edge-feat": np.zeros((29, 1))}, "one row of numbers for each of the 30 edges"),
        (ogbg, {"raw/graph-label": None}, "holds 30 graphs and lacks graph-label"),
    ],
)
def test_a_wrong_folder_of_ogb_is_one_paragraph(make, change, said, tmp_path):
    with pytest.raises(UsageError, match=said) as error:
        checked(read_ogb(make(tmp_path / "toy", **change), "toy"))
    assert "\n" not in str(error.value)


def test_a_folder_of_several_kinds_of_nodes_is_refused(tmp_path):
    packed(tmp_path / "ogbn_mag" / "raw" / "triplet-type-list.csv.gz", ["author", "writes"])
    with pytest.raises(UsageError, match="several kinds of nodes"):
        make_stream("ogb:ogbn-mag", data=tmp_path, tasks=2)


def edge_list(folder: Path, nodes: str) -> Path:
    rng = np.random.default_rng(0)
    lines = [f"{a},{b}" for a, b in rng.integers(0, 30, (90, 2)).tolist()]
    (folder / "edges.csv").write_text("source,target\n" + "\n".join(lines))
    (folder / "nodes.csv").write_bytes(nodes.encode())
    return folder / "edges.csv"


def lines(n: int = 30, **change: str) -> str:
    rows = [change.get(f"row{k}", f"{k},{'ab'[k % 2]},{k / 10},{-k}") for k in range(n)]
    return "\ufeffnode,label,x1,x2\r\n" + "\r\n".join(reversed(rows)) + "\r\n"


def test_a_table_of_nodes_stands_beside_an_edge_list(tmp_path):
    path = edge_list(tmp_path, lines())
    made = make_stream(path, tasks=2, nodes="nodes.csv")
    assert made.samples == "nodes"
    view = made.views.training(0)
    assert np.allclose(view.features, [[k / 10, -k] for k in range(30)])
    graph, _ = load_graph(str(path), None, "nodes.csv")
    assert graph.classes == ("a", "b")
    assert graph.labels.tolist() == [0, 1] * 15
    links = make_stream(path, level="link", nodes="nodes.csv", scenario="domain-incremental", tasks=2)
    assert links.problem == "links"
    assert links.input_shape == (2,)


def test_the_table_may_say_times_domains_and_parts(tmp_path):
    rows = [
        f"{k},{k % 2},{1990 + k},{'east' if k < 15 else 'west'},{('train', 'val', 'test')[k % 3]}" for k in range(30)
    ]
    path = edge_list(tmp_path, "x,label,time,domain,split\n" + "\n".join(rows))
    graph, _ = load_graph(str(path), None, "nodes.csv")
    assert graph.node_times[3] == 1993
    assert graph.node_domains[20] == "west"
    assert graph.split["valid"].tolist() == list(range(1, 30, 3))
    made = make_stream(path, nodes="nodes.csv", scenario="domain-incremental")
    assert [task.name for task in made.tasks] == ["east", "west"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (lines(row3="3,a,x,1"), "'x', which is not a number"),
        (lines(row3="4,a,1,1"), "Node 4 has 2 lines"),
        (lines(row3="77,a,1,1"), "from 0 to 29"),
        (lines(row3="3,a,1"), "has 3 values; the first line names 4"),
        (lines(row3="3,a,nan,1"), "1 values that are not finite"),
        (lines(row3="3,,1,1"), "has no label, and others have names"),
        (lines(20), "from 0 to 19"),
        ("x,x\n1,2\n", "two columns 'x'"),
        ("x,y\n" + "1,2\n" * 30, "'y' .* by its name it says their class"),
        ("x,split\n" + "1,dev\n" * 30, "train, valid or test; got 'dev'"),
        ("x\n", "has no nodes"),
        ("", "not a table with a first line of names"),
    ],
)
def test_a_wrong_table_of_nodes_is_one_paragraph(text, said, tmp_path):
    with pytest.raises(UsageError, match=said) as error:
        make_stream(edge_list(tmp_path, text), tasks=2, nodes="nodes.csv")
    assert "\n" not in str(error.value)


def test_a_table_of_nodes_that_is_not_there_or_not_asked_for(tmp_path):
    path = edge_list(tmp_path, lines())
    with pytest.raises(UsageError, match=r"no file .*node.csv, which nodes names"):
        make_stream(path, tasks=2, nodes="node.csv")
    with pytest.raises(UsageError, match="nodes is a table beside an edge list"):
        make_stream("sbm:200:2", tasks=2, nodes="nodes.csv")


SMILES = "smiles,toxic,active\nCCO,0,1\nc1ccccc1,1,\nCC(=O)O,0,0\n" + "CCN,1,1\nCCCl,0,1\nnot a molecule,1,0\n" * 6


def test_molecules_are_read_by_rdkit(tmp_path):
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    path = tmp_path / "some.csv"
    path.write_text(SMILES)
    graph, level = load_graph(str(path))
    assert level == "graph"
    assert graph.columns == ("toxic", "active")
    assert np.diff(graph.offsets)[:3].tolist() == [3, 6, 4]
    assert np.isnan(graph.labels[1, 1])
    assert "6 of 21 rows are no molecules that RDKit reads, and are left out" in graph.notes
    acid = graph.adjacency[graph.offsets[2] : graph.offsets[3]]
    assert acid.sum(1).tolist() == [1, 3, 1, 1]
    assert sorted(graph.edge_features[:, 0].tolist()[:8]) == [1, 1, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5]


def test_without_rdkit_one_line_says_what_brings_it(tmp_path, monkeypatch):
    path = tmp_path / "some.csv"
    path.write_text(SMILES)
    monkeypatch.setitem(__import__("sys").modules, "rdkit", None)
    with pytest.raises(MissingExtra, match=r"pip install 'recollect\[molecules\]'"):
        make_stream(path, scenario="task-incremental")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("smiles\nCCO\n", "no column beside smiles"),
        ("smiles,toxic\nCCO,yes\n", "'yes', which is not a number"),
        ("smiles,toxic\nCCO\n", "has 1 values"),
    ],
)
def test_a_wrong_table_of_molecules_is_one_paragraph(text, said, tmp_path):
    path = tmp_path / "some.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        make_stream(path, scenario="task-incremental")
