"""ER-GNN and TWP, and the two Fisher informations of EWC."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from recollect.errors import UsageError  # noqa: E402
from recollect.learners.graphs.er_gnn import coverage, mean_feature  # noqa: E402
from recollect.protocol import iter_protocol  # noqa: E402
from tests.learners.graphs.test_learners import learner, stream  # noqa: E402


@pytest.mark.parametrize("sampler", ["CM", "MF", "random"])
def test_er_gnn_keeps_its_budget_of_each_class_and_forgets_less(sampler):
    made = stream(passes=30)
    replay = learner("er_gnn", made, budget=3, sampler=sampler, beta="none")
    kept = list(iter_protocol(replay, made, seed=0))[-1]
    lost = list(iter_protocol(learner("finetune", made), made, seed=0))[-1]
    assert sum(kept.correct) > sum(lost.correct)
    assert np.bincount(replay.memory.y).tolist() == [3, 3, 3]
    assert replay.stored_samples == 9
    assert replay.stored_bytes == 9 * 16, "an id and a label of eight bytes each; the graph itself is not copied"


@pytest.mark.parametrize("beta", ["paper", "share", "none"])
def test_the_weights_of_er_gnns_losses_differ(beta):
    made = stream(passes=3)
    row = list(iter_protocol(learner("er_gnn", made, budget=3, beta=beta), made, seed=0))[-1]
    assert row.state is None
    assert row.correct is not None


def test_a_budget_above_the_class_size_is_one_paragraph():
    made = stream()
    with pytest.raises(UsageError, match="a class of the stream has 12 training nodes") as error:
        learner("er_gnn", made, budget=13)
    assert "\n" not in str(error.value)
    assert learner("er_gnn", made, budget=12).options.budget == 12
    with pytest.raises(UsageError, match="at least 1; got 0"):
        learner("er_gnn", made, budget=0)


def test_the_samplers_rank_as_their_loops_do():
    rng = np.random.default_rng(0)
    where, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    mine = np.flatnonzero(y == 1)
    centre = where[mine].mean(0)
    by_mean = sorted(range(len(mine)), key=lambda k: np.linalg.norm(where[mine[k]] - centre))
    assert mean_feature(where, y, mine, 1.0).tolist() == by_mean

    def near(k):
        return sum(y[j] != 1 and np.linalg.norm(where[mine[k]] - where[j]) < 1.0 for j in range(40))

    assert coverage(where, y, mine, 1.0).tolist() == sorted(range(len(mine)), key=near)


def test_twp_counts_both_parts_of_the_importance():
    made = stream(passes=3)
    found = {}
    for name, shares in (("loss", (1, 0)), ("topology", (0, 1)), ("both", (1, 1))):
        one = learner("twp", made, loss=shares[0], topology=shares[1], strength=0)
        one.see(made.views.training(0))
        for batch in made.batches(0):
            one.learn(batch)
            if batch.ends is not None:
                break
        one.end_task()
        found[name] = one.anchor.importance
    for loss, topology, both in zip(found["loss"], found["topology"], found["both"], strict=True):
        assert torch.allclose(loss + topology, both, atol=1e-6)
    assert all(float(part.sum()) > 0 for part in (found["loss"][0], found["topology"][0]))


def test_a_strong_twp_moves_less_where_it_matters():
    made = stream(passes=10)
    moved = []
    for strength in (1e6, 0):
        one = learner("twp", made, strength=strength)
        one.see(made.views.training(0))
        for batch in made.batches(0):
            one.learn(batch)
            if batch.ends == 0:
                one.end_task()
            if batch.ends == 1:
                break
        moved.append(float(one.anchor.penalty().detach()))
    assert moved[0] < 0.1 * moved[1]


def test_both_fisher_informations_are_what_their_names_say():
    made = stream(passes=1)
    found = {}
    for fisher in ("samples", "batch"):
        one = learner("ewc", made, fisher=fisher, samples=100, labels=3)
        one.see(made.views.training(0))
        one.learn(next(made.batches(0)))
        one.end_task()
        found[fisher] = one.anchor.importance
        network, view = one.network, one.inputs
    batch = next(made.batches(0))
    logits = network(view.tensor(batch.x))
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(batch.y))
    slow = [part.square() for part in torch.autograd.grad(loss, list(network.parameters()))]
    assert all(torch.allclose(own, other, rtol=1e-4) for own, other in zip(found["batch"], slow, strict=True))
    assert not torch.allclose(found["batch"][0], found["samples"][0])
