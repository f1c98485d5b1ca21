"""Wrong answers that public tools give, each of which must not come back here."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.metrics import acc, anytime, bwt, forgetting, fwt, intransigence
from tests.metrics.samples import IDS


def test_unevaluated_cells_are_not_zeros():
    """Negative scores (log-likelihoods) in a lower triangle: a zero-padded peak would be the best of all."""
    R = np.array([[-3.0, np.nan], [-5.0, -1.0]])
    for definition in (forgetting.chaudhry2018, forgetting.pycil, forgetting.first):
        assert definition(R) == pytest.approx(2)
        assert definition(R + 100) == pytest.approx(2)
    assert np.isnan(rc.score(rc.ScoreMatrix(R, unit="raw"), "fwt.continuum"))


def test_the_callers_ragged_list_is_not_padded_in_place():
    rows = [[0.8], [0.6, 0.9]]
    forgetting.pycil(rows)
    rc.dialects(rc.ScoreMatrix(rows))
    assert rows == [[0.8], [0.6, 0.9]]


def test_a_score_matrix_does_not_follow_the_callers_array():
    R = np.array([[0.8, 0.1], [0.6, 0.9]])
    matrix = rc.ScoreMatrix(R)
    R[:] = 0
    assert rc.score(matrix, "acc.average") == 0.75
    with pytest.raises(ValueError, match="read-only"):
        matrix.R[0, 0] = 1


@pytest.mark.parametrize("id", [id for id in IDS if id.split(".")[0] in ("forgetting", "bwt", "fwt", "raf", "split")])
def test_undefined_is_not_zero(id):
    score = rc.score(rc.ScoreMatrix([[0.8]], b=[0.1], n_classes=[2], restricted=[[[0.8]]]), id)
    assert np.isnan(score)
    assert score.reason


def test_the_last_row_is_not_in_the_peak_by_accident():
    """A task that improved has negative forgetting, except in the dialect that says otherwise."""
    R = [[0.5, 0.0], [0.7, 0.9]]
    assert forgetting.chaudhry2018(R) == pytest.approx(-0.2)
    assert forgetting.peak_any(R) == pytest.approx(-0.2)
    assert forgetting.pycil(R) == 0


def test_task_names_are_not_sorted():
    """As strings "100-109" comes before "20-29"; columns stay in the order of learning."""
    names = ["0-9", "10-19", "20-29", "100-109"]
    R = np.tril(np.arange(1, 17).reshape(4, 4) / 20)
    matrix = rc.ScoreMatrix(R, names=names)
    assert matrix.names == tuple(names)
    assert rc.score(matrix, "acc.learning") == acc.learning(R)


@pytest.mark.parametrize(
    "mixed",
    [
        {"R": [[80, 10], [0.6, 90]]},
        {"R": [[80.0, 10], [60, 90]], "b": [0.1, 0.1]},
        {"R": [[0.8, 0.1], [0.6, 0.9]], "joint": [[80, 10], [80, 95]]},
    ],
)
def test_percent_mixed_with_fractions_is_refused(mixed):
    with pytest.raises(UsageError, match="percent mixed with fractions"):
        rc.ScoreMatrix(**mixed)


@pytest.mark.parametrize(
    "upper",
    [
        [[0.8, 0.6, 0.4], [None, 0.9, 0.5], [None, None, 0.7]],
        [[0.8, 0.6, 0.4], [0, 0.9, 0.5], [0, 0, 0.7]],
    ],
)
def test_a_transposed_matrix_is_refused(upper):
    with pytest.raises(UsageError, match="R looks transposed"):
        rc.ScoreMatrix(upper)
    assert rc.ScoreMatrix(upper, orientation="time_rows").T == 3
    transposed_back = np.array(upper, float).T
    assert rc.ScoreMatrix(transposed_back).T == 3


def test_the_untrained_baseline_is_never_taken_from_a_trained_row():
    R = [[0.8, 0.3], [0.6, 0.9]]
    score = rc.score(rc.ScoreMatrix(R), "fwt.lopezpaz2017")
    assert np.isnan(score)
    assert "the untrained learner's scores" in score.reason
    assert fwt.lopezpaz2017(R, b=[0.1, 0.1]) == pytest.approx(0.2)


def test_rmse_turns_the_sign():
    """Errors 2 then 3 on task 0: it forgot by 1, its transfer is -1, its worst error since is 3."""
    R, joint, b = [[2.0, 5.0], [3.0, 1.0]], [[2.0, 5.0], [2.0, 0.5]], [6.0, 6.0]
    matrix = rc.ScoreMatrix(R, joint=joint, b=b, higher_is_better=False)
    expected = {
        "forgetting.chaudhry2018": 1,
        "forgetting.pycil": 1,
        "forgetting.relative": 0.5,
        "bwt.lopezpaz2017": -1,
        "acc.average": 2,
        "acc.learning": 1.5,
        "acc.minimum": 3,
        "acc.worst_case": 2,
        "intransigence.chaudhry2018": 0.5,
        "fwt.lopezpaz2017": 1,
        "fwt.continuum": 5,
        "anytime.windowed_forgetting": 0.5,
        "anytime.windowed_plasticity": 0,
    }
    for id, value in expected.items():
        assert rc.score(matrix, id) == pytest.approx(value), id
    for definition in (forgetting.chaudhry2018, bwt.lopezpaz2017):
        assert definition(R, higher_is_better=False) == -definition(R)
    assert intransigence.chaudhry2018(R, joint=joint, higher_is_better=False) == 0.5
    assert anytime.average(R, higher_is_better=False) == 2


def test_the_mean_over_tasks_and_the_pooled_accuracy_have_two_names():
    R, n = [[0.8, 0.1], [0.6, 0.9]], [300, 100]
    assert acc.average(R) == pytest.approx(0.75)
    assert acc.pooled(R, n_samples=n) == pytest.approx(270 / 400)
    assert np.isnan(rc.score(rc.ScoreMatrix(R), "acc.pooled"))
