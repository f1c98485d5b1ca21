"""The probability of improvement."""

import numpy as np
import pytest
from scipy import optimize
from scipy import stats as reference

from recollect.stats import probability_of_improvement, wilson


def test_paired_counts_seeds():
    result = probability_of_improvement([3, 2, 1, 5], [1, 2, 3, 4])  # win, tie, loss, win
    assert result.value == 2.5 / 4
    assert (result.low, result.high) == pytest.approx([float(b) for b in wilson(2.5, 4)])


def test_paired_and_unpaired_ask_different_questions():
    """One is ahead on every seed, by less than seeds differ."""
    b = np.arange(10.0)
    a = b + 0.5
    assert probability_of_improvement(a, b).value == 1.0
    assert probability_of_improvement(a, b, paired=False).value == 0.55


def test_unpaired_is_mann_whitney():
    rng = np.random.default_rng(0)
    a, b = np.round(rng.normal(size=12), 1), np.round(rng.normal(0.3, 1, size=9), 1)
    u = reference.mannwhitneyu(a, b).statistic
    assert probability_of_improvement(a, b, paired=False).value == pytest.approx(u / 108)


def test_newcombe_solves_its_equation():
    a, b = np.array([1.0, 2, 3, 6, 7]), np.array([2.5, 0.5, 4, 5])
    result = probability_of_improvement(a, b, paired=False)
    n_star = (5 + 4) / 2 - 1

    def gap(t):
        variance = t * (1 - t) / 20 * (1 + n_star * (1 - t) / (2 - t) + n_star * t / (1 + t))
        return (result.value - t) ** 2 - reference.norm.ppf(0.975) ** 2 * variance

    low = optimize.brentq(gap, 1e-9, result.value)
    high = optimize.brentq(gap, result.value, 1 - 1e-9)
    assert (result.low, result.high) == pytest.approx((low, high), abs=1e-9)


def test_always_ahead_still_has_a_width():
    result = probability_of_improvement([5, 6, 7], [1, 2, 3], paired=False)
    assert result.value == result.high == 1.0
    assert 0.2 < result.low < 0.9


@pytest.mark.parametrize("paired", [True, False])
def test_complement_and_direction(paired):
    a, b = [0.2, 0.5, 0.9], [0.3, 0.1, 0.9]
    there = probability_of_improvement(a, b, paired)
    back = probability_of_improvement(b, a, paired)
    assert there.value == pytest.approx(1 - back.value)
    assert there.low == pytest.approx(1 - back.high)
    assert repr(probability_of_improvement(a, b, paired, higher_is_better=False)) == repr(back)


@pytest.mark.parametrize("paired", [True, False])
def test_nothing_to_compare(paired):
    result = probability_of_improvement([], [], paired)
    assert np.isnan(result.value)
    assert result.reason == "no seed to compare"
