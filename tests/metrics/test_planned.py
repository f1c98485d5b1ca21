"""Rows that are not one per task: after some tasks only, several tasks to a row, rows inside tasks."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect.errors import MissingCells
from recollect.metrics import registry
from tests.metrics.samples import IDS, inputs_of

# Four tasks, evaluated after tasks 0, 2 and 3.
SPARSE = [[0.8, 0.1, 0.2, 0.1], [0.6, 0.7, 0.9, 0.3], [0.5, 0.8, 0.6, 0.9]]
PLAN = [True, False, True, True]

BY_HAND = {
    "acc.average": [0.8, None, 2.2 / 3, 0.7],
    "acc.incremental": [0.8, None, (0.8 + 2.2 / 3) / 2, (0.8 + 2.2 / 3 + 0.7) / 3],
    "acc.continual_average": [0.8, None, 3.0 / 4, 5.8 / 8],
    "acc.learning": [0.8, None, 0.85, 2.6 / 3],
    "acc.minimum": [None, None, (0.6 + 0.7) / 2, (0.5 + 0.7 + 0.6) / 3],
    "acc.worst_case": [0.8, None, 0.9 / 3 + 2 / 3 * 0.65, 0.9 / 4 + 0.75 * 0.6],
    # Task 1 has no row of its own: its peak was never measured, and it is in no forgetting.
    "forgetting.chaudhry2018": [None, None, 0.2, (0.3 + 0.3) / 2],
    "forgetting.pycil": [None, None, 0.2, 0.3],
    "forgetting.peak_any": [None, None, 0.2, 0.3],
    "forgetting.raptormai": [None, None, (0.2 + 0) / 2, (0.3 + 0.3 + 0) / 3],
    "forgetting.pyclad_code": [None, None, (0.2 - 0.7) / 2, (0.3 + 0.3 - 0.6) / 3],
    "forgetting.first": [None, None, 0.2, 0.3],
    "forgetting.clsurvey": [None, None, 0.1, 0.2],
    "bwt.lopezpaz2017": [None, None, -0.2, -0.3],
    "bwt.gem_code": [None, None, -0.1, -0.2],
    "bwt.diazrodriguez2018": [None, None, -0.2, (-0.2 - 0.6) / 3],
    # Row to row, over the tasks with their own row before: -.2, then -.1, -.3.
    "bwt.pyclad_code": [None, None, -0.2, -0.6 / 3],
    "fwt.continuum": [None, None, 0.1, 0.2],
    "fwt.diazrodriguez2018": [None, None, (0.1 + 0.2) / 2, (0.1 + 0.2 + 0.1 + 0.3) / 4],
    # Classes 2, 6, 8 at the planned rows; over tasks 0 and 2 the random classifier forgets 1/3 and 5/24 there.
    "raa.michel2023": [0.2, None, 0.55, 0.7],
    "uraa.michel2023": [1.6, None, 4.4, 5.6],
    "raf.michel2023": [None, None, 0.2 * 3 * 5 / 24, 0.3],
    "uraf.michel2023": [None, None, 0.6, 0.3 * 24 / 5],
    "split.chance": [None, None, 1 / 2 - 1 / 6, (1 / 2 + 1 / 6) / 2 - 1 / 8],
}


@pytest.mark.parametrize(("id", "values"), BY_HAND.items())
def test_evaluated_after_some_tasks(id, values):
    matrix = rc.ScoreMatrix(SPARSE, planned=PLAN, n_classes=[2, 2, 2, 2])
    expected = [np.nan if v is None else v for v in values]
    np.testing.assert_allclose(rc.score(matrix, id, curve=True), expected, atol=1e-12)
    np.testing.assert_allclose(rc.score(matrix, id), expected[-1], atol=1e-12)


def test_a_row_not_planned_is_said_and_is_not_missing():
    score = rc.score(rc.ScoreMatrix(SPARSE, planned=PLAN), "acc.average")
    assert score.reason is None
    assert score.notes == ("over 3 planned rows of 4 tasks",)
    forgetting = rc.score(rc.ScoreMatrix(SPARSE, planned=PLAN), "forgetting.chaudhry2018")
    assert forgetting.notes == ("over 2 of 3 tasks: the others have no row of their own",)


@pytest.mark.parametrize("id", IDS)
def test_three_ways_to_say_the_plan(id):
    inputs = inputs_of(np.random.default_rng(3), (2,), 4)
    inputs["restricted"][:, 1] = np.nan
    by_row = {name: inputs.pop(name) for name in ("R", "masked", "asked", "probe", "online", "near_future")}
    by_row["R"][:, 1] = np.nan
    steps = inputs.pop("steps")
    short = {name: values[:, [0, 2, 3]] for name, values in by_row.items()}
    a = rc.ScoreMatrix(**by_row, planned=PLAN, steps=steps, **inputs)
    b = rc.ScoreMatrix(**short, planned=PLAN, steps=steps[[0, 2, 3]], **inputs)
    c = rc.ScoreMatrix(**short, learned_at=[0, -1, 1, 2], steps=steps[[0, 2, 3]], **inputs)
    values = [rc.score(m, id, curve=True) for m in (a, b, c)]
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[1], values[2])
    assert np.isnan(values[0][:, 1]).all()


@pytest.mark.parametrize("id", [id for id in IDS if id not in ("anytime.auc",)])
def test_a_planned_cell_that_is_absent_is_missing(id):
    inputs = inputs_of(np.random.default_rng(4), (), 4)
    R = inputs.pop("R")[[0, 2, 3]]
    inputs["restricted"][1] = np.nan
    by_row = ("masked", "asked", "probe", "online", "near_future")
    inputs |= {name: inputs[name][[0, 2, 3]] for name in by_row}
    del inputs["steps"]
    matrix = rc.ScoreMatrix(R, planned=PLAN, **inputs)
    holed = R.copy()
    holed[1, 0] = np.nan
    curve = rc.score(rc.ScoreMatrix(holed, planned=PLAN, **inputs), id, curve=True)
    sweep = rc.metrics.sweep.Sweep.of(matrix)
    read = [registry.get(id).card.reads.mask(sweep, r)[1, 0] for r in range(3)]
    assert np.isnan(curve[[0, 2, 3]])[read].all()
    whole = rc.score(matrix, id, curve=True)[[0, 2, 3]]
    np.testing.assert_array_equal(curve[[0, 2, 3]][~np.array(read)], whole[~np.array(read)])


def test_the_missing_cell_of_a_square_matrix_keeps_its_row():
    square = [SPARSE[0], [None] * 4, [0.6, None, 0.9, 0.3], SPARSE[2]]
    with pytest.raises(MissingCells, match=r"acc.minimum reads R\[2, 1\], which"):
        rc.metrics.acc.minimum(square, planned=PLAN)


def test_the_missing_cell_is_named_by_the_row_that_was_given():
    with pytest.raises(MissingCells, match=r"reads R\[2, 1\], which"):
        rc.metrics.acc.average([*SPARSE[:2], [0.5, None, 0.6, 0.9]], planned=PLAN)


# Two tasks learned by row 0, one by row 1: a batch that holds two concepts.
TIED = [[0.8, 0.6, 0.1], [0.5, 0.7, 0.9]]
TIED_BY_HAND = {
    "acc.average": [None, 0.7, 0.7],
    "acc.learning": [None, 0.7, 2.3 / 3],
    "acc.minimum": [None, None, 0.6],
    "acc.worst_case": [None, None, 0.9 / 3 + 2 / 3 * 0.6],
    "forgetting.chaudhry2018": [None, None, 0.1],
    "forgetting.first": [None, None, 0.1],
    "bwt.diazrodriguez2018": [None, None, -0.1],
    "fwt.continuum": [None, None, 0.1],
    "fwt.diazrodriguez2018": [None, None, 0.1],
    "anytime.average": [None, 0.7, 0.7],
}


@pytest.mark.parametrize(("id", "values"), TIED_BY_HAND.items())
def test_several_tasks_learned_by_one_row(id, values):
    expected = [np.nan if v is None else v for v in values]
    got = registry.get(id).curve(TIED, learned_at=[0, 0, 1])
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_worst_case_of_tied_tasks_says_why_it_is_undefined():
    score = rc.score(rc.ScoreMatrix(TIED[:1], learned_at=[0, 0, 0]), "acc.worst_case")
    assert np.isnan(score)
    assert score.reason.startswith("no earlier task has been evaluated after")


def test_rows_inside_tasks_do_not_touch_end_of_task_metrics():
    rng = np.random.default_rng(6)
    ends, inside = rng.random((3, 3)), rng.random((3, 3))
    rows = np.empty((6, 3))
    rows[0::2], rows[1::2] = inside, ends
    for id in IDS:
        card = registry.get(id).card
        if card.needs or id.startswith(("anytime.", "acc.minimum", "acc.worst_case", "forgetting.continual")):
            continue
        got = registry.get(id).curve(rows, learned_at=[1, 3, 5], inside=[1, 0, 1, 0, 1, 0])
        np.testing.assert_array_equal(got, registry.get(id).curve(ends))
