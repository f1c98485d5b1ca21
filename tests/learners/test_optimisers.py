from __future__ import annotations

import pytest
import torch
from torch import nn

from recollect.learners.optimisers import SGD, Adam, Optimiser, clip

from .helpers import same, through_disk


def network() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))


def losses(net: nn.Module):
    generator = torch.Generator().manual_seed(1)
    for _ in range(12):
        yield net(torch.randn(4, 5, generator=generator)).square().mean()


PAIRS = [
    (lambda net: SGD(net, 0.1), lambda p: torch.optim.SGD(p, 0.1)),
    (lambda net: SGD(net, 0.1, 0.9, 0.01), lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.01)),
    (lambda net: Adam(net, 0.01, 0.1), lambda p: torch.optim.Adam(p, 0.01, weight_decay=0.1)),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_steps_are_those_of_torch(ours, theirs):
    one, two = network(), network()
    mine, other = ours(one), theirs(two.parameters())
    for loss, twin in zip(losses(one), losses(two), strict=True):
        mine.step(loss)
        other.zero_grad()
        twin.backward()
        other.step()
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_a_parameter_without_gradient_stays(ours, theirs):
    net = network()
    before = net[2].weight.detach().clone()
    optimiser: Optimiser = ours(net)
    optimiser.step(net[0](torch.ones(1, 5)).sum())
    assert torch.equal(net[2].weight, before)
    assert not torch.equal(net[0].weight, network()[0].weight)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_restored_it_goes_on(ours, theirs):
    one, two = network(), network()
    mine, other = ours(one), ours(two)
    for loss in losses(one):
        mine.step(loss)
    other.restore(through_disk(mine.state()))
    assert same(mine.state(), other.state())


@pytest.mark.parametrize("largest", [0.01, 100.0])
def test_clipping_is_that_of_torch(largest):
    one, two = network(), network()
    gradients = torch.autograd.grad(next(losses(one)), list(one.parameters()))
    clip(gradients, largest)
    next(losses(two)).backward()
    torch.nn.utils.clip_grad_norm_(two.parameters(), largest)
    for gradient, parameter in zip(gradients, two.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)
