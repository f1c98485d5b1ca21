"""What users give, turned into arrays."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.inputs import as_scores, end_rows, value_range


@pytest.mark.parametrize(
    "values",
    [
        [[1, None], [2, 3]],
        ((1, None), (2, 3)),
        [[1], [2, 3]],
        [np.array([1.0]), np.array([2.0, 3.0])],
        np.array([[1, np.nan], [2, 3]], dtype=np.float32),
        np.array([[1, None], [2, 3]], dtype=object),
        np.ma.masked_array([[1, 9], [2, 3]], mask=[[False, True], [False, False]]),
        np.ma.masked_array([[1.0, 9.0], [2.0, 3.0]], mask=[[False, True], [False, False]]),
    ],
    ids=["none", "tuples", "ragged", "arrays", "float32", "object", "masked ints", "masked"],
)
def test_one_meaning_many_spellings(values):
    array = as_scores(values, "R")
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, [[1, np.nan], [2, 3]])


def test_ragged_batches():
    batch = as_scores([[[1], [2, 3]], [[4], [5, 6]]], "R")
    np.testing.assert_array_equal(batch, [[[1, np.nan], [2, 3]], [[4, np.nan], [5, 6]]])


@pytest.mark.parametrize(
    "values",
    [
        "abc",
        [["a", "b"]],
        [[1, 2], 3],
        [[[1], [2, 3]], [[1], [2, 3], [4, 5, 6]]],
        {"a": 1},
        object(),
        np.array([[1j]]),
        [[1j]],
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
        [[10**400]],
        "x" * 1000,
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_is_not_numbers_is_refused_in_one_paragraph(values):
    with pytest.raises(UsageError) as error:
        as_scores(values, "R")
    message = str(error.value)
    assert message.startswith("R must be an array of numbers")
    assert "\n" not in message
    assert len(message) < 400


def test_an_infinite_score_is_refused_with_its_place():
    with pytest.raises(UsageError, match=r"R\[1, 0\] is infinite"):
        as_scores([[1, 2], [-np.inf, np.nan]], "R")


def test_as_scores_is_a_copy():
    given = np.zeros((2, 2))
    as_scores(given, "R")[0, 0] = 1
    assert given[0, 0] == 0


def test_value_range_ignores_nan():
    assert value_range([np.array([np.nan, 3.0]), np.array([-1.0])]) == (-1, 3)
    assert value_range([np.array([np.nan])]) == (0, 0)
    assert value_range([]) == (0, 0)


@pytest.mark.parametrize(
    ("learned_at", "planned", "S", "T", "rows"),
    [
        (None, None, 3, 3, [0, 1, 2]),
        (None, [1, 0, 1], 2, 3, [0, -1, 1]),
        (None, [True, False, True], 3, 3, [0, -1, 2]),
        ([0, 0, 1], None, 2, 3, [0, 0, 1]),
        ([2, -1, 5], [1, 0, 1], 6, 3, [2, -1, 5]),
        ([-1, 0], None, 1, 2, [-1, 0]),
    ],
)
def test_end_rows(learned_at, planned, S, T, rows):
    found, has_own = end_rows(learned_at, planned, S, T)
    assert found.tolist() == rows
    assert has_own.tolist() == [row >= 0 for row in rows]


@pytest.mark.parametrize(
    ("learned_at", "planned", "S", "T", "message"),
    [
        (None, None, 2, 3, "R has 2 rows and 3 tasks"),
        (None, [1, 1, 0], 1, 3, r"as many tasks as R has rows \(1\); got 2 of 3"),
        (None, [1, 2], 2, 2, "planned must be true or false"),
        (None, [1], 2, 2, "planned must have 2 entries"),
        ([0, 5], None, 2, 2, "a row from 0 to 1"),
        ([1, 0], None, 2, 2, "never decreasing"),
        ([-1, -1], None, 2, 2, "a row from 0 to 1"),
        ([0, -3], None, 2, 2, "learned_at must be whole numbers of at least -2"),
        ([0, 0.5], None, 2, 2, "learned_at must be whole numbers"),
        ([0], None, 2, 2, "learned_at must have 2 entries"),
        ([0, -1], [1, 1], 2, 2, "contradict each other"),
        ([0, -1, 0], None, 1, 3, "tasks 0 and 2 were learned by row 0"),
    ],
)
def test_end_rows_refused(learned_at, planned, S, T, message):
    with pytest.raises(UsageError, match=message):
        end_rows(learned_at, planned, S, T)
