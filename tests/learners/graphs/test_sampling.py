"""Neighbour sampling: what is drawn, with which probability, and that sampled training is resumed bit for bit."""

from __future__ import annotations

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from scipy import stats  # noqa: E402

from recollect.errors import UsageError  # noqa: E402
from recollect.learners.graphs.networks import KINDS, GraphNetwork  # noqa: E402
from recollect.learners.graphs.products import Surroundings  # noqa: E402
from recollect.learners.graphs.sampling import Sampled, draw, draw_by_pyg_lib  # noqa: E402
from recollect.protocol import checkpoint, iter_protocol  # noqa: E402
from recollect.streams.graphs.view import View  # noqa: E402
from tests.learners.graphs.test_learners import learner, seeded, stream  # noqa: E402
from tests.streams.graphs import test_links as links  # noqa: E402
from tests.streams.graphs import test_many as many  # noqa: E402
from tests.streams.graphs.samples import graph  # noqa: E402

CPU = torch.device("cpu")


def view(made=None):
    made = made or graph()
    return View(np.arange(made.n_nodes), made.adjacency, made.features, made.n_nodes)


def test_what_is_drawn_are_edges_of_the_graph_no_more_than_asked_and_none_twice():
    adjacency = graph().adjacency
    seeds = np.array([3, 17, 40])
    drawn = draw(adjacency, seeds, (2, 3), np.random.default_rng(0))
    assert drawn.nodes[:3].tolist() == seeds.tolist()
    assert len(set(drawn.nodes.tolist())) == len(drawn.nodes)
    assert len(set(drawn.entries.tolist())) == len(drawn.entries)
    row_of = np.repeat(np.arange(60), np.diff(adjacency.indptr))
    assert drawn.nodes[drawn.rows].tolist() == row_of[drawn.entries].tolist()
    assert drawn.nodes[drawn.columns].tolist() == adjacency.indices[drawn.entries].tolist()
    degrees = np.diff(adjacency.indptr)[drawn.nodes]
    kept = np.bincount(drawn.rows, minlength=len(drawn.nodes))
    first = set(drawn.nodes[drawn.columns[drawn.rows < 3]].tolist())
    for place, node in enumerate(drawn.nodes.tolist()):
        most = 2 if place < 3 else 3 if node in first else 0
        assert kept[place] == min(most, degrees[place])


def test_every_set_of_neighbours_is_drawn_equally_often():
    star = graph(n=6, edges=np.array([[0] * 5, [1, 2, 3, 4, 5]]), features=np.ones((6, 1)), labels=np.arange(6) % 3)
    rng = np.random.default_rng(1)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(4000):
        drawn = draw(star.adjacency, np.array([0]), (2,), rng)
        key = tuple(sorted(drawn.nodes[drawn.columns].tolist()))
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 10
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_with_all_neighbours_the_answers_are_those_of_the_whole_graph(kind):
    whole = view()
    network = seeded(lambda: GraphNetwork(kind, 8, (16,), 3))
    seeds = np.array([5, 2, 59])
    drawn = draw(whole.adjacency, seeds, (60, 60), np.random.default_rng(0))
    part = network.encode(Sampled.around(whole, drawn, CPU))[:3]
    assert torch.allclose(part, network.encode(Surroundings.of(whole, CPU))[seeds], atol=1e-5)


@pytest.mark.parametrize("kind", ["normalised", "mean", "sum"])
def test_products_have_the_expectation_of_those_with_the_whole_graph(kind):
    whole = view()
    x = torch.from_numpy(whole.features)
    node = int(np.diff(whole.adjacency.indptr).argmax())
    wanted = (getattr(Surroundings.of(whole, CPU), kind) @ x)[node]
    rng = np.random.default_rng(2)
    found = []
    for _ in range(800):
        drawn = draw(whole.adjacency, np.array([node]), (2,), rng)
        found.append((getattr(Sampled.around(whole, drawn, CPU), kind) @ x[drawn.nodes])[0])
    table = torch.stack(found)
    error = table.std(0) / len(table) ** 0.5
    assert (error > 0).all()
    assert ((table.mean(0) - wanted).abs() < 4.5 * error).all()


