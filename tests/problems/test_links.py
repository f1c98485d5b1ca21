"""Scores of links: where other evaluators are wrong, and what has no value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recollect.problems import problem_of
from recollect.problems.links import Verdicts, hits, mrr

LINKS = problem_of("links")


def value(name, labels, scores):
    labels, scores = np.asarray(labels), None if scores is None else np.asarray(scores, float)
    return Verdicts(labels, scores, None, "no scores").value(LINKS.target(name))


def pairs(labels, scores):
    """ROC-AUC by its definition: the part of the pairs that are in order, a tie counting half."""
    true = [s for s, y in zip(scores, labels, strict=True) if y]
    false = [s for s, y in zip(scores, labels, strict=True) if not y]
    return sum((t > f) + (t == f) / 2 for t in true for f in false) / (len(true) * len(false))


def drawn(true, false, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.r_[np.ones(true, int), np.zeros(false, int)]
    return labels, rng.random(true + false)


@pytest.mark.parametrize(("true", "false"), [(3, 1), (8, 2), (10, 10), (50, 50), (1, 1)])
def test_roc_auc_divides_by_positives_times_negatives(true, false):
    """BeGin divides by P(N - 1): -999999 for 3 and 1, and too low for the others."""
    labels, scores = drawn(true, false)
    got, reason = value("roc_auc", labels, scores)
    assert got == pytest.approx(pairs(labels, scores))
    assert reason is None


def test_roc_auc_of_three_positives_and_one_negative_by_hand():
    assert value("roc_auc", [1, 1, 1, 0], [0.9, 0.8, 0.1, 0.5])[0] == pytest.approx(2 / 3)
    assert value("roc_auc", [1] * 8 + [0] * 2, [1, 1, 1, 1, 0, 0, 0, 0, 0.5, 0.5])[0] == 0.5


def test_equal_scores_are_half_whatever_the_order_of_the_rows():
    """BeGin gives -1 or +1 by the order of the rows."""
    for labels in ([1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]):
        assert value("roc_auc", labels, np.zeros(4))[0] == 0.5


@pytest.mark.parametrize("name", [target.name for target in LINKS.targets])
@pytest.mark.parametrize(
    ("labels", "said"),
    [([0, 0, 0], "all its test samples are false"), ([1, 1], "all its test samples are true"), ([], "no test samples")],
)
def test_one_answer_only_or_no_samples_is_nan_with_a_reason(name, labels, said):
    """BeGin: 1.0 without positives, 0.0 without samples."""
    got, reason = value(name, labels, np.arange(len(labels)))
    assert math.isnan(got)
    assert said in reason


def test_hits_at_50_with_20_negatives_is_nan_with_a_reason():
    """BeGin: 1.0."""
    got, reason = value("hits@50", *drawn(30, 20))
    assert math.isnan(got)
    assert "fewer than 50" in reason
    assert value("hits@20", *drawn(30, 20))[1] is None


def test_hits_and_mrr_by_their_definitions():
    for seed in range(5):
        labels, scores = drawn(20, 60, seed)
        scores = np.round(scores, 1)  # ties
        false = sorted(scores[labels == 0], reverse=True)
        assert hits(labels, scores, 20) == np.mean([s > false[19] for s in scores[labels == 1]])
        ranks = [1 + sum(f > s for f in false) + sum(f == s for f in false) / 2 for s in scores[labels == 1]]
        assert mrr(labels, scores) == pytest.approx(np.mean([1 / rank for rank in ranks]))


def test_a_learner_without_scores_has_none():
    got, reason = value("mrr", [0, 1], None)
    assert math.isnan(got)
    assert reason == "no scores"


def test_average_precision_is_scikit_learns():
    metrics = pytest.importorskip("sklearn.metrics")
    labels, scores = drawn(20, 30)
    assert value("average_precision", labels, scores)[0] == pytest.approx(
        metrics.average_precision_score(labels, scores)
    )
    assert value("roc_auc", labels, scores)[0] == pytest.approx(metrics.roc_auc_score(labels, scores))
