"""Scores are those of the weights, the memory and the statistics of this moment, whoever changed them and how."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from recollect.learners import Setting, wrap_module
from recollect.learners.finetune import Finetune
from recollect.learners.gdumb import GDumb
from recollect.learners.inference import fold
from recollect.learners.networks import MLP, ResNet18
from recollect.learners.options import GDumb as GDumbOptions
from recollect.learners.options import Shrinkage, Train
from recollect.learners.prototypes import StreamingLDA

from .helpers import SEEDS, all_test_samples, feed, new


def through_data(learner):
    for weight in learner.network.parameters():
        weight.data.mul_(1.5)


def through_new_storage(learner):
    for weight in learner.network.parameters():
        weight.data = weight.data * 1.5


def through_numpy(learner):
    for weight in learner.network.parameters():
        weight.detach().numpy()[...] *= 1.5


def through_new_parameters(learner):
    head = learner.network.head
    head.weight, head.bias = nn.Parameter(head.weight.detach() * 2), nn.Parameter(head.bias.detach() + 1)


def through_load(learner):
    learner.network.load_state_dict({name: value * 1.25 for name, value in learner.network.state_dict().items()})


def through_a_new_head(learner):
    learner.network.head = nn.Linear(learner.network.head.in_features, learner.setting.n_classes)


def through_another_kind_of_head(learner):
    head = learner.network.head
    learner.network.head = nn.Sequential(head, nn.Softplus())


def through_a_hook(learner):
    learner.network.head.register_forward_hook(lambda module, given, outputs: outputs.flip(1))


def through_parametrisation(learner):
    torch.nn.utils.parametrizations.weight_norm(learner.network.head)
    with torch.no_grad():
        learner.network.head.parametrizations.weight.original0.mul_(2)


WAYS = (
    through_data,
    through_new_storage,
    through_numpy,
    through_new_parameters,
    through_load,
    through_a_new_head,
    through_another_kind_of_head,
    through_a_hook,
    through_parametrisation,
)


def plain(learner, x):
    """What the network itself gives."""
    learner.network.eval()
    with torch.no_grad():
        outputs = learner.network(learner.inputs.tensor(x)).numpy()
    learner.network.train()
    return outputs


@pytest.mark.parametrize("network", ["mlp", "reduced_resnet18"])
@pytest.mark.parametrize("way", WAYS)
def test_weights_changed_in_any_way_are_the_ones_scored(twice, network, way):
    class Own(Finetune):
        def train_on(self, batch):
            with torch.random.fork_rng(devices=[]):
                way(self)

    learner = Own(Train(network=network), Setting.of(twice), SEEDS, "cpu")
    x = all_test_samples(twice)[0]
    before = learner.score(x)
    learner.learn(next(twice.batches(0)))
    np.testing.assert_allclose(learner.score(x), plain(learner, x), rtol=1e-4, atol=1e-4)
    assert not np.allclose(learner.score(x), before, rtol=1e-4, atol=1e-4)


def test_running_statistics_are_those_of_now(twice):
    learner = new("finetune", twice, network="reduced_resnet18")
    x = all_test_samples(twice)[0]
    before = learner.score(x)
    learner.network.stem_bn.running_mean.add_(0.3)
    np.testing.assert_allclose(learner.score(x), plain(learner, x), rtol=1e-4, atol=1e-4)
    assert not np.allclose(learner.score(x), before, rtol=1e-3)


@pytest.mark.parametrize("base", [MLP, ResNet18])
def test_a_forward_pass_of_ones_own_is_the_one_used(twice, base):
    class Own(base):
        def forward(self, x):
            return -super().forward(x)

    sizes = (768, (20,), 4) if base is MLP else (3, 20, 4)
    learner = wrap_module(lambda: Own(*sizes), Setting.of(twice), SEEDS, device="cpu")
    x = all_test_samples(twice)[0]
    assert fold(learner.network) is None
    np.testing.assert_allclose(learner.score(x), plain(learner, x), rtol=1e-4, atol=1e-4)


def test_a_memory_filled_in_ones_own_way_is_trained_on(digits):
    class Reversed(GDumb):
        def train_on(self, batch):
            self.memory.add(batch.x[::-1], batch.y[::-1])

    chosen = GDumbOptions(memory=20, epochs=1)
    learner = Reversed(chosen, Setting.of(digits), SEEDS, "cpu")
    x = all_test_samples(digits)[0][:5]
    batches = list(digits.batches(0))
    feed(learner, batches[:2])
    before = learner.score(x)
    feed(learner, batches[60:70])
    assert not np.allclose(learner.score(x), before)
    assert learner.trainings == 2


@pytest.mark.parametrize("change", ["scatter", "counts"])
def test_statistics_changed_in_ones_own_way_are_scored(digits, change):
    class Forgets(StreamingLDA):
        def end_task(self):
            if change == "scatter":
                self.scatter *= 0.5
            else:
                self.counts = self.counts * 3

    learner = Forgets(Shrinkage(shrinkage=0.01), Setting.of(digits), SEEDS, "cpu")
    feed(learner, list(digits.batches(0))[:5])
    x = all_test_samples(digits)[0][:5]
    before = learner.score(x)
    learner.end_task()
    fresh = Forgets(Shrinkage(shrinkage=0.01), Setting.of(digits), SEEDS, "cpu")
    fresh.restore(learner.state())
    assert np.array_equal(learner.score(x), fresh.score(x))
    assert not np.allclose(learner.score(x), before)


@pytest.mark.parametrize("change", ["in place", "new tensors", "another rate"])
def test_the_pull_to_an_anchor_is_that_of_the_importance_of_now(digits, change):
    from recollect.learners.holding import Anchor

    weight = torch.zeros(3)
    anchor = Anchor([weight])
    anchor.move([torch.ones(3)], decay=1.0)
    weight += 1
    anchor.pull(1.0)  # half the way back
    assert weight.tolist() == [0.5] * 3
    if change == "in place":
        anchor.importance[0].mul_(3)
    elif change == "new tensors":
        anchor.importance = [torch.full((3,), 3.0)]
    anchor.pull(3.0 if change == "another rate" else 1.0)  # three quarters of it
    assert weight.tolist() == [0.125] * 3
