"""Every metric equals its plain double loop, at every row of the curve."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect.metrics import registry
from tests.metrics import slow
from tests.metrics.samples import IDS, SCORES, inputs_of, needed

CASES = [((), 1, 0), ((), 2, 1), ((), 7, 2), ((3,), 5, 3), ((2, 3), 4, 4), ((4,), 13, 5)]


@pytest.fixture(scope="module", params=CASES, ids=lambda c: f"lead{c[0]}T{c[1]}")
def inputs(request):
    lead, T, seed = request.param
    return inputs_of(np.random.default_rng(seed), lead, T)


def test_every_id_has_a_loop():
    assert set(slow.definitions()) == set(registry.all_ids())


@pytest.mark.parametrize("id", IDS)
def test_equals_the_loop(id, inputs):
    given = needed(id, inputs)
    R = inputs["R"]
    got = registry.get(id).curve(R, **given)
    assert got.shape == (*R.shape[:-2], R.shape[-1])
    for run in np.ndindex(*R.shape[:-2]):
        mine = {
            name: np.asarray(v)[run].tolist() if name in SCORES else np.asarray(v).tolist() for name, v in given.items()
        }
        expected = slow.curve(id, R[run].tolist(), **mine)
        np.testing.assert_allclose(got[run], expected, rtol=1e-11, atol=1e-14)
    final = registry.get(id)(R, **given)
    np.testing.assert_array_equal(final, got[..., -1])


@pytest.mark.parametrize("window", [2, 3, 5, 9, 10, 30, 1000])
@pytest.mark.parametrize("id", ["anytime.windowed_forgetting", "anytime.windowed_plasticity"])
def test_windows_of_every_length(id, window):
    R = np.random.default_rng(window).random((23, 23))
    got = registry.get(id).curve(R, window=window)
    np.testing.assert_allclose(got, slow.curve(id, R.tolist(), window=window), rtol=1e-12)


@pytest.mark.parametrize("id", IDS)
def test_score_agrees_with_the_function(id):
    inputs = inputs_of(np.random.default_rng(9), (2,), 5)
    if id.startswith(("anytime.online", "anytime.near")):
        del inputs["steps"]
    matrix = rc.ScoreMatrix(**inputs)
    np.testing.assert_array_equal(
        rc.score(matrix, id, curve=True), registry.get(id).curve(inputs["R"], **needed(id, inputs))
    )
