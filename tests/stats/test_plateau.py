"""Where curves stop rising."""

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.stats import find_plateau
from recollect.stats.plateau import bends, locator

K = np.arange(40)
RAMP = np.minimum(K, 24) / 24


def seeds(curve, noise=0.02, n=5, seed=0, walk=False):
    draws = np.random.default_rng(seed).normal(size=(n, len(curve)))
    return curve + noise * (draws.cumsum(axis=1) / 3 if walk else draws)


@pytest.mark.parametrize("walk", [False, True])
def test_a_plateau_is_found_where_it_is(walk):
    result = find_plateau(seeds(RAMP, walk=walk))
    assert (result.found, result.kind, result.n) == (True, "plateau", 5)
    assert result.low <= 24 <= result.high
    assert abs(result.at - 24) <= 1
    assert result.slope_before.low <= 1 / 24 <= result.slope_before.high
    assert result.slope_after.low <= 0 <= result.slope_after.high


@pytest.mark.parametrize("walk", [False, True])
@pytest.mark.parametrize(
    ("curve", "kinds"),
    [
        (K / 39, {"rising"}),
        (np.sqrt(K / 39), {"slowing"}),
        (np.where(K < 20, K, 20 + (K - 20) / 2) / 30, {"slowing"}),
        ((K / 39) ** 2, {"rising"}),
        (0 * K, {"flat"}),
        (-K / 39, {"falling"}),
    ],
)
def test_no_plateau(curve, kinds, walk):
    result = find_plateau(seeds(curve, walk=walk))
    assert not result.found
    assert result.kind in kinds
    assert (result.at, result.low, result.high) == (None, None, None)
    assert result.reason
    assert "no plateau" in result.describe("ER")


def test_rise_and_fall_is_a_peak():
    result = find_plateau(seeds(1 - np.abs(K - 20) / 20))
    assert (result.found, result.kind) == (True, "peak")
    assert abs(result.at - 20) <= 1
    assert result.describe("ER").endswith("and falls after it")


def test_exponential_saturation_is_a_plateau():
    assert find_plateau(seeds(1 - np.exp(-5 * K / 39))).found


def test_noise_that_hides_the_end_is_undecided():
    late = np.minimum(K, 34) / 34
    assert find_plateau(seeds(late, noise=0.25, n=3, seed=1)).kind == "undecided"


def test_a_random_walk_upwards_is_not_called_a_plateau_by_its_luck():
    """Within one seed such curves bend all the time; over seeds the bends do not agree."""
    alarms = sum(find_plateau(seeds(K / 39, noise=0.3, seed=s, walk=True)).found for s in range(100))
    assert alarms <= 5


def test_one_seed_is_refused():
    result = find_plateau([RAMP])
    assert (result.found, result.kind, result.n, result.at) == (False, "undecided", 1, None)
    assert "one seed" in result.reason
    assert result.slope_before.value == pytest.approx(1 / 24)
    assert np.isnan(result.slope_before.low)


@pytest.mark.parametrize("curves", [np.empty((0, 20)), np.full((3, 20), np.nan), np.ones((3, 4))])
def test_nothing_to_judge(curves):
    result = find_plateau(curves)
    assert result.kind == "undecided"
    assert "tasks or more" in result.reason


def test_equal_seeds_are_one_observation():
    result = find_plateau([RAMP, RAMP, RAMP])
    assert (result.kind, result.n) == ("undecided", 1)
    assert "all 3 seeds gave the same curve" in result.reason


def test_seeds_that_differ_by_their_level_alone():
    levels = np.array([[0.0], [0.1], [0.25]])
    result = find_plateau(RAMP + levels)
    assert (result.at, result.low, result.high) == (24, 24, 24)
    assert find_plateau(K / 39 + levels).kind == "rising"
    assert find_plateau(0.3 + 0 * K + levels).kind == "flat"


def test_unplanned_rows_are_left_out_and_said():
    y = seeds(RAMP)
    y[:, 1::2] = np.nan
    result = find_plateau(y)
    assert result.found
    assert abs(result.at - 24) <= 2
    assert "20 of 40 tasks" in result.reason


