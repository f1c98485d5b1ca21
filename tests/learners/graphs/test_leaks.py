"""What a learner on a graph is told: labels by `batch.y` alone, no hidden test node, nothing of tasks to come."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from recollect.metrics import evaluate, registry  # noqa: E402
from recollect.protocol import checkpoint, iter_protocol, run_protocol  # noqa: E402
from recollect.runs import attach_joint  # noqa: E402
from recollect.streams import Spec  # noqa: E402
from recollect.streams.graphs.graph import checked  # noqa: E402
from recollect.streams.graphs.nodes import node_stream  # noqa: E402
from recollect.streams.graphs.spec import GraphSpec  # noqa: E402
from recollect.streams.graphs.view import View  # noqa: E402
from tests.learners.graphs.test_learners import learner  # noqa: E402
from tests.streams.graphs import test_links as links  # noqa: E402
from tests.streams.graphs.samples import raw  # noqa: E402

SPLIT = {"train": np.arange(0, 36), "valid": np.arange(36, 45), "test": np.arange(45, 60)}


def stream(asked=None, passes=4, **change):
    spec = Spec.of({"tasks": 3, "class_order": "natural", "passes": passes})
    return node_stream(checked(raw(split=SPLIT, **change)), spec, asked or GraphSpec(), whole_batches=True)


def same_view(one, other):
    return (
        np.array_equal(one.nodes, other.nodes)
        and (one.adjacency != other.adjacency).nnz == 0
        and np.array_equal(one.features, other.features)
    )


def test_a_view_has_no_labels_and_no_split():
    assert {one.name for one in fields(View)} == {
        "nodes", "adjacency", "features", "n_ids", "offsets", "edge_features"
    }  # fmt: skip
    turned = np.roll(raw().labels, 1)
    other = {"train": SPLIT["train"][::-1] + 24, "test": np.arange(0, 20), "valid": np.arange(20, 24)}
    plain = stream().views.training(0)
    assert same_view(plain, stream(labels=turned).views.training(0))
    again = node_stream(checked(raw(split=other)), Spec.of({"tasks": 3}), GraphSpec(), whole_batches=True)
    assert same_view(plain, again.views.training(0))


def test_batches_hold_training_nodes_with_their_own_labels_and_no_others():
    made = stream(passes=1)
    met = {}
    for batch in made.batches(0):
        met |= dict(zip(batch.x.tolist(), batch.y.tolist(), strict=True))
    assert met == {node: node % 3 for node in SPLIT["train"].tolist()}


@pytest.mark.parametrize("name", ["finetune", "er_gnn", "twp", "joint_incremental"])
@pytest.mark.parametrize("test_nodes", ["hidden", "visible"])
def test_hidden_test_nodes_have_no_part_in_what_is_learned(name, test_nodes):
    """Features of test nodes are changed: weights stay bit for bit where they are hidden, and only there."""
    features = raw().features.copy()
    features[SPLIT["test"]] += 5
    option = {"budget": 3} if name == "er_gnn" else {}
    states = []
    for change in ({}, {"features": features}):
        made = stream(GraphSpec(test_nodes=test_nodes), **change)
        one = learner(name, made, **option)
        for _ in iter_protocol(one, made, seed=0):
            pass
        states.append(checkpoint.digest(one.state()))
    assert (states[0] == states[1]) == (test_nodes == "hidden")


@pytest.mark.parametrize("visibility", ["seen", "seen-separate"])
def test_nodes_of_tasks_to_come_have_no_part_in_what_is_learned(visibility):
    features = raw().features.copy()
    features[raw().labels == 2] += 5
    digests = []
    for change in ({}, {"features": features}):
        made = stream(GraphSpec(visibility=visibility), **change)
        one = learner("finetune", made)
        rows = iter_protocol(one, made, seed=0)
        for _ in range(3):  # before any task, after the first, after the second
            next(rows)
        digests.append(checkpoint.digest(one.state()))
    assert digests[0] == digests[1]


@pytest.mark.parametrize(("visibility", "asked"), [("whole", True), ("seen", False), ("seen-separate", False)])
def test_tasks_to_come_are_asked_of_a_whole_graph_only(visibility, asked, tmp_path):
    made = stream(GraphSpec(visibility=visibility))
    run = run_protocol(learner("finetune", made), made, tmp_path / "run", name="finetune")
    above = run.matrix.R[np.triu_indices(3, 1)]
    assert np.isnan(above).all() != asked
    assert not np.isnan(run.matrix.R[np.tril_indices(3)]).any()


def test_degrees_are_those_of_the_links_that_are_seen():
    made = links.stream(links.timed(labelled=False))
    for step in range(4):
        edges = np.concatenate([
            made.data.x_train[task.train][made.data.y_train[task.train] == 1] for task in made.tasks[: step + 1]
        ])  # fmt: skip
        wanted = [np.log1p(np.bincount(edges[:, side], minlength=40)) for side in (0, 1)]
        assert np.allclose(made.views.training(step).features[:, :2], np.stack(wanted, 1))
    later = links.timed(labelled=False)
    moved = replace(later, pair_times=np.where(later.pair_times > later.pair_times.max() * 0.8, 1e9, later.pair_times))
    assert same_view(made.views.training(1), links.stream(moved).views.training(1))


@pytest.mark.parametrize(("name", "option", "kept"), [("er", {"memory": 12}, 12), ("er_gnn", {"budget": 3}, 9)])
def test_what_is_kept_is_counted_as_ids_and_labels(name, option, kept):
    made = stream()
    one = learner(name, made, **option)
    for _ in iter_protocol(one, made, seed=0):
        pass
    assert one.stored_samples == kept
    assert one.stored_bytes == kept * 16


def test_the_joint_learner_is_trained_once_per_step_lent_to_all_and_changes_no_number(tmp_path):
    made = stream()
    names = ("finetune", "er", "lwf")
    alone = [run_protocol(learner(name, made), made, tmp_path / f"a-{name}", name=name) for name in names]
    joint = learner("joint_incremental", made)
    reference = run_protocol(joint, made, tmp_path / "joint", name="joint_incremental")
    beside = [run_protocol(learner(name, made), made, tmp_path / f"b-{name}", name=name) for name in names]
    assert joint.trainings == 3
    *lent, _ = attach_joint([*beside, reference])
    for one, other, given in zip(alone, beside, lent, strict=True):
        assert [row.correct for row in one.rows] == [row.correct for row in other.rows]
        assert np.array_equal(given.matrix.joint, reference.matrix.R, equal_nan=True)
        own = float(np.mean(np.diag(reference.matrix.R) - np.diag(other.matrix.R)))
        assert float(evaluate(given.matrix, registry.get("intransigence.begin")).value) == pytest.approx(own)
    assert joint.trainings == 3
