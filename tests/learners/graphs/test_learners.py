"""Learners over graphs by the classes that learn from arrays, and networks that are PyG's to the last digit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from recollect.errors import UsageError  # noqa: E402
from recollect.learners import LEARNERS, Setting, make_learner  # noqa: E402
from recollect.learners.graphs.inputs import GraphInputs  # noqa: E402
from recollect.learners.graphs.networks import KINDS, GraphNetwork  # noqa: E402
from recollect.learners.graphs.products import Sparse, Surroundings  # noqa: E402
from recollect.protocol import checkpoint, iter_protocol, run_protocol  # noqa: E402
from recollect.runs.seeds import derive  # noqa: E402
from recollect.streams import Spec  # noqa: E402
from recollect.streams.graphs.nodes import node_stream  # noqa: E402
from recollect.streams.graphs.spec import GraphSpec  # noqa: E402
from recollect.streams.graphs.view import View  # noqa: E402
from tests.streams.graphs.samples import graph  # noqa: E402

CPU = torch.device("cpu")
OFFLINE = {"epochs": 4, "batch": 1000, "optimizer": "adam", "lr": 0.02, "schedule": "constant"}
ONLINE = {"lr": 0.02, "optimizer": "adam"}
NAMES = [name for name, card in LEARNERS.items() if "nodes" in card.samples]


def scenario_of(name: str) -> str:
    """The harder of the scenarios that a learner can be asked in."""
    return "task-incremental" if LEARNERS[name].needs_task else "class-incremental"


def stream(asked: GraphSpec | None = None, **options):
    spec = Spec.of({"tasks": 3, "class_order": "natural", "passes": 4, **options})
    return node_stream(graph(n=60), spec, asked or GraphSpec(), whole_batches=True)


def options_of(name: str) -> dict:
    known = LEARNERS[name].defaults
    wanted = OFFLINE if "epochs" in known else ONLINE
    small = {"memory": 12, "samples": 6}
    return {key: value for key, value in {**wanted, **small}.items() if key in known}


def learner(name, made, seed=0, **more):
    return make_learner(name, {**options_of(name), **more}, Setting.of(made), derive(seed), "cpu")


def seeded(make):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_network_gives_what_pygs_layers_give_on_the_list_of_edges(kind, is_sparse):
    made = graph()
    features = np.where(made.features > 3, made.features, 0).astype(np.float32)
    from scipy import sparse

    given = sparse.csr_array(features) if is_sparse else features
    around = Surroundings.of(View(np.arange(made.n_nodes), made.adjacency, given, made.n_nodes), CPU)
    network = seeded(lambda: GraphNetwork(kind, 8, (16,), 3))
    x = torch.from_numpy(features)
    expected = x
    for place, layer in enumerate(network.layers):
        if kind == "gcn":
            layer = _like_gcn(layer)
        expected = layer(expected, around.edge_index)
        expected = torch.relu(expected) if place == 0 else expected
    assert torch.allclose(network.encode(around), expected, atol=1e-5)


def _like_gcn(layer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch_geometric.nn import GCNConv
    other = seeded(lambda: GCNConv(layer.in_channels, layer.out_channels))
    other.load_state_dict(layer.state_dict())
    return other


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_backward_pass_of_a_sparse_product_is_that_of_a_dense_one(symmetric):
    from scipy import sparse

    made = sparse.random_array((6, 6), density=0.5, rng=np.random.default_rng(0), format="csr").astype(np.float32)
    if symmetric:
        made = (made + made.T).tocsr()
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    (Sparse.of(made, CPU, symmetric=symmetric) @ x).square().sum().backward()
    own, x.grad = x.grad, None
    (torch.from_numpy(made.toarray()) @ x).square().sum().backward()
    assert torch.allclose(own, x.grad, atol=1e-5)


@pytest.mark.parametrize("scenario", ["class-incremental", "task-incremental"])
@pytest.mark.parametrize("visibility", ["whole", "seen-separate"])
@pytest.mark.parametrize("name", NAMES)
def test_every_learner_goes_through_a_graph(name, visibility, scenario):
    if scenario not in (scenario_of(name), "task-incremental"):
        with pytest.raises(UsageError, match="does not tell the task"):
            learner(name, stream(scenario=scenario))
        return
    made = stream(GraphSpec(visibility=visibility, test_nodes="hidden"), scenario=scenario)
    rows = list(iter_protocol(learner(name, made), made, seed=0))
    assert len(rows) == 4
    last = rows[-1]
    assert last.correct is not None
    assert None not in last.correct
    if visibility != "whole":
        assert rows[0].reason == "nothing can be seen yet"
        assert rows[1].correct is None or rows[1].correct[1:] == (None, None), "tasks to come are not asked"


def test_the_joint_learner_is_better_than_finetune_which_forgets():
    made = stream(passes=30)
    joint = list(iter_protocol(learner("joint_incremental", made, epochs=30), made, seed=0))[-1]
    plain = list(iter_protocol(learner("finetune", made), made, seed=0))[-1]
    assert sum(joint.correct) > 0.9 * sum(joint.n)
    assert plain.correct[0] < 0.3 * plain.n[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_learner_that_was_killed_goes_on_bit_for_bit(name, tmp_path):
    made = stream(GraphSpec(visibility="seen", test_nodes="hidden"), scenario=scenario_of(name))
    whole = [row.state for row in run_protocol(learner(name, made), made, tmp_path / "whole", name=name).rows]
    from recollect.protocol.saved import iter_run

    rows = iter_run(learner(name, made), made, tmp_path / "stopped", name=name)
    for _ in range(3):
        next(rows)
    rows.close()
    again = run_protocol(learner(name, made), made, tmp_path / "stopped", name=name)
    assert [row.state for row in again.rows] == whole


def test_asking_for_scores_changes_nothing_that_is_learned():
    made = stream()
    quiet, asked = learner("finetune", made), learner("finetune", made)
    for one in (quiet, asked):
        one.see(made.views.training(0))
    for batch in made.batches(0):
        quiet.learn(batch)
        asked.learn(batch)
        asked.see(made.views.evaluation(0))
        asked.score(np.arange(5))
        asked.see(made.views.training(0))
    assert checkpoint.digest(quiet.state()) == checkpoint.digest(asked.state())


def test_all_samples_of_an_evaluation_are_answered_by_one_pass(monkeypatch):
    made = stream()
    one = learner("finetune", made)
    one.see(made.views.evaluation(0))
    passes = []
    encode = GraphNetwork.encode
    monkeypatch.setattr(GraphNetwork, "encode", lambda self, around: passes.append(1) or encode(self, around))
    from recollect.problems.counting import evaluate, question_of

    evaluate(one, made, question_of(made), current=2)
    assert len(passes) == 1


def test_a_network_is_told_that_it_sees_nothing_yet():
    with pytest.raises(UsageError, match="shown what it may see first"):
        GraphInputs(Setting.of(stream()), CPU).tensor(np.arange(2))


class Wrong(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 7)

    def forward(self, x, edge_index):
        return self.layer(x)


class Own(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 3)

    def forward(self, x, adjacency):
        return torch.sparse.mm(adjacency, self.layer(x))


def test_a_network_of_the_users_takes_features_and_edges():
    made = stream(passes=30)
    rows = list(iter_protocol(learner("finetune", made, network=seeded(Own)), made, seed=0))
    assert rows[-1].correct[-1] > 0.5 * rows[-1].n[-1]
    with pytest.raises(UsageError, match=r"outputs of shape \(7,\)"):
        learner("finetune", made, network=seeded(Wrong))


@pytest.mark.parametrize(("name", "said"), [("ncm", "takes arrays"), ("slda", "takes arrays")])
def test_learners_of_tables_are_refused(name, said):
    with pytest.raises(UsageError, match=said):
        make_learner(name, {}, Setting.of(stream()), derive(0))


@pytest.mark.parametrize("option", [{"augment": "flip"}, {"normalise": "mnist"}, {"network": "mlp"}])
def test_options_for_images_are_refused(option):
    with pytest.raises(UsageError):
        learner("finetune", stream(), **option)


def test_a_network_over_graphs_is_refused_for_images():
    setting = Setting(input_shape=(1, 8, 8), n_classes=10, tasks=((0,),))
    with pytest.raises(UsageError, match="is for graphs"):
        make_learner("finetune", {"network": "gcn"}, setting, derive(0))


def test_an_object_of_the_users_is_shown_the_graph_and_an_estimator_is_refused():
    from sklearn.naive_bayes import GaussianNB

    from recollect.learners import wrap

    class Neighbours:
        """Counts the labels around a node."""

        def __init__(self) -> None:
            self.known: dict[int, int] = {}
            self.sizes: list[int] = []

        def see(self, view) -> None:
            self.sizes.append(len(view.nodes))

        def learn(self, batch) -> None:
            self.known.update(zip(batch.x.tolist(), batch.y.tolist(), strict=True))

        def score(self, x):
            return np.eye(3)[[self.known.get(int(i), 0) for i in x]]

    made = stream(GraphSpec(visibility="seen"))
    mine = Neighbours()
    rows = list(iter_protocol(wrap(mine, Setting.of(made)), made, seed=0))
    assert mine.sizes == [20, 20, 40, 40, 60, 60]
    assert rows[-1].correct[0] == rows[-1].n[0]
    with pytest.raises(UsageError, match="ids of nodes"):
        wrap(GaussianNB(), Setting.of(made))
