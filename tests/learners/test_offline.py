"""GDumb and the joint learners."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from recollect.errors import UsageError
from recollect.learners import Setting, make_learner
from recollect.learners.networks import build
from recollect.learners.offline import cutmix, learning_rate
from recollect.learners.options import Offline
from recollect.learners.randomness import sub_seed

from .helpers import SEEDS, all_test_samples, feed, new, same


def test_learning_rate_is_the_schedule_of_the_papers_code():
    """One epoch at a tenth, one at the full rate, then torch's warm restarts, stepped once an epoch."""
    options = Offline()
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimiser, T_0=1, T_mult=2, eta_min=0.0005)
    assert learning_rate(options, 0) == pytest.approx(0.005)
    assert learning_rate(options, 1) == pytest.approx(0.05)
    for epoch in range(2, 256):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schedule.step()
        assert learning_rate(options, epoch) == pytest.approx(optimiser.param_groups[0]["lr"])
    assert learning_rate(options, 255) < 0.00051


def trained_from_scratch(x, y, stream, changes: int, epochs: int):
    """The recipe in plain torch: new weights, new optimiser, nothing else."""
    network = build(Offline(), Setting.of(stream), sub_seed(SEEDS.init, changes))
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-6)
    rng = np.random.default_rng(sub_seed(SEEDS.learner, "training", changes))
    for epoch in range(epochs):
        optimiser.param_groups[0]["lr"] = learning_rate(Offline(), epoch)
        order = rng.permutation(len(y))
        for start in range(0, len(y), 16):
            places = order[start : start + 16]
            optimiser.zero_grad()
            F.cross_entropy(network(torch.from_numpy(x[places]).float() / 255), torch.from_numpy(y[places])).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 10)
            optimiser.step()
    return network


def test_gdumb_trains_from_scratch_each_time(digits):
    learner = new("gdumb", digits, memory=32, epochs=4)
    x = all_test_samples(digits)[0][:100]
    for batch in list(digits.batches(1))[:80]:
        learner.learn(batch)
        if batch.number in (10, 40, 79):
            scores = learner.score(x)
            network = trained_from_scratch(learner.memory.x, learner.memory.y, digits, learner.changes, epochs=4)
            with torch.no_grad():
                expected = network(torch.from_numpy(x).float() / 255).numpy()
            np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-3)


class KeepsItsWeights:
    """What GDumb must not be: the next training starts from the last network."""

    def __new__(cls, learner):
        kept = copy.copy(learner)
        kept._adopt = lambda network: None
        return kept


def test_a_gdumb_that_keeps_its_weights_would_be_found(digits):
    learner = new("gdumb", digits, memory=32, epochs=2)
    feed(learner, list(digits.batches(1))[:10])
    x = all_test_samples(digits)[0][:10]
    learner.score(x)
    wrong = KeepsItsWeights(copy.deepcopy(learner))
    batch = list(digits.batches(1))[40]
    learner.learn(batch)
    wrong.learn(batch)
    assert not np.allclose(learner.score(x), wrong.score(x), atol=1e-3)


def test_gdumb_trains_only_after_a_change(digits):
    learner = new("gdumb", digits, memory=32, epochs=2)
    x = all_test_samples(digits)[0][:10]
    learner.score(x)
    assert learner.trainings == 0
    batch = next(digits.batches(1))
    learner.learn(batch)
    first = learner.score(x)
    assert same(first, learner.score(x))
    assert learner.trainings == 1


def test_the_optimiser_is_new_too(digits):
    """Two learners with one memory history but a different number of evaluations end the same."""
    batches = list(digits.batches(1))[:30]
    x = all_test_samples(digits)[0][:30]
    often, once = new("gdumb", digits, memory=32, epochs=2), new("gdumb", digits, memory=32, epochs=2)
    for batch in batches:
        often.learn(batch)
        often.score(x)
        once.learn(batch)
    assert same(often.score(x), once.score(x))


@pytest.mark.parametrize("name", ["joint_incremental", "joint_final"])
def test_joint_knows_every_task(name, digits):
    learner = feed(new(name, digits, epochs=4), digits.batches(1))
    parts = list(digits.test_batches())
    hits = np.concatenate([learner.score(part.x).argmax(1) == part.y for part in parts])
    task = np.concatenate([part.task for part in parts])
    assert min(hits[task == index].mean() for index in range(5)) > 0.8
    assert learner.stored_samples == digits.n_train


def test_joint_incremental_is_retrained_after_each_task(digits):
    learner = new("joint_incremental", digits, epochs=2)
    x, y = all_test_samples(digits)
    rows = []
    for batch in digits.batches(1):
        feed(learner, [batch])
        if batch.ends is not None:
            rows.append((learner.score(x).argmax(1) == y)[y < 2 * (batch.ends + 1)].mean())
            assert learner.trainings == batch.ends + 1
    assert min(rows) > 0.8


def test_joint_learns_each_sample_once_however_many_passes(twice):
    learner = feed(new("joint_incremental", twice, epochs=1, network="mlp"), twice.batches(1))
    assert learner.stored_samples == 24


def test_joint_final_is_undefined_under_way(digits):
    learner = new("joint_final", digits, epochs=1)
    x = np.zeros((2, *digits.input_shape), np.uint8)
    assert np.isfinite(learner.score(x)).all()
    for batch in digits.batches(1):
        feed(learner, [batch])
        if batch.number in (0, 50):
            assert np.isnan(learner.score(x)).all()
    assert np.isfinite(learner.score(x)).all()


def test_joint_final_needs_to_know_where_the_end_is():
    setting = Setting((4,), 2, ((0,), (1,)), gives_boundaries=False)
    with pytest.raises(UsageError, match="boundaries"):
        make_learner("joint_final", {}, setting, SEEDS)


def test_cutmix_keeps_the_share_it_says():
    images = torch.arange(4.0)[:, None, None, None].expand(4, 3, 8, 8).contiguous()
    for seed in range(20):
        made = cutmix(images, np.random.default_rng(seed))
        mixed, partner, kept = made.images, made.partner, made.kept
        for index in range(4):
            own = (mixed[index] == index).float().mean().item()
            if partner[index] != index:
                assert own == pytest.approx(kept)
            assert set(mixed[index].unique().tolist()) <= {float(index), float(partner[index])}
