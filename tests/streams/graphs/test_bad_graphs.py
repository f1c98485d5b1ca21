"""Graphs that cannot be right: one paragraph each, and nothing of it is taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import make_stream
from recollect.streams.graphs.graph import checked
from recollect.streams.graphs.raw import RawGraph
from recollect.streams.graphs.tu import read_tu
from tests.streams.graphs.samples import graph, raw, write_npz

NAN = np.full((60, 8), np.nan, np.float32)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"edges": np.array([[0], [60]])}, "from 0 to 59; number 1 is 60"),
        ({"edges": np.array([[0], [-1]])}, "number 1 is -1"),
        ({"edges": np.array([[0.5], [1.0]])}, "number 0 is 0.5"),
        ({"edges": np.array([["a"], ["b"]])}, "is a whole number; got <U1"),
        ({"edges": np.zeros((3, 4), int)}, r"of shape \(2, m\); got \(3, 4\)"),
        ({"features": np.zeros((59, 8))}, r"one row for each of the 60 nodes; got the shape \(59, 8\)"),
        ({"features": NAN}, "480 values that are not finite"),
        ({"features": np.full((60, 1), "x")}, "are numbers; got <U1"),
        ({"labels": np.zeros(59, int)}, "one label for each of the 60 nodes"),
        ({"labels": np.full(60, 3), "class_names": ("a", "b", "c")}, "from -1 to 2; number 0 is 3"),
        ({"labels": np.full(60, -2)}, "number 0 is -2"),
        ({"split": {"train": np.arange(9), "test": np.arange(8, 20)}}, "overlap in 1 samples, 8 for one"),
        ({"split": {"train": np.array([60]), "test": np.array([1])}}, "from 0 to 59; number 0 is 60"),
        ({"edge_times": np.zeros(3)}, "one time for each of the"),
        ({"node_times": np.full(60, np.nan)}, "60 nodes in the test have no time"),
        ({"graph_of": np.zeros(59, int)}, "60 nodes, and 59 say to which"),
        ({"graph_of": np.r_[np.ones(59, int), 0]}, "goes back to graph 0"),
        ({"graph_of": np.arange(60) // 30}, "joins node"),
        ({"graph_of": np.r_[np.zeros(30, int), np.full(30, 2)]}, "Graph 1 in the test has no nodes"),
    ],
)
def test_a_wrong_graph_is_one_paragraph(change, said):
    with pytest.raises(UsageError, match=said) as error:
        checked(raw(**change))
    assert "\n" not in str(error.value)


def test_an_empty_graph_is_refused_and_one_without_edges_is_not():
    with pytest.raises(UsageError, match="no nodes"):
        checked(RawGraph("empty", "the test", np.zeros((2, 0), int)))
    made = graph(edges=np.zeros((2, 0), int))
    assert made.adjacency.nnz == 0
    assert made.notes == ("the graph has no edges",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"adj_indptr": np.arange(61)[::-1]}, "does not fall"),
        ({"adj_indptr": np.arange(10)}, "61 numbers for 60 rows; got 10"),
        ({"adj_shape": np.array([60, 61])}, "is square"),
        ({"adj_shape": np.array([60])}, "two numbers"),
        ({"adj_indices": np.full(5, 99)}, "from 0 to 59; number 0 is 99"),
        ({"adj_data": np.ones(3)}, "disagree"),
        ({"adj_indices": None}, "lacks adj_indices"),
        ({"labels": np.array([object()] * 60)}, "Python objects"),
        ({"train_mask": np.ones(60, bool), "test_mask": np.ones(60, bool)}, "overlap in 60"),
        ({"train_mask": np.ones(59, bool)}, "train_mask .* has 60"),
        ({"unlabelled": np.array([60])}, "unlabelled"),
        ({"labels": None}, "have no classes"),
        ({"labels": np.arange(60) % 3 + 0.5}, "numbers with fractions"),
        ({"labels": np.array(3)}, r"got the shape \(\)"),
        ({"adj_data": np.full(graph().adjacency.nnz, np.nan)}, "weight that is not finite"),
        ({"adj_data": np.full(graph().adjacency.nnz, "a")}, "data in .* is one row of numbers"),
        ({"adj_data": np.ones((graph().adjacency.nnz, 1))}, "data in .* is one row of numbers"),
        ({"adj_indptr": np.zeros((61, 1), int)}, "indptr in .* is one row of numbers"),
        ({"adj_indptr": np.array(3)}, "indptr in .* is one row of numbers"),
        ({"unlabelled": np.array([1]), "labels": np.array(list("abc"))[np.arange(60) % 3]}, "lists nodes whose label"),
        ({"unlabelled": np.array(1)}, "lists nodes whose label"),
        ({"class_names": np.array("abc")}, "one name for each class"),
        ({"class_names": np.array(["a", "a", "b"])}, "all different"),
        ({"train_idx": np.arange(30).reshape(15, 2), "test_idx": np.arange(30, 60)}, "one list of nodes"),
        ({"features": np.full((60, 2), 1e300)}, "not finite"),
        ({"features": None}, "have no features"),
    ],
)
def test_a_wrong_file_is_one_paragraph(change, said, tmp_path):
    path = write_npz(tmp_path / "wrong.npz", graph(), **change)
    with pytest.raises(UsageError, match=said) as error:
        make_stream(path, tasks=3)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tasks": 4}, "3 classes, which do not fill 4 tasks"),
        ({"classes_per_task": 4}, "do not fill 1 tasks of 4"),
        ({"tasks": 3, "visibility": "al"}, "visibility is one of"),
        ({"tasks": 3, "test_nodes": "gone"}, "test_nodes is one of"),
        ({"tasks": 3, "remainder": 1}, "remainder is one of"),
        ({"tasks": 3, "split": "public"}, "no public split"),
        ({"tasks": 3, "valid_fraction": 0.5, "test_fraction": 0.5}, "leave nothing to train on"),
        ({"tasks": 3, "blurry": 0.5}, "blurry is for arrays"),
        ({"tasks": 3, "standardize": True}, "standardize is for arrays"),
        ({"tasks": 3, "visibilty": "whole"}, "did you mean 'visibility'"),
        ({"tasks": 3, "features": "rows"}, "below 0"),
        ({"scenario": "domain-incremental", "tasks": 2}, "domain"),
        ({"scenario": "time-incremental", "tasks": 2}, "time"),
    ],
)
def test_a_wrong_option_is_one_paragraph(options, said, tmp_path):
    path = write_npz(tmp_path / "graph.npz", graph())
    with pytest.raises(UsageError, match=said) as error:
        make_stream(path, **options)
    assert "\n" not in str(error.value)


def test_a_class_without_training_or_test_nodes_is_refused(tmp_path):
    split = {"train_idx": np.arange(0, 30, 3), "test_idx": np.arange(30, 60)}
    path = write_npz(tmp_path / "graph.npz", graph(), **split)
    with pytest.raises(UsageError, match="Every class needs training samples"):
        make_stream(path, tasks=3)
    split = {"train_idx": np.arange(30), "test_idx": np.arange(30, 60, 3)}
    with pytest.raises(UsageError, match="Every class needs test samples"):
        make_stream(write_npz(tmp_path / "other.npz", graph(), **split), tasks=3)


FILES = {
    "A": "1, 2\n2, 1\n3, 4\n",
    "graph_indicator": "1\n1\n2\n2\n",
    "graph_labels": "0\n1\n",
    "node_labels": "0\n1\n1\n0\n",
}


def tu_folder(place: Path, **change: str | None) -> Path:
    for name, text in {**FILES, **change}.items():
        if text is not None:
            (place / f"T_{name}.txt").write_bytes(text.encode("latin-1"))
    return place


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"A": None}, "lacks T_A.txt"),
        ({"graph_indicator": None}, "lacks T_graph_indicator.txt"),
        ({"graph_labels": None}, "what is to be said of a graph"),
        ({"graph_labels": "0\n1\n1\n"}, "disagree: .* 2 graphs and T_graph_labels.txt 3 lines"),
        ({"node_labels": "0\n1\n1\n"}, "disagree: .* 4 nodes and T_node_labels.txt 3 lines"),
        ({"A": "0, 1\n"}, "numbers them from 1"),
        ({"A": "1, 5\n"}, "number 1 is 5.0"),
        ({"A": "1, 3\n"}, "joins node 0 of graph 1 and node 2 of graph 2"),
        ({"A": "1, 2, 3\n"}, "2 numbers in a line; got 3"),
        ({"A": "1, 2\n1\n"}, "Line 2 of .* is '1'"),
        ({"A": "1, two\n"}, "Line 1 of .* 'two'|'1, two'"),
        ({"A": ""}, "is empty"),
        ({"A": "\xff\xfe"}, "not a text file"),
        ({"graph_indicator": "1\n1\n2\n1\n"}, "goes back to graph 1"),
        ({"graph_labels": "0\nnan\n"}, "1 are no numbers"),
        ({"graph_labels": None, "graph_attributes": "0.5\ninf\n"}, "1 labels .* are infinite"),
    ],
)
def test_a_wrong_folder_is_one_paragraph(change, said, tmp_path):
    with pytest.raises(UsageError, match=said) as error:
        checked(read_tu(tu_folder(tmp_path, **change), "T"))
    assert "\n" not in str(error.value)


def test_weights_and_zeros_of_an_adjacency_are_said_and_a_zero_is_no_edge(tmp_path):
    made = graph()
    row, column = made.adjacency.tocoo().row[0], made.adjacency.tocoo().col[0]
    found = made.adjacency.tocoo()
    data = np.where((found.row == row) & (found.col == column) | (found.row == column) & (found.col == row), 0.0, 0.5)
    stream = make_stream(write_npz(tmp_path / "g.npz", made, adj_data=data), tasks=3)
    assert stream.notes[:2] == (
        "2 entries of the adjacency are 0 and no edges",
        f"{len(data) - 2} edges have another weight than 1, which is not used",
    )
    view = stream.views.training(0)
    assert view.adjacency[row, column] == 0
    assert set(view.adjacency.data.tolist()) == {1.0}


def test_what_tu_knows_of_edges_is_said_not_to_be_used(tmp_path):
    made = checked(read_tu(tu_folder(tmp_path, edge_labels="0\n0\n1\n"), "T"))
    assert "what is known of edges is not used: T_edge_labels.txt" in made.notes


@pytest.mark.parametrize("name", ["sbm:nan:3", "sbm:inf:3", "sbm:1e12:3", "sbm:60:3:1"])
def test_a_generated_graph_that_cannot_be_is_one_paragraph(name):
    with pytest.raises(UsageError, match="is called sbm:NODES:CLASSES"):
        make_stream(name, tasks=3)


def test_line_ends_of_windows_are_read(tmp_path):
    folder = tu_folder(tmp_path, **{name: text.replace("\n", "\r\n") for name, text in FILES.items()})
    made = checked(read_tu(folder, "T"))
    assert made.offsets is not None
    assert made.offsets.tolist() == [0, 2, 4]
    assert made.classes == ("0", "1")
    assert made.features.tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]
