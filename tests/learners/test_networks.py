from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from recollect.errors import UsageError
from recollect.learners import Setting, make_learner, wrap_module
from recollect.learners.augment import random_crop, random_flip
from recollect.learners.inference import fold
from recollect.learners.networks import MLP, ResNet18, build
from recollect.learners.options import Network, Train

from .helpers import SEEDS, feed, new, same, through_disk

COLOUR = Setting((3, 32, 32), 100, (tuple(range(100)),))


def by_hand(width: int, n_classes: int) -> int:
    """Parameters of ResNet-18 with a 3 x 3 stem: convolutions without bias, batch norm, one linear layer."""
    total = 27 * width + 2 * width
    inputs = width
    for stage in range(4):
        outputs = width << stage
        total += 9 * inputs * outputs + 3 * 9 * outputs * outputs + 8 * outputs
        total += (inputs * outputs + 2 * outputs) if inputs != outputs else 0
        inputs = outputs
    return total + inputs * n_classes + n_classes


@pytest.mark.parametrize(("name", "width"), [("reduced_resnet18", 20), ("resnet18", 64)])
def test_residual_networks_have_the_parameters_of_the_survey(name, width):
    network = build(Network(network=name), COLOUR, 0)
    assert sum(p.numel() for p in network.parameters()) == by_hand(width, 100)
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 100)


@pytest.mark.parametrize(
    ("shape", "kind", "first"),
    [((64,), MLP, 100), ((1, 8, 8), MLP, 100), ((1, 28, 28), MLP, 400), ((3, 32, 32), ResNet18, 20)],
)
def test_auto_chooses_by_the_input(shape, kind, first):
    network = build(Network(), Setting(shape, 10, (tuple(range(10)),)), 0)
    assert isinstance(network, kind)
    assert next(iter(network.parameters())).shape[0] == first


def test_the_seed_decides_the_weights():
    weights = [next(build(Network(), COLOUR, seed).parameters()) for seed in (0, 0, 1)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("network", ["reduced_resnet18", "mlp"])
def test_folded_scores_are_those_of_the_plain_forward(twice, network):
    learner = feed(new("finetune", twice, network=network, lr=0.01), twice.batches(0))
    x = twice.data.x_test
    learner.network.eval()
    with torch.no_grad():
        expected = learner.network(learner.inputs.tensor(x)).numpy()
    learner.network.train()
    assert fold(learner.network) is not None
    np.testing.assert_allclose(learner.score(x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("network", ["reduced_resnet18", "mlp"])
def test_scores_follow_the_weights(twice, network):
    """The folded network is made anew after each step."""
    learner = new("finetune", twice, network=network)
    batch = next(twice.batches(0))
    before = learner.score(batch.x)
    learner.learn(batch)
    assert not same(before, learner.score(batch.x))


def test_scoring_leaves_batch_norm_alone(twice):
    learner = new("finetune", twice, network="reduced_resnet18")
    before = learner.state()
    learner.score(twice.data.x_test)
    assert same(before, learner.state())
    assert learner.network.training


def test_an_mlp_of_ones_own_is_asked_itself():
    """A subclass may have another forward pass."""

    class Doubled(MLP):
        def forward(self, x):
            return 2 * super().forward(x)

    with torch.random.fork_rng():
        assert fold(MLP(4, (3,), 2)) is not None
        assert fold(Doubled(4, (3,), 2)) is None


class WithDropout(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.drop, self.last = nn.Linear(64, 32), nn.Dropout(0.5), nn.Linear(32, 10)

    def forward(self, x):
        return self.last(self.drop(torch.relu(self.first(x.flatten(1)))))


@pytest.mark.parametrize("name", ["finetune", "er", "gdumb"])
def test_a_network_of_the_user_is_reproducible_with_its_dropout(name, digits):
    batches = list(digits.batches(1))[:20]
    more = {"epochs": 2} if name == "gdumb" else {}
    setting = Setting.of(digits)
    runs = []
    for _ in range(2):
        learner = wrap_module(WithDropout, setting, SEEDS, name, device="cpu", **more)
        feed(learner, batches[:8])
        fresh = wrap_module(WithDropout, setting, SEEDS, name, device="cpu", **more)
        fresh.restore(through_disk(learner.state()))
        torch.rand(3, generator=torch.Generator())
        runs += [feed(learner, batches[8:]).score(batches[0].x), feed(fresh, batches[8:]).score(batches[0].x)]
    assert all(same(runs[0], other) for other in runs)


def test_a_module_is_copied_with_its_weights(digits):
    with torch.random.fork_rng():
        module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    before = module[1].weight.detach().clone()
    learner = wrap_module(module, Setting.of(digits), SEEDS, device="cpu")
    assert torch.equal(learner.network[1].weight, before)
    learner.learn(next(digits.batches(0)))
    assert torch.equal(module[1].weight, before)


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 10)

    def forward(self, x):
        return self.layer(x), x


NETWORK = Pair()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": "mpl"}, "nearest is 'mlp'"),
        ({"network": "reduced_resnet18"}, "takes images"),
        ({"network": lambda: 3}, "not a torch module"),
        ({"network": lambda: nn.Linear(64, 3)}, "10 classes"),
        ({"network": "no.such:thing"}, "Cannot import"),
        ({"network": "math:pi"}, "'math:pi' is of the type float; a class or a function"),
        ({"network": lambda width: nn.Linear(64, width)}, "called with no arguments, and it takes .width."),
        ({"network": nn.Linear}, "'Linear' is called with no arguments"),
        ({"network": lambda: nn.Linear(32, 10)}, r"cannot take the stream's samples: given \(2, 64\).*shape \(64,\)"),
        ({"network": lambda: nn.Linear(64, 10).double()}, r"weights of torch.float64.*network.float\(\)"),
        ({"network": lambda: nn.Linear(64, 10).requires_grad_(False)}, "nothing to train.*requires_grad"),
        ({"network": Pair}, "gives a tuple; one tensor was expected"),
        ({"augment": "crop"}, "is for images"),
        ({"normalise": "cifar1000"}, "is not known"),
        ({"normalise": [[0.1, 0.2], [1, 1]]}, "for each of 64"),
    ],
)
def test_errors_say_what_to_do(options, message):
    setting = Setting((64,), 10, (tuple(range(10)),))
    with pytest.raises(UsageError, match=message):
        make_learner("finetune", options, setting, SEEDS, device="cpu")


@pytest.mark.parametrize(
    ("network", "message"),
    [(lambda: nn.Linear(32, 10), "cannot take the stream's samples"), (Pair, "gives a tuple"), ("math:pi", "float")],
)
def test_errors_of_fixed_features_say_what_to_do(network, message):
    setting = Setting((64,), 10, (tuple(range(10)),))
    with pytest.raises(UsageError, match=message):
        make_learner("ncm", {"network": network}, setting, SEEDS, device="cpu")


def test_a_path_may_name_a_module_itself():
    """It is copied, as one that is given."""
    setting = Setting((64,), 10, (tuple(range(10)),))
    with pytest.raises(UsageError, match="gives a tuple"):
        make_learner("finetune", {"network": f"{__name__}:NETWORK"}, setting, SEEDS, device="cpu")
    assert isinstance(build(Network(network=f"{__name__}:NETWORK"), setting, 0), Pair)
    assert build(Network(network=f"{__name__}:NETWORK"), setting, 0) is not NETWORK


def with_batch_norm():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Linear(8, 10))


