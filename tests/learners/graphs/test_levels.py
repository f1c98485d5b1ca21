"""Learners on links and on whole graphs."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from recollect.learners import LEARNERS  # noqa: E402
from recollect.learners.graphs.inputs import Seen  # noqa: E402
from recollect.learners.graphs.networks import KINDS, GraphNetwork  # noqa: E402
from recollect.learners.graphs.products import Surroundings  # noqa: E402
from recollect.protocol import iter_protocol, run_protocol  # noqa: E402
from recollect.streams.graphs.spec import GraphSpec  # noqa: E402
from tests.learners.graphs.test_learners import learner, scenario_of, seeded  # noqa: E402
from tests.streams.graphs import test_links as links  # noqa: E402
from tests.streams.graphs import test_many as many  # noqa: E402

ON_LINKS = [name for name, card in LEARNERS.items() if "links" in card.samples and "links" in card.problems]
ON_GRAPHS = [name for name, card in LEARNERS.items() if "graphs" in card.samples]


@pytest.mark.parametrize("name", ON_LINKS)
def test_every_learner_goes_through_links(name):
    made = links.stream(passes=3)
    rows = list(iter_protocol(learner(name, made), made, seed=0))
    assert rows[0].reason == "nothing can be seen yet"
    scores = rows[-1].scores
    assert set(scores) == {"roc_auc", "average_precision", "hits@20", "hits@50", "hits@100", "mrr"}
    assert None not in scores["roc_auc"]
    assert rows[-1].reasons["hits@50"], "why there is none is said"


@pytest.mark.parametrize("name", ON_GRAPHS)
def test_every_learner_goes_through_graphs(name):
    grows = GraphSpec(visibility="seen", test_nodes="hidden")
    made = many.stream(grows, passes=3, scenario=scenario_of(name))
    rows = list(iter_protocol(learner(name, made), made, seed=0))
    assert rows[-1].correct is not None
    assert None not in rows[-1].correct


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_are_learned_by_every_network(kind):
    made = many.stream(scenario="task-incremental", passes=60)
    row = list(iter_protocol(learner("joint_incremental", made, epochs=60, network=kind), made, seed=0))[-1]
    assert sum(row.correct) > 0.8 * sum(row.n)


def test_a_run_of_links_is_recorded_with_its_target(tmp_path):
    made = links.stream(passes=3)
    run = run_protocol(learner("finetune", made), made, tmp_path / "run", name="finetune", target="average_precision")
    assert run.metric == "average_precision"
    assert run.problem == "links"
    assert run.plan.columns == "seen"


def test_of_many_graphs_those_of_the_samples_are_passed_and_answers_stay_the_same():
    made = many.stream(passes=3)
    trained = learner("finetune", made)
    for _ in iter_protocol(trained, made, seed=0):
        pass
    ids = next(iter(made.batches(1))).x[[3, 0, 3]]
    seen = trained.inputs.tensor(ids)
    view = made.views.training(1)
    sizes = np.diff(view.offsets)[view.places(ids)]
    assert seen.graph.n_nodes == sizes[0] + sizes[1]
    everything = Surroundings.of(view, torch.device("cpu"))
    whole = trained.network(Seen(torch.from_numpy(view.places(ids)), everything))
    assert torch.allclose(trained.network(seen), whole, atol=1e-6)
    assert trained.inputs.tensor(ids[::-1].copy()).graph is seen.graph, "the same graphs in another order"


ON_PROPERTIES = [name for name in ON_GRAPHS if "properties" in LEARNERS[name].problems]
ON_VALUES = [name for name in ON_GRAPHS if "regression" in LEARNERS[name].problems]


@pytest.mark.parametrize("name", ON_PROPERTIES)
def test_every_learner_goes_through_properties(name):
    made = many.stream(
        made=many.with_labels(many.properties()), scenario="task-incremental", class_order=None, passes=3
    )
    row = list(iter_protocol(learner(name, made), made, seed=0))[-1]
    assert set(row.scores) == {"roc_auc", "average_precision"}
    assert None not in row.scores["roc_auc"]


def test_a_property_is_scored_by_how_much_likelier_yes_is_than_no():
    table = many.properties()
    made = many.stream(made=many.with_labels(table), scenario="task-incremental", class_order=None)

    class Knows:
        """Says of each property what is true, and of every other class something high."""

        def score(self, x, task=None):
            scores = np.full((len(x), 6), 50.0)
            scores[np.arange(len(x)), 2 * task] = -table[x, task] + 100 * (x % 7)
            scores[np.arange(len(x)), 2 * task + 1] = table[x, task] + 100 * (x % 7)
            return scores

    from recollect.problems import Moment, problem_of
    from recollect.runs.run import Plan

    examiner = problem_of("properties").examiner_of(made)
    row = examiner.row(Knows(), Moment(2, 2, 0, True), Plan(), None)
    assert row.scores["roc_auc"] == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", ON_VALUES)
def test_every_learner_goes_through_values_of_graphs_and_of_links(name):
    values = np.diff(many.graphs().offsets).astype(float)
    of_graphs = many.stream(made=many.with_labels(values), scenario="domain-incremental", class_order=None, passes=3)
    of_links = links.stream(asked=GraphSpec(visibility="seen", ask="values"), passes=3)
    for made in (of_graphs, of_links):
        assert made.problem == "regression"
        row = list(iter_protocol(learner(name, made), made, seed=0, target="mae"))[-1]
        assert all(value >= 0 for value in row.scores["mae"])


def test_all_links_of_an_evaluation_are_answered_by_one_pass(monkeypatch):
    made = links.stream()
    one = learner("finetune", made)
    passes = []
    encode = GraphNetwork.encode
    monkeypatch.setattr(GraphNetwork, "encode", lambda self, around: passes.append(1) or encode(self, around))
    rows = iter_protocol(one, made, seed=0)
    next(rows)
    passes.clear()
    next(rows)
    assert len(passes) == 1 + 1, "one to learn a batch, one to answer all links"


class Mean(torch.nn.Module):
    """A module of the user's over whole graphs, with the graph of each node or without."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(6, 6)

    def forward(self, x, edge_index):
        return self.layer(x)


class Batched(Mean):
    def forward(self, x, edge_index, batch):
        counts = torch.bincount(batch)[:, None]
        return torch.zeros(len(counts), 6).index_add(0, batch, self.layer(x)) / counts


def test_a_module_of_the_users_says_one_thing_of_each_graph():
    made = many.stream(passes=2)
    both = [learner("finetune", made, network=seeded(kind)) for kind in (Mean, Batched)]
    both[1].network.load_state_dict(both[0].network.state_dict())
    for one in both:
        one.see(made.views.evaluation(2))
    x = np.array([3, 41, 8])
    mean, batched = (one.score(x) for one in both)
    assert np.allclose(mean, batched, atol=1e-6)
    rows = np.arange(*many.graphs().offsets[41:43])
    by_hand = both[0].network.module.layer(torch.from_numpy(many.graphs().features[rows])).mean(0)
    assert np.allclose(mean[1], by_hand.detach().numpy(), atol=1e-6)