def test_a_seed_without_values_does_not_count():
    y = np.vstack([seeds(RAMP), np.full(40, np.nan)])
    result = find_plateau(y)
    assert (result.n, result.at) == (5, find_plateau(y[:5]).at)
    assert "1 of 6 seeds" in result.reason


def test_laws():
    y = seeds(RAMP, noise=0.05)
    base = find_plateau(y)
    moved = find_plateau(100 * y[::-1] + 7)
    assert (base.kind, base.at, base.low, base.high) == (moved.kind, moved.at, moved.low, moved.high)
    assert moved.slope_before.value == pytest.approx(100 * base.slope_before.value)
    turned = find_plateau(-y, higher_is_better=False)
    assert (turned.at, turned.low, turned.high) == (base.at, base.low, base.high)


def test_people_count_from_one():
    result = find_plateau([RAMP, 1.1 * RAMP, 0.9 * RAMP])
    assert result.describe("GDumb") == "GDumb levels off at task 25 [25, 25]"
    assert result.describe("GDumb", first_task=0) == "GDumb levels off at task 24 [24, 24]"


def test_wrong_shape():
    with pytest.raises(UsageError, match="seeds, tasks"):
        find_plateau(RAMP)


def test_the_bend_is_the_least_squares_one():
    y = seeds(np.sqrt(K), noise=0.3, n=3)
    fit = bends(tuple(K.astype(float)))
    for curve, found in zip(y, fit.best(y), strict=True):
        residuals = []
        for place in K[1:-2]:
            lines = np.column_stack([np.ones(40), K, np.maximum(K - place, 0)])
            residuals.append(np.linalg.lstsq(lines, curve, rcond=None)[1][0])
        best = int(np.argmin(residuals))
        assert found == best
        lines = np.column_stack([np.ones(40), K, np.maximum(K - K[1:-2][best], 0)])
        _, first, change = np.linalg.lstsq(lines, curve, rcond=None)[0]
        assert fit.before[best] @ curve == pytest.approx(first)
        assert fit.after[best] @ curve == pytest.approx(first + change)


@pytest.mark.parametrize("flat_after", [True, False])
def test_the_score_vanishes_at_the_true_bend_and_changes_sign_there(flat_after):
    place = locator(tuple(K.astype(float)), flat_after)
    at = int(np.flatnonzero(place.places == 24)[0])
    curve = RAMP if flat_after else RAMP - 0.02 * np.maximum(K - 24, 0)
    scores = place.score @ (3 + 2 * curve)
    assert scores[at] == pytest.approx(0, abs=1e-9)
    assert scores[at - 8] * scores[at + 8] < 0


def test_the_interval_covers():
    inside = []
    for s in range(200):
        result = find_plateau(seeds(RAMP, noise=0.05, n=5, seed=s, walk=True))
        if result.found:
            inside.append(result.low <= 24 <= result.high)
    assert len(inside) > 100
    assert np.mean(inside) > 0.9


def test_a_curve_that_is_level_after_the_second_task_is_a_plateau_there():
    """With bends from the third task on only, the slope after it was below zero, and a decline was claimed."""
    rng = np.random.default_rng(3)
    level = np.array([0.1, *[0.8] * 9])
    for _ in range(20):
        result = find_plateau(level + 0.01 * rng.normal(size=(5, 10)))
        assert (result.found, result.kind) in ((True, "plateau"), (True, "peak"))
        assert result.at == 1
    kinds = [find_plateau(level + 0.01 * rng.normal(size=(5, 10))).kind for _ in range(200)]
    assert kinds.count("peak") <= 16, "a decline of a level curve: 2.5 % of 200, and three standard errors"


def test_a_decline_is_claimed_only_if_what_follows_the_bend_falls_by_itself():
    rng = np.random.default_rng(4)
    falls = np.array([0.1, *np.linspace(0.8, 0.6, 9)])
    assert find_plateau(falls + 0.005 * rng.normal(size=(5, 10))).kind == "peak"


def test_three_seeds_that_rise_differently_show_no_rise_and_are_not_said_to_be_without():
    ends = np.array([[0.61], [0.75], [0.16]])
    result = find_plateau(0.1 + (ends - 0.1) * np.linspace(0, 1, 10))
    assert result.kind == "flat"
    assert result.slope.value > 0
    assert result.slope.low < 0 < result.slope.high
    assert "no rise is shown" in result.reason
