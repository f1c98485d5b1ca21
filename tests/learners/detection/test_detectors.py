from __future__ import annotations

import sys

import numpy as np
import pytest
from pyod.models.copod import COPOD
from pyod.models.iforest import IForest
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from pyod.models.ocsvm import OCSVM
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from recollect.errors import MissingExtra, UsageError
from recollect.learners import wrap_detector
from recollect.learners.detection import names
from recollect.learners.detection.detectors import make_detector

from ..helpers import same, through_disk
from .helpers import SEEDS, batches, concepts, feed, new, setting, test_rows


def make(value, contamination=0.1):
    return make_detector(names.parse(value), 4, SEEDS, contamination, "cpu")


SKLEARN = {
    "IsolationForest": IsolationForest(random_state=SEEDS.learner),
    "LocalOutlierFactor": LocalOutlierFactor(novelty=True),
    "OneClassSVM": OneClassSVM(),
    "EllipticEnvelope": EllipticEnvelope(random_state=SEEDS.learner),
    "SGDOneClassSVM": SGDOneClassSVM(random_state=SEEDS.learner),
}


@pytest.mark.parametrize("name", SKLEARN)
def test_sklearn_scores_have_their_sign_changed(name):
    detector, rows, x = make(name), concepts()[0], test_rows()
    detector.fit(rows)
    outside = np.random.get_state()  # noqa: NPY002
    model = SKLEARN[name].fit(rows)
    np.random.set_state(outside)  # noqa: NPY002  SGDOneClassSVM by itself draws from it
    np.testing.assert_array_equal(detector.score(x), -model.score_samples(x))
    training = -(model.negative_outlier_factor_ if name == "LocalOutlierFactor" else model.score_samples(rows))
    assert detector.threshold == np.percentile(training, 90)


@pytest.mark.parametrize(
    ("value", "model"),
    [
        ({"LOF": {"n_neighbors": 5}}, LOF(n_neighbors=5)),
        ("pyod:KNN", KNN()),
        ({"OCSVM": {"nu": 0.2}}, OCSVM(nu=0.2)),
        ({"IForest": {"n_estimators": 10, "random_state": 7}}, IForest(n_estimators=10, random_state=7)),
        ({"COPOD": {"contamination": 0.2}}, COPOD(contamination=0.2)),
    ],
)
def test_pyod_models_with_their_parameters(value, model):
    detector, rows, x = make(value), concepts()[1], test_rows()
    detector.fit(rows)
    model.fit(rows)
    np.testing.assert_array_equal(detector.score(x), model.decision_function(x))
    assert detector.threshold == model.threshold_


@pytest.mark.parametrize("name", ["ECOD", "COPOD", "IForest", "LODA", "IsolationForest"])
def test_fitted_again_it_is_the_same(name):
    """Models that draw from numpy's global generator (LODA) too; and nothing of an earlier fit is left."""
    once, twice, x = make(name), make(name), test_rows()
    twice.fit(concepts()[1])
    twice.score(x)
    for detector in (once, twice):
        detector.fit(concepts()[0])
    np.testing.assert_array_equal(once.score(x), twice.score(x))
    assert once.threshold == twice.threshold


def test_a_second_fit_of_one_ecod_would_leave_a_wrong_threshold():
    """Why every fit is one of a new model: PyOD's ECOD compares its new training data with the old."""
    from pyod.models.ecod import ECOD

    reused, detector = ECOD(), make("ECOD")
    for rows in concepts():
        reused.fit(rows)
        detector.fit(rows)
    np.testing.assert_array_equal(reused.decision_function(test_rows()), detector.score(test_rows()))
    assert reused.threshold_ != detector.threshold


def test_constant_columns_are_no_matter():
    rows = concepts()[0]
    rows[:, 2] = 1.0
    for name in ("ECOD", "COPOD", "IForest", "KNN"):
        detector = make(name)
        detector.fit(rows)
        assert np.isfinite(detector.score(test_rows())).all()


@pytest.mark.parametrize("name", ["LOF", "KNN", "LocalOutlierFactor"])
def test_fewer_rows_than_neighbours(name):
    learner = feed(new("naive", detector=name), batches([concepts()[0][:4]]))
    reference = LOF(n_neighbors=3) if name != "KNN" else KNN(n_neighbors=3)
    reference.fit(concepts()[0][:4])
    np.testing.assert_allclose(learner.score(test_rows()), reference.decision_function(test_rows()), rtol=1e-12)
    assert f"{name} was fitted on 4 rows" in learner.notes[0]


def test_a_fit_that_fails_says_what_of():
    learner = feed(new("naive", detector="LOF"), batches([concepts()[0][:1]]))
    with pytest.raises(UsageError, match=r"The detector LOF cannot learn 1 rows of 4 features: .* more rows"):
        learner.score(test_rows())


class Distance:
    """The smallest detector: how far from the mean."""

    def __init__(self, power=1):
        self.power = power

    def fit(self, x):
        assert not hasattr(self, "mean"), "fitted twice"
        self.mean = x.mean(0)

    def decision_function(self, x):
        return (np.abs(x - self.mean) ** self.power).sum(1)