@pytest.mark.parametrize("name", ["finetune", "er", "er_gnn", "gem", "lwf", "joint_incremental"])
def test_a_sampled_training_goes_on_bit_for_bit(name, **more):
    made = stream(batch=8, passes=2)
    batches = list(made.batches(0))
    option = {"neighbours": (2, 2), **more, **({"budget": 3} if name == "er_gnn" else {})}

    def go(one, some):
        for batch in some:
            one.learn(batch)
            if batch.ends is not None:
                one.end_task()

    straight, first, second = (learner(name, made, **option) for _ in range(3))
    for one in (straight, first, second):
        one.see(made.views.training(0))
    half = len(batches) // 2
    go(straight, batches)
    go(first, batches[:half])
    second.restore(first.state())
    go(second, batches[half:])
    assert checkpoint.digest(straight.state()) == checkpoint.digest(second.state())


class Library:
    """pyg-lib as far as it is asked: `sampler.neighbor_sample` by a loop, with torch's generator as the real one."""

    def __init__(self):
        self.sampler, self.asked = self, 0

    def neighbor_sample(self, rowptr, col, seed, num_neighbors, return_edge_id):
        assert rowptr.dtype == col.dtype == seed.dtype
        self.asked += 1
        nodes, entries, frontier = seed.tolist(), [], seed.tolist()
        for count in num_neighbors:
            new = []
            for node in frontier:
                low, high = int(rowptr[node]), int(rowptr[node + 1])
                for entry in (low + torch.randperm(high - low)[:count]).tolist():
                    entries.append(entry)
                    if int(col[entry]) not in nodes:
                        nodes.append(int(col[entry]))
                        new.append(int(col[entry]))
            frontier = new
        nothing = torch.zeros(len(entries), dtype=torch.long)
        return nothing, nothing, torch.tensor(nodes), torch.tensor(entries), [1], [1]


def test_pyg_lib_draws_where_it_is_asked_for_and_goes_on_bit_for_bit(monkeypatch):
    library = Library()
    monkeypatch.setitem(sys.modules, "pyg_lib", library)
    whole = view()
    seeds = np.array([3, 17, 40])
    everything = draw_by_pyg_lib(whole.adjacency, seeds, (60, 60), np.random.default_rng(0))
    network = seeded(lambda: GraphNetwork("gcn", 8, (16,), 3))
    part = network.encode(Sampled.around(whole, everything, CPU))[:3]
    assert torch.allclose(part, network.encode(Surroundings.of(whole, CPU))[seeds], atol=1e-5)
    drawn = draw_by_pyg_lib(whole.adjacency, seeds, (2, 2), np.random.default_rng(1))
    again = draw_by_pyg_lib(whole.adjacency, seeds, (2, 2), np.random.default_rng(1))
    assert np.array_equal(drawn.entries, again.entries)
    assert drawn.nodes[drawn.columns].tolist() == whole.adjacency.indices[drawn.entries].tolist()
    library.asked = 0
    test_a_sampled_training_goes_on_bit_for_bit("er", drawn_by="pyg-lib")
    assert library.asked


def test_without_pyg_lib_or_neighbours_the_sampler_is_refused(monkeypatch):
    with pytest.raises(UsageError, match="give neighbours"):
        learner("finetune", stream(), drawn_by="pyg-lib")
    monkeypatch.setitem(sys.modules, "pyg_lib", None)
    with pytest.raises(UsageError, match="pyg-lib, which is not installed"):
        learner("finetune", stream(), drawn_by="pyg-lib", neighbours=(2, 2))


def test_sampling_draws_in_training_and_never_in_an_answer():
    made = stream()
    one, all_of_them = learner("finetune", made, neighbours=(1, 1)), learner("finetune", made)
    for each in (one, all_of_them):
        each.see(made.views.training(0))
    before = checkpoint.digest(one.state())
    assert np.array_equal(one.score(np.arange(9)), all_of_them.score(np.arange(9)))
    assert checkpoint.digest(one.state()) == before
    drawn = one.inputs.training(np.arange(9))
    assert drawn.graph.n_nodes < 60
    assert checkpoint.digest(one.state()) != before


def test_links_are_sampled_around_both_ends():
    made = links.stream(passes=2, batch=16)
    rows = list(iter_protocol(learner("finetune", made, neighbours=[3, 3]), made, seed=0))
    assert None not in rows[-1].scores["roc_auc"]


@pytest.mark.parametrize(
    ("made", "neighbours", "said"),
    [
        (stream, [5], "one number for each layer, here 2; got"),
        (stream, [5, 0], "whole numbers of at least 1"),
        (stream, [], "whole numbers of at least 1"),
        (stream, 5, "whole numbers of at least 1"),
        (many.stream, [5, 5], "for nodes and links"),
    ],
)
def test_wrong_neighbours_are_one_paragraph(made, neighbours, said):
    with pytest.raises(UsageError, match=said):
        learner("finetune", made(), neighbours=neighbours)
