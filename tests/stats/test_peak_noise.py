"""What the best of several noisy rows is too good by."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect.stats.peak_noise import peak_noise


@pytest.mark.parametrize(("share", "n", "T"), [(0.8, 60, 5), (0.5, 399, 4), (0.6, 3000, 4)])
def test_it_is_what_draws_of_a_learner_that_forgets_nothing_give(share: float, n: int, T: int) -> None:
    rng = np.random.default_rng(0)
    R = rng.binomial(n, share, size=(20_000, T, T)) / n
    drawn = rc.score(rc.ScoreMatrix(R, orientation="time_rows"), "forgetting.chaudhry2018").mean()
    at_it = rc.ScoreMatrix(np.full((T, T), share), n_samples=[n] * T, orientation="time_rows")
    assert peak_noise(at_it)[0] == pytest.approx(drawn, rel=0.05)


def test_rows_that_were_not_evaluated_do_not_compete() -> None:
    R = np.full((4, 4), 0.8)
    R[[0, 2]] = np.nan
    few = rc.ScoreMatrix(R, n_samples=[100] * 4, orientation="time_rows")
    assert peak_noise(few)[0] == 0, "task 1 has one row before the last"


def test_it_is_unknown_without_sizes_and_for_scores_that_are_no_shares() -> None:
    R = np.full((3, 3), 0.8)
    assert np.isnan(peak_noise(rc.ScoreMatrix(R, orientation="time_rows"))[0])
    raw = rc.ScoreMatrix(R, n_samples=[9] * 3, unit="raw", orientation="time_rows")
    assert np.isnan(peak_noise(raw)[0])


def test_every_item_right_is_not_taken_for_certain() -> None:
    assert peak_noise(rc.ScoreMatrix(np.ones((4, 4)), n_samples=[50] * 4, orientation="time_rows"))[0] > 0
