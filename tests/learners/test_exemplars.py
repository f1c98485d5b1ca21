"""iCaRL, SCR and RanPAC against their definitions, written slowly or by another library."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from torch import nn
from torch.nn import functional as F

from recollect.errors import UsageError
from recollect.learners.icarl import Exemplars, herd
from recollect.learners.ranpac import _RIDGES
from recollect.learners.scr import contrast

from .helpers import all_test_samples, feed, new


def test_the_contrastive_loss_is_that_of_the_paper():
    rng = torch.Generator().manual_seed(0)
    z = F.normalize(torch.randn(12, 5, generator=rng), dim=1)
    y = torch.tensor([0, 0, 1, 1, 2, 2] * 2)
    slow = 0.0
    for i in range(12):
        others = [a for a in range(12) if a != i]
        below = sum(torch.exp(z[i] @ z[a] / 0.2) for a in others)
        positives = [p for p in others if y[p] == y[i]]
        slow -= sum(torch.log(torch.exp(z[i] @ z[p] / 0.2) / below) for p in positives) / len(positives)
    assert contrast(z, y, 0.2).item() == pytest.approx(slow.item() / 12, rel=1e-5)


def test_herding_adds_whatever_keeps_the_mean_nearest():
    features = np.random.default_rng(0).normal(size=(30, 4))
    chosen: list[int] = []
    for _ in range(12):
        rest = [k for k in range(30) if k not in chosen]
        gaps = [np.linalg.norm(features.mean(0) - features[[*chosen, k]].mean(0)) for k in rest]
        chosen.append(rest[int(np.argmin(gaps))])
    assert herd(features, 12).tolist() == chosen
    assert sorted(herd(features, 99).tolist()) == list(range(30))


def test_exemplars_share_the_memory_and_the_first_stay():
    held = Exemplars(10)
    held.take({0: np.arange(100, 150)})
    held.take({1: np.arange(200, 250), 2: np.arange(300, 302)})
    assert {label: rows.tolist() for label, rows in held.rows.items()} == {
        0: [100, 101, 102],
        1: [200, 201, 202],
        2: [300, 301],
    }


def test_icarl_answers_by_its_exemplars_and_keeps_no_more_than_it_says(digits):
    learner = new("icarl", digits, memory=50)
    feed(learner, digits.batches(0))
    assert learner.stored_samples == len(learner.memory) == 50
    assert learner.seen.all()
    x, _ = all_test_samples(digits)
    assert (learner.score(x).argmax(1) == centroid(learner, learner.memory.rows, x)).all()


def test_scr_answers_by_its_memory_and_trains_its_projection(digits):
    learner = new("scr", digits, memory=50, memory_batch=20)
    before = learner.projection[0].weight.detach().clone()
    feed(learner, digits.batches(0))
    assert not torch.equal(before, learner.projection[0].weight)
    held = {int(label): learner.memory.x[learner.memory.y == label] for label in np.unique(learner.memory.y)}
    x, _ = all_test_samples(digits)
    assert (learner.score(x).argmax(1) == centroid(learner, held, x)).all()


def centroid(learner, held, x):
    """Nearest of the means at length 1, by scikit-learn."""

    def unit(rows):
        with torch.no_grad():
            return F.normalize(learner.network.features(learner.inputs.tensor(rows)).double(), dim=1).numpy()

    means = np.stack([unit(rows).mean(0) for rows in held.values()])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return KNeighborsClassifier(1).fit(means, list(held)).predict(unit(x))


def test_icarls_loss_asks_the_label_of_new_classes_and_the_teacher_of_old_ones(digits):
    learner = new("icarl", digits, memory=50)
    batches = list(digits.batches(0))
    first = next(k for k, batch in enumerate(batches) if batch.ends is not None)
    feed(learner, batches[: first + 4])
    x, y = batches[first + 1].x, batches[first + 1].y
    inputs = learner.inputs.tensor(x)
    outputs = learner.network(inputs)
    taught = torch.sigmoid(learner.teacher.network(inputs))
    slow = torch.zeros(len(y))
    for k in range(len(y)):
        for label in np.flatnonzero(learner.seen).tolist():
            wanted = taught[k, label] if label in learner.memory.rows else torch.tensor(float(y[k] == label))
            slow[k] += F.binary_cross_entropy(torch.sigmoid(outputs[k, label]), wanted)
    found = learner._loss(outputs, inputs, learner.labels(y))
    assert found.item() == pytest.approx(slow.mean().item(), rel=1e-4)


@pytest.mark.parametrize("ridge", [0.01, 10.0])
def test_ranpac_is_ridge_regression_on_what_it_has_seen(digits, ridge):
    learner = new("ranpac", digits, projection=60, ridge=ridge)
    batches = list(digits.batches(0))
    feed(learner, batches)
    x = np.concatenate([batch.x for batch in batches])
    y = np.concatenate([batch.y for batch in batches])
    there = Ridge(alpha=ridge, fit_intercept=False).fit(learner._hidden(x), np.eye(10)[y])
    tests, _ = all_test_samples(digits)
    assert learner.score(tests) == pytest.approx(there.predict(learner._hidden(tests)), abs=1e-4)


def test_ranpac_chooses_the_ridge_on_samples_held_back(digits):
    learner = new("ranpac", digits, projection=300)
    batches = list(digits.batches(0))
    feed(learner, batches)
    x = np.concatenate([batch.x for batch in batches])
    y = np.concatenate([batch.y for batch in batches])
    held = np.arange(len(y)) % 5 == 4
    errors = []
    for ridge in _RIDGES:
        there = Ridge(alpha=ridge, fit_intercept=False).fit(learner._hidden(x[~held]), np.eye(10)[y[~held]])
        errors.append(((there.predict(learner._hidden(x[held])) - np.eye(10)[y[held]]) ** 2).sum())
    assert learner.ridge() == _RIDGES[int(np.argmin(errors))]
    assert learner.stored_samples == 0


def test_scr_refuses_a_network_without_features(digits):
    with pytest.raises(UsageError, match="give the network a method `features"):
        new("scr", digits, network=lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 10)))


@pytest.mark.parametrize(("name", "options"), [("icarl", {"memory": 60}), ("scr", {"memory": 60, "memory_batch": 30})])
def test_they_forget_less_than_finetune(name, options, digits):
    x, y = all_test_samples(digits)
    found = {}
    for which, given in (("finetune", {}), (name, options)):
        scores = feed(new(which, digits, **given), digits.batches(0)).score(x)
        found[which] = (scores.argmax(1) == y).mean()
    assert found[name] > found["finetune"] + 0.2
