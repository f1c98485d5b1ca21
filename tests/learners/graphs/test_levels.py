"""Learners on links and on whole graphs."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

import torch

from recollect.learners import LEARNERS
from recollect.learners.graphs.inputs import Seen
from recollect.learners.graphs.networks import KINDS
from recollect.learners.graphs.products import Surroundings
from recollect.protocol import iter_protocol, run_protocol
from recollect.streams.graphs.spec import GraphSpec
from tests.learners.graphs.test_learners import learner
from tests.streams.graphs import test_links as links
from tests.streams.graphs import test_many as many

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
    made = many.stream(GraphSpec(visibility="seen", test_nodes="hidden"), passes=3)
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
    everything = Surroundings.of(view.adjacency, view.features, torch.device("cpu"), view.offsets)
    whole = trained.network(Seen(torch.from_numpy(view.places(ids)), everything))
    assert torch.allclose(trained.network(seen), whole, atol=1e-6)
    assert trained.inputs.tensor(ids[::-1].copy()).graph is seen.graph, "the same graphs in another order"
