"""Experiments on graphs that cannot run: one paragraph, exit 2, nothing on disk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("yaml")
pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

import yaml

import recollect as recollect_package
from tests.streams.graphs.samples import graph, write_npz
from tests.streams.graphs.test_bad_graphs import FILES, tu_folder
from tests.streams.graphs.test_files import ogbn, packed

from .conftest import Command, Result

Place = Callable[[Path], dict[str, Any]]


def run(recollect: Command, folder: Path, stream: dict[str, Any], learner: Any = "finetune", **more: Any) -> Result:
    """Run an experiment, and see that nothing was written."""
    file = folder / "experiment.yaml"
    file.write_text(yaml.safe_dump({"name": "bad", "streams": [stream], "learners": [learner], "seeds": 1, **more}))
    before = sorted(folder.rglob("*"))
    result = recollect("run", file, "-o", folder / "out", "--data", folder)
    assert sorted(folder.rglob("*")) == before, "something was written"
    return result


def npz(**change: Any) -> Place:
    def place(folder: Path) -> dict[str, Any]:
        return {"name": str(write_npz(folder / "g.npz", graph(), **change)), "tasks": 3}

    return place


def csv(text: str, **options: Any) -> Place:
    def place(folder: Path) -> dict[str, Any]:
        (folder / "edges.csv").write_bytes(text.encode())
        return {"name": str(folder / "edges.csv"), "scenario": "time-incremental", "tasks": 2, **options}

    return place


def tu(**change: str | None) -> Place:
    def place(folder: Path) -> dict[str, Any]:
        (folder / "T").mkdir()
        tu_folder(folder / "T", **change)
        return {"name": "tu:T", "tasks": 2}

    return place


def sbm(name: str = "sbm:60:3", **options: Any) -> Place:
    return lambda folder: {"name": name, "tasks": 3, **options}


def ogb(**change: Any) -> Place:
    def place(folder: Path) -> dict[str, Any]:
        ogbn(folder / "ogbn_toy", **change)
        return {"name": "ogb:ogbn-toy", "tasks": 3}

    return place


RING = "".join(f"{k},{(k + 1) % 30},{k}\n" for k in range(30))
BAD: dict[str, tuple[Place, str]] = {
    "an edge to no node": (npz(adj_indices=np.full(graph().adjacency.nnz, 99)), "from 0 to 59; number 0 is 99"),
    "negative ids": (csv("source,target,time\n0,-1,3\n"), "whole number of at least 0; number 0 is -1"),
    "float ids": (csv("source,target,time\n0,1.5,3\n"), "number 0 is 1.5"),
    "ids that are names": (csv("source,target,time\nada,bob,3\n"), "'ada', which is not a number"),
    "feature rows": (npz(features=np.zeros((59, 8))), "one row for each of the 60 nodes"),
    "NaN features": (npz(features=np.full((60, 8), np.nan)), "480 values that are not finite"),
    "labels outside": (npz(class_names=np.array(["a", "b"])), "from -1 to 1; number 2 is 2"),
    "no training nodes": (npz(train_idx=np.arange(0, 30, 3), test_idx=np.arange(30, 60)), "needs training samples"),
    "no test nodes": (npz(train_idx=np.arange(30), test_idx=np.arange(30, 60, 3)), "needs test samples"),
    "overlapping masks": (npz(train_mask=np.ones(60, bool), test_mask=np.ones(60, bool)), "overlap in 60 samples"),
    "no nodes": (npz(adj_indptr=np.zeros(1, int), adj_indices=np.zeros(0, int), adj_shape=[0, 0]), "has no nodes"),
    "times missing": (csv("source,target,time\n0,1,3\n1,2,\n"), "1 edges .* have no time"),
    "no times": (csv("source,target\n0,1\n1,2\n"), "have no times; a time-incremental stream needs them"),
    "period without edges": (csv("source,target,time\n" + RING, periods=[100.0]), "has no training links"),
    "periods that fall": (csv("source,target,time\n" + RING, periods=[9.0, 3.0], tasks=3), "rising times"),
    "TU files disagree": (tu(graph_labels="0\n1\n1\n"), "disagree: .* 2 graphs and T_graph_labels.txt 3 lines"),
    "TU file missing": (tu(A=None), "lacks T_A.txt"),
    "TU labels missing": (tu(graph_labels=None), "what is to be said of a graph"),
    "objects": (npz(labels=np.array([{}] * 60)), "Python objects"),
    "indptr falls": (npz(adj_indptr=np.arange(61)[::-1]), "starts at 0 and does not fall"),
    "more tasks than classes": (sbm(tasks=4), "3 classes, which do not fill 4 tasks"),
    "a typo": (sbm(visibilty="seen"), "unknown key 'visibilty' in the stream 'sbm:60:3'; did you mean 'visibility'"),
    "a wrong choice": (sbm(visibility="sen"), "visibility is one of whole, seen, seen-separate; got 'sen'"),
    "a wrong type": (sbm(test_fraction="much"), "test_fraction is a fraction between 0 and 1; got 'much'"),
    "a true for a number": (sbm(split_seed=True), "split_seed is a whole number"),
    "tasks in words": (sbm(tasks="three"), "tasks"),
    "class-incremental links": (sbm(level="link"), "Links have no classes to add"),
    "a public split that is not there": (sbm(split="public"), "has no public split"),
    "an option that says nothing": (sbm(column="mass"), "column says nothing of a stream over nodes"),
    "a graph by a wrong name": (sbm(name="sbm:60"), "is called sbm:NODES:CLASSES"),
    "a folder of OGB that disagrees": (ogb(**{"raw/num-edge-list": [7]}), "disagree"),
    "no graphs": (lambda folder: {"name": "sbm:60:3", "level": "graph", "tasks": 3}, "no set of graphs"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_stream_is_one_paragraph(what: str, recollect: Command, tmp_path: Path) -> None:
    place, said = BAD[what]
    result = run(recollect, tmp_path, place(tmp_path))
    assert result.code == 2, result.err
    assert re.search(said, result.paragraph), result.paragraph


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        ({"er_gnn": {"budget": 0}}, "'budget' of the learner 'er_gnn' is a whole number of at least 1; got 0"),
        ({"er_gnn": {"budget": 13}}, "a class of the stream has 12 training nodes"),
        ({"er_gnn": {"sampler": "MC"}}, "is one of CM, MF, random; got 'MC'"),
        ({"er_gnn": {"budgit": 3}}, "no option 'budgit'; the nearest is 'budget'"),
        ({"finetune": {"network": "gnc"}}, "one of auto, mlp, .*; got 'gnc'"),
        ({"finetune": {"network": "tests.cli.test_bad_graphs:wrong_outputs"}}, r"outputs of shape \(7,\) for a sample"),
        ("ncm", "takes arrays, and the samples of this stream are nodes"),
    ],
)
def test_a_bad_learner_is_one_paragraph(learner: Any, said: str, recollect: Command, tmp_path: Path) -> None:
    result = run(recollect, tmp_path, {"name": "sbm:60:3", "tasks": 3}, learner)
    assert result.code == 2, result.err
    assert re.search(said, result.paragraph), result.paragraph


def wrong_outputs() -> Any:
    from torch import nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(32, 7)

        def forward(self, x: Any, edge_index: Any) -> Any:
            return self.layer(x)

    return Network()


def test_k_above_the_negatives_is_found_before_anything_runs(recollect: Command, tmp_path: Path) -> None:
    place = csv("source,target,time\n" + RING)
    result = run(recollect, tmp_path, {**place(tmp_path), "tasks": 2}, target="hits@50")
    assert result.code == 2
    assert "hits@50 needs 50 false links in every test set" in result.paragraph


def test_without_pyg_one_line_says_what_brings_it(tmp_path: Path) -> None:
    """In a process of its own, in which a package that cannot be imported stands in the way of it."""
    stub = tmp_path / "stub" / "torch_geometric"
    stub.mkdir(parents=True)
    (stub / "__init__.py").write_text("raise ModuleNotFoundError('gone', name='torch_geometric')")
    file = tmp_path / "experiment.yaml"
    file.write_text('{name: bad, streams: [{name: "sbm:60:3", tasks: 3}], learners: [finetune], seeds: 1}')
    ours = Path(recollect_package.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{stub.parent}{os.pathsep}{ours}", "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-c", "from recollect.cli import main; main()", "run", file, "-o", tmp_path / "out"]
    made = subprocess.run(list(map(str, words)), env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 2
    assert made.stderr.strip().endswith("pip install 'recollect[graphs]'")
    assert len(made.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_what_is_odd_works_and_is_said(recollect: Command, tmp_path: Path) -> None:
    """Loops, repeats, one direction, no edges at all, line ends of Windows."""
    odd, bare = tmp_path / "odd", tmp_path / "bare"
    for folder in (odd, bare, tmp_path / "T"):
        folder.mkdir()
    streams = [
        npz(adj_indptr=np.r_[0, 3, np.full(59, 3)], adj_indices=np.array([0, 1, 1]))(odd),
        npz(adj_indptr=np.zeros(61, int), adj_indices=np.zeros(0, int))(bare),
        {"name": str(tmp_path / "T"), "tasks": 2},
    ]
    more = {
        "A": "".join(f"{2 * k + 1}, {2 * k + 2}\n" for k in range(12)),
        "graph_indicator": "".join(f"{k // 2 + 1}\n" for k in range(24)),
        "graph_labels": "0\n1\n" * 6,
        "node_labels": "0\n1\n" * 12,
    }
    tu_folder(tmp_path / "T", **{name: text.replace("\n", "\r\n") for name, text in {**FILES, **more}.items()})
    labelled = [{**stream, "label": name} for stream, name in zip(streams, ("odd", "bare", "windows"), strict=True)]
    made = {"name": "odd", "streams": labelled, "learners": ["finetune"], "seeds": 1}
    file = tmp_path / "experiment.yaml"
    file.write_bytes(yaml.safe_dump(made).replace("\n", "\r\n").encode())
    assert recollect("run", file, "-o", tmp_path / "out").code == 0
    told = recollect("score", tmp_path / "out" / "odd").err
    for note in (
        "1 loop removed",
        "1 repeat of an edge merged",
        "1 edge had one direction and has both now",
        "58 nodes have no edge",
        "the graph has no edges",
    ):
        assert note in told


def test_a_split_of_another_size_of_ogb_is_one_paragraph(recollect: Command, tmp_path: Path) -> None:
    ogbn(tmp_path / "ogbn_toy")
    packed(tmp_path / "ogbn_toy" / "split" / "time" / "train.csv.gz", np.arange(70))
    result = run(recollect, tmp_path, {"name": str(tmp_path / "ogbn_toy"), "tasks": 3})
    assert (result.code, "from 0 to 59; number 60 is 60" in result.paragraph) == (2, True)