class Online(Distance):
    count = 0
    mean = 0.0

    def partial_fit(self, x):
        self.mean = (self.mean * self.count + x.sum(0)) / (self.count + len(x))
        self.count += len(x)


@pytest.mark.parametrize("thing", [Distance(2), Distance, {f"{__name__}:Distance": {"power": 3}}])
def test_a_detector_of_ones_own(thing):
    power = 2 if isinstance(thing, Distance) else 3 if isinstance(thing, dict) else 1
    units, x = concepts(), test_rows()
    learner = feed(wrap_detector(thing, setting(), SEEDS, "cumulative", contamination=0.5), batches(units))
    rows = np.concatenate(units)
    expected = (np.abs(x - rows.mean(0)) ** power).sum(1)
    np.testing.assert_allclose(learner.score(x), expected)
    assert learner.flagged(learner.score(rows)).sum() == 90


def test_objects_of_pyod_and_sklearn_are_copied():
    given = [LOF(n_neighbors=7), IsolationForest(n_estimators=10)]
    for model in given:
        learner = feed(wrap_detector(model, setting(), SEEDS), batches(concepts()))
        assert np.isfinite(learner.score(test_rows())).all()
        assert not hasattr(model, "detector_")
        assert not hasattr(model, "estimators_")
    assert learner.lazy.detector._model.random_state == SEEDS.learner


@pytest.mark.parametrize("detector", [Online(), "SGDOneClassSVM"])
def test_a_detector_that_can_be_updated_is(detector):
    units, x = concepts(), test_rows()
    learner = feed(new("naive", detector=detector), batches(units[:2]))
    restored = new("naive", detector=detector)
    restored.restore(through_disk(learner.state()))
    for one in (learner, restored):
        feed(one, batches(units[2:]))
    assert same(learner.score(x), restored.score(x))
    assert learner.stored_samples == 0
    if isinstance(detector, Online):
        np.testing.assert_allclose(learner.score(x), np.abs(x - np.concatenate(units).mean(0)).sum(1))
        assert detector.count == 0


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("naive", {"detector": "iforest"}, "nearest is 'IForest'"),
        ("naive", {"detector": "IsolationForrest"}, "nearest is 'IsolationForest'"),
        ("naive", {"detector": "sklearn:LOF"}, "nearest is 'LocalOutlierFactor'"),
        ("naive", {"detector": {"LOF": {"n_neighbours": 3}}}, "no parameter 'n_neighbours'; the nearest is 'n_neighb"),
        ("naive", {"detector": {"LOF": {}, "KNN": {}}}, "got 2 names: LOF, KNN"),
        ("naive", {"detector": {"LOF": 3}}, "are written {name: value"),
        ("naive", {"detector": 3}, "A detector is a name"),
        ("naive", {"detector": "no.such:Model"}, "Cannot import the detector 'no.such:Model'"),
        ("naive", {"detector": "collections:OrderedDict"}, "has none of these pairs"),
        ("naive", {"detector": {"IForest": {"contamination": 0.9}}}, "cannot be made with"),
        ("naive", {"detector": {"autoencoder": {"epoch": 3}}}, "The detector 'autoencoder' has no option 'epoch'"),
        ("naive", {"detector": {"vae": {"hidden": [0]}}}, "of the detector 'vae' is a list of layer widths"),
        ("naive", {"contamination": 0.7}, "above 0 and up to 0.5"),
        ("naive", {"contamination": 0.0}, "above 0 and up to 0.5"),
        ("replay", {"memory": 0}, "at least 1"),
        ("replay", {"keep": "all"}, "is reservoir or balanced"),
        ("ewc_detector", {"detector": "IForest"}, "IForest has none. Take the detector autoencoder or vae"),
        ("lwf_detector", {"detector": Distance()}, "Distance has none"),
        ("experts", {"unknown": "zero"}, "one of nan, constant, newest"),
    ],
)
def test_errors_say_what_to_do(name, options, message):
    with pytest.raises(UsageError, match=message):
        new(name, "aware", **options)


def test_without_pyod_other_names_are_left_to_the_installation(monkeypatch):
    monkeypatch.setattr(names, "pyod_names", dict)
    assert names.parse("IForest").family == "pyod"
    assert names.parse("IsolationForest").family == "sklearn"
    with pytest.raises(UsageError, match="nearest is 'IsolationForest'"):
        names.parse("IsolationForrest")
    monkeypatch.setitem(sys.modules, "pyod", None)
    monkeypatch.setattr("recollect.learners.detection.detectors.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"recollect\[anomaly\]"):
        new("naive", detector="IForest")


def test_names_are_read_without_an_import():
    assert {
        "IForest",
        "ECOD",
        "COPOD",
        "LOF",
        "OCSVM",
        "HBOS",
        "KNN",
        "PCA",
        "AutoEncoder",
    } <= names.pyod_names().keys()
    assert not {"XGBOD", "DevNet", "MatrixProfile", "TimeSeriesOD", "BaseDetector"} & names.pyod_names().keys()
