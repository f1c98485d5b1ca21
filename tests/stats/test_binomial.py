"""Binomial intervals of a cell: textbook values, scipy, exact coverage by enumeration."""

import numpy as np
import pytest
from scipy import stats as reference

from recollect.errors import UsageError
from recollect.stats import clopper_pearson, proportion, wilson


@pytest.mark.parametrize("method", ["wilson", "clopper-pearson"])
def test_scipy_agrees_on_every_count(method):
    name = {"wilson": "wilson", "clopper-pearson": "exact"}[method]
    for n in (1, 2, 7, 30):
        result = proportion(np.arange(n + 1), n, method=method)
        for k in range(n + 1):
            theirs = reference.binomtest(k, n).proportion_ci(method=name)
            assert (result.low[k], result.high[k]) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_wilson_by_hand():
    # 5 of 10: centre 1/2, half width 1.96/(10 + 3.8415) * sqrt(2.5 + 0.9604)
    low, high = wilson(5, 10)
    half = 1.959963984540054 / (10 + 3.8414588206941236) * np.sqrt(2.5 + 3.8414588206941236 / 4)
    assert (float(low), float(high)) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-12)


def test_ends_are_exact():
    assert float(wilson(0, 50)[0]) == float(clopper_pearson(0, 50)[0]) == 0.0
    assert float(wilson(50, 50)[1]) == float(clopper_pearson(50, 50)[1]) == 1.0


def test_clopper_pearson_never_covers_less_and_wilson_does_on_average():
    n, p = 20, np.linspace(0.02, 0.98, 200)[:, None]
    chance = reference.binom.pmf(np.arange(n + 1), n, p)
    covered = {}
    for interval in (wilson, clopper_pearson):
        low, high = interval(np.arange(n + 1), n)
        covered[interval] = (chance * ((low <= p) & (p <= high))).sum(axis=1)
    assert covered[clopper_pearson].min() >= 0.95
    assert covered[wilson].mean() == pytest.approx(0.95, abs=0.01)


def test_reasons():
    result = proportion([3, np.nan, 0], [10, 10, 0])
    assert result.reason.tolist() == [None, "not evaluated", "no test samples"]
    assert result.n.tolist() == [10, 0, 0]
    assert np.isnan(result.low[1:]).all()
    assert proportion(np.nan, 10).reason == "not evaluated"


@pytest.mark.parametrize(("k", "n"), [(11, 10), (-1, 10), (1, -1)])
def test_impossible_counts(k, n):
    with pytest.raises(UsageError, match="counts"):
        proportion([1, k], [2, n])


def test_wrong_method():
    with pytest.raises(UsageError, match="wald"):
        proportion(1, 2, method="wald")
