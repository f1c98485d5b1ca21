"""Laws that every registered metric obeys, one test a law."""

from __future__ import annotations

import doctest
import gc
import sys
import weakref

import numpy as np
import pytest

import recollect as rc
from recollect.errors import MissingCells
from recollect.metrics import registry
from recollect.metrics.sweep import Sweep
from tests.metrics.samples import FRACTIONS, IDS, RESCALED, SCORES, inputs_of, needed

T = 6


@pytest.fixture(scope="module")
def inputs():
    return inputs_of(np.random.default_rng(17), (), T)


@pytest.fixture(scope="module")
def batch():
    return inputs_of(np.random.default_rng(18), (2, 3), T)


def curve(id, R, given):
    return registry.get(id).curve(R, **given)


def read_cells(id, R, given, k):
    matrix = rc.ScoreMatrix(R, orientation="time_rows", **given)
    return registry.get(id).card.reads.mask(Sweep.of(matrix), k)


@pytest.mark.parametrize("id", IDS)
def test_pure(id, batch):
    R, given = batch["R"].copy(), {k: np.array(v) for k, v in needed(id, batch).items()}
    kept = [R.copy(), *(v.copy() for v in given.values())]
    first = curve(id, R, given)
    for now, before in zip([R, *given.values()], kept, strict=True):
        np.testing.assert_array_equal(now, before)
    np.testing.assert_array_equal(curve(id, R, given), first)


@pytest.mark.parametrize("id", IDS)
def test_read_only_input_is_accepted(id, inputs):
    R, given = inputs["R"].copy(), {k: np.array(v) for k, v in needed(id, inputs).items()}
    for array in (R, *given.values()):
        array.setflags(write=False)
    np.testing.assert_array_equal(curve(id, R, given), curve(id, inputs["R"], needed(id, inputs)))


@pytest.mark.parametrize("id", IDS)
def test_a_result_is_the_callers_own(id, inputs):
    """Writing into a result must not reach what later calls give."""
    matrix = rc.ScoreMatrix(**inputs)
    first = rc.score(matrix, id, curve=True)
    kept = first.copy()
    first[...] = -77
    np.testing.assert_array_equal(rc.score(matrix, id, curve=True), kept)


@pytest.mark.parametrize("id", IDS)
def test_batched_is_looped(id, batch):
    given = needed(id, batch)
    together = curve(id, batch["R"], given)
    for run in np.ndindex(2, 3):
        alone = {k: v[run] if k in SCORES else v for k, v in given.items()}
        np.testing.assert_allclose(together[run], curve(id, batch["R"][run], alone), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("filling", ["nan", "random", "huge"])
def test_unread_cells_are_irrelevant(id, filling, inputs):
    R, given = inputs["R"], needed(id, inputs)
    expected = curve(id, R, given)
    huge = 1.0 if id in RESCALED + FRACTIONS else 1e6
    for k in range(T):
        noise = {"nan": np.nan, "random": np.random.default_rng(k).random(R.shape), "huge": huge}[filling]
        changed = np.where(read_cells(id, R, given, k), R, noise)
        unit = "raw" if huge > 1 else "fraction"
        matrix = rc.ScoreMatrix(changed, orientation="time_rows", unit=unit, **belonging(given, changed))
        np.testing.assert_array_equal(rc.score(matrix, id, curve=True)[k], expected[k])


def belonging(given, R):
    """Change what must agree with R, if it is there, so that it belongs to R; what was measured apart stays."""
    changed = dict(given)
    if "asked" in given:
        changed["asked"] = np.fmax(given["asked"], R)
    if "masked" in given:
        changed["masked"] = np.fmax(given["masked"], changed.get("asked", R))
    if "restricted" in given:
        A, k = given["restricted"].copy(), np.arange(R.shape[-1])
        A[..., k, :, k] = np.moveaxis(R, -2, 0)
        changed["restricted"] = np.fmax(A, R[..., :, :, None])
    return changed


@pytest.mark.parametrize("id", IDS)
def test_every_read_cell_matters_and_is_named(id, inputs):
    """A cell set to NaN blanks the curve exactly where the card says it is read, and the error names it."""
    R, given = inputs["R"], needed(id, inputs)
    expected = curve(id, R, given)
    reads = np.array([read_cells(id, R, given, k) for k in range(T)])
    for i, j in np.argwhere(reads.any(0)):
        holed = R.copy()
        holed[i, j] = np.nan
        matrix = rc.ScoreMatrix(holed, orientation="time_rows", **given)
        got = rc.score(matrix, id, curve=True)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected) | reads[:, i, j], err_msg=f"{i},{j}")
        with pytest.raises(MissingCells, match=rf"{id} reads R\[{i}, {j}\], which was not evaluated"):
            curve(id, holed, given)
        if reads[-1, i, j]:
            assert rc.score(matrix, id).reason == f"reads R[{i}, {j}], not evaluated"
            with pytest.raises(MissingCells):
                registry.get(id)(holed, **given)
        else:
            assert rc.score(matrix, id) == pytest.approx(expected[-1], nan_ok=True)


