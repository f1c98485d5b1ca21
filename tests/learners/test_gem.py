"""GEM: the turned step, and that it protects what came before."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recollect.errors import UsageError  # noqa: E402
from recollect.learners import Setting, make_learner  # noqa: E402
from recollect.learners.gem import turned  # noqa: E402
from recollect.protocol import iter_protocol  # noqa: E402
from recollect.runs.seeds import derive  # noqa: E402
from recollect.streams import make_stream  # noqa: E402


def test_a_step_that_hurts_nobody_stays():
    own = torch.tensor([1.0, 2.0])
    assert torch.equal(turned(own, torch.tensor([[1.0, 0.0], [0.0, 1.0]]), margin=0.5), own)


def test_a_turned_step_hurts_nobody_and_is_the_nearest_such():
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        own, earlier = torch.randn(6, generator=generator), torch.randn(3, 6, generator=generator)
        made = turned(own, earlier)
        assert (earlier @ made >= -1e-4).all()
        for _ in range(50):  # no other step that hurts nobody is nearer
            other = made + 0.1 * torch.randn(6, generator=generator)
            if (earlier @ other >= 0).all():
                assert torch.dist(own, made) <= torch.dist(own, other) + 1e-4


def test_a_margin_leans_towards_the_memory():
    own, earlier = torch.tensor([1.0, 1.0]), torch.tensor([[-1.0, 0.0]])
    assert turned(own, earlier, margin=0.5)[0] <= turned(own, earlier)[0]


def test_gem_keeps_more_than_finetune_and_so_many_samples_of_each_task():
    stream = make_stream("digits", tasks=5, subset=20)
    setting = Setting.of(stream)
    common = {"lr": 0.1, "hidden": [50]}
    gem = make_learner("gem", {**common, "memory_per_task": 10}, setting, derive(0), "cpu")
    plain = make_learner("finetune", common, setting, derive(0), "cpu")
    kept, lost = (list(iter_protocol(one, stream, seed=0))[-1] for one in (gem, plain))
    assert sum(kept.correct[:3]) > 10 * sum(lost.correct[:3])
    assert gem.stored_samples == 5 * 10
    assert gem.stored_bytes == 50 * (64 + 8)


def test_a_new_optimiser_for_each_task_needs_boundaries():
    setting = Setting(input_shape=(4,), n_classes=2, tasks=((0,), (1,)), gives_boundaries=False)
    with pytest.raises(UsageError, match="tells no boundaries"):
        make_learner("finetune", {"fresh": True}, setting, derive(0), "cpu")


def test_a_fresh_optimiser_remembers_nothing_of_earlier_tasks():
    stream = make_stream("digits", tasks=5, subset=10)
    learner = make_learner("finetune", {"fresh": True, "optimizer": "adam"}, Setting.of(stream), derive(0), "cpu")
    batch = next(stream.batches(0))
    learner.learn(batch)
    assert learner.optimiser.steps == 1
    learner.end_task()
    assert learner.optimiser.steps == 0
    before = [weight.detach().clone() for weight in learner.optimiser.parameters]
    learner.learn(batch)
    first = max(
        float((now.detach() - was).abs().max()) for now, was in zip(learner.optimiser.parameters, before, strict=True)
    )
    assert np.isclose(first, 0.1, rtol=1e-3), "Adam's first step is its learning rate"
