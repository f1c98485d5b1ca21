"""Comparisons on paired seeds."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from recollect.errors import NotComputable, UsageError
from recollect.stats import compare_all, compare_paired, holm

NAN = float("nan")
A, B = [0.62, 0.66, 0.64, 0.70, 0.61], [0.60, 0.61, 0.63, 0.62, 0.62]


def test_five_pairs_by_hand():
    result = compare_paired(A, B)
    d = np.subtract(A, B)  # .02 .05 .01 .08 -.01
    assert result.difference.value == pytest.approx(0.03)
    theirs = reference.ttest_rel(A, B).confidence_interval()
    assert (result.difference.low, result.difference.high) == pytest.approx((theirs.low, theirs.high))
    sums = [abs(np.dot(signs, d)) for signs in product((1, -1), repeat=5)]
    assert result.p == np.mean([s >= abs(d.sum()) - 1e-9 for s in sums]) == 6 / 32  # .17, and .15 in two ways
    assert result.smallest_p == 2 / 32
    assert result.improvement.value == 4 / 5
    assert (result.n, result.paired, result.exact, result.how) == (5, True, True, "all 32 sign flips")
    assert result.reason == "5 pairs cannot give a p below 0.0625"


def test_wilcoxon_is_scipys():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 12))
    assert compare_paired(a, b).wilcoxon_p == pytest.approx(reference.wilcoxon(a, b, method="exact").pvalue)


def test_swapping_the_learners_turns_the_sign():
    there, back = compare_paired(A, B), compare_paired(B, A)
    assert there.difference.value == pytest.approx(-back.difference.value)
    assert there.difference.low == pytest.approx(-back.difference.high)
    assert (there.p, there.wilcoxon_p) == (back.p, back.wilcoxon_p)
    assert there.improvement.value == pytest.approx(1 - back.improvement.value)


def test_what_seeds_share_cancels():
    shared = np.array([5.0, -3.0, 8.0, 0.0, 100.0])
    apart, together = compare_paired(A, B), compare_paired(A + shared, B + shared)
    assert together.difference.value == pytest.approx(apart.difference.value)
    assert together.p == apart.p


def test_one_sided():
    greater, less = (compare_paired(A, B, alternative=side) for side in ("greater", "less"))
    assert greater.p == 3 / 32
    assert less.p == 31 / 32
    assert greater.smallest_p == 1 / 32


def test_mappings_are_matched_by_seed_not_by_order():
    a, b = dict(enumerate(A)), dict(reversed(list(enumerate(B))))
    assert repr(compare_paired(a, b)) == repr(compare_paired(A, B))


def test_other_seeds_are_refused_unless_told():
    a, b = {1: 0.5, 2: 0.6, 3: 0.7}, {2: 0.4, 3: 0.5, 9: 0.3}
    with pytest.raises(NotComputable, match=r"1 only of the first, 9 only of the second.*unpaired"):
        compare_paired(a, b)
    result = compare_paired(a, b, unpaired=True)
    assert not result.paired
    assert result.n == 6
    assert "unpaired" in result.reason


def test_unpaired_is_welch_and_shuffled_labels():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=6), rng.normal(1, 3, size=9)
    result = compare_paired(a, b, unpaired=True)
    theirs = reference.ttest_ind(a, b, equal_var=False).confidence_interval()
    assert (result.difference.low, result.difference.high) == pytest.approx((theirs.low, theirs.high))
    pooled = np.concatenate([a, b])
    sums = [pooled[list(chosen)].sum() for chosen in combinations(range(15), 6)]
    gaps = [abs(s / 6 - (pooled.sum() - s) / 9) for s in sums]
    assert result.p == np.mean([gap >= gaps[0] - 1e-9 for gap in gaps])
    assert result.wilcoxon_p == pytest.approx(reference.mannwhitneyu(a, b, method="exact").pvalue)
    assert result.improvement.value == pytest.approx(reference.mannwhitneyu(a, b).statistic / 54)


def test_lists_of_different_length_are_refused():
    with pytest.raises(UsageError, match="unpaired"):
        compare_paired([1, 2], [1, 2, 3])
    with pytest.raises(UsageError, match="one of each"):
        compare_paired({1: 0.5}, [0.5])


@pytest.mark.parametrize(("pairs", "reason"), [(0, "no pairs"), (1, "one pair")])
def test_too_few_pairs(pairs, reason):
    result = compare_paired(A[:pairs], B[:pairs])
    assert np.isnan([result.p, result.wilcoxon_p, result.difference.low]).all()
    assert reason in result.reason
    assert compare_paired([1.0], [2.0, 3.0], unpaired=True).p != 0


def test_missing_pairs_are_left_out():
    result = compare_paired([*A, 0.9, NAN], [*B, NAN, 0.1])
    assert result.p == compare_paired(A, B).p
    assert result.n == 5
    assert "2 of 7 pairs" in result.reason


def test_equal_learners():
    result = compare_paired(A, A)
    assert (result.difference.value, result.p, result.smallest_p, result.improvement.value) == (0, 1, 1, 0.5)
    assert "5 of 5 differences are zero" in result.reason


def test_lower_is_better_turns_only_improvement():
    result = compare_paired(A, B, higher_is_better=False)
    assert result.improvement.value == pytest.approx(1 / 5)
    assert result.difference == compare_paired(A, B).difference


def test_wrong_use():
    with pytest.raises(UsageError, match="sideways"):
        compare_paired(A, B, alternative="sideways")
    with pytest.raises(UsageError, match="Welch"):
        compare_paired(A, B, unpaired=True, method="bca")


def test_holm_by_hand():
    # sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04, then running maximum
    assert holm([0.03, 0.01, 0.04, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


def test_holm_skips_undefined():
    np.testing.assert_allclose(holm([0.01, NAN, 0.02]), [0.02, NAN, 0.02])
    with pytest.raises(UsageError, match="between 0 and 1"):
        holm([0.1, 1.2])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
@settings(deadline=None)
def test_holm_rejects_what_the_step_down_procedure_rejects(p):
    rejected, order = set(), sorted(range(len(p)), key=lambda i: p[i])
    for place, i in enumerate(order):
        if p[i] * (len(p) - place) > 0.05:
            break
        rejected.add(i)
    assert set(np.flatnonzero(holm(p) <= 0.05)) == rejected


def test_compare_all_corrects_over_all_pairs():
    rng = np.random.default_rng(1)
    learners = {name: dict(enumerate(rng.normal(i, 1, size=8))) for i, name in enumerate("abc")}
    pairs = compare_all(learners)
    assert [(p.first, p.second) for p in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [p.holm_p for p in pairs] == holm([p.comparison.p for p in pairs]).tolist()
    assert repr(pairs[1].comparison) == repr(compare_paired(learners["a"], learners["c"]))


def test_differences_that_only_rounding_tells_apart_are_one():
    a = np.random.default_rng(0).uniform(0.1, 0.9, 30)
    result = compare_paired(a, a - 0.05)
    assert np.ptp(a - (a - 0.05)) > 0
    assert result.difference.sd == 0
    assert np.isnan(result.difference.low)
    assert compare_paired(a, (a + 0.1) - 0.1).difference.value == 0
