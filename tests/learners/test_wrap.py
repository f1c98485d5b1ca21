from __future__ import annotations

import pickle
import re
import sys

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
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


def test_small_probabilities_are_no_ties(digits):
    """Among any classes the answer is that of the joint likelihood, also where all probabilities round to 0."""
    learner = feed(wrap_sklearn(GaussianNB(), Setting.of(digits), SEEDS), digits.batches(1))
    x, _ = all_test_samples(digits)
    scores = learner.score(x)
    flat = x.reshape(len(x), -1) / np.float32(255)
    assert scores.dtype == np.float64
    for classes in ([0, 1], [2, 3], [8, 9], [0, 1, 2, 3, 4]):
        exact = learner.estimator.predict_joint_log_proba(flat)[:, classes]
        assert scores[:, classes].argmax(1).tolist() == exact.argmax(1).tolist()
    rounded = learner.estimator.predict_proba(flat).astype(np.float32)[:, [8, 9]]
    assert (rounded == 0).all(1).any()  # what was wrong: all such samples went to the first class


def test_classes_not_seen_score_below_all_others(digits):
    learner = wrap_sklearn(GaussianNB(), Setting.of(digits), SEEDS)
    learner.learn(next(digits.batches(1)))
    scores = learner.score(all_test_samples(digits)[0])
    assert not np.isnan(scores).any()
    assert (scores[:, 2:] == -np.inf).all()


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


def test_an_estimator_by_its_path(digits):
    learner = make_learner("sklearn.naive_bayes:GaussianNB", {"var_smoothing": "1e-2"}, Setting.of(digits), SEEDS)
    assert learner.estimator.var_smoothing == 0.01
    by_hand = wrap_sklearn(GaussianNB(var_smoothing=0.01), Setting.of(digits), SEEDS)
    batch = next(digits.batches(0))
    assert same(feed(learner, [batch]).score(batch.x), feed(by_hand, [batch]).score(batch.x))


