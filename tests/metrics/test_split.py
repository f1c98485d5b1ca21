"""Forgetting split into its parts, on accuracies made from class scores."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect.errors import MissingCells, UsageError
from recollect.metrics import split
from recollect.runs import Row, Run, Task
from tests.metrics.samples import restricted_scores

THREE = ("split.within", "split.older", "split.newer")


def test_three_changes_by_hand():
    """Task 0 peaks in row 1; task 1 has row 1 alone before now."""
    R = [[0.6, 0.0, 0.0], [0.7, 0.9, 0.0], [0.3, 0.5, 0.8]]
    A = [[0.6, 0.0, 0.0], [0.8, 0.9, 0.0], [0.75, 0.7, 0.8]]
    W = [[0.6, 0.0, 0.0], [0.8, 1.0, 0.0], [0.75, 0.95, 0.9]]
    matrix = rc.ScoreMatrix(R, masked=W, asked=A)
    within = (0.8 - 0.75 + 1.0 - 0.95) / 2
    older = ((0.75 - 0.75) - (0.8 - 0.8) + (0.95 - 0.7) - (1.0 - 0.9)) / 2
    newer = ((0.75 - 0.3) - (0.8 - 0.7) + (0.7 - 0.5) - (0.9 - 0.9)) / 2
    assert [rc.score(matrix, id) for id in THREE] == pytest.approx([within, older, newer])
    assert within + older + newer == pytest.approx(((0.7 - 0.3) + (0.9 - 0.5)) / 2)


@pytest.mark.parametrize("seed", range(5))
def test_the_three_parts_sum_to_forgetting_at_every_row_and_task_by_task(seed):
    R, A, W = restricted_scores(np.random.default_rng(seed), (4,), T=6)
    matrix = rc.ScoreMatrix(R, restricted=A, masked=W)
    parts = [rc.score(matrix, id, curve=True) for id in THREE]
    np.testing.assert_allclose(sum(parts), rc.score(matrix, "forgetting.chaudhry2018", curve=True), atol=1e-15)
    by_task = split.by_task(matrix)
    for part, id in zip(parts, THREE, strict=True):
        values = by_task[id.removeprefix("split.")]
        np.testing.assert_allclose(np.nanmean(values[:, 1:], axis=2), part[:, 1:], atol=1e-15)


def rows_of_evidence(evidence, label, bonus, T):
    """Rows as a record holds them, of a learner with these scores and a bonus for each task's classes at each row."""
    rows = []
    for k in range(T):
        scores = evidence[k] + np.repeat(bonus[k], 2)
        correct, masked, restricted = [], [], []
        for j in range(T):
            mine = label // 2 == j
            s, y = scores[mine], label[mine]
            among = [int((s[:, : 2 * m + 2].argmax(1) == y).sum()) if m >= j else None for m in range(T)]
            correct.append(among[max(k, j)])
            masked.append(int((s[:, 2 * j : 2 * j + 2].argmax(1) == y - 2 * j).sum()))
            restricted.append(tuple(among))
        rows.append(Row(k, correct=tuple(correct), masked=tuple(masked), restricted=tuple(restricted)))
    tasks = tuple(Task(str(j), n_classes=2, n_samples=int((label // 2 == j).sum())) for j in range(T))
    return Run(learner="made", stream="made", tasks=tasks, rows=tuple(rows))


def test_fixed_evidence_and_a_growing_bonus_for_new_classes_is_exactly_nothing_within():
    rng = np.random.default_rng(3)
    T, n = 5, 400
    label = rng.integers(0, 2 * T, n)
    fixed = rng.normal(size=(n, 2 * T))
    fixed[np.arange(n), label] += 2
    newest = np.arange(T)[:, None] == np.arange(T)[None, :]
    run = rows_of_evidence([fixed] * T, label, newest * np.linspace(0.5, 4, T)[:, None], T)
    assert rc.score(run.matrix, "forgetting.chaudhry2018") > 0.3
    np.testing.assert_array_equal(rc.score(run.matrix, "split.within", curve=True)[1:], 0.0)
    assert rc.score(run.matrix, "split.newer") > 0.3
    # What `lost` shows is the bonus that moved on: it was no loss.
    assert rc.score(run.matrix, "split.lost") > 0.1


def test_guessing_is_confusion_with_newer_tasks_only():
    """From the row of learning on, within and older are 0 in expectation and newer is 1/C_p - 1/C_k."""
    rng = np.random.default_rng(4)
    T, n = 4, 40_000
    label = rng.integers(0, 2 * T, n)
    run = rows_of_evidence(rng.normal(size=(T, n, 2 * T)), label, np.zeros((T, T)), T)
    within, older, newer = (rc.score(run.matrix, id) for id in THREE)
    error = 4 * (2 * 0.25 / (n / T)) ** 0.5  # four deviations of a difference, were all tasks one
    assert abs(within) < error
    assert abs(older) < error
    assert newer == pytest.approx(rc.score(run.matrix, "split.chance"), abs=error)


def test_a_missing_companion_cell_of_the_three_is_named():
    R = [[0.8, 0, 0], [0.7, 0.9, 0], [0.3, 0.9, 0.9]]
    W = np.array(R)
    W[0, 0] = np.nan
    assert rc.score(rc.ScoreMatrix(R, masked=W), "split.within").reason == "reads W[0, 0], not evaluated"
    W[0, 0], W[1, 0] = 0.8, np.nan  # row 1 is not task 0's peak: not read
    assert rc.score(rc.ScoreMatrix(R, masked=W), "split.within") == pytest.approx((0.8 - 0.3) / 2)


@pytest.mark.parametrize(("masked", "asked"), [(0.4, None), (0.9, 0.4), (0.5, 0.7)])
def test_more_right_answers_among_more_classes_are_refused(masked, asked):
    companions = {"masked": masked, "asked": asked}
    given = {name: [[0.8, 0], [value, 0.9]] for name, value in companions.items() if value is not None}
    with pytest.raises(UsageError, match=r"does not belong to .* row 1, task 0"):
        rc.ScoreMatrix([[0.8, 0], [0.5, 0.9]], **given)


@pytest.mark.parametrize("seed", range(5))
def test_the_parts_sum_to_forgetting(seed):
    R, A, _ = restricted_scores(np.random.default_rng(seed), (4,), T=6)
    matrix = rc.ScoreMatrix(R, restricted=A)
    lost, confusion, forgetting = (
        rc.score(matrix, id, curve=True) for id in ("split.lost", "split.confusion", "forgetting.chaudhry2018")
    )
    np.testing.assert_allclose(lost + confusion, forgetting, atol=1e-15)


def test_exact_in_counts():
    """With counts the parts are whole numbers of test samples, and they add up without a rounding error."""
    T, n = 6, 20
    R, A, _ = restricted_scores(np.random.default_rng(11), (50,), T, samples=n)
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
