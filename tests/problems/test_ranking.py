"""One sort against scikit-learn's own functions, and values worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.problems.ranking import Ranking

metrics = pytest.importorskip("sklearn.metrics")


@pytest.mark.parametrize("seed", range(40))
def test_equal_to_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 400))
    labels = (rng.random(n) < rng.uniform(0.02, 0.98)).astype(int)
    labels[:2] = (0, 1)
    scores = np.round(rng.normal(size=n) + labels, int(rng.integers(0, 4)))  # few digits: many ties
    ranking = Ranking(labels, scores)
    assert ranking.roc_auc() == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-12)
    assert ranking.average_precision() == pytest.approx(metrics.average_precision_score(labels, scores), abs=1e-12)
    precision, recall, _ = metrics.precision_recall_curve(labels, scores)
    with np.errstate(invalid="ignore"):
        best = np.nanmax(2 * precision * recall / (precision + recall))
    assert ranking.best_f1() == pytest.approx(best, abs=1e-12)


def test_by_hand() -> None:
    """Three positives and one negative: of three pairs two are right."""
    assert Ranking(np.array([1, 1, 0, 1]), np.array([4.0, 3, 2, 1])).roc_auc() == pytest.approx(2 / 3)
    assert Ranking(np.array([1, 0, 1, 0]), np.zeros(4)).roc_auc() == 0.5
    assert Ranking(np.array([1, 0, 1, 0]), np.zeros(4)).average_precision() == 0.5


@pytest.mark.parametrize("labels", [[0, 0], [1, 1]])
def test_one_class_has_no_roc_auc(labels: list[int]) -> None:
    assert np.isnan(Ranking(np.array(labels), np.array([0.1, 0.2])).roc_auc())


def test_no_positive_has_no_precision() -> None:
    ranking = Ranking(np.array([0, 0]), np.array([0.1, 0.2]))
    assert np.isnan(ranking.average_precision())
    assert np.isnan(ranking.best_f1())


def test_infinite_scores_rank_like_others() -> None:
    assert Ranking(np.array([0, 1, 1]), np.array([-np.inf, 0.0, np.inf])).roc_auc() == 1.0
