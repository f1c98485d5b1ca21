"""Intervals over seeds: hand-worked values, scipy as the reference, and laws."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from recollect.errors import UsageError
from recollect.stats import Estimate, estimate

NAN = float("nan")
METHODS = ("t", "bca", "iqm")
QUICK = {"resamples": 499}


def test_t_by_hand():
    # mean 3, sd sqrt(2.5), t(4, .975) = 2.7764451
    result = estimate([1, 2, 3, 4, 5])
    half = 2.7764451051977987 * np.sqrt(2.5 / 5)
    assert result.value == 3
    assert result.n == 5
    assert result.sd == pytest.approx(np.sqrt(2.5), rel=1e-15)
    assert (result.low, result.high) == pytest.approx((3 - half, 3 + half), rel=1e-12)
    assert result.reason is None


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_t_is_scipys(level):
    x = np.random.default_rng(1).normal(size=(7, 3, 2))
    result = estimate(x, level=level)
    low, high = reference.t.interval(level, 6, x.mean(axis=0), reference.sem(x, axis=0))
    np.testing.assert_allclose(result.low, low, rtol=1e-12)
    np.testing.assert_allclose(result.high, high, rtol=1e-12)
    np.testing.assert_allclose(result.sd, x.std(axis=0, ddof=1), rtol=1e-12)


def test_bca_is_scipys_up_to_resampling_noise():
    x = np.random.default_rng(2).lognormal(size=25)
    result = estimate(x, "bca", resamples=40_000)
    theirs = reference.bootstrap((x,), np.mean, method="BCa", n_resamples=40_000, rng=3).confidence_interval
    assert (result.low, result.high) == pytest.approx((theirs.low, theirs.high), abs=0.03 * x.std())
    assert result.high - result.value > result.value - result.low  # skewed data, skewed interval


def test_bca_of_three_seeds_is_the_exact_bootstrap_distribution():
    # The 27 resamples of (0, 0, 3): means 0 (8), 1 (12), 2 (6), 3 (1). The mean is 1: (8 + 12/2)/27 below.
    # 2.5 % and 97.5 % with z0 = 0.0465 and a = 6 / (6 * 6^1.5) = 0.068 fall on 0 and 3.
    result = estimate([0.0, 0.0, 3.0], "bca")
    assert (result.low, result.high) == (0.0, 3.0)


def test_iqm_by_hand():
    assert estimate([1, 2, 3, 4, 100, -50, 3, 3], "iqm").value == pytest.approx(11 / 4)  # of 2, 3, 3, 3
    assert estimate([1, 2, 9], "iqm").value == 4  # too few to trim


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 11])
def test_iqm_is_scipys_trimmed_mean(n):
    x = np.random.default_rng(n).normal(size=(n, 4))
    np.testing.assert_allclose(estimate(x, "iqm", **QUICK).value, reference.trim_mean(x, 0.25, axis=0))


def test_iqm_of_up_to_three_seeds_has_the_t_interval():
    """Nothing is trimmed, so the scaled bootstrap error must be sd/√n."""
    x = [0.5, 0.62, 0.7]
    by_t, by_iqm = estimate(x), estimate(x, "iqm", resamples=200_000)
    assert by_iqm.low == pytest.approx(by_t.low, abs=0.01 * by_t.sd)


def test_stratified_iqm_against_a_plain_loop():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 6)) + 3 * np.arange(6)
    result = estimate(x, "iqm", strata=1, resamples=20_000)
    assert result.value == pytest.approx(reference.trim_mean(x, 0.25, axis=None))
    drawn = [
        reference.trim_mean([x[rng.integers(4), j] for j in range(6) for _ in range(4)], 0.25) for _ in range(2000)
    ]
    half = reference.t.ppf(0.975, 6 * 3) * np.std(drawn) * np.sqrt(4 / 3)
    assert (result.high - result.low) / 2 == pytest.approx(half, rel=0.07)


def test_strata_keep_difficulty_out_of_the_interval():
    """Ten streams far apart: only seeds vary, so the interval is narrow however far apart they are."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(5, 10)) * 0.01 + np.arange(10)
    result = estimate(x, "iqm", strata=1)
    assert result.high - result.low < 0.05
    assert result.n == 5


def test_strata_vectorise_over_points_and_axes():
    x = np.random.default_rng(7).normal(size=(3, 5, 4))  # points, seeds, streams
    together = estimate(x, "iqm", axis=1, strata=2, **QUICK)
    alone = [estimate(x[i], "iqm", strata=1, **QUICK) for i in range(3)]
    np.testing.assert_allclose(together.value, [a.value for a in alone])
    np.testing.assert_allclose(together.low, [a.low for a in alone])


def test_a_missing_stream_is_not_replaced_by_the_others():
    x = np.ones((3, 2))
    x[:, 1] = NAN
    result = estimate(x, "iqm", strata=1)
    assert np.isnan(result.value)
    assert "streams" in result.reason


