from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from recollect.learners.base import Setting
from recollect.learners.networks import build
from recollect.learners.options import Train
from recollect.learners.replay_variants import project

from .helpers import SEEDS, all_test_samples, feed, new, same


def plain(stream):
    """A network, and one step of plain SGD on it."""
    network = build(Train(), Setting.of(stream), SEEDS.init)

    def step(x, y):
        network.zero_grad()
        F.cross_entropy(network(torch.from_numpy(x).float() / 255), torch.from_numpy(y)).backward()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter -= 0.1 * parameter.grad

    return network, step


def logits(network, x):
    with torch.no_grad():
        return network(torch.from_numpy(x).float() / 255).numpy()


def test_finetune_is_plain_sgd(digits):
    network, step = plain(digits)
    learner = new("finetune", digits)
    for batch in digits.batches(1):
        step(batch.x, batch.y)
        learner.learn(batch)
    x = all_test_samples(digits)[0]
    np.testing.assert_allclose(learner.score(x), logits(network, x), rtol=1e-4, atol=1e-4)


def test_er_is_plain_sgd_on_stream_and_memory(digits):
    """The loop anybody would write, with a memory written here and given the learner's draws."""
    network, step = plain(digits)
    learner = new("er", digits, memory=40, memory_batch=10)
    samples, labels = [], []
    for batch in digits.batches(1):
        seen = batch.samples_seen - len(batch.y)
        if seen:
            twin = np.random.default_rng()
            twin.bit_generator.state = learner.memory.state()["rng"]
            held = min(seen, 40)
            places = twin.choice(held, 10, replace=False, shuffle=False) if held > 10 else np.arange(held)
            mixed = np.concatenate([batch.x, np.stack([samples[i] for i in places])])
            step(mixed, np.concatenate([batch.y, [labels[i] for i in places]]))
        else:
            step(batch.x, batch.y)
        learner.learn(batch)
        samples, labels = list(learner.memory.x.copy()), list(learner.memory.y.copy())
    x = all_test_samples(digits)[0]
    np.testing.assert_allclose(learner.score(x), logits(network, x), rtol=1e-3, atol=1e-3)


def test_er_forgets_less_than_finetune(digits):
    x, y = all_test_samples(digits)
    share = {
        name: (feed(new(name, digits), digits.batches(1)).score(x).argmax(1) == y).mean() for name in ("finetune", "er")
    }
    assert share["er"] > share["finetune"] + 0.2


def test_separate_passes_add_the_mean_losses(digits):
    """Without batch norm, and with batches of one size, two added means are twice the mean of all."""
    batches = list(digits.batches(1))[:10]
    one = feed(new("er", digits, separate=True, lr=0.05), batches[:1])
    two = feed(new("er", digits, lr=0.05), batches[:1])
    two.optimiser.lr = 0.1
    feed(one, batches[1:])
    feed(two, batches[1:])
    x = all_test_samples(digits)[0]
    np.testing.assert_allclose(one.score(x), two.score(x), atol=1e-4)


def test_the_memory_learns_after_the_step(digits):
    """The first batch meets an empty memory: er and finetune are then the same network."""
    batch = next(digits.batches(1))
    er, finetune = new("er", digits), new("finetune", digits)
    er.learn(batch)
    finetune.learn(batch)
    assert same(er.score(batch.x), finetune.score(batch.x))
    assert er.stored_samples == len(batch.y)


def test_iterations_draw_anew(digits):
    batches = list(digits.batches(1))[:5]
    assert not same(
        feed(new("er", digits), batches).state()["network"],
        feed(new("er", digits, iterations=2), batches).state()["network"],
    )


def test_task_incremental_training_uses_the_head_of_the_task():
    from recollect.streams import make_stream

    stream = make_stream("digits", tasks=5, scenario="task-incremental")
    learner = new("finetune", stream)
    before = learner.network.head.weight.detach().clone()
    learner.learn(next(stream.batches(1)))
    moved = (learner.network.head.weight.detach() != before).any(1).numpy()
    assert moved.tolist() == [True] * 2 + [False] * 8


def test_er_ace_does_not_push_absent_classes(digits):
    """With an empty memory only the classes of the batch move."""
    batch = next(digits.batches(1))
    learner = new("er_ace", digits)
    before = learner.network.head.weight.detach().clone()
    learner.learn(batch)
    moved = (learner.network.head.weight.detach() != before).any(1).numpy()
    assert moved.tolist() == [label in set(batch.y.tolist()) for label in range(10)]


def test_derpp_stores_the_logits_of_the_step(digits):
    batch = next(digits.batches(1))
    learner = new("derpp", digits)
    expected = learner.score(batch.x)
    learner.learn(batch)
    np.testing.assert_allclose(learner.memory.columns["logits"][: len(batch.y)], expected, atol=1e-5)


def test_derpp_without_its_terms_is_finetune(digits):
    batches = list(digits.batches(1))[:20]
    one = feed(new("derpp", digits, alpha=0, beta=0), batches)
    two = feed(new("finetune", digits), batches)
    np.testing.assert_allclose(one.score(batches[0].x), two.score(batches[0].x), atol=1e-4)


def test_agem_turns_the_gradient_until_it_does_not_hurt():
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        own = [torch.randn(3, 4, generator=generator), torch.randn(5, generator=generator)]
        wanted = [torch.randn(3, 4, generator=generator), torch.randn(5, generator=generator)]
        before = [one.clone() for one in own]
        agreed = sum(float((a * b).sum()) for a, b in zip(own, wanted, strict=True))
        project(own, wanted)
        agrees = sum(float((a * b).sum()) for a, b in zip(own, wanted, strict=True))
        assert agrees == pytest.approx(max(agreed, 0), abs=1e-4)
        assert agreed < 0 or all(torch.equal(a, b) for a, b in zip(own, before, strict=True))


def test_agem_refers_to_earlier_tasks_only(digits):
    learner = new("agem", digits, memory=30)
    for batch in digits.batches(1):
        places = learner._reference()
        ages = learner.memory.columns["age"][places] if len(places) else []
        assert all(age < learner.tasks_over for age in ages)
        feed(learner, [batch])
    assert learner.tasks_over == 5
