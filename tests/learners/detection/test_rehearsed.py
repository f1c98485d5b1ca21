"""DER++ and A-GEM for detectors, networks and memories of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from recollect.errors import UsageError
from recollect.learners import Setting, make_learner
from recollect.protocol import iter_run, run_protocol
from recollect.runs.seeds import derive
from recollect.streams import Batch, Stream, stream_from_concepts

SMALL = {"autoencoder": {"hidden": [6, 2], "lr": 0.01, "epochs": 3, "batch": 16}}


def make_stream() -> Stream:
    rng = np.random.default_rng(3)
    parts = []
    for k in range(3):
        direction = rng.normal(size=4)
        train = rng.normal(size=(64, 1)) * direction + 0.05 * rng.normal(size=(64, 4))
        test = np.concatenate([rng.normal(size=(20, 1)) * direction, rng.normal(size=(8, 4)) * 2])
        parts.append((f"c{k}", train, test, [0] * 20 + [1] * 8))
    return stream_from_concepts(parts)


def learner(name: str, options: dict[str, Any], stream: Stream) -> Any:
    return make_learner(name, {"detector": SMALL, **options}, Setting.of(stream), derive(0), "cpu")


def learned(name: str, options: dict[str, Any], stream: Stream) -> Any:
    made = learner(name, options, stream)
    for batch in stream.batches(seed=0):
        made.learn(batch)
        made.end_task()
    return made


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("derpp_detector", {"detector": {"autoencoder": {**SMALL["autoencoder"], "standardise": True}}}),
        ("derpp_detector", {"detector": {"vae": {"hidden": [6, 2]}}}),
        ("agem_detector", {"memory": 40}),
        ("replay", {"only": True, "memory": 30, "keep": "balanced"}),
    ],
)
def test_a_killed_run_goes_on_bit_for_bit(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    stream = make_stream()
    run_protocol(learner(name, options, stream), stream, tmp_path / "whole", name=name)
    broken = iter_run(learner(name, options, stream), stream, tmp_path / "broken", name=name)
    for _ in range(3):
        next(broken)
    broken.close()
    run_protocol(learner(name, options, stream), stream, tmp_path / "broken", name=name)
    whole, again = ((tmp_path / which / "rows.jsonl").read_bytes() for which in ("whole", "broken"))
    assert whole == again


def test_the_first_concept_is_kept_better_than_by_naive() -> None:
    stream = make_stream()
    naive = learned("naive", {}, stream)
    x = stream.data.train.take(stream.tasks[0].train)
    kept = learned("derpp_detector", {"beta": 5.0}, stream)
    assert kept.score(x).mean() < naive.score(x).mean()
    projected = learned("agem_detector", {}, stream)
    assert projected.score(x).mean() < naive.score(x).mean()


def test_what_der_stores_is_what_the_network_gave_then() -> None:
    stream = make_stream()
    made = learner("derpp_detector", {"memory": 1000}, stream)
    first = next(stream.batches(seed=0))
    made.learn(first)
    made.end_task()
    rows, stored = np.split(made.memory.x, 2, axis=1)
    with torch.no_grad():
        wanted = made.detector.network.losses(torch.from_numpy(rows.astype(np.float32)))[1].numpy()
    assert np.allclose(stored, wanted, atol=1e-6)
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, first.x.tolist()))


def test_a_projected_step_does_not_raise_the_loss_of_the_memory() -> None:
    stream = make_stream()
    made = learned("agem_detector", {}, stream)
    weights = made.detector.optimiser.parameters
    taken: list[Any] = []
    made.detector.optimiser.apply = taken.append
    rows = made.memory.x[:16]
    made._drawn = lambda: rows
    memory = made.detector.network.losses(made.detector.inputs(rows))[0].mean()
    against = torch.autograd.grad(-memory, weights, retain_graph=True)
    made.turn(-made.detector.network.losses(made.detector.inputs(rows))[0].mean())
    product = sum(float((step * gradient).sum()) for step, gradient in zip(taken[0], against, strict=True))
    assert abs(product) < 1e-4 * sum(float(g.square().sum()) for g in against)


class Tied(nn.Module):
    """A network whose decoder is its encoder turned round."""

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(0.3 * torch.randn(n_features, 2))

    def forward(self, x: Any) -> Any:
        return x @ self.weight @ self.weight.t()


class Energy(Tied):
    def losses(self, x: Any) -> Any:
        outputs = self(x)
        return (outputs - x).abs().sum(1), outputs


def encoder(n_features: int) -> nn.Module:
    return nn.Linear(n_features, 2)


def decoder(n_features: int) -> nn.Module:
    return nn.Linear(2, n_features)


@pytest.mark.parametrize("name", ["naive", "ewc_detector", "lwf_detector", "derpp_detector", "agem_detector"])
@pytest.mark.parametrize("own", [{"network": Tied}, {"network": Energy}, {"encoder": encoder, "decoder": decoder}])
def test_networks_of_the_users_own_work_under_every_strategy(name: str, own: dict[str, Any]) -> None:
    stream = make_stream()
    made = learned(name, {"detector": {"autoencoder": {**own, "epochs": 20, "lr": 0.02}}}, stream)
    x, labels = stream.test_of(2)
    scores = made.score(x)
    assert scores[labels == 1].mean() > scores[labels == 0].mean()
    again = learner(name, {"detector": {"autoencoder": {**own, "epochs": 20, "lr": 0.02}}}, stream)
    again.restore(made.state())
    assert np.array_equal(again.score(x), scores)


def choose_far(rows: Any, units: Any, memory: int, rng: np.random.Generator) -> Any:
    return np.argsort(-np.abs(rows).sum(1), kind="stable")[:memory]


def test_a_memory_of_the_users_own() -> None:
    stream = make_stream()
    made = learned("replay", {"detector": "IsolationForest", "memory": 10, "keep": choose_far}, stream)
    rows = np.concatenate([batch.x for batch in stream.batches(seed=0)])
    largest = np.sort(np.abs(rows).sum(1))[-10:]
    assert np.array_equal(np.sort(np.abs(made.memory.x).sum(1)), largest)
    assert made.stored_samples == 10
    again = learner("replay", {"detector": "IsolationForest", "memory": 10, "keep": choose_far}, stream)
    again.restore(made.state())
    assert np.array_equal(again.memory.x, made.memory.x)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("replay", {"keep": "reservoire"}, "'keep' is reservoir or balanced, or a function"),
        ("derpp_detector", {"detector": "IForest"}, "autoencoder: {network"),
        ("naive", {"detector": {"autoencoder": {"encoder": encoder}}}, "comes with a decoder"),
        ("naive", {"detector": {"vae": {"network": Tied}}}, "'autoencoder' alone"),
        ("naive", {"detector": {"autoencoder": {"network": lambda n: 3}}}, "is a torch module"),
        ("naive", {"detector": {"autoencoder": {"network": lambda: 3}}}, "number of features"),
    ],
)
def test_mistakes_are_told(name: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        learner(name, options, make_stream())


def test_a_network_of_another_shape_and_a_bad_choice_are_told() -> None:
    stream = make_stream()
    with pytest.raises(UsageError, match="gives back samples of"):
        learned("naive", {"detector": {"autoencoder": {"network": encoder}}}, stream)
    for bad in (lambda *_: [0, 0], lambda *_: [99999], lambda *_: "all", lambda rows, *_: np.arange(len(rows))):
        with pytest.raises(UsageError, match="different places"):
            learned("replay", {"detector": "IsolationForest", "memory": 10, "keep": bad}, stream)
    assert isinstance(next(stream.batches(seed=0)), Batch)
