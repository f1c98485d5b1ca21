"""Friedman and Nemenyi."""

import numpy as np
import pytest
from scipy import stats as reference

from recollect.errors import UsageError
from recollect.stats import friedman_nemenyi

# Demšar 2006, table 6: C4.5 and three variants on 14 data sets, average ranks 3.143, 2.000, 2.893, 1.964
DEMSAR = [
    [0.763, 0.768, 0.771, 0.798],
    [0.599, 0.591, 0.590, 0.569],
    [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657],
    [0.882, 0.888, 0.886, 0.898],
    [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685],
    [0.583, 0.583, 0.563, 0.625],
    [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000],
    [0.940, 0.962, 0.965, 0.962],
    [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975],
    [0.957, 0.978, 0.946, 0.970],
]
NAMES = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]


def test_demsars_example():
    result = friedman_nemenyi(DEMSAR, NAMES)
    assert result.average == pytest.approx((3.143, 2.000, 2.893, 1.964), abs=5e-4)
    assert result.critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)
    assert result.n == 14


def test_chi2_is_scipys_with_ties():
    theirs = reference.friedmanchisquare(*np.transpose(DEMSAR))
    result = friedman_nemenyi(DEMSAR)
    assert (result.chi2, result.chi2_p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)


def test_f_by_hand():
    result = friedman_nemenyi(DEMSAR)
    f = 13 * result.chi2 / (14 * 3 - result.chi2)
    assert result.f == pytest.approx(f)
    assert result.f_p == pytest.approx(reference.f.sf(f, 3, 39))


def test_the_pairs_that_differ_exceed_the_critical_difference():
    result = friedman_nemenyi(np.arange(4) + np.zeros((12, 1)), list("abcd"))
    assert result.average == (4, 3, 2, 1)
    assert result.critical_difference == pytest.approx(1.354, abs=1e-3)
    assert result.different == (("d", "b"), ("d", "a"), ("c", "a"))
    assert (result.f, result.f_p) == (np.inf, 0)


@pytest.mark.parametrize(
    "scores",
    [
        [[4, 3, 2, 1], [4, 3, 2, 1]],
        [[4, 3, 2, 1], [4, 2, 3, 1], [1, 2, 4, 3]],
        [[3, 3, 1], [2, 2, 1], [1, 2, 3]],  # ties within a stream
        [[2, 1], [2, 1], [1, 2], [2, 1]],
    ],
)
def test_the_exact_p_counts_every_order(scores):
    """All permutations of every stream's ranks, the first too, one at a time."""
    from itertools import permutations, product

    ranks = [reference.rankdata(-np.array(row)) for row in scores]
    spread = sum((sum(column) - sum(map(sum, ranks)) / len(ranks[0])) ** 2 for column in zip(*ranks, strict=True))
    every = [
        sum((sum(column) - sum(map(sum, ranks)) / len(ranks[0])) ** 2 for column in zip(*turned, strict=True))
        for turned in product(*(list(permutations(row)) for row in ranks))
    ]
    expected = sum(one >= spread - 1e-9 for one in every) / len(every)
    result = friedman_nemenyi(scores)
    assert result.exact
    assert result.p == pytest.approx(expected, rel=1e-12)


def test_two_streams_that_agree_are_no_proof():
    """Iman and Davenport's F is infinite there; one order in 24 is as extreme."""
    result = friedman_nemenyi([[4, 3, 2, 1], [4, 3, 2, 1]])
    assert (result.f_p, result.p) == (0, pytest.approx(1 / 24))


def test_many_streams_are_tested_by_f():
    result = friedman_nemenyi(DEMSAR * 3)
    assert not result.exact
    assert result.p == result.f_p


def test_direction():
    up, down = friedman_nemenyi(DEMSAR), friedman_nemenyi(-np.array(DEMSAR), higher_is_better=False)
    assert up == down


def test_all_tied():
    result = friedman_nemenyi(np.ones((5, 3)))
    assert result.average == (2, 2, 2)
    assert (result.chi2, result.chi2_p, result.different) == (0, 1, ())


def test_incomplete_streams_are_left_out():
    scores = np.array([*DEMSAR, [0.5, np.nan, 0.5, 0.5]])
    result = friedman_nemenyi(scores, NAMES)
    assert result.average == friedman_nemenyi(DEMSAR, NAMES).average
    assert result.reason == "1 of 15 streams lack a learner and are left out"


@pytest.mark.parametrize("streams", [0, 1])
def test_too_few_streams(streams):
    result = friedman_nemenyi(DEMSAR[:streams] if streams else np.empty((0, 4)))
    assert np.isnan([result.chi2, result.f_p, result.critical_difference]).all()
    assert "two streams" in result.reason


def test_wrong_shape():
    with pytest.raises(UsageError, match="streams, learners"):
        friedman_nemenyi([1, 2, 3])
    with pytest.raises(UsageError, match="4 names"):
        friedman_nemenyi(DEMSAR, ["a"])