@pytest.mark.parametrize("method", METHODS)
def test_array_equals_loop(method):
    x = np.random.default_rng(8).normal(size=(6, 3, 4))
    x[0, 0, 0] = x[1:, 1, 1] = x[:, 2, 2] = NAN
    x[:, 0, 3] = 0.1
    together = estimate(x, method, **QUICK)
    for cell in np.ndindex(3, 4):
        alone, at = estimate(x[(slice(None), *cell)], method, **QUICK), together.at(*cell)
        assert at.n == alone.n
        assert at.reason == alone.reason
        assert isinstance(at.value, float)
        np.testing.assert_allclose(
            [at.value, at.low, at.high, at.sd], [alone.value, alone.low, alone.high, alone.sd], rtol=1e-9
        )


@pytest.mark.parametrize("method", METHODS)
def test_one_seed_no_interval(method):
    result = estimate([0.7], method)
    assert result.value == 0.7
    assert np.isnan([result.low, result.high, result.sd]).all()
    assert result.n == 1
    assert result.reason == "one seed gives no interval"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("values", [[], [NAN, NAN]])
def test_no_seed_is_nan_with_a_reason(method, values):
    result = estimate(values, method)
    assert np.isnan([result.value, result.low, result.high]).all()
    assert result.n == 0
    assert result.reason == "no seed has a value"


@pytest.mark.parametrize("method", METHODS)
def test_missing_seeds_are_dropped_and_said(method):
    result, without = estimate([0.5, NAN, 0.7, 0.6], method), estimate([0.5, 0.7, 0.6], method)
    assert (result.value, result.low, result.high, result.n) == (without.value, without.low, without.high, 3)
    assert result.reason.startswith("1 of 4 seeds has no value and is left out")


@pytest.mark.parametrize("method", METHODS)
def test_equal_seeds_are_one_observation_without_an_interval(method):
    result = estimate([0.1, 0.1, 0.1], method)  # three 0.1 do not sum to 0.3
    assert (result.value, result.n, result.sd) == (0.1, 3, 0.0)
    assert np.isnan([result.low, result.high]).all()
    assert result.reason == "all 3 seeds have the same value: one observation, which has no interval"


@pytest.mark.parametrize("method", METHODS)
def test_infinity_gives_no_interval(method):
    result = estimate([[1.0, 0.5], [np.inf, 0.7], [2.0, 0.6]], method, **QUICK)
    assert np.isnan(result.low[0])
    assert np.isnan(result.high[0])
    assert "infinite" in result.reason[0]
    assert np.isfinite(result.low[1])


def test_few_seeds_for_bca_is_said():
    assert estimate([0.1, 0.2, 0.4], "bca").reason == "a BCa interval of 3 seeds is too narrow"


seeds = st.lists(st.integers(-1000, 1000).map(lambda k: k / 100), min_size=2, max_size=12).filter(
    lambda values: len(set(values)) > 1
)


@pytest.mark.parametrize("method", METHODS)
@given(values=seeds, shift=st.integers(-5, 5), scale=st.sampled_from([0.01, 2.0, 100.0]), order=st.randoms())
@settings(max_examples=30, deadline=None)
def test_laws(method, values, shift, scale, order):
    base = estimate(values, method, **QUICK)
    moved = estimate([scale * v + shift for v in values], method, **QUICK)
    tolerance = 1e-9 * (abs(shift) + scale * (1 + max(map(abs, values))))
    for field in ("value", "low", "high"):
        assert getattr(moved, field) == pytest.approx(scale * getattr(base, field) + shift, abs=tolerance)
    shuffled = values.copy()
    order.shuffle(shuffled)
    assert estimate(shuffled, method, **QUICK) == base
    assert base.low <= base.value <= base.high


def test_the_generator_is_explicit():
    x = np.random.default_rng(9).normal(size=8)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    assert estimate(x, "bca", seed=1) == estimate(x, "bca", seed=1)
    assert estimate(x, "bca", seed=1) != estimate(x, "bca", seed=2)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_input_is_left_alone():
    x = np.array([3.0, 1.0, 2.0])
    estimate(x, "iqm")
    assert x.tolist() == [3.0, 1.0, 2.0]


def test_wider_with_more_confidence_narrower_with_more_seeds():
    x = np.random.default_rng(10).normal(size=40)
    assert estimate(x, level=0.99).low < estimate(x, level=0.9).low
    assert estimate(np.tile(x, 4)).high - estimate(np.tile(x, 4)).low < estimate(x).high - estimate(x).low


@pytest.mark.parametrize(
    ("values", "options", "said"),
    [
        (0.5, {}, "axis of seeds"),
        ([1, 2], {"method": "z"}, "'z'"),
        ([1, 2], {"level": 95}, "95"),
        ([1, 2], {"method": "iqm", "strata": 1}, "streams"),
        ([[1, 2]], {"strata": 1}, "iqm"),
    ],
)
def test_wrong_use(values, options, said):
    with pytest.raises(UsageError, match=said):
        estimate(values, **options)


def test_print():
    assert str(estimate([0.5])) == "0.5 no interval (n = 1)"
    assert isinstance(estimate([[1, 2], [3, 4]]).at(0), Estimate)


def test_the_t_path_needs_no_scipy_stats():
    code = (
        "import sys, recollect.stats as s; s.estimate([1, 2, 3]); s.compare_paired([1, 2, 3], [2, 1, 5]);"
        "s.find_plateau([[1, 2, 3, 4, 5, 6]] * 2); s.proportion(1, 2); sys.exit('scipy.stats' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
