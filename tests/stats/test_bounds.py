"""Intervals of scores that have bounds stay inside them."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.stats import estimate


def test_an_interval_inside_its_bounds_is_the_t_interval():
    scores = [0.61, 0.58, 0.64, 0.60, 0.62]
    plain, bounded = estimate(scores), estimate(scores, bounds=(0, 1))
    assert (plain.low, plain.high) == (bounded.low, bounded.high)


@pytest.mark.parametrize("scores", [[0.99, 0.97, 1.0], [0.0, 0.0, 0.02], [1.0, 1.0, 0.4], [0.02, 0.9], [0.0, 1.0]])
@pytest.mark.parametrize("method", ["t", "bca", "iqm"])
def test_no_interval_of_proportions_leaves_zero_and_one(scores, method):
    made = estimate(scores, method=method, bounds=(0, 1))
    assert 0 <= made.low <= made.value <= made.high <= 1
    assert made.low < made.high


def test_bounds_of_each_point():
    scores = np.array([[0.99, 0.99], [0.90, 0.90], [1.0, 1.0]])
    made = estimate(scores, bounds=([0, -np.inf], [1, np.inf]))
    assert made.high[0] <= 1 < made.high[1]


@pytest.mark.parametrize(("p", "n"), [(0.97, 5), (0.5, 3), (0.02, 5), (0.99, 3)])
def test_staying_inside_costs_no_coverage(p, n):
    """Beta-distributed scores with this mean: the bounded interval holds it as often as the plain t interval."""
    rng = np.random.default_rng(0)
    scores = rng.beta(20 * p, 20 * (1 - p), size=(n, 3000))
    bounded, plain = (
        np.mean((made.low <= p) & (p <= made.high)) for made in (estimate(scores, bounds=(0, 1)), estimate(scores))
    )
    assert bounded >= plain - 0.01


def test_a_seed_that_collapsed_is_said_with_the_robust_alternative():
    (said,) = estimate([0.80, 0.81, 0.30, 0.79, 0.80]).notes
    assert "one seed lies far from all others" in said
    assert "iqm" in said
    assert estimate([0.80, 0.81, 0.78, 0.79, 0.80]).notes == ()
    assert estimate([0.80, 0.81, 0.30, 0.79]).notes == (), "four seeds cannot tell"
    assert estimate([0.80, 0.81, 0.30, 0.79, 0.80], method="iqm").notes == ()


def test_normal_seeds_rarely_look_collapsed():
    rng = np.random.default_rng(0)
    for n in (5, 6, 10):
        made = estimate(rng.normal(0.6, 0.02, (n, 20000)))
        assert np.mean([reason is not None for reason in made.reason]) < 0.004
