"""Forgetting split into lost and confusion, on tensors made from class scores."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect.errors import MissingCells
from recollect.metrics import split
from tests.metrics.samples import restricted_scores


@pytest.mark.parametrize("seed", range(5))
def test_the_parts_sum_to_forgetting(seed):
    R, A = restricted_scores(np.random.default_rng(seed), (4,), T=6)
    matrix = rc.ScoreMatrix(R, restricted=A)
    lost, confusion, forgetting = (
        rc.score(matrix, id, curve=True) for id in ("split.lost", "split.confusion", "forgetting.chaudhry2018")
    )
    np.testing.assert_allclose(lost + confusion, forgetting, atol=1e-15)


def test_exact_in_counts():
    """With counts the parts are whole numbers of test samples, and they add up without a rounding error."""
    T, n = 6, 20
    R, A = restricted_scores(np.random.default_rng(11), (50,), T, samples=n)
    correct = np.round(np.tril(R) * n)
    matrix = rc.ScoreMatrix(correct / n, correct=correct, n_samples=[n] * T, restricted=A, orientation="time_rows")
    samples = {}
    for id in ("split.lost", "split.confusion", "forgetting.chaudhry2018"):
        counts = rc.score(matrix, id, curve=True)[:, 1:] * n * np.arange(1, T)
        samples[id] = np.round(counts).astype(int)
        assert np.abs(counts - samples[id]).max() < 1e-9
    np.testing.assert_array_equal(
        samples["split.lost"] + samples["split.confusion"], samples["forgetting.chaudhry2018"]
    )


def test_a_random_classifier_loses_nothing():
    T, C = 5, 2 * np.arange(1, 6)
    A = np.broadcast_to(1 / C, (T, T, T))  # 1 / C_m whatever the model and the task
    R = np.broadcast_to((1 / C)[:, None], (T, T))
    matrix = rc.ScoreMatrix(R, restricted=A, n_classes=[2] * T)
    np.testing.assert_allclose(rc.score(matrix, "split.lost", curve=True)[1:], 0, atol=1e-15)
    for id in ("split.confusion", "split.chance"):
        np.testing.assert_allclose(
            rc.score(matrix, id, curve=True),
            rc.score(matrix, "forgetting.chaudhry2018", curve=True),
            atol=1e-15,
        )


def test_a_tied_peak_is_the_earliest():
    """Task 0 scores .8 in rows 0 and 1; the question of row 0, among its own classes, is compared."""
    R = [[0.8, 0, 0], [0.8, 0.9, 0], [0.3, 0.9, 0.9]]
    A = np.full((3, 3, 3), np.nan)
    for k in range(3):
        A[k, : k + 1, k] = R[k][: k + 1]
    A[2, 0, 0], A[2, 0, 1], A[2, 1, 1] = 0.7, 0.5, 0.9
    assert split.lost(R, restricted=A) == pytest.approx((0.1 + 0) / 2)
    assert split.confusion(R, restricted=A) == pytest.approx((0.4 + 0) / 2)
    assert split.chance(R, n_classes=[2, 2, 2]) == pytest.approx((1 / 2 - 1 / 6 + 1 / 4 - 1 / 6) / 2)


def test_a_missing_restricted_cell_is_named_and_an_unread_one_is_not_missed():
    R = [[0.8, 0, 0], [0.7, 0.9, 0], [0.3, 0.9, 0.9]]
    A = np.full((3, 3, 3), np.nan)
    for k in range(3):
        A[k, : k + 1, k] = R[k][: k + 1]
    A[2, 1, 1] = 0.9
    with pytest.raises(MissingCells, match=r"split.lost reads A\[2, 0, 0\], which was not evaluated"):
        split.lost(R, restricted=A)
    A[2, 0, 0] = 0.6
    assert split.lost(R, restricted=A) == pytest.approx(0.1)


def test_scores_of_samples_by_argmax():
    """Two samples of class 0, four classes in two tasks; answers by hand.

    After task 0 both are right. After task 1 the scores are (3, 1 | 5, 0) and (1, 2 | 0, 0): among classes 0
    and 1 the first is right and the second wrong (one lost); among all four neither is (one by confusion).
    """
    after_task_1 = np.array([[3, 1, 5, 0], [1, 2, 0, 0]])
    among_2, among_4 = ((after_task_1[:, :seen].argmax(1) == 0).mean() for seen in (2, 4))
    R = [[1.0, 0.0], [among_4, 1.0]]
    A = [[[1.0, 1.0], [np.nan, 0.0]], [[among_2, among_4], [np.nan, 1.0]]]
    assert split.lost(R, restricted=A) == 0.5
    assert split.confusion(R, restricted=A) == 0.5
