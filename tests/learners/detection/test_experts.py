from __future__ import annotations

import numpy as np
import pytest
from pyod.models.ecod import ECOD

from recollect.errors import UsageError

from .helpers import batches, concepts, feed, new, test_rows


def by_hand(rows, x):
    model = ECOD()
    model.fit(rows)
    return model.decision_function(x)


def of(concept: int) -> np.ndarray:
    return np.full(40, concept)


def test_each_concept_is_answered_by_its_expert():
    x, units = test_rows(), concepts()
    learner = feed(new("experts", "aware", detector="ECOD"), batches(units))
    for k, unit in enumerate(units):
        np.testing.assert_array_equal(learner.score(x, of(k)), by_hand(unit, x))
    assert learner.stored_samples == 180
    assert learner.stored_bytes == 180 * 4 * 8


def test_a_concept_that_recurs_makes_its_expert_anew():
    units = concepts(rows=60)
    learner = new("experts", "aware", detector="ECOD")
    feed(learner, batches([units[0], units[1]]))
    feed(learner, batches([units[2]]))  # concept 0 again, with other rows
    x = test_rows()
    np.testing.assert_array_equal(learner.score(x, of(0)), by_hand(units[2], x))
    np.testing.assert_array_equal(learner.score(x, of(1)), by_hand(units[1], x))
    assert learner.stored_samples == 120


@pytest.mark.parametrize("unknown", ["constant", "newest", "nan"])
def test_a_concept_without_an_expert(unknown):
    x, units = test_rows(), concepts()
    learner = new("experts", "aware", detector="ECOD", unknown=unknown)
    assert np.isnan(learner.score(x, of(0))).all()
    feed(learner, batches(units[:2]))
    expected = {"constant": np.zeros(40), "newest": by_hand(units[1], x), "nan": np.full(40, np.nan)}[unknown]
    np.testing.assert_array_equal(learner.score(x, of(2)), expected)
    alarms = learner.flagged(learner.score(x, of(2)), of(2))
    assert alarms.any() == (unknown == "newest")


def test_thresholds_are_each_experts_own():
    units = concepts()
    learner = feed(new("experts", "aware", detector="IForest", contamination=0.1), batches(units))
    scores = learner.score(units[0], np.zeros(60, int))
    assert learner.flagged(scores, np.zeros(60, int)).sum() == 6
    mixed = np.repeat([0, 2], 60)
    both = learner.score(np.concatenate([units[0], units[2]]), mixed)
    np.testing.assert_array_equal(both[:60], scores)
    assert learner.flagged(both, mixed).sum() == 12


def test_experts_of_networks_keep_no_samples():
    learner = feed(new("experts", "aware", detector="autoencoder"), batches(concepts()))
    weights = learner.experts[0].detector.stored_bytes
    assert learner.stored_samples == 0
    assert learner.stored_bytes == 2 * weights > 0


@pytest.mark.parametrize("scenario", ["incremental", "agnostic"])
def test_experts_need_the_concept(scenario):
    with pytest.raises(UsageError, match="does not tell the concept"):
        new("experts", scenario, detector="ECOD")


def test_what_is_asked_without_a_concept_is_told():
    learner = feed(new("experts", "aware", detector="ECOD"), batches(concepts()))
    with pytest.raises(UsageError, match="got none for 40 samples"):
        learner.score(test_rows())
    with pytest.raises(UsageError, match="without its concept"):
        feed(learner, batches(concepts(), scenario="incremental"))
