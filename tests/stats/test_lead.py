"""Who is ahead, by hand and against the intervals that it is made of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from recollect.stats import find_lead


def scores(**learners: list[float]) -> dict[str, dict[int, float]]:
    return {label: dict(enumerate(values)) for label, values in learners.items()}


def test_the_interval_is_sidaks_over_all_pairs() -> None:
    given = scores(a=[0.7, 0.72, 0.69, 0.71], b=[0.6, 0.65, 0.61, 0.6], c=[0.2, 0.3, 0.1, 0.2])
    lead = find_lead(given)
    assert lead is not None
    assert (lead.best, lead.pairs, [r.label for r in lead.rivals]) == ("a", 3, ["b", "c"])
    d = np.subtract(*(list(given[label].values()) for label in ("a", "b")))
    half = t.ppf((1 + 0.95 ** (1 / 3)) / 2, 3) * d.std(ddof=1) / 2
    assert lead.rivals[0].difference.low == pytest.approx(d.mean() - half)
    assert lead.rivals[0].difference.high == pytest.approx(d.mean() + half)


def test_so_many_seeds_are_enough_and_one_less_is_not() -> None:
    lead = find_lead(scores(a=[0.62, 0.60, 0.65, 0.61], b=[0.60, 0.61, 0.62, 0.60]))
    assert lead is not None
    (rival,) = lead.rivals
    assert not rival.is_behind
    needed, d = rival.seeds_needed, rival.difference
    assert needed is not None

    def low(n: int) -> float:
        return float(d.value) - float(t.ppf(0.975, n - 1)) * float(d.sd) / np.sqrt(n)

    assert low(needed) > 0 >= low(needed - 1)


def test_lower_may_be_better() -> None:
    given = scores(a=[0.7, 0.71, 0.69], b=[0.2, 0.21, 0.2])
    lead = find_lead(given, higher_is_better=False)
    assert lead is not None
    assert lead.best == "b"
    assert lead.is_confirmed
    assert lead.rivals[0].difference.high < 0


def test_equal_differences_are_one_observation() -> None:
    lead = find_lead(scores(a=[0.75, 0.75, 0.75], b=[0.5, 0.5, 0.5]))
    assert lead is not None
    (rival,) = lead.rivals
    assert not rival.is_behind
    assert np.isnan(rival.difference.low)
    assert rival.seeds_needed is None
    assert "one observation" in str(rival.difference.reason)


def test_one_seed_no_seed_and_none_in_common() -> None:
    lead = find_lead({"a": {0: 0.7}, "b": {0: 0.5}, "c": {1: 0.4}, "d": {0: float("nan")}})
    assert lead is not None
    assert [(r.label, r.is_behind) for r in lead.rivals] == [("b", False), ("c", False)]
    assert "same seeds" in str(lead.rivals[1].difference.reason)
    assert find_lead({"a": {0: float("nan")}}) is None
    alone = find_lead({"a": {0: 0.5, 1: 0.6}})
    assert alone is not None
    assert not alone.is_confirmed


def test_references_are_left_aside() -> None:
    lead = find_lead(scores(joint=[0.9, 0.91], a=[0.5, 0.52], b=[0.4, 0.41]), left_aside=["joint"])
    assert lead is not None
    assert (lead.best, lead.pairs) == ("a", 1)


def test_equal_learners_are_seldom_told_apart() -> None:
    rng = np.random.default_rng(0)
    false = 0
    for _ in range(400):
        made = find_lead({str(j): dict(enumerate(rng.normal(size=5))) for j in range(5)})
        assert made is not None
        false += any(rival.is_behind for rival in made.rivals)
    assert false <= 32, "5 % of 400, and three standard errors"
