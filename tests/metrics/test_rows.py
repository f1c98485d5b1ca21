"""Which rows a definition reads: tasks that come again, tasks without a row of their own, held-out tasks."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.metrics import registry
from tests.metrics import slow, slow_rows
from tests.metrics.samples import IDS, SCORES, inputs_of

AGAIN = [[0.9, 0.1], [0.4, 0.9], [0.9, 0.3]]  # a, b, a


def test_tasks_that_come_again_by_hand():
    """The worked example of the catalogue: now is the last row, where b has dropped and a has come back."""
    matrix = rc.ScoreMatrix(AGAIN, learned_at=[0, 1], n_classes=[2, 2])
    by_hand = {
        "acc.average": 0.6,
        "acc.incremental": (0.9 + 0.65 + 0.6) / 3,
        "acc.continual_average": (0.9 + 0.4 + 0.9 + 0.9 + 0.3) / 5,
        "acc.learning": 0.9,
        "acc.minimum": (0.4 + 0.3) / 2,
        "acc.worst_case": (0.4 + 0.3) / 2,
        "forgetting.chaudhry2018": 0.3,
        "forgetting.first": 0.3,
        "forgetting.clsurvey": 0.3,
        "bwt.lopezpaz2017": -0.3,
        "bwt.diazrodriguez2018": (-0.5 + 0.0 - 0.6) / 3,
        "bwt.pyclad_code": (-0.5 + 0.5 - 0.6) / 3,
        "fwt.diazrodriguez2018": 0.1,
        "fwt.continuum": 0.1,
        # Guessing: (1/2 - 1/4) after b; (1/2 - 1/4 + 0) / 2 in the end.
        "uraf.michel2023": 0.3 / 0.125,
        "raf.michel2023": 0.3,
        "raa.michel2023": 0.6,
    }
    for id, value in by_hand.items():
        assert rc.score(matrix, id) == pytest.approx(value), id


def test_the_last_entry_of_a_curve_is_now_and_the_others_are_right_after_their_tasks():
    matrix = rc.ScoreMatrix(AGAIN, learned_at=[0, 1])
    np.testing.assert_allclose(rc.score(matrix, "acc.average", curve=True), [0.9, 0.6])
    np.testing.assert_allclose(rc.metrics.over_rows(matrix, "acc.average"), [0.9, 0.65, 0.6])
    np.testing.assert_allclose(rc.metrics.over_rows(matrix, "forgetting.chaudhry2018"), [np.nan, 0.5, 0.3])


def test_over_rows_leaves_rows_inside_tasks_empty():
    matrix = rc.ScoreMatrix([[0.2, 0.0], *AGAIN], learned_at=[1, 2], inside=[1, 0, 0, 0])
    np.testing.assert_allclose(rc.metrics.over_rows(matrix, "acc.average"), [np.nan, 0.9, 0.65, 0.6])


def test_a_quarter_of_the_rows():
    """25 of 100 rows, a learner that keeps 0.7 of what it peaked at for tasks that were just learned, else 0.1."""
    T, planned = 100, [(j + 1) % 4 == 0 for j in range(100)]
    rows = []
    for k in np.flatnonzero(planned):
        row = np.full(T, np.nan)
        row[: k + 1] = 0.1
        row[k] = 0.807
        rows.append(row)
    score = rc.score(rc.ScoreMatrix(rows, planned=planned), "forgetting.chaudhry2018")
    assert score == pytest.approx(0.707)
    assert score.notes[-1] == "over 24 of 99 tasks: the others have no row of their own"


def plans(rng, S, T):
    """Rows by which the tasks are first learned, and whether they are their own."""
    first = np.sort(rng.integers(0, S, T))
    own = rng.random(T) < 0.7
    for row in set(first.tolist()):  # of tasks learned by one row those without an own one come first
        same = np.flatnonzero(first == row)
        own[same] = np.sort(own[same])
    return first, own


@pytest.mark.parametrize("seed", range(40))
def test_any_rows_equal_the_loops(seed):
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, 6))
    S = int(rng.integers(1, 9))
    R = rng.uniform(0.05, 1, (S, T))
    first, own = plans(rng, S, T)
    if not own.any():
        own[-1] = True
    matrix = rc.ScoreMatrix(R, learned_at=first, planned=own, orientation="time_rows", unit="fraction")
    rows = slow_rows.Rows(R.tolist(), first.tolist(), own.tolist())
    for id, loop in slow_rows.definitions().items():
        expected = loop(rows)
        got = rc.score(matrix, id)
        assert got == pytest.approx(np.nan if expected is None else expected, nan_ok=True), (id, first, own)


@pytest.mark.parametrize("id", IDS)
def test_held_out_columns_are_in_no_other_family(id):
    """A column that is never trained on changes no number, wherever it stands and whatever is in it."""
    inputs = inputs_of(np.random.default_rng(5), (2,), 4)
    plain = rc.score(rc.ScoreMatrix(**inputs), id, curve=True)
    for place in (0, 2, 4):
        wider = dict(inputs)
        for name in ("R", "masked", "asked", "b", "probe", "single", "single_auc"):
            wider[name] = np.insert(inputs[name], place, 0.987, axis=-1)
        wider["joint"] = np.insert(np.insert(inputs["joint"], place, 0.5, axis=-1), place, 0.5, axis=-2)
        A = inputs["restricted"]
        for axis in (-1, -2, -3):
            A = np.insert(A, place, np.nan, axis=axis)
        wider["restricted"] = A
        for name in ("n_classes", "n_samples"):
            wider[name] = np.insert(inputs[name], place, 7)
        learned_at = list(range(4))
        learned_at.insert(place, "held out")
        matrix = rc.ScoreMatrix(**wider, learned_at=learned_at, orientation="time_rows")
        got = rc.score(matrix, id, curve=True)
        np.testing.assert_allclose(np.delete(got, place, axis=-1), plain, rtol=1e-13, atol=1e-15)
        assert np.isnan(got[:, place]).all()


@pytest.mark.parametrize("seed", range(6))
def test_held_out_columns_equal_the_loops(seed):
    """Three columns of which one or two are held out, at every row."""
    rng = np.random.default_rng(seed)
    R, b = rng.uniform(0.1, 1, (2, 4, 3)), rng.uniform(0.1, 1, (2, 3))
    learned_at = [[0, 2, "held out"], ["held out", 1, "held out"], [0, "held out", 3]][seed % 3]
    held = [j for j, row in enumerate(learned_at) if row == "held out"]
    matrix = rc.ScoreMatrix(R, b=b, learned_at=learned_at, orientation="time_rows")
    for id, loop in slow.definitions().items():
        if not id.startswith("held_out."):
            continue
        got = rc.metrics.over_rows(matrix, id)
        for run in range(2):
            expected = [loop(R[run].tolist(), k, b[run].tolist(), held) for k in range(4)]
            np.testing.assert_allclose(got[run], expected, rtol=1e-12)


def test_held_out_says_what_it_lacks():
    plain = rc.ScoreMatrix([[0.5, 0.4], [0.6, 0.3]], b=[0.5, 0.5])
    assert rc.score(plain, "held_out.delta").reason.startswith("no task is held out")
    without_base = rc.ScoreMatrix([[0.5, 0.4], [0.6, 0.3]], learned_at=[1, "held out"])
    assert rc.score(without_base, "held_out.delta").reason.startswith("needs b, ")
    nothing_before = rc.ScoreMatrix([[0.5, 0.4], [0.6, 0.3]], b=[0.1, 0.0], learned_at=[1, "held out"])
    assert np.isnan(rc.score(nothing_before, "held_out.ratio"))
    assert rc.score(nothing_before, "held_out.delta") == pytest.approx(0.3)


def test_a_lower_is_better_column_that_rose_is_a_loss():
    """Perplexity from 10 to 12: relative .2, delta -2 in the direction of better."""
    R, b = [[9.0, 11.0], [8.0, 12.0]], [9.0, 10.0]
    matrix = rc.ScoreMatrix(R, b=b, learned_at=[1, "held out"], higher_is_better=False)
    assert rc.score(matrix, "held_out.relative") == pytest.approx(0.2)
    assert rc.score(matrix, "held_out.delta") == pytest.approx(-2)
    # 1.2 would read as a gain, and a gate would let it pass.
    assert "rises with what is lost" in rc.score(matrix, "held_out.ratio").reason
    likelihoods = rc.ScoreMatrix([[-2.0], [-3.0]], b=[-2.0], learned_at=["held out"])
    assert np.isnan(rc.score(likelihoods, "held_out.ratio"))
    assert rc.score(likelihoods, "held_out.relative") == pytest.approx(0.5)


def test_only_held_out_columns_leave_the_other_families_undefined():
    matrix = rc.ScoreMatrix([[0.5, 0.4], [0.6, 0.3]], b=[0.5, 0.5], learned_at=["held out", "held out"])
    for id in IDS:
        score = rc.score(matrix, id)
        if id.startswith("held_out."):
            assert np.isfinite(score)
        else:
            assert score.reason == "no task is trained on: every column is held out"


def test_companions_are_of_the_runs():
    assert set(SCORES) <= set(rc.ScoreMatrix([[0.5]])._batched())


def test_a_task_learned_by_a_row_that_is_not_its_own():
    """Rows b and b again of a, b, c, b: a and c were learned and never evaluated right after."""
    R = [[0.5, 0.9, 0.1], [0.3, 0.8, 0.6]]
    matrix = rc.ScoreMatrix(R, learned_at=[0, 0, 1], planned=[False, True, False])
    assert rc.score(matrix, "acc.average") == pytest.approx((0.3 + 0.8 + 0.6) / 3)
    assert rc.score(matrix, "forgetting.chaudhry2018") == pytest.approx(0.1)
    assert rc.score(matrix, "forgetting.chaudhry2018").notes[-1].startswith("over 1 of 3 tasks")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"learned_at": [1, 0]}, "never decreasing"),
        ({"learned_at": [0, 5]}, "from 0 to 2"),
        ({"learned_at": [0, "never"]}, "learned_at must be an array of numbers"),
        ({"learned_at": [0, -3]}, "whole numbers of at least -2"),
        ({"learned_at": [-1, -1]}, "a row from 0 to 2"),
        ({"learned_at": [0, 1], "inside": [0, 1, 0]}, "inside must leave out the rows of learned_at"),
        ({"learned_at": [0, -1], "planned": [1, 1]}, "contradict"),
    ],
)
def test_rows_that_cannot_be_are_refused(given, text):
    with pytest.raises(UsageError, match=text):
        rc.ScoreMatrix(AGAIN, **given)


@pytest.mark.parametrize("id", IDS)
def test_read_cells_matter_whatever_the_rows(id):
    """A hole in a cell that the card says is read blanks the value, and in any other cell changes nothing."""
    card = registry.get(id).card
    rng = np.random.default_rng(8)
    for _ in range(4):
        T, S = 4, 6
        first, own = plans(rng, S, T)
        own[-1] = True
        inputs = {"R": rng.uniform(0.1, 1, (S, T)), "b": rng.random(T), "joint": rng.random((T, T))}
        inputs |= {"n_classes": [2] * T, "n_samples": [9] * T, "steps": np.arange(S) * 3 + 3}
        inputs |= {"single": rng.random(T), "single_auc": rng.random(T) * 0.9, "probe": rng.random((S, T))}
        inputs |= {"online": rng.random(S), "near_future": rng.random(S)}
        inputs["asked"] = np.maximum(inputs["R"], rng.random((S, T)))
        inputs["masked"] = np.maximum(inputs["asked"], rng.random((S, T)))
        plan = {"learned_at": first, "planned": own, "orientation": "time_rows"}
        matrix = rc.ScoreMatrix(**inputs, **plan)
        whole = rc.score(matrix, id)
        if np.isnan(whole):
            continue
        sweep = rc.metrics.sweep.Sweep.of(matrix)
        read = card.reads.mask(sweep, sweep.P - 1)
        for i, j in np.ndindex(S, T):
            holed = inputs["R"].copy()
            holed[i, j] = np.nan
            got = rc.score(rc.ScoreMatrix(**(inputs | {"R": holed}), **plan), id)
            assert np.isnan(got) == read[i, j], (id, i, j, first, own)
            assert read[i, j] or got == whole
