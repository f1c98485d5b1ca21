"""Permutation tests against brute force and against scipy."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from recollect.stats import label_shuffles, sign_flips, signed_rank
from recollect.stats.permutation import average_ranks, label_shuffles_of, sign_flips_of

ALTERNATIVES = ("two-sided", "greater", "less")


def flips_by_brute_force(d, alternative):
    turn = {"two-sided": abs, "greater": lambda s: s, "less": lambda s: -s}[alternative]
    sums = [turn(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in product((1, -1), repeat=len(d))]
    return sum(s >= turn(sum(d)) - 1e-9 for s in sums) / len(sums), sum(s >= max(sums) - 1e-9 for s in sums) / len(sums)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@given(d=st.lists(st.integers(-4, 4), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_every_sign_flip_is_counted(alternative, d):
    result = sign_flips(d, alternative)
    p, smallest = flips_by_brute_force(d, alternative)
    assert result.p == pytest.approx(p, abs=1e-12)
    assert result.smallest == pytest.approx(smallest, abs=1e-12)
    assert result.exact


def test_by_hand():
    # sums of ±1 ±2 ±3 at least 4 in size: ±6 and ±4
    assert sign_flips([-1, 2, 3]).p == 4 / 8
    assert sign_flips([1, 2, 3], "greater").p == 1 / 8
    assert sign_flips([1, 2, 3], "less").p == 1.0


def test_rounding_does_not_break_ties():
    """0.1 + 0.2 - 0.3 is not 0 in floats; all sums here come in exact ties."""
    assert sign_flips([0.1, 0.2, -0.3]).p == sign_flips([1, 2, -3]).p == 1.0
    assert sign_flips([0.1] * 9 + [-0.1]).p == sign_flips([1] * 9 + [-1]).p == 2 * 11 / 2**10


def test_zeros_cannot_change_sign():
    assert sign_flips([0, 0, 1, 2, 4]) == sign_flips([1, 2, 4])
    nothing = sign_flips([0.0, 0.0])
    assert (nothing.p, nothing.smallest) == (1.0, 1.0)


def test_many_pairs_are_still_exact():
    # With equal sizes the sum is binomial: 24 of 30 positive.
    p = sign_flips([1.0] * 24 + [-1.0] * 6)
    assert p.exact
    assert p.p == pytest.approx(reference.binomtest(24, 30).pvalue, rel=1e-12)


def test_beyond_counting_it_is_random_and_says_so():
    d = np.random.default_rng(0).normal(0.15, 1, size=60)
    result = sign_flips(d, seed=4)
    assert not result.exact
    assert "seed 4" in result.how
    assert result == sign_flips(d, seed=4)
    assert result.p == pytest.approx(reference.ttest_1samp(d, 0).pvalue, abs=0.02)
    assert sign_flips(np.ones(60)).p == sign_flips(np.ones(60)).smallest == 1 / 100_000


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [3, 6, 12, 20])
def test_signed_rank_is_scipys(alternative, n):
    d = np.random.default_rng(n).normal(0.3, 1, size=n)
    theirs = reference.wilcoxon(d, alternative=alternative, method="exact").pvalue
    assert signed_rank(d, alternative).p == pytest.approx(theirs, rel=1e-12)


@given(d=st.lists(st.integers(-3, 3), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_signed_rank_with_ties_and_zeros(d):
    kept = np.array([x for x in d if x])
    ranks = np.sign(kept) * reference.rankdata(np.abs(kept)) if kept.size else kept
    assert signed_rank(d).p == pytest.approx(flips_by_brute_force(list(ranks), "two-sided")[0], abs=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@given(
    a=st.lists(st.integers(0, 6), min_size=1, max_size=5),
    b=st.lists(st.integers(0, 6), min_size=1, max_size=5),
)
@settings(max_examples=40, deadline=None)
def test_every_split_is_counted(alternative, a, b):
    pooled = a + b
    turn = {"two-sided": abs, "greater": lambda s: s, "less": lambda s: -s}[alternative]

    def statistic(chosen):
        rest = [pooled[i] for i in range(len(pooled)) if i not in chosen]
        return turn(np.mean([pooled[i] for i in chosen]) - np.mean(rest))

    splits = [statistic(c) for c in combinations(range(len(pooled)), len(a))]
    result = label_shuffles(a, b, alternative)
    assert result.p == pytest.approx(np.mean([s >= splits[0] - 1e-9 for s in splits]))
    assert result.smallest == pytest.approx(np.mean([s >= max(splits) - 1e-9 for s in splits]))


def test_ranks_of_splits_are_mann_whitney():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=6), rng.normal(0.8, 1, size=7)
    ranks = average_ranks(np.concatenate([a, b]))
    theirs = reference.mannwhitneyu(a, b, method="exact").pvalue
    assert label_shuffles(ranks[:6], ranks[6:]).p == pytest.approx(theirs, rel=1e-9)


def test_many_splits_are_random_and_repeatable():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=20), rng.normal(0.5, 1, size=20)
    result = label_shuffles(a, b, seed=3)
    assert not result.exact
    assert result == label_shuffles(a, b, seed=3)
    assert result.p == pytest.approx(reference.ttest_ind(a, b).pvalue, abs=0.01)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=10))
@settings(deadline=None)
def test_average_ranks_are_scipys(x):
    assert average_ranks(np.array(x, dtype=float)).tolist() == reference.rankdata(x).tolist()


def test_many_at_once_are_each_alone():
    rng = np.random.default_rng(7)
    # Exact, drawn with 60 signs, with 58 (two zeros), a tie of whole numbers; in any company the same p.
    many = [
        rng.normal(0.1, 1, 12),
        *rng.normal(0.2, 1, (3, 60)),
        np.r_[rng.normal(size=58), 0, 0],
        rng.integers(-2, 4, 60),
    ]
    for alternative in ("two-sided", "greater", "less"):
        assert sign_flips_of(many, alternative, 3) == [sign_flips(d, alternative, 3) for d in many]
    groups = [
        (rng.normal(size=14), rng.normal(0.5, 1, 13)),
        (rng.normal(size=14), rng.normal(size=13)),
        ([1, 2], [3, 4]),
    ]
    assert label_shuffles_of(groups, "greater", 5) == [label_shuffles(a, b, "greater", 5) for a, b in groups]


def test_random_flips_are_those_of_one_by_one():
    d = np.random.default_rng(2).normal(0.2, 1, 50)
    rng, reached = np.random.default_rng(9), 0
    for start in range(0, 99_999, 10_000):
        rows = min(10_000, 99_999 - start)
        drawn = np.frombuffer(rng.bytes(8 * rows), dtype=">u8").astype(np.uint64)  # the first bit is the highest
        signs = np.stack([(drawn >> np.uint64(63 - k)) & np.uint64(1) for k in range(50)], axis=1).astype(int) * 2 - 1
        reached += int((np.abs(signs @ np.abs(d)) >= abs(d.sum()) * (1 - 1e-9)).sum())
    assert sign_flips(d, seed=9).p == (1 + reached) / 100_000


def test_random_flips_do_not_depend_on_what_else_is_compared():
    draw = np.random.default_rng(3)
    many = [draw.normal(0.2, 1, size) for size in (41, 50, 64, 65, 90)]
    many.append(np.where(np.arange(70) < 20, 0, draw.normal(0.1, 1, 70)))
    assert sign_flips_of(many) == [sign_flips(d) for d in many]
