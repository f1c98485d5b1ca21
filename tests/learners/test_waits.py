"""How often training waits for its device, counted on the CPU: to read a number out of a tensor is to wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from recollect.learners import Setting, device_memory, devices, inference, make_learner
from recollect.learners.device_memory import OnDevice
from recollect.learners.networks import MLP
from recollect.learners.replay import ExperienceReplay
from recollect.runs.seeds import derive
from recollect.streams import Batch

CLASSES, FEATURES = 4, 6


class Waits(TorchDispatchMode):
    """Counts the operations after which the processor has a number that the device had.

    `fetched` counts arrays made of tensors, which shows itself to no dispatch mode on a CPU; see `fetches`.
    """

    count = 0
    fetched = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += "_local_scalar_dense" in str(function) or "nonzero" in str(function)
        return function(*args, **(kwargs or {}))


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU stands for a device that is apart from it: memories lie there, and what is fetched is counted."""
    monkeypatch.setattr(devices, "is_apart", lambda device: True)


def fetches(waits: Waits, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cpu", "numpy", "tolist", "item"):
        method = getattr(torch.Tensor, name)

        def counted(self: torch.Tensor, *args: Any, method: Any = method, **kwargs: Any) -> Any:
            waits.fetched += method.__name__ in ("numpy", "tolist")
            return method(self, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, name, counted)


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


REPLAYED = [
    ("er", {"memory": 7}, 0),
    ("er", {"memory": 7, "separate": True, "iterations": 2}, 0),
    ("er_ace", {"memory": 7}, 0),
    ("derpp", {"memory": 7}, 0),
    ("agem", {"memory": 7}, 1),
    ("mir", {"memory": 7, "candidates": 5, "memory_batch": 3}, 1),
]


@pytest.mark.parametrize(("name", "options", "most"), REPLAYED)
def test_what_is_replayed_lies_on_the_device_and_is_not_fetched(
    name: str, options: dict[str, Any], most: int, apart: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner: Any = make_learner(name, options, setting(), derive(0), "cpu")
    first, *rest = batches(9)
    learner.learn(first)
    learner.end_task()
    assert isinstance(learner.memory.columns["x"], OnDevice)
    with Waits() as waits:
        fetches(waits, monkeypatch)
        for batch in rest:
            learner.learn(batch)
    assert waits.count + waits.fetched <= most * len(rest)


@pytest.mark.parametrize(("name", "options", "most"), REPLAYED)
def test_a_memory_on_the_device_changes_no_bit(
    name: str, options: dict[str, Any], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []
    for is_apart in (False, True):
        monkeypatch.setattr(devices, "is_apart", lambda device, is_apart=is_apart: is_apart)
        learner: Any = make_learner(name, options, setting(), derive(0), "cpu")
        for k, batch in enumerate(batches(12)):
            learner.learn(batch)
            if k == 5:
                learner.end_task()
            if k == 8:  # in another process, on another kind of device
                other: Any = make_learner(name, options, setting(), derive(1), "cpu")
                other.restore(learner.state())
                learner = other
        ends.append(learner.state())
    assert _same(*ends)


def test_a_class_of_ones_own_has_its_memory_where_numpy_reads_it(apart: None) -> None:
    class Own(ExperienceReplay):
        pass

    learner = Own(Own.Options(memory=5), setting(), derive(0), "cpu")
    learner.learn(batches(1)[0])
    assert isinstance(learner.memory.columns["x"], np.ndarray)


def test_samples_that_are_too_large_for_the_device_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    make = device_memory.Maker(torch.device("cpu"))
    like = np.zeros((1, 4), np.float32)
    assert isinstance(make("x", 5, like), OnDevice)
    monkeypatch.setattr(device_memory, "_MOST_BYTES", 79)
    assert isinstance(make("x", 5, like), np.ndarray)
    assert isinstance(make("y", 5, like), np.ndarray)


def test_deterministic_algorithms_are_an_option() -> None:
    before = torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark
    try:
        devices.choose("cpu")
        assert (torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark) == before
        for wanted in (True, False):
            devices.choose("meta", deterministic=wanted)
            assert torch.are_deterministic_algorithms_enabled() is wanted
            assert torch.backends.cudnn.benchmark is not wanted
        asked = []
        patch = pytest.MonkeyPatch()
        chosen = devices.choose
        patch.setattr(devices, "choose", lambda name, **how: (asked.append(how), chosen(name))[1])
        make_learner("finetune", {}, setting(), derive(0), "cpu")
        make_learner("finetune", {"deterministic": False}, setting(), derive(0), "cpu")
        patch.undo()
        assert asked == [{"deterministic": True}, {"deterministic": False}]
    finally:
        torch.use_deterministic_algorithms(before[0])
        torch.backends.cudnn.benchmark = before[1]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    return bool(one == other)


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
