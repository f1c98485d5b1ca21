"""Intervals over test items, and what test noise alone shows."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest

import recollect as rc
from recollect.errors import NotComputable, UsageError
from recollect.runs import load
from recollect.stats import null_forgetting, over_items

PUBLIC = Path(__file__).parents[3] / "shared" / "files" / "public_files.tar.xz"


def matrix(R, n=400):
    return rc.ScoreMatrix(R, n_samples=[n] * np.shape(R)[-1], orientation="time_rows")


def test_a_linear_metric_has_the_variance_of_its_weights():
    R = [[0.8, 0.1], [0.6, 0.9]]
    made = over_items(matrix(R), "acc.average")
    error = np.sqrt((0.6 * 0.4 / 400 + 0.9 * 0.1 / 400) / 4)
    assert (made.high - made.low) / 2 == pytest.approx(1.959964 * error, rel=1e-5)
    made = over_items(matrix(R), "bwt.lopezpaz2017")
    error = np.sqrt(0.8 * 0.2 / 400 + 0.6 * 0.4 / 400)
    assert (made.high - made.low) / 2 == pytest.approx(1.959964 * error, rel=1e-5)


@pytest.mark.parametrize("id", ["acc.average", "forgetting.chaudhry2018", "forgetting.first", "raa.michel2023"])
def test_the_interval_covers_what_such_test_sets_give_in_the_mean(id):
    rng = np.random.default_rng(1)
    true = np.array([[0.9, 0.2, 0.1], [0.7, 0.8, 0.2], [0.5, 0.6, 0.9]])
    drawn = rng.binomial(300, true, size=(120, 3, 3)) / 300
    plan = {"n_samples": [300] * 3, "n_classes": [2] * 3, "orientation": "time_rows"}
    mean = np.mean(rc.score(rc.ScoreMatrix(drawn, **plan), id))
    made = [over_items(rc.ScoreMatrix(one, **plan), id, resamples=400) for one in drawn]
    covered = np.mean([e.low <= mean <= e.high for e in made])
    assert covered >= 0.88  # 0.95 less three and a half standard errors of 120 draws


def test_items_are_drawn_with_all_their_answers():
    """Rows that agree on every item have no noise in their difference, however few items there are."""
    rng = np.random.default_rng(2)
    right = (rng.random(50) < 0.7).astype(np.int8)
    score = right.mean()
    same = matrix([[score, 0.1], [score, 0.9]], n=50)
    tables = [np.stack([right, right]), None]
    paired = over_items(same, "forgetting.first", items=tables)
    assert (paired.low, paired.high) == pytest.approx((0, 0))
    unpaired = over_items(same, "forgetting.first")
    assert unpaired.high > 0.1
    # A drop on items that changed is sure where the cells alone leave it open.
    lower = right.copy()
    lower[np.flatnonzero(right)[:5]] = 0
    fallen = matrix([[score, 0.1], [lower.mean(), 0.9]], n=50)
    paired = over_items(fallen, "forgetting.first", items=[np.stack([right, lower]), None])
    assert paired.low > 0 > over_items(fallen, "forgetting.first").low


def test_a_million_items_are_drawn_at_once():
    rng = np.random.default_rng(3)
    n = 250_000
    tables = [(rng.random((2, n), dtype=np.float32) < 0.7).astype(np.int8) for _ in range(4)]
    R = np.array([[t[row].mean() for t in tables] for row in range(2)])
    plan = rc.ScoreMatrix(R, learned_at=[0, 0, 0, 1], n_samples=[n] * 4, orientation="time_rows")
    made = over_items(plan, "acc.average", items=tables)
    by_cells = over_items(plan, "acc.average")
    assert made.high - made.low == pytest.approx(by_cells.high - by_cells.low, rel=0.1)


def test_null_forgetting_is_the_best_of_several_noisy_rows():
    """Twenty rows of a constant .5 on 100 items: the best of 19 lies about 1.85 deviations above the last."""
    T = 20
    R = np.where(np.tri(T, dtype=bool), 0.5, np.nan)
    null = null_forgetting(matrix(R, n=100))
    rng = np.random.default_rng(0)
    rows = rng.binomial(100, 0.5, size=(4000, T, T)) / 100
    af = np.mean([rows[:, j : T - 1, j].max(1) - rows[:, T - 1, j] for j in range(T - 1)], axis=0)
    assert null.value == pytest.approx(af.mean(), abs=0.002)
    assert null.low < null.value < null.high


@pytest.mark.skipif(not PUBLIC.exists(), reason="the public files of O-LoRA are not here")
def test_the_published_runs_of_olora(tmp_path):
    """AF .0174 beside a null of .0175 [.0053, .0300]; plain sequential LoRA .4895."""
    with tarfile.open(PUBLIC) as packed:
        wanted = [one for one in packed.getmembers() if "olora/long_" in one.name]
        packed.extractall(tmp_path, wanted, filter="data")
    (root,) = tmp_path.rglob("long_olora")
    (olora,), (plain,) = load(root), load(root.parent / "long_seqlora")
    assert rc.score(olora.matrix, "AF") == pytest.approx(0.0174, abs=5e-5)
    null = null_forgetting(olora.matrix)
    assert (null.value, null.low, null.high) == pytest.approx((0.0175, 0.0053, 0.0300), abs=0.001)
    assert rc.score(plain.matrix, "AF") == pytest.approx(0.4895, abs=5e-5)
    assert over_items(plain.matrix, "AF").low > null.high


def test_what_cannot_be_is_refused():
    with pytest.raises(NotComputable, match="sizes of the test sets"):
        over_items(rc.ScoreMatrix([[0.8, 0.1], [0.6, 0.9]]), "AA")
    with pytest.raises(UsageError, match="one run"):
        over_items(matrix([[[0.8, 0.1], [0.6, 0.9]]]), "AA")
    with pytest.raises(NotComputable, match="has no value"):
        over_items(matrix([[0.8]]), "AF")
    with pytest.raises(UsageError, match="one table per task"):
        over_items(matrix([[0.8, 0.1], [0.6, 0.9]]), "AF", items=[None])


class TestMoreThanTheMatrixSays:
    """Standard errors, items of the base row, and two runs on the same items."""

    def test_standard_errors_stand_for_scores_that_are_no_shares(self):
        from recollect.stats import noise_of

        plan = rc.ScoreMatrix(
            [[21.0], [22.0]], b=[20.0], learned_at=["held out"], unit="raw", higher_is_better=False, names=["wiki"]
        )
        with pytest.raises(NotComputable, match="none of wiki"):
            over_items(plan, "held_out.delta")
        noise = noise_of(plan, errors=[[np.nan], [0.4]], base_errors=[0.3])  # the first row is not read
        made = over_items(plan, "held_out.delta", noise=noise)
        assert (made.value, (made.high - made.low) / 2) == pytest.approx((-2.0, 1.959964 * 0.5), rel=1e-5)

    def test_a_column_that_is_not_read_need_not_be_known(self):
        from recollect.stats import noise_of

        plan = rc.ScoreMatrix([[0.5, 0.6]], b=[0.4, 0.7], learned_at=[0, "held out"], names=["a", "g"])
        noise = noise_of(plan, errors=[[np.nan, 0.03]], base_errors=[np.nan, 0.04])
        made = over_items(plan, "held_out.delta", noise=noise)
        assert (made.high - made.low) / 2 == pytest.approx(1.959964 * 0.05, rel=1e-5)
        assert over_items(plan, "held_out.relative", noise=noise).low < 1 / 7
        with pytest.raises(NotComputable, match="none of a"):
            over_items(plan, "acc.average", noise=noise)

    def test_the_base_row_shares_its_items_with_the_others(self):
        rng = np.random.default_rng(4)
        before = (rng.random(400) < 0.7).astype(np.int8)
        after = before.copy()
        after[np.flatnonzero(before)[:20]] = 0
        plan = rc.ScoreMatrix([[after.mean()]], b=[before.mean()], learned_at=["held out"], n_samples=[400])
        made = over_items(plan, "held_out.delta", items=[np.stack([before, after])])
        # 20 of 400 items changed, all one way: the variance of the mean of -1 and 0.
        error = np.sqrt(0.05 * 0.95 / 400)
        assert (made.high - made.low) / 2 == pytest.approx(1.959964 * error, rel=1e-3)
        apart = over_items(plan, "held_out.delta")
        assert apart.high > 0 > made.high

    def test_all_right_is_not_sure_for_ever(self):
        made = over_items(matrix([[1.0]], n=50), "acc.average")
        assert made.high == 1
        assert made.low == pytest.approx(50 / (50 + 1.959964**2), abs=1e-3)  # Wilson's lower end

    def test_two_models_on_the_same_items_are_compared_item_by_item(self):
        from recollect.stats import difference_over_items, noise_of

        rng = np.random.default_rng(5)
        one = (rng.random((1, 300)) < 0.6).astype(np.int8)
        other = one.copy()
        other[0, np.flatnonzero(one[0])[:12]] = 0
        runs = [matrix([[of.mean()]], n=300) for of in (one, other)]
        noises = [noise_of(run, items=[of]) for run, of in zip(runs, (one, other), strict=True)]
        a, b = zip(runs, noises, strict=True)
        made = difference_over_items(a, b, "acc.average", same_items=[(0, 0)])
        assert made.estimate.value == pytest.approx(0.04)
        assert made.estimate.low > 0
        assert made.p < 0.01
        assert made.paired == 1
        apart = difference_over_items(*((run, noise_of(run)) for run in runs), "acc.average")
        assert apart.estimate.low < 0
        assert apart.p > 0.2

    def test_with_many_patterns_means_are_normal(self):
        """Twenty rows of many items: both ways of drawing have the same spread."""
        from recollect.stats.item_draws import deviations

        rng = np.random.default_rng(6)
        right = rng.random((20, 30_000)) < 0.5
        right[1] = right[0]
        away = deviations(right, 1000, rng)
        assert np.allclose(away[:, 0], away[:, 1])
        assert away.std(0) == pytest.approx(np.full(20, np.sqrt(0.25 / 30_000)), rel=0.12)
