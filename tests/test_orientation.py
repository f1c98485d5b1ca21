"""Which axis is time: what the numbers tell, and what they must not be taken to tell."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.matrix import ScoreMatrix
from recollect.orientation import doubt, why_empty, why_transposed

# Learned to .96, kept at .8 to .95, at chance before.
KEPT = np.array([[0.96, 0.12, 0.12], [0.92, 0.97, 0.12], [0.82, 0.94, 0.96]])


def decaying(T: int, kept: float = 0.4, before: float = 0.1) -> np.ndarray:
    i, j = np.indices((T, T))
    return np.where(i >= j, before + (0.9 - before) * kept ** np.maximum(i - j, 0), before)


@pytest.mark.parametrize(
    "R", [KEPT, KEPT * 100, decaying(5), decaying(10), decaying(30), np.stack([KEPT, KEPT - 0.02])]
)
def test_what_is_learned_along_the_rows_is_doubted_and_its_transpose_is_not(R: np.ndarray) -> None:
    assert why_transposed(R) is None
    assert "as if each row were one task" in str(why_transposed(R.swapaxes(-1, -2)))


def test_of_errors_the_sign_is_turned() -> None:
    loss = 2.3 - 2.2 * KEPT
    assert why_transposed(loss, higher_is_better=False) is None
    assert why_transposed(loss.T, higher_is_better=False) is not None
    assert why_transposed(loss.T) is None


def test_scores_below_zero_are_judged_by_their_range() -> None:
    returns = 1000 * KEPT - 700
    assert why_transposed(returns) is None
    assert why_transposed(returns.T) is not None


@pytest.mark.parametrize(
    "R",
    [
        pytest.param([[0.9, 0.7], [0.1, 0.8]], id="two tasks say nothing"),
        pytest.param([[0.9, 0.85, 0.8], [0.85, 0.9, 0.86], [0.7, 0.8, 0.9]], id="strong forward transfer"),
        pytest.param([[0.62, 0.76, 0.67], [0.63, 0.75, 0.88], [0.64, 0.73, 0.79]], id="detectors"),
        pytest.param([[0.73, 0.87, 0.86], [0.74, 0.6, 0.81], [0.74, 0.48, 0.92]], id="detectors that get worse"),
        pytest.param([[0.2, 0.5, 0.9], [0.2, 0.5, 0.9], [0.2, 0.5, 0.9]], id="later tasks are easier"),
        pytest.param([[0.9, 0.9, 0.9], [0.9, 0.9, 0.9], [0.1, 0.1, 0.1]], id="a learner that collapses"),
        pytest.param([[0.9, 0.1, 0.1], [0.1, 0.9, 0.1], [0.1, 0.1, 0.9]], id="everything is forgotten"),
        pytest.param([[0.5, 0.5, 0.5]] * 3, id="constant"),
    ],
)
def test_what_fits_both_ways_is_not_doubted(R: list[list[float]]) -> None:
    assert why_transposed(np.array(R)) is None


def test_cells_that_are_missing_do_not_hide_it() -> None:
    R = decaying(6).T.copy()
    R[0, 5] = R[4, 1] = np.nan
    assert why_transposed(R) is not None
    R[np.triu_indices(6, 1)] = np.nan
    assert why_transposed(R) is None


@pytest.mark.parametrize(
    ("R", "said"),
    [
        ([[0.8, 0.6], [np.nan, 0.9]], "only its upper triangle"),
        ([[0.8, 0.6], [0, 0.9]], "nothing is"),
        ([[0.8, 0.6, 0.0], [0, 0.9, 0.7], [0, 0, 0.8]], "above it not"),
        ([[0.8, 0.6, 0.0], [0, 0.9, 0.7], [np.nan, 0, 0.8]], "above it not"),
        ([[0.8, 0.0, 0.0], [0, 0.9, 0.01], [0, 0, 0.8]], None),
        ([[0.8, np.nan], [0.0, 0.9]], None),
        ([[0.8]], None),
    ],
)
def test_an_empty_lower_triangle(R: list[list[float]], said: str | None) -> None:
    why = why_empty(np.array(R))
    assert (why is None) if said is None else said in str(why)


def test_a_matrix_says_once_that_it_may_be_transposed() -> None:
    said = doubt(KEPT.T)
    assert said is not None
    assert ScoreMatrix(KEPT.T).notes == (said,)
    assert ScoreMatrix(KEPT.T, notes=(said,)).notes == (said,)
    assert ScoreMatrix(KEPT.T, orientation="time_rows").notes == ()
    assert ScoreMatrix(KEPT).notes == ()
