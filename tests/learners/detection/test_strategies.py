"""Each strategy against the loop that anyone would write, and the laws that hold for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pyod.models.copod import COPOD
from pyod.models.ecod import ECOD
from pyod.models.iforest import IForest
from pyod.models.lof import LOF

from recollect.errors import UsageError
from recollect.learners import Learner
from recollect.learners.detection.cards import CARDS

from ..helpers import same, through_disk
from .helpers import SEEDS, batches, concepts, feed, new, test_rows

MODELS = {
    "ECOD": ECOD,
    "COPOD": COPOD,
    "LOF": LOF,
    "IForest": lambda: IForest(n_estimators=5, random_state=SEEDS.learner),
}
DETECTORS = {name: {"IForest": {"n_estimators": 5}} if name == "IForest" else name for name in MODELS}
QUICK = {"memory": 25, "samples": 10, "strength": 1.0}
NETWORKS = ("autoencoder", {"vae": {"standardise": True, "epochs": 2}})
ALL = [(card.name, detector) for card in CARDS for detector in ("ECOD", DETECTORS["IForest"], *NETWORKS)]
ALL = [(name, detector) for name, detector in ALL if not name.endswith("_detector") or detector in NETWORKS]


def by_hand(model, rows, x):
    fitted = MODELS[model]()
    fitted.fit(rows)
    return fitted.decision_function(x)


def quick(name: str, detector):
    card = next(card for card in CARDS if card.name == name)
    return {**{key: value for key, value in QUICK.items() if key in card.defaults}, "detector": detector}


def equal(one, other):
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [None, 17])
def test_naive_is_a_fit_on_the_newest_visit(model, size):
    learner, x = new("naive", detector=DETECTORS[model]), test_rows()
    assert np.isnan(learner.score(x)).all()
    for k, unit in enumerate(concepts()):
        feed(learner, batches([unit], size=size))
        equal(learner.score(x), by_hand(model, unit, x))
        assert learner.units == k + 1
    assert learner.stored_samples == 0


@pytest.mark.parametrize("model", MODELS)
def test_cumulative_is_a_fit_on_everything(model):
    learner, x, units = new("cumulative", detector=DETECTORS[model]), test_rows(), concepts()
    for k, unit in enumerate(units):
        feed(learner, batches([unit]))
        equal(learner.score(x), by_hand(model, np.concatenate(units[: k + 1]), x))
        assert learner.stored_samples == 60 * (k + 1)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["naive", "cumulative"])
def test_without_boundaries_a_batch_is_a_unit(name, model):
    learner, x, rows = new(name, "agnostic", detector=DETECTORS[model]), test_rows(), np.concatenate(concepts())
    for batch in batches(concepts(), size=50, scenario="agnostic"):
        learner.learn(batch)
        seen = rows[: 50 * (batch.number + 1)]
        equal(learner.score(x), by_hand(model, seen[-len(batch.x) :] if name == "naive" else seen, x))
    assert learner.units == 4


@pytest.mark.parametrize("model", MODELS)
def test_replay_is_a_fit_on_memory_and_newest(model):
    learner, x = new("replay", detector=DETECTORS[model], memory=25), test_rows()
    for unit in concepts():
        held = learner.memory.x.copy() if len(learner.memory) else np.empty((0, 4))
        feed(learner, batches([unit]))
        equal(learner.score(x), by_hand(model, np.concatenate([held, unit]), x))
    assert learner.stored_samples == 25
    assert learner.stored_bytes == 25 * (4 * 8 + 8)


@pytest.mark.parametrize("model", MODELS)
def test_replay_with_room_for_everything_is_cumulative(model):
    replay, cumulative = new("replay", detector=DETECTORS[model]), new("cumulative", detector=DETECTORS[model])
    feed(replay, batches(concepts()))
    feed(cumulative, batches(concepts()))
    equal(replay.score(test_rows()), cumulative.score(test_rows()))


def test_balanced_replay_knows_concepts_where_they_are_told():
    visits = [0, 1, 0, 2]
    told = feed(new("replay", "aware", keep="balanced", memory=30), batches(concepts(), visits))
    assert {k: len(rows) for k, rows in told.memory.rows.items()} == {0: 10, 1: 10, 2: 10}
    assert told.memory.offered == {0: 120, 1: 60, 2: 60}
    hidden = feed(new("replay", keep="balanced", memory=30), batches(concepts(), visits, scenario="incremental"))
    assert [len(rows) for rows in hidden.memory.rows.values()] == [7, 7, 7, 7]


@pytest.mark.parametrize(("name", "detector"), ALL)
@pytest.mark.parametrize("place", [2, 5])
def test_restored_it_goes_on_bit_for_bit(name, detector, place):
    scenario = "aware" if name == "experts" else "incremental"
    some = list(batches(concepts(), [0, 1, 0, 2], size=25, scenario=scenario))
    x, task = test_rows(), np.zeros(40, np.int64)
    undisturbed = feed(new(name, scenario, **quick(name, detector)), some[:place])
    undisturbed.score(x, task)
    restored = feed(new(name, scenario, **quick(name, detector)), some[3:7])  # whatever it was before is forgotten
    restored.restore(through_disk(undisturbed.state()))
    assert same(undisturbed.state(), restored.state())
    assert same(undisturbed.score(x, task), restored.score(x, task))
    feed(undisturbed, some[place:])
    feed(restored, some[place:])
    assert same(undisturbed.score(x, task), restored.score(x, task))
    assert same(undisturbed.flagged(undisturbed.score(x, task), task), restored.flagged(restored.score(x, task), task))
    assert same(undisturbed.state(), restored.state())
    assert undisturbed.stored_bytes == restored.stored_bytes


@pytest.mark.parametrize(("name", "detector"), ALL)
def test_asking_changes_nothing_that_is_learned(name, detector):
    scenario = "aware" if name == "experts" else "agnostic"
    asked, left = (new(name, scenario, **quick(name, detector)) for _ in range(2))
    assert isinstance(asked, Learner)
    x, task = test_rows(), np.zeros(40, np.int64)
    for batch in batches(concepts(), size=40, scenario=scenario):
        for learner in (asked, left):
            feed(learner, [batch])
        asked.settle()
        asked.flagged(asked.score(x, task), task)
    assert same(asked.score(x, task), left.score(x, task))
    assert asked.score(x, task).dtype == np.float64


def test_what_nothing_is_asked_after_is_not_fitted(monkeypatch):
    learner = new("naive", detector="ECOD")
    fits = []
    fit = type(learner.lazy.detector).fit
    monkeypatch.setattr(type(learner.lazy.detector), "fit", lambda self, x: (fits.append(len(x)), fit(self, x)))
    feed(learner, batches(concepts()))
    assert not fits
    learner.settle()
    learner.settle()
    learner.score(test_rows())
    assert fits == [60]


def test_a_second_pass_brings_nothing():
    learner = new("cumulative", detector="ECOD")
    for batch in batches(concepts()):
        learner.learn(batch)
        learner.learn(replace(batch, repeat=True))
        learner.end_task()
    assert learner.stored_samples == 180


@pytest.mark.parametrize("name", ["naive", "cumulative", "replay"])
def test_alarms_are_the_share_of_training_scores_above_the_threshold(name):
    unit = concepts()[0]
    learner = feed(new(name, detector="IForest", contamination=0.25), batches([unit]))
    assert learner.flagged(learner.score(unit)).sum() == 15
    assert not new(name, detector="IForest").flagged(np.full(3, np.nan)).any()


@pytest.mark.parametrize("scenario", ["incremental", "agnostic"])
def test_bad_rows_are_told(scenario):
    good = concepts()[0]
    bad = good.copy()
    bad[7, 2] = np.inf
    learner = new("naive", scenario, detector="ECOD")
    with pytest.raises(UsageError, match="the first in row 7, feature 2"):
        feed(learner, batches([bad]))
    with pytest.raises(UsageError, match="no training rows"):
        feed(new("naive", scenario, detector="ECOD"), [replace(next(batches([good])), x=good[:0])])
    with pytest.raises(UsageError, match="samples of 4 features; got samples of 2"):
        learner.score(good[:, :2])
    with pytest.raises(UsageError, match="takes numbers"):
        learner.score(good.astype(str))


def test_a_visit_without_batches_is_told():
    with pytest.raises(UsageError, match="no training rows"):
        new("naive", detector="ECOD").end_task()
