from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from recollect.errors import UsageError
from recollect.learners.detection.coders import dense
from recollect.learners.detection.names import LAYERS, parse
from recollect.learners.detection.standard import RunningScale
from recollect.learners.detection.torch_detectors import VariationalNetwork, make_network

from .helpers import SEEDS, batches, concepts, feed, new, test_rows

DETECTORS = [
    {"autoencoder": {"hidden": [16, 1], "epochs": 15, "lr": 0.01}},
    {"vae": {"hidden": [16, 1], "epochs": 15, "lr": 0.01}},
]


def make(value, features=4):
    return make_network(parse(value), features, SEEDS, 0.1, "cpu")


def line(count: int, seed: int) -> np.ndarray:
    """Samples near a line in four dimensions, away from the origin."""
    rng = np.random.default_rng(seed)
    return 3 + rng.normal(size=(count, 1)) @ np.array([[1.0, -1, 2, 0.5]]) + 0.1 * rng.normal(size=(count, 4))


@pytest.mark.parametrize("value", DETECTORS)
def test_it_learns(value):
    detector, rows = make(value), line(300, 0)
    before = detector.score(rows).mean()
    detector.update(rows)
    assert detector.score(rows).mean() < before / 3
    x = np.concatenate([line(200, 1), line(200, 2) + np.random.default_rng(3).normal(size=(200, 4))])
    assert roc_auc_score(np.repeat([0, 1], 200), detector.score(x)) > 0.9
    assert (detector.score(rows) > detector.threshold).sum() == 30


@pytest.mark.parametrize("value", DETECTORS)
def test_two_blobs(value):
    rng = np.random.default_rng(0)
    normal, odd = rng.normal(0, 1, (400, 4)), rng.normal(4, 1, (100, 4))
    learner = feed(new("naive", detector=value), batches([normal[:300]]))
    x = np.concatenate([normal[300:], odd])
    assert roc_auc_score(np.repeat([0, 1], 100), learner.score(x)) > 0.9


def test_fit_forgets_and_update_goes_on():
    fitted, updated, fresh = (make({"autoencoder": {"standardise": True}}) for _ in range(3))
    one, two, *_ = concepts()
    fitted.update(one)
    fitted.fit(two)
    fresh.update(two)
    updated.update(one)
    updated.update(two)
    np.testing.assert_array_equal(fitted.score(one), fresh.score(one))
    assert not np.array_equal(updated.score(one), fresh.score(one))
    assert updated.scale.count == 120


def test_cumulative_trains_a_new_network_on_everything():
    learner = feed(new("cumulative", detector="autoencoder"), batches(concepts()))
    fresh = make("autoencoder")
    fresh.fit(np.concatenate(concepts()))
    np.testing.assert_array_equal(learner.score(test_rows()), fresh.score(test_rows()))


def test_one_update_by_hand():
    """One mini-batch: a step of Adam, which from rest moves every weight by its rate against the gradient."""
    detector, rows = make({"autoencoder": {"batch": 100, "lr": 0.01}}), concepts()[0]
    network = detector.network
    x = torch.from_numpy(rows.astype(np.float32))
    weights = list(network.parameters())
    old = [weight.detach().clone() for weight in weights]
    gradients = torch.autograd.grad((network.decoder(network.encoder(x)) - x).square().mean(), weights)
    detector.update(rows)
    for before, now, gradient in zip(old, weights, gradients, strict=True):
        torch.testing.assert_close(now, before - 0.01 * gradient / (gradient.abs() + 1e-8), atol=2e-6, rtol=1e-4)


def test_the_negative_elbo_by_hand():
    with torch.random.fork_rng():
        network = VariationalNetwork(*dense(3, (5, 2), 2), 2, beta=0.5)
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    mean, log_variance = network.encoder(x)[:, :2], network.encoder(x)[:, 2:]
    code = torch.distributions.Normal(mean, torch.exp(log_variance / 2))
    prior = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    noise = torch.ones(4, 2)
    outputs = network.decoder(mean + noise * code.stddev)
    likelihood = torch.distributions.Normal(outputs, 1.0).log_prob(x) + 0.5 * np.log(2 * np.pi)
    expected = -likelihood.sum(1) + 0.5 * torch.distributions.kl_divergence(code, prior).sum(1)
    torch.testing.assert_close(network.losses(x, noise)[0], expected)
    torch.testing.assert_close(network.losses(x)[1], network.decoder(mean))


def test_a_running_scale_is_that_of_all_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal([5, -3e6, 0, 7], [1, 2, 1e-3, 0], (500, 4))
    scale = RunningScale(4)
    for part in np.split(rows, [1, 90, 91, 333]):
        scale.add(part)
    np.testing.assert_allclose(scale.mean, rows.mean(0), rtol=1e-12)
    np.testing.assert_allclose(scale.deviation[:3], rows.std(0)[:3], rtol=1e-6)
    assert scale.deviation[3] == 1


