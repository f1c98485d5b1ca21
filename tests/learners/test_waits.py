"""How often training waits for its device, counted on the CPU: to read a number out of a tensor is to wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from recollect.learners import Setting, inference, make_learner
from recollect.learners.networks import MLP
from recollect.runs.seeds import derive
from recollect.streams import Batch

CLASSES, FEATURES = 4, 6


class Waits(TorchDispatchMode):
    """Counts the operations after which the processor has a number that the device had."""

    count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += "_local_scalar_dense" in str(function) or "nonzero" in str(function)
        return function(*args, **(kwargs or {}))


def setting() -> Setting:
    return Setting(n_classes=CLASSES, input_shape=(FEATURES,), tasks=((0, 1), (2, 3)))


def batches(count: int) -> list[Batch]:
    rng = np.random.default_rng(0)
    return [
        Batch(
            x=rng.normal(size=(5, FEATURES)).astype(np.float32),
            y=rng.integers(0, CLASSES, 5),
            task=None,
            number=k,
            repeat=False,
            ends=None,
            samples_seen=5 * k,
        )
        for k in range(count)
    ]


@pytest.mark.parametrize(
    ("name", "options", "most"),
    [
        ("finetune", {}, 0),
        ("finetune", {"clip": 1.0}, 0),
        ("finetune", {"optimizer": "adam"}, 0),
        ("er", {"memory": 20}, 0),
        ("er_ace", {"memory": 20}, 0),
        ("derpp", {"memory": 20}, 0),
        ("lwf", {}, 0),
        ("ewc", {}, 0),
        ("agem", {"memory": 20}, 1),
    ],
)
def test_a_step_waits_at_most_so_often(name: str, options: dict[str, Any], most: int) -> None:
    learner = make_learner(name, options, setting(), derive(0), "cpu")
    first, *rest = batches(5)
    learner.learn(first)
    learner.end_task()
    with Waits() as waits:
        for batch in rest:
            learner.learn(batch)
    assert waits.count <= most * len(rest)


def test_a_learner_that_reads_its_loss_is_counted() -> None:
    with Waits() as waits:
        float(torch.ones(3).sum())
        bool(torch.ones(1) > 0)
    assert waits.count == 2


def test_away_from_the_host_scores_are_waited_for_once_and_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    learner: Any = make_learner("finetune", {}, setting(), derive(0), "cpu")
    x = np.random.default_rng(1).normal(size=(3000, FEATURES)).astype(np.float32)
    here = learner.score(x)
    moved = []
    cpu = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda self: (moved.append(len(self)), cpu(self))[1])
    monkeypatch.setattr(inference, "on_host", lambda network: False)
    assert np.array_equal(learner.score(x), here)
    assert moved == [3000]
    assert learner.score(x[:0]).shape == (0, CLASSES)
    assert isinstance(learner.network, MLP)
