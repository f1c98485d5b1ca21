"""The catalogue's golden values, and what Michel et al. 2023 print and prove."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from tests.metrics.samples import B1, J1, R1

GOLDEN = {
    "acc.average": 0.6125,
    "acc.incremental": 0.701042,
    "acc.continual_average": 0.665,
    "acc.learning": 0.725,
    "forgetting.chaudhry2018": 0.183333,
    "forgetting.first": 0.15,
    "forgetting.begin_docs": -0.1125,
    "forgetting.peak_any": 0.216667,
    "forgetting.pycil": 0.2,
    "forgetting.raptormai": 0.175,
    "forgetting.clsurvey": 0.1125,
    "forgetting.pyclad_code": 0.0125,
    "bwt.lopezpaz2017": -0.15,
    "bwt.gem_code": -0.1125,
    "bwt.diazrodriguez2018": -0.091667,
    "bwt.pyclad_code": -0.075,
    "fwt.diazrodriguez2018": 0.225,
    "fwt.continuum": 0.2,
    "fwt.lopezpaz2017": 0.1,
    "fwt.begin_docs": 0.075,
    "intransigence.chaudhry2018": 0.03,
    "intransigence.begin": 0.0825,
    # By hand: lowest after learning .40, .75, .35; .9/4 + 3/4 of it; terms .45/.85, -.05/.75, .15/.50.
    "acc.minimum": 0.5,
    "acc.worst_case": 0.6,
    "forgetting.relative": (0.45 / 0.85 - 0.05 / 0.75 + 0.15 / 0.5) / 3,
    "bwt.positive": 0.0,
    "bwt.remembering": 1 - 0.55 / 6,
    # Largest drops .45, 0, .15, 0 and rises .05, .10, 0, 0 inside a window that holds all four rows.
    "anytime.windowed_forgetting": 0.15,
    "anytime.windowed_plasticity": 0.0375,
    # Peaks in rows 1, 2, 2 of classes 4, 6, 6; 8 now: (1/4 + 1/6 + 1/6)/3 - 1/8.
    "split.chance": (1 / 4 + 1 / 6 + 1 / 6) / 3 - 1 / 8,
    "acc.pooled": (10 * 0.4 + 20 * 0.8 + 30 * 0.35 + 40 * 0.9) / 100,
    "anytime.average": 0.701042,
    "anytime.auc": (10 * 0.8 + 10 * 0.775 + 20 * 1.85 / 3 + 60 * 0.6125) / 100,
    "uraa.michel2023": 4.9,
}


@pytest.fixture(scope="module")
def golden():
    return rc.ScoreMatrix(
        R1, b=B1, joint=J1, n_classes=[2, 2, 2, 2], n_samples=[10, 20, 30, 40], steps=[10, 20, 40, 100]
    )


@pytest.mark.parametrize(("id", "value"), GOLDEN.items())
def test_final_value(golden, id, value):
    assert rc.score(golden, id) == pytest.approx(value, abs=1e-6)


def test_rescaled_curves(golden):
    np.testing.assert_allclose(rc.score(golden, "raa.michel2023", curve=True), [0.2, 0.3875, 0.4625, 0.6125], atol=1e-6)
    np.testing.assert_allclose(
        rc.score(golden, "raf.michel2023", curve=True), [np.nan, -0.036111, 0.086667, 0.183333], atol=1e-6
    )


def test_raf_of_50_classes_then_10_at_a_time_does_not_end_at_forgetting():
    matrix = rc.ScoreMatrix(R1, n_classes=[50, 10, 10, 10])
    curve = rc.score(matrix, "raf.michel2023", curve=True)
    np.testing.assert_allclose(curve, [np.nan, -0.05, 0.082353, 0.136283], atol=1e-6)
    assert curve[-1] != pytest.approx(rc.score(matrix, "forgetting.chaudhry2018"))


def random_classifier(n_classes):
    share = 1 / np.cumsum(n_classes)
    return np.repeat(share[:, None], len(n_classes), axis=1)


def test_michel_table_1_random_classifier_accuracy():
    curve = rc.metrics.acc.average.curve(random_classifier([2] * 5))
    np.testing.assert_allclose(100 * curve, [50, 25, 100 / 6, 12.5, 10], rtol=1e-12)


def test_michel_table_2_random_classifier_forgetting():
    curve = rc.metrics.forgetting.chaudhry2018.curve(random_classifier([2] * 5))
    assert np.isnan(curve[0])
    np.testing.assert_allclose(100 * curve[1:], [25, 20.83, 18.06, 16.04], atol=0.005)


@pytest.mark.parametrize("K", range(2, 61))
def test_propositions_4_3_and_4_4_for_equal_tasks(K):
    rng = np.random.default_rng(K)
    R, c = rng.random((K, K)), int(rng.integers(1, 20))
    matrix = rc.ScoreMatrix(R, n_classes=[c] * K)
    k = np.arange(1, K + 1)
    harmonic = np.cumsum(1 / k)
    AA = rc.score(matrix, "acc.average", curve=True)
    AF = rc.score(matrix, "forgetting.chaudhry2018", curve=True)
    np.testing.assert_allclose(rc.score(matrix, "raa.michel2023", curve=True), k / K * AA, rtol=1e-12)
    beta = (harmonic[-1] - 1) * (k[1:] - 1) / ((harmonic[1:] - 1) * (K - 1))
    np.testing.assert_allclose(rc.score(matrix, "raf.michel2023", curve=True)[1:], beta * AF[1:], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("K", range(2, 61, 7))
def test_unequal_tasks_follow_the_definitions(K):
    """Prop. 4.3 holds for any tasks; forgetting from 1/C by plain loops."""
    rng = np.random.default_rng(100 + K)
    n_classes = rng.integers(1, 30, K)
    C = np.cumsum(n_classes)
    matrix = rc.ScoreMatrix(rng.random((K, K)), n_classes=n_classes)
    AA = rc.score(matrix, "acc.average", curve=True)
    AF = rc.score(matrix, "forgetting.chaudhry2018", curve=True)
    np.testing.assert_allclose(rc.score(matrix, "raa.michel2023", curve=True), C / C[-1] * AA, rtol=1e-12)
    random_AF = [sum(1 / C[j] - 1 / C[k] for j in range(k)) / k for k in range(1, K)]
    largest = max(1 / f for f in random_AF)
    np.testing.assert_allclose(
        rc.score(matrix, "raf.michel2023", curve=True)[1:],
        AF[1:] / random_AF / largest,
        rtol=1e-9,
        atol=1e-13,
    )