@pytest.mark.parametrize("id", [id for id in IDS if registry.get(id).card.kind == "difference"])
@pytest.mark.parametrize("shift", [0.1, 3.0, -250.0])
def test_a_difference_does_not_shift(id, shift, inputs):
    given = needed(id, inputs)
    R = inputs["R"]
    if id in RESCALED:
        R, shift = R / 2, np.clip(shift, -0.0, 0.5)
    moved = {k: v + shift if k in SCORES else v for k, v in given.items()}
    np.testing.assert_allclose(curve(id, R + shift, moved), curve(id, R, given), atol=1e-12)


@pytest.mark.parametrize("id", [id for id in IDS if registry.get(id).card.kind == "level"])
@pytest.mark.parametrize("shift", [0.1, 3.0, -250.0])
def test_a_level_shifts_along(id, shift, inputs):
    given = needed(id, inputs)
    moved = {k: v + shift if k in SCORES else v for k, v in given.items()}
    np.testing.assert_allclose(curve(id, inputs["R"] + shift, moved), curve(id, inputs["R"], given) + shift, atol=1e-11)


@pytest.mark.parametrize("id", IDS)
def test_bounds(id):
    low, high = registry.get(id).card.bounds
    rng = np.random.default_rng(5)
    for T in (1, 2, 3, 8):
        inputs = inputs_of(rng, (20,), T)
        inputs["R"][:10] = np.round(inputs["R"][:10])  # many ties, and scores of exactly 0 and 1
        given = belonging(needed(id, inputs), inputs["R"])
        matrix = rc.ScoreMatrix(inputs["R"], unit="fraction", orientation="time_rows", **given)
        values = rc.score(matrix, id, curve=True)
        values = values[~np.isnan(values)]
        assert (values >= low - 1e-12).all()
        assert (values <= high + 1e-12).all()


@pytest.mark.parametrize("id", IDS)
def test_percent_is_fraction(id, batch):
    given = needed(id, batch)
    fractions = {"R": np.maximum(batch["R"], 0.02), **given}
    for name in SCORES:
        if name in given:
            fractions[name] = np.maximum(given[name], 0.02)
    percent = {k: v * 100 if k in ("R", *SCORES) else v for k, v in fractions.items()}
    matrix = rc.ScoreMatrix(**percent)
    assert matrix.unit == "percent"
    assert matrix.notes == ("scores above 1: read as percent and divided by 100",)
    np.testing.assert_allclose(
        rc.score(matrix, id, curve=True), rc.score(rc.ScoreMatrix(**fractions), id, curve=True), atol=1e-13
    )


@pytest.mark.parametrize("id", [id for id in IDS if id not in RESCALED + FRACTIONS])
def test_lower_is_better_turns_the_sign(id, inputs):
    """Errors e are the scores -e: a level comes back in the unit of the errors, all else is the same."""
    card = registry.get(id).card
    given = {"R": inputs["R"], **needed(id, inputs)}
    errors = {k: 5 * v if k in ("R", *SCORES) else v for k, v in given.items()}
    turned = {k: -v if k in ("R", *SCORES) else v for k, v in errors.items()}
    got = rc.score(rc.ScoreMatrix(**errors, higher_is_better=False), id, curve=True)
    plain = rc.score(rc.ScoreMatrix(**turned, unit="raw"), id, curve=True)
    np.testing.assert_array_equal(got, -plain if card.kind == "level" else plain)


@pytest.mark.parametrize("id", RESCALED)
def test_rescaled_metrics_say_that_errors_are_not_accuracies(id, inputs):
    matrix = rc.ScoreMatrix(inputs["R"], n_classes=inputs["n_classes"], higher_is_better=False)
    score = rc.score(matrix, id)
    assert np.isnan(score)
    assert "accuracies" in score.reason


def test_same_as_truncated_is_false_for_the_two_that_divide_by_a_maximum_over_the_stream():
    differ = [id for id in IDS if not registry.get(id).card.same_as_truncated]
    assert differ == ["raa.michel2023", "raf.michel2023"]


@pytest.mark.parametrize("id", IDS)
def test_curve_is_the_value_of_the_truncated_matrix(id, inputs):
    given = needed(id, inputs | {"n_classes": np.full(T, 2)})
    whole = curve(id, inputs["R"], given)
    cut = np.array(
        [
            registry.get(id)(
                inputs["R"][:k, :k],
                **{name: v[tuple([slice(0, k)] * np.ndim(v))] for name, v in given.items()},
            )
            for k in range(1, T + 1)
        ]
    )
    if registry.get(id).card.same_as_truncated:
        np.testing.assert_allclose(whole, cut, rtol=1e-13)
    else:
        assert not np.allclose(whole, cut, equal_nan=True)
        assert whole[-1] == pytest.approx(cut[-1], rel=1e-13)


# What has a value for one task in a family that has none else.
DEFINED_FOR_ONE_TASK = ("fwt.single", "fwt.continual_world")
UNDEFINED = ("forgetting.", "bwt.", "fwt.", "raf.", "uraf.", "split.", "acc.minimum", "plasticity.", "probe.forgetting")
UNDEFINED_FOR_ONE_TASK = tuple(id for id in IDS if id.startswith(UNDEFINED) and id not in DEFINED_FOR_ONE_TASK)