@pytest.mark.parametrize("name", ["finetune", "er", "er_ace", "lwf"])
def test_batch_norm_and_a_lone_sample(name, digits):
    learner = wrap_module(with_batch_norm, Setting.of(digits), SEEDS, name, device="cpu")
    batch = next(digits.batches(0))
    with pytest.raises(UsageError, match=r"batch norm.*one sample.*`batch` of the stream"):
        learner.learn(replace(batch, x=batch.x[:1], y=batch.y[:1]))


def test_batch_norm_and_a_memory_of_one_sample(digits):
    learner = wrap_module(with_batch_norm, Setting.of(digits), SEEDS, "gdumb", device="cpu", memory=1, epochs=2)
    batch = next(digits.batches(0))
    learner.learn(batch)
    with pytest.raises(UsageError, match=r"batch norm.*one sample"):
        learner.score(batch.x)


def test_an_unusable_device_is_an_error():
    with pytest.raises(UsageError, match="cannot be used here"):
        make_learner("finetune", {}, COLOUR, SEEDS, device="tpu")


def test_crops_are_shifted_windows():
    images = torch.arange(1, 65, dtype=torch.uint8).reshape(1, 1, 8, 8).repeat(50, 1, 1, 1)
    padded = torch.nn.functional.pad(images[0, 0], (4,) * 4)
    crops = random_crop(images, torch.Generator().manual_seed(0))
    windows = {padded[r : r + 8, c : c + 8].numpy().tobytes() for r in range(9) for c in range(9)}
    found = {crop[0].numpy().tobytes() for crop in crops}
    assert found <= windows
    assert len(found) > 25


def test_flips_are_mirrors_at_even_odds():
    images = torch.arange(4.0).reshape(1, 1, 1, 4).repeat(1000, 1, 1, 1)
    flipped = random_flip(images, torch.Generator().manual_seed(0))
    share = (flipped[:, 0, 0, 0] == 3).float().mean().item()
    assert 0.44 < share < 0.56
    assert {tuple(row) for row in flipped[:, 0, 0].tolist()} == {(0.0, 1.0, 2.0, 3.0), (3.0, 2.0, 1.0, 0.0)}


def test_normalising_uses_the_constants():
    learner = make_learner("finetune", {"normalise": "cifar100"}, COLOUR, SEEDS, device="cpu")
    white = learner.inputs.tensor(np.full((1, 3, 32, 32), 255, np.uint8))
    np.testing.assert_allclose(
        white[0, :, 0, 0], (1 - np.array([0.5071, 0.4865, 0.4409])) / [0.2673, 0.2564, 0.2762], rtol=1e-5
    )


def test_features_are_taken_as_they_are():
    setting = Setting((2,), 2, ((0, 1),))
    learner = make_learner("finetune", {}, setting, SEEDS, device="cpu")
    x = np.array([[300.0, -2.0]], np.float32)
    assert learner.inputs.tensor(x).tolist() == [[300.0, -2.0]]
    assert Train().normalise is None
