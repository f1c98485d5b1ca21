"""The anytime family on rows inside tasks, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.metrics import anytime

# Two evaluations in each of two tasks; task 1 has begun in row 2.
ROWS = [[0.2, 0.0], [0.8, 0.0], [0.7, 0.5], [0.6, 0.9]]
LEARNED_AT = [1, 3]


def test_average_is_over_every_evaluation_and_the_tasks_begun():
    np.testing.assert_allclose(
        anytime.average.curve(ROWS, learned_at=LEARNED_AT), [(0.2 + 0.8) / 2, (0.2 + 0.8 + 0.6 + 0.75) / 4]
    )


def test_auc_weighs_an_evaluation_by_the_samples_that_led_to_it():
    curve = anytime.auc.curve(ROWS, learned_at=LEARNED_AT, steps=[10, 20, 30, 70])
    np.testing.assert_allclose(curve, [0.5, (2 + 8 + 6 + 30) / 70])


def test_auc_of_equal_steps_is_the_mean_as_koh_compute_it():
    equal = anytime.auc(ROWS, learned_at=LEARNED_AT, steps=[5, 10, 15, 20])
    assert equal == pytest.approx(anytime.average(ROWS, learned_at=LEARNED_AT))


def test_an_evaluation_before_any_sample_has_no_width():
    untrained_first = [[0.9, 0.9], *ROWS]
    with_it = anytime.auc(untrained_first, learned_at=[2, 4], steps=[0, 10, 20, 30, 70])
    assert with_it == pytest.approx(46 / 70)


def test_auc_is_undefined_before_any_sample():
    score = rc.score(rc.ScoreMatrix([[0.5]], steps=[0]), "anytime.auc")
    assert np.isnan(score)
    assert score.reason == "no samples had been seen yet"


@pytest.mark.parametrize(
    ("window", "forgetting", "plasticity"),
    [(2, (0.1 + 0) / 2, (0.6 + 0.4) / 2), (3, (0.2 + 0) / 2, (0.6 + 0.4) / 2), (100, 0.1, 0.5)],
)
def test_windows(window, forgetting, plasticity):
    given = {"learned_at": LEARNED_AT, "window": window}
    assert anytime.windowed_forgetting(ROWS, **given) == pytest.approx(forgetting)
    assert anytime.windowed_plasticity(ROWS, **given) == pytest.approx(plasticity)


def test_a_rise_after_a_drop_inside_one_window_is_seen():
    """The window .5, .1, .9 rises by .8; code that skips starts below the best so far finds .4."""
    rows = [[0.5], [0.1], [0.9]]
    assert anytime.windowed_plasticity(rows, learned_at=[2], window=3) == pytest.approx(0.8)


def test_rows_before_a_task_begins_do_not_count():
    rows = [[0.5, 1.0], [0.5, 0.2], [0.5, 0.2]]
    assert anytime.windowed_forgetting(rows, learned_at=[0, 2]) == 0


@pytest.mark.parametrize("window", [1, 0, -3, 2.5, "ten", None, True])
def test_a_bad_window_is_refused(window):
    with pytest.raises(UsageError, match="window must be a whole number"):
        rc.score(rc.ScoreMatrix(ROWS, learned_at=LEARNED_AT), "anytime.windowed_forgetting", window=window)


def test_minimum_sees_rows_inside_later_tasks_only():
    rows = [[0.1, 0.0], [0.8, 0.0], [0.3, 0.5], [0.6, 0.9]]
    assert rc.metrics.acc.minimum(rows, learned_at=[1, 3]) == pytest.approx(0.3)
    assert rc.metrics.acc.worst_case(rows, learned_at=[1, 3]) == pytest.approx(0.9 / 2 + 0.3 / 2)


def test_a_missing_row_inside_a_task_is_named():
    rows = [[0.2, None], [0.8, None], [None, 0.5], [0.6, 0.9]]
    reason = rc.score(rc.ScoreMatrix(rows, learned_at=LEARNED_AT), "anytime.average").reason
    assert reason == "reads R[2, 0], not evaluated"


def test_now_is_the_last_row():
    longer = [*ROWS, [0.0, 0.0]]
    assert anytime.average(longer, learned_at=LEARNED_AT) == pytest.approx((0.2 + 0.8 + 0.6 + 0.75 + 0) / 5)
