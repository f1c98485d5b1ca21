"""All definitions side by side, and the ones that give a published number."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.metrics import registry
from tests.metrics.samples import B1, J1, R1

MATRIX = rc.ScoreMatrix(R1, b=B1, joint=J1, n_classes=[2] * 4)


def found(value, matrix=MATRIX, **options):
    return [match.id for match in rc.identify(matrix, value, **options)]


def test_dialects_of_a_family():
    outcomes = rc.dialects(MATRIX, "forgetting")
    assert [o.id for o in outcomes] == [id for id in registry.all_ids() if id.startswith("forgetting.")]
    assert {o.id: round(float(o.value), 6) for o in outcomes}["forgetting.pycil"] == 0.2


def test_dialects_of_all_say_why_one_has_no_value():
    reasons = {o.id: o.reason for o in rc.dialects(rc.ScoreMatrix(R1))}
    assert set(reasons) == set(registry.all_ids())
    assert reasons["acc.average"] is None
    assert reasons["intransigence.begin"].startswith("needs joint")


def test_a_published_number_names_its_definition():
    assert found("0.217", family="forgetting") == ["forgetting.peak_any"]
    assert found(0.665) == ["acc.continual_average"]


def test_percent():
    match = rc.identify(MATRIX, "18.33", family="forgetting")[0]
    assert match.id == "forgetting.chaudhry2018"
    assert match.percent
    assert match.value == pytest.approx(0.55 / 3)
    assert found("21.7 %", family="forgetting") == ["forgetting.peak_any"]


def test_a_sign_turned_number_comes_after_the_plain_ones():
    matches = rc.identify(MATRIX, "0.15")
    plain = [m.id for m in matches if not m.sign_turned]
    assert plain == ["forgetting.first", "anytime.windowed_forgetting"]
    assert [m.id for m in matches if m.sign_turned] == ["bwt.lopezpaz2017"]
    assert [m.sign_turned for m in matches] == sorted(m.sign_turned for m in matches)


def test_digits_decide():
    assert found("0.2", family="forgetting") != found("0.200", family="forgetting")
    assert found("0.200", family="forgetting") == ["forgetting.pycil"]
    assert found(0.2, digits=3, family="forgetting") == ["forgetting.pycil"]


def test_a_value_on_the_rounding_edge_matches():
    """.6125 may be printed as .612 or .613."""
    assert "acc.average" in found("0.612")
    assert "acc.average" in found("0.613")
    assert "acc.average" not in found("0.614")


def test_none_is_an_answer():
    assert found("0.98765") == []


def test_zero_is_not_matched_twice():
    matches = rc.identify(rc.ScoreMatrix([[0.5, 0.5], [0.5, 0.5]]), "0.000", family="bwt")
    assert [m.sign_turned for m in matches] == [False] * len(matches)


def test_the_mean_of_several_runs_is_what_is_published():
    runs = rc.ScoreMatrix(np.stack([R1, np.array(R1) / 2]))
    assert "acc.average" in found(f"{0.75 * 0.6125:.5f}", matrix=runs)


def test_exponents_and_signs():
    assert "forgetting.begin_docs" in found("-1.125e-1")


@pytest.mark.parametrize("value", ["", "abc", "nan", "inf", None, "1.2.3"])
def test_a_published_value_must_be_a_number(value):
    with pytest.raises(UsageError, match="a published value must be"):
        rc.identify(MATRIX, value)
