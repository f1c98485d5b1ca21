"""Intervals over test items and the null: against formulas worked by hand, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.matrix import ScoreMatrix
from recollect.runs import Row, Run, Task
from recollect.runs.item_noise import noise_of
from recollect.stats import mcnemar
from recollect.stats.items import item_errors, item_interval, null_of


def test_a_linear_metric_has_the_variance_of_its_weights() -> None:
    matrix = ScoreMatrix([[0.9, 0.2], [0.7, 0.8]])
    errors = np.array([[0.03, 0.01], [0.02, 0.04]])
    made = item_interval(matrix, errors, "acc.average", draws=20_000)
    by_hand = np.sqrt(0.02**2 + 0.04**2) / 2
    assert made.sd == pytest.approx(by_hand, rel=0.03)
    assert (made.high - made.low) / 2 == pytest.approx(1.96 * by_hand, rel=0.03)
    assert made.value == pytest.approx(0.75)


def test_held_out_columns_read_the_noise_of_the_base() -> None:
    matrix = ScoreMatrix([[0.5, 0.6]], b=[0.5, 0.7], learned_at=[0, "held out"])
    quiet = np.zeros((1, 2))
    if "held_out.delta" not in _ids():
        pytest.skip("held_out.delta is not defined")
    noisy = item_interval(matrix, quiet, "held_out.delta", base_errors=np.array([0.0, 0.05]))
    assert noisy.value == pytest.approx(-0.1)
    assert noisy.sd == pytest.approx(0.05, rel=0.1)


def _ids() -> tuple[str, ...]:
    from recollect.metrics import registry

    return tuple(registry.all_ids())


def test_the_null_is_the_maximum_over_noise_and_no_more() -> None:
    rows = 6
    R = np.full((rows, 2), 0.6)
    made = null_of(ScoreMatrix(R, learned_at=[0, rows - 1]), np.full((rows, 2), 0.05), draws=20_000)
    rng = np.random.default_rng(1)
    drawn = 0.6 + 0.05 * rng.standard_normal((20_000, rows))
    slow = drawn[:, :-1].max(1) - drawn[:, -1]
    assert made.value == pytest.approx(slow.mean(), abs=0.002)
    assert (made.low, made.high) == pytest.approx(tuple(np.quantile(slow, (0.025, 0.975))), abs=0.006)


def test_the_null_keeps_the_own_score_and_reads_nothing_else() -> None:
    still = ScoreMatrix([[0.9, 0.5], [0.9, 0.8], [0.9, 0.8]], learned_at=[0, 1])
    fallen = ScoreMatrix([[0.9, 0.1], [0.2, 0.8], [0.1, 0.3]], learned_at=[0, 1])
    errors = np.full((3, 2), 0.02)
    assert null_of(still, errors).value == pytest.approx(null_of(fallen, errors).value, abs=1e-12)


def test_an_unknown_error_gives_no_interval_and_says_so() -> None:
    errors = np.array([[0.02, 0.02], [np.nan, 0.02]])
    made = item_interval(ScoreMatrix([[0.9, 0.2], [0.7, 0.8]]), errors, "acc.average")
    assert np.isnan(made.low)
    assert "standard error" in str(made.reason)
    with pytest.raises(UsageError, match="one run"):
        null_of(ScoreMatrix(np.full((2, 2, 2), 0.5)), errors)


def test_errors_come_from_counts_or_from_the_rows_and_all_right_is_no_certainty() -> None:
    tasks = (Task("a", n_samples=100), Task("b"))
    rows = (
        Row(-1, correct=(50, None)),
        Row(0, correct=(100, None), n=(100, None)),
        Row(1, scores={"accuracy": (0.5, 0.25)}, standard_error=(0.1, 0.2)),
    )
    noise = noise_of(Run(learner="l", stream="s", tasks=tasks, rows=rows))
    assert noise.base is not None
    assert noise.base[0] == pytest.approx(np.sqrt(0.25 / 99))
    assert noise.errors[0, 0] == pytest.approx(float(item_errors(np.array(1.0), np.array(100.0))))
    assert noise.errors[0, 0] > 0
    assert noise.errors[1].tolist() == [0.1, 0.2]
    assert np.isnan(noise.errors[0, 1])


def test_percent_is_turned_into_fractions() -> None:
    rows = (Row(0, scores={"accuracy": (50.0,)}, standard_error=(2.0,)),)
    noise = noise_of(Run(learner="l", stream="s", tasks=(Task("a"),), rows=rows, unit="percent"))
    assert noise.errors.tolist() == [[0.02]]


def test_mcnemar_counts_coins() -> None:
    assert mcnemar(5, 5) == 1.0
    assert mcnemar(6, 0) == pytest.approx(2 / 2**6)
    assert mcnemar(0, 6) == mcnemar(6, 0)
    with pytest.raises(UsageError, match="counts of items"):
        mcnemar(-1, 2)


@pytest.mark.parametrize("drop", [0.0, 0.1])
def test_the_interval_of_forgetting_covers_the_truth(drop: float) -> None:
    """Two tasks, 400 items: the true forgetting lies in the 95 % interval of most measurements."""
    rng = np.random.default_rng(0)
    n, truth = 400, np.array([[0.7, 0.2], [0.7 - drop, 0.6]])
    inside = 0
    for _ in range(200):
        R = rng.binomial(n, truth) / n
        made = item_interval(ScoreMatrix(R), item_errors(R, np.full((2, 2), n)), "forgetting.chaudhry2018", draws=400)
        inside += bool(made.low <= drop <= made.high)
    assert inside / 200 > 0.9
