"""Coefficients against loops over the definitions, the metrics, and the propositions."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.reproduce import coefficients


def slow_beta(classes: list[int]) -> list[float]:
    """Definition 4.1 and 4.2 by loops, with the peak looked for and not assumed."""
    seen = np.cumsum(classes)
    AF = []
    for k in range(1, len(classes)):
        drops = [max(1 / seen[i] for i in range(j, k)) - 1 / seen[k] for j in range(k)]
        AF.append(sum(drops) / k)
    return [min(AF) / value for value in AF]


@pytest.mark.parametrize("classes", [[2] * 5, [50, 10, 10, 10, 10, 10], [3, 1, 7, 2], [15, 1, 1, 1, 1, 1]])
def test_definitions_loops_and_metrics_agree(classes: list[int]) -> None:
    ours = coefficients.from_definitions(classes)
    np.testing.assert_allclose(ours.beta[1:], slow_beta(classes), rtol=1e-12)
    gamma, beta = coefficients.from_metrics(classes)
    np.testing.assert_allclose(ours.gamma, gamma, rtol=1e-12)
    np.testing.assert_allclose(ours.beta[1:], beta[1:], rtol=1e-12)
    np.testing.assert_allclose(ours.gamma, np.cumsum(classes) / sum(classes), rtol=1e-12)


def test_propositions_hold_for_all_numbers_of_tasks() -> None:
    for found in coefficients.check_propositions():
        assert found.holds
        assert found.most == 1000


def test_a_large_difference_does_not_hold() -> None:
    assert not coefficients.Proposition("4.4", "", 1e-9, 10).holds


def test_the_check_is_the_definition_at_every_size() -> None:
    for K in (2, 3, 20, 100):
        defined, closed = coefficients.from_definitions([2] * K), coefficients.closed_forms(K)
        np.testing.assert_allclose(defined.gamma, closed[0], atol=1e-12)
        np.testing.assert_allclose(defined.beta[1:], closed[1][1:], atol=1e-12)
        assert defined.peak == K


def test_unequal_tasks_break_proposition_4_4_and_not_4_3() -> None:
    found = {one.name: one for one in coefficients.check_unequal()}
    fifty = found["CIFAR-100, 50 then 5 x 10"]
    # AF of guessing: 1/50 - 1/60 at task 2, mean(1/50 .. 1/90) - 1/100 at task 6.
    last = np.mean([1 / c for c in (50, 60, 70, 80, 90)]) - 1 / 100
    assert fifty.last == pytest.approx((1 / 50 - 1 / 60) / last)
    assert (fifty.peak, fifty.tasks) == (2, 6)
    assert all(one.difference > 0.1 for one in found.values())
    assert all(one.gamma_difference < 1e-12 for one in found.values())