def test_a_learner_in_the_current_folder(digits, tmp_path, monkeypatch):
    (tmp_path / "my_own_learner.py").write_text(
        "class Mine:\n"
        "    def __init__(self, setting, seeds):\n"
        "        self.n = setting.n_classes\n"
        "    def learn(self, batch):\n"
        "        import my_own_helper\n"
        "    def score(self, x):\n"
        "        return [[0.0] * self.n for _ in x]\n"
    )
    (tmp_path / "my_own_helper.py").touch()
    (tmp_path / "my_own_mistake.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    learner = make_learner("my_own_learner:Mine", {}, Setting.of(digits), SEEDS)
    learner.learn(None)
    assert learner.score(np.zeros((2, 64))).shape == (2, 10)
    assert sys.path[-1] == str(tmp_path)
    with pytest.raises(UsageError, match="its module stops with ZeroDivisionError"):
        make_learner("my_own_mistake:Mine", {}, Setting.of(digits), SEEDS)
    with pytest.raises(UsageError, match=f"current folder, {re.escape(str(tmp_path))}"):
        make_learner("my_own_nothing:Mine", {}, Setting.of(digits), SEEDS)


@pytest.mark.parametrize("text", ["1e-3", "1E-3", ".001", "0.001"])
def test_a_text_that_is_a_number_is_one(text, digits):
    """YAML 1.1 reads 1e-3, without a point, as a text."""
    assert make_learner("er", {"lr": text}, Setting.of(digits), SEEDS).options.lr == 0.001


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
        (lambda s: wrap_sklearn(GaussianNB, s), r"the class GaussianNB came.*GaussianNB\(\)"),
        (lambda s: wrap_sklearn(MiniBatchKMeans(), s), "A classifier was expected"),
        (lambda s: wrap_sklearn(SGDRegressor(), s), "A classifier was expected"),
        (lambda s: wrap(Prior, s), "the class Prior came"),
        (lambda s: wrap(object(), s), "lacks learn and score"),
        (lambda s: make_learner("gdump", {}, s, SEEDS), "nearest is 'gdumb'"),
        (lambda s: make_learner("no.such:Learner", {}, s, SEEDS), "Cannot import"),
        (lambda s: make_learner("er", {"memmory": 1}, s, SEEDS), "nearest is 'memory'"),
        (lambda s: make_learner("er", {"memory": 0}, s, SEEDS), "at least 1"),
        (lambda s: make_learner("er", {"memory": "many"}, s, SEEDS), "whole number"),
        (lambda s: make_learner("er", {"lr": float("nan")}, s, SEEDS), "a number"),
        (lambda s: make_learner("er", {"lr": "fast"}, s, SEEDS), "a number of at least 0; got 'fast'"),
        (lambda s: make_learner("er", {"lr": "nan"}, s, SEEDS), "a number"),
        (lambda s: make_learner("er", {"memory": "1e3"}, s, SEEDS), "whole number"),
        (lambda s: make_learner("gdumb", {"cutmix": 1.5}, s, SEEDS), "a number from 0 to 1; got 1.5"),
        (lambda s: make_learner("slda", {"shrinkage": 2}, s, SEEDS), "a number from 0 to 1; got 2"),
        (lambda s: make_learner("math:pi", {}, s, SEEDS), "'math:pi' is of the type float; a class or a function"),
        (lambda s: make_learner("math:", {}, s, SEEDS), "'package.module:name'; got 'math:'"),
        (lambda s: make_learner("math:tau2", {}, s, SEEDS), "the module math has no 'tau2'"),
        (lambda s: make_learner(f"{__name__}:Prior", {"begin": 1}, s, SEEDS), "unexpected keyword argument 'begin'"),
        (
            lambda s: make_learner(f"{__name__}:Says", {"row": 1}, s, SEEDS),
            r"is called with \(setting=..., seeds=..., row",
        ),
        (lambda s: make_learner("sklearn.cluster:KMeans", {}, s, SEEDS), "no partial_fit"),
        (lambda s: make_learner("sklearn.naive_bayes:GaussianNB", {"smooth": 1}, s, SEEDS), "'smooth'"),
        (lambda s: make_learner("er", {"optimizer": "sdg"}, s, SEEDS), "no optimiser 'sdg' here; the nearest is 'SGD'"),
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

    with pytest.raises(UsageError, match="one score per class"):
        wrap(Wrong(), Setting.of(digits)).score(np.zeros((2, 64)))


class Says(Prior):
    """Scores everything alike."""

    def __init__(self, row):
        self.row = row

    def score(self, x, task=None):
        return self.row


@pytest.mark.parametrize("row", [-1e9 + np.arange(10), 1e300 * np.arange(10), np.linspace(0, 1e-60, 10)])
def test_scores_are_not_rounded(row, digits):
    scores = wrap(Says(row[None]), Setting.of(digits)).score(np.zeros((1, 64)))
    assert scores.tolist() == [row.tolist()]


@pytest.mark.parametrize(
    "row",
    [
        torch.arange(10.0)[None],
        torch.arange(10.0, requires_grad=True)[None],
        torch.arange(10.0, dtype=torch.bfloat16)[None],
        torch.arange(10)[None],
        [list(range(10))],
        np.arange(10, dtype=np.float16)[None],
    ],
    ids=["tensor", "gradient", "bfloat16", "whole", "list", "half"],
)
def test_scores_of_any_number_type_are_taken(row, digits):
    scores = wrap(Says(row), Setting.of(digits)).score(np.zeros((1, 64)))
    assert isinstance(scores, np.ndarray)
    assert scores.dtype.kind == "f"
    assert scores.tolist() == [list(range(10))]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (np.full((1, 10), 1 + 2j), "real numbers.*complex"),
        ([["a"] * 10], "real numbers.*text"),
        ([[1, 2], [3]], "real numbers.*no array"),
        ([[None] * 10], "real numbers.*Python objects"),
        (None, "real numbers.*Python objects"),
        (["a", [2]], "real numbers.*no array"),
    ],
)
def test_scores_that_are_none_are_refused(row, message, digits):
    with pytest.raises(UsageError, match=message):
        wrap(Says(row), Setting.of(digits)).score(np.zeros((1, 64)))


def test_score_may_take_the_task_in_any_way_or_not_at_all(digits):
    class WithoutTask(Prior):
        def score(self, x):
            return np.zeros((len(x), 10))

    class ByName(Prior):
        def score(self, x, *, task=None):
            return np.zeros((len(x), 10)) + task[:, None]

    class More(Prior):
        def score(self, x, task, head):
            return None

    x, task = np.zeros((2, 64)), np.array([3, 4])
    assert wrap(WithoutTask(), Setting.of(digits)).score(x, task).sum() == 0
    assert wrap(ByName(), Setting.of(digits)).score(x, task)[:, 0].tolist() == [3, 4]
    with pytest.raises(UsageError, match=r"score\(x, task\) or score\(x\); More has score\(x, task, head\)"):
        wrap(More(), Setting.of(digits))


@pytest.mark.parametrize("name", LEARNERS)
def test_every_card_is_complete(name):
    card = LEARNERS[name]
    assert card.summary.endswith(".")
    assert all(option.meaning and option.whose for option in card.describe())
    pickle.dumps(card.defaults)
