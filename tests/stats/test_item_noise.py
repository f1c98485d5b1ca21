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