@pytest.mark.parametrize("id", IDS)
def test_one_task(id):
    inputs = inputs_of(np.random.default_rng(1), (), 1)
    matrix = rc.ScoreMatrix(**inputs)
    score = rc.score(matrix, id)
    at_once = registry.get(id)(inputs["R"], **needed(id, inputs))
    if id.startswith(UNDEFINED_FOR_ONE_TASK):
        assert np.isnan(score)
        assert np.isnan(at_once)
        assert score.reason == registry.get(id).card.undefined
    else:
        assert score == pytest.approx(at_once, rel=1e-15)
        assert score.reason is None


@pytest.mark.parametrize("id", IDS)
def test_the_first_entry_of_a_curve_is_undefined_where_one_task_is(id, inputs):
    first = curve(id, inputs["R"], needed(id, inputs))[0]
    assert np.isnan(first) == id.startswith(UNDEFINED_FOR_ONE_TASK)


@pytest.mark.parametrize("id", IDS)
def test_ragged_lower_triangle_and_none(id, inputs):
    """A ragged list is a matrix filled with None: NaN where a value reads above the diagonal."""
    R, given = inputs["R"], needed(id, inputs)
    ragged = [row[: i + 1].tolist() for i, row in enumerate(R)]
    nones = [row + [None] * (T - len(row)) for row in ragged]
    above = [np.triu(read_cells(id, R, given, k), 1).any() for k in range(T)]
    a, b = (rc.score(rc.ScoreMatrix(r, **given), id, curve=True) for r in (ragged, nones))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, np.where(above, np.nan, curve(id, R, given)))


@pytest.mark.parametrize("id", IDS)
def test_docstring_examples_run(id):
    metric = registry.get(id)
    module = sys.modules[metric.__module__]
    test = doctest.DocTestParser().get_doctest(metric.__doc__, vars(module).copy(), id, None, None)
    assert test.examples, f"{id} has no example"
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


@pytest.mark.parametrize("id", IDS)
def test_card_is_complete(id):
    card = registry.get(id).card
    assert card.id == id
    assert card.family == id.split(".")[0]
    assert card.summary.endswith(".") or card.summary.endswith(").")
    assert "\n" not in card.summary
    assert card.latex
    assert card.source
    assert card.bounds[0] < card.bounds[1]
    if id.startswith(UNDEFINED_FOR_ONE_TASK):
        assert card.undefined


@pytest.mark.parametrize("id", [id for id in IDS if registry.get(id).card.needs])
def test_a_missing_input_is_named_with_the_way_to_give_it(id, inputs):
    score = rc.score(rc.ScoreMatrix(inputs["R"]), id)
    assert np.isnan(score)
    assert score.reason.startswith(f"needs {registry.get(id).card.needs[0]}, ")


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("fwt.lopezpaz2017", "b"),
        ("fwt.begin_docs", "b"),
        ("intransigence.begin", "joint"),
        ("intransigence.chaudhry2018", "joint"),
    ],
)
def test_a_missing_companion_cell_is_named(id, name, inputs):
    given = {k: np.array(v) for k, v in needed(id, inputs).items()}
    where = (T - 1,) * given[name].ndim
    given[name][where] = np.nan
    text = f"{name}[{', '.join(map(str, where))}]"
    score = rc.score(rc.ScoreMatrix(inputs["R"], **given), id)
    assert score.reason == f"reads {text}, not evaluated"
    with pytest.raises(MissingCells) as error:
        registry.get(id)(inputs["R"], **given)
    assert text in str(error.value)


def test_missing_cells_of_a_batch_name_the_run(batch):
    R = batch["R"].copy()
    R[1, 2, 5, 0] = np.nan
    with pytest.raises(MissingCells, match=r"reads R\[5, 0\] of run \[1, 2\], which"):
        rc.metrics.acc.average(R)
    outcome = rc.metrics.evaluate(rc.ScoreMatrix(R), registry.get("acc.average"))
    assert outcome.missing
    assert outcome.reasons == (None,) * 5 + ("reads R[5, 0], not evaluated",)
    assert np.isfinite(outcome.value).sum() == 5


def test_a_scored_matrix_is_freed_at_once(inputs):
    """No cycle holds a matrix and what was derived from it: looping over large ones needs no collection."""
    matrix = rc.ScoreMatrix(**inputs)
    for id in IDS:
        rc.score(matrix, id, curve=True)
    for id in RESCALED:
        rc.score(matrix, id, reference="joint")
    gone = weakref.ref(matrix)
    gc.disable()
    try:
        del matrix
        assert gone() is None
    finally:
        gc.enable()


def test_many_missing_cells_are_counted_not_listed(inputs):
    R = inputs["R"].copy()
    R[3] = np.nan
    R[4] = np.nan
    reason = rc.score(rc.ScoreMatrix(R), "acc.continual_average").reason
    assert reason == "reads R[3, 0], R[3, 1], R[3, 2], R[3, 3] and 5 more, not evaluated"
