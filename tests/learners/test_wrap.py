from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB

from recollect.errors import UsageError
from recollect.learners import LEARNERS, Learner, Setting, make_learner, wrap, wrap_sklearn

from .helpers import SEEDS, all_test_samples, feed, same, through_disk


@pytest.mark.parametrize("make", [SGDClassifier, GaussianNB, Perceptron])
def test_an_estimator_is_a_learner(make, digits):
    setting = Setting.of(digits)
    learner = wrap_sklearn(make(), setting, SEEDS)
    assert isinstance(learner, Learner)
    batches = list(digits.batches(1))
    x, y = all_test_samples(digits)
    assert learner.score(x).shape == (len(x), 10)
    feed(learner, batches[:60])
    fresh = wrap(make(), setting, SEEDS)
    fresh.restore(through_disk(learner.state()))
    feed(learner, batches[60:])
    feed(fresh, batches[60:])
    assert same(learner.score(x), fresh.score(x))
    assert (learner.score(x).argmax(1) == y).mean() > 0.15


def test_gaussian_nb_hardly_forgets(digits):
    x, y = all_test_samples(digits)
    learner = feed(wrap_sklearn(GaussianNB(var_smoothing=0.01), Setting.of(digits), SEEDS), digits.batches(1))
    assert (learner.score(x).argmax(1) == y).mean() > 0.8


def test_two_classes_have_two_scores():
    setting = Setting((2,), 2, ((0, 1),))
    learner = wrap_sklearn(SGDClassifier(random_state=0), setting)
    x = np.array([[0, 1], [1, 0]], np.float32)
    learner.estimator.partial_fit(x, [0, 1], classes=[0, 1])
    learner._is_fitted = True
    scores = learner.score(x)
    assert scores.shape == (2, 2)
    assert scores.argmax(1).tolist() == [0, 1]


class Prior:
    """The smallest learner: counts labels."""

    def __init__(self, setting=None, seeds=None, start=0):
        self.counts = np.full(10, float(start))

    def learn(self, batch):
        self.counts += np.bincount(batch.y, minlength=10)

    def score(self, x, task=None):
        return np.tile(self.counts, (len(x), 1))


def test_any_object_is_a_learner(digits):
    setting = Setting.of(digits)
    learner = wrap(Prior(), setting)
    assert isinstance(learner, Learner)
    batches = list(digits.batches(1))
    feed(learner, batches[:5])
    fresh = wrap(Prior(), setting)
    fresh.restore(through_disk(learner.state()))
    assert fresh.score(batches[0].x).tolist() == learner.score(batches[0].x).tolist()
    assert learner.score(batches[0].x)[0].sum() == sum(len(b.y) for b in batches[:5])


def test_a_learner_by_its_path(digits):
    learner = make_learner(f"{__name__}:Prior", {"start": 2}, Setting.of(digits), SEEDS)
    assert learner.score(np.zeros((1, 64)))[0].tolist() == [2.0] * 10


def test_a_checkpoint_cannot_call_what_it_likes(digits):
    learner = wrap(Prior(), Setting.of(digits))
    for evil in (b"cos\nsystem\n(S'true'\ntR.", b"cnumpy.testing._private.utils\nrunstring\n(S'1'\n}tR."):
        with pytest.raises(UsageError, match="no part of the learner"):
            learner.restore({"pickled": evil})


def test_what_cannot_be_saved_says_so(digits):
    thing = Prior()
    thing.hook = lambda: None
    with pytest.raises(UsageError, match="state\\(\\) and"):
        wrap(thing, Setting.of(digits)).state()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: wrap_sklearn(KMeans(), s), "no partial_fit"),
        (lambda s: wrap(object(), s), "lacks learn and score"),
        (lambda s: make_learner("gdump", {}, s, SEEDS), "nearest is 'gdumb'"),
        (lambda s: make_learner("no.such:Learner", {}, s, SEEDS), "Cannot import"),
        (lambda s: make_learner("er", {"memmory": 1}, s, SEEDS), "nearest is 'memory'"),
        (lambda s: make_learner("er", {"memory": 0}, s, SEEDS), "at least 1"),
        (lambda s: make_learner("er", {"memory": "many"}, s, SEEDS), "whole number"),
        (lambda s: make_learner("er", {"lr": float("nan")}, s, SEEDS), "a number"),
        (lambda s: make_learner("er", {"optimizer": "sdg"}, s, SEEDS), "one of sgd, adam"),
        (lambda s: make_learner("er", {"separate": 1}, s, SEEDS), "true or false"),
        (lambda s: make_learner("er", {"hidden": [0]}, s, SEEDS), "layer widths"),
        (lambda s: make_learner("random", {"memory": 1}, s, SEEDS), "it has none"),
    ],
)
def test_errors_say_what_to_do(make, message, digits):
    with pytest.raises(UsageError, match=message):
        make(Setting.of(digits))


def test_wrong_score_shapes_are_found(digits):
    class Wrong(Prior):
        def score(self, x, task=None):
            return np.zeros(len(x))

    with pytest.raises(UsageError, match="one score a class"):
        wrap(Wrong(), Setting.of(digits)).score(np.zeros((2, 64)))


@pytest.mark.parametrize("name", LEARNERS)
def test_every_card_is_complete(name):
    card = LEARNERS[name]
    assert card.summary.endswith(".")
    assert all(option.meaning and option.whose for option in card.describe())
    pickle.dumps(card.defaults)