def test_ewc_penalty_by_hand():
    learner = new("ewc_detector", strength=6.0, decay=0.5, samples=7, detector={"autoencoder": {"hidden": [3]}})
    units = concepts()
    expected = None
    for k, unit in enumerate(units[:2]):
        feed(learner, batches([unit]))
        network, weights = learner.detector.network, learner.detector.optimiser.parameters
        from recollect.learners.randomness import sub_seed

        chosen = np.random.default_rng(sub_seed(SEEDS.learner, "sample", k)).permutation(60)[:7]
        found = [torch.zeros_like(weight) for weight in weights]
        for row in unit[chosen].astype(np.float32):
            x = torch.from_numpy(row)[None]
            gradients = torch.autograd.grad((network.decoder(network.encoder(x)) - x).square().mean(), weights)
            found = [total + gradient**2 / 7 for total, gradient in zip(found, gradients, strict=True)]
        expected = found if expected is None else [0.5 * old + new for old, new in zip(expected, found, strict=True)]
    for ours, theirs in zip(learner.anchor.importance, expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert learner.penalty().item() == 0
    with torch.no_grad():
        weights[0] += 0.25
    assert learner.penalty().item() == pytest.approx(6.0 / 2 * 0.0625 * expected[0].sum().item(), rel=1e-4)
    assert learner.stored_bytes == 2 * learner.detector.stored_bytes


def test_ewc_holds_on_and_without_strength_is_naive():
    some, x = list(batches(concepts())), concepts()[0]
    options = {"detector": {"autoencoder": {"epochs": 5, "lr": 0.01}}}
    naive = feed(new("naive", **options), some)
    none = feed(new("ewc_detector", strength=0.0, **options), some)
    held = feed(new("ewc_detector", strength=1e5, **options), some)
    np.testing.assert_array_equal(naive.score(x), none.score(x))
    assert held.score(x).mean() < naive.score(x).mean()


def test_lwf_stays_near_its_teacher_and_without_strength_is_naive():
    some, x = list(batches(concepts())), concepts()[2]
    options = {"detector": {"vae": {"epochs": 3, "lr": 0.01}}}
    naive = feed(new("naive", **options), some)
    none = feed(new("lwf_detector", strength=0.0, **options), some)
    np.testing.assert_array_equal(naive.score(x), none.score(x))
    far, near = (feed(new("lwf_detector", strength=s, **options), some[:2]) for s in (0.0, 100.0))
    moved = []
    for learner in (far, near):
        teacher, inputs = copy.deepcopy(learner.teacher.network), learner.detector.inputs(x)
        feed(learner, some[2:])
        moved.append((learner.detector.network.losses(inputs)[1] - teacher.losses(inputs)[1]).square().mean().item())
    assert moved[1] < moved[0] / 4


def test_lwf_distance_by_hand():
    learner = feed(new("lwf_detector", strength=3.0), batches(concepts()[:1]))
    inputs, outputs = torch.arange(20.0).reshape(5, 4) / 10, torch.zeros(5, 4)
    wanted = learner.teacher.network.decoder(learner.teacher.network.encoder(inputs))
    assert learner.distance(inputs, outputs).item() == pytest.approx(3 * wanted.square().mean().item(), rel=1e-6)


def waves(count: int, seed: int, turned: bool = False) -> np.ndarray:
    """Windows of 8 rows of two sensors, the newest first: a wave and its double; turned: the second runs backwards."""
    rng = np.random.default_rng(seed)
    time = rng.uniform(0, 6, (count, 1)) + 0.5 * np.arange(8)
    pair = np.stack([np.sin(time), 2 * np.sin(time[:, ::-1] if turned else time)], axis=2)
    return (pair + 0.05 * rng.normal(size=pair.shape))[:, ::-1].reshape(count, 16)


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("kind", ["autoencoder", "vae"])
def test_windows_are_learned_as_sequences(layers, kind):
    parameters = {"window": 8, "hidden": [24, 4], "epochs": 12, "lr": 0.02, **({"beta": 0.01} if kind == "vae" else {})}
    detector, rows = make({f"{layers}_{kind}": parameters}, 16), waves(200, 0)
    before = detector.score(rows).mean()
    detector.update(rows)
    assert detector.score(rows).mean() < before / 2
    x = np.concatenate([waves(150, 1), waves(150, 2, turned=True)])
    assert roc_auc_score(np.repeat([0, 1], 150), detector.score(x)) > 0.9
    again = make({f"{layers}_{kind}": parameters}, 16)
    again.restore(copy.deepcopy(detector.state()))
    for one in (detector, again):
        one.update(waves(50, 3))
    np.testing.assert_array_equal(again.score(x), detector.score(x))


def test_a_sequence_begins_with_the_oldest_row():
    """The code of a recurrent encoder changes most with the newest row, which is the first of a flat sample."""
    detector = make({"gru_autoencoder": {"window": 8}}, 16)
    x = torch.zeros(1, 16)
    code = detector.network.encoder(x)
    moved = []
    for first in (0, 14):
        other = x.clone()
        other[0, first : first + 2] = 1.0
        moved.append(float((detector.network.encoder(other) - code).detach().abs().sum()))
    assert moved[0] > 3 * moved[1]


def test_windows_that_do_not_fit_are_one_sentence():
    with pytest.raises(UsageError, match=r"A window of 5 rows has a multiple of 5 values; .* have 16"):
        make({"lstm_autoencoder": {"window": 5}}, 16)
    with pytest.raises(UsageError, match=r"two, \[hidden, code\]; got \[4\]"):
        make({"tcn_autoencoder": {"window": 8, "hidden": [4]}}, 16)
