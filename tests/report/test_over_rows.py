"""Curves over batches and visits."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.matrix import ScoreMatrix
from recollect.metrics import evaluate, registry
from recollect.report.gather import gather
from recollect.report.over_rows import curves_over_rows, row_names, row_numbers
from recollect.report.words import words_for
from recollect.runs import Plan, group
from tests.report.samples import CONCEPTS, make_detector, make_detectors

IDS = ("acc.average", "forgetting.chaudhry2018")


def test_by_hand_with_two_concepts_in_one_batch() -> None:
    R = [
        [0.5, 0.5, 0.5],
        [0.9, 0.8, 0.4],  # a and b end with this batch
        [0.6, 0.9, 0.5],
        [0.7, 0.6, 0.8],  # c
        [0.8, 0.5, 0.7],
    ]
    made = curves_over_rows(ScoreMatrix(R, learned_at=[1, 1, 3], orientation="time_rows"))
    np.testing.assert_allclose(made["acc.average"][0], [np.nan, 0.85, 0.75, 0.7, 2 / 3])
    # Every batch since a concept was learned competes for its peak: row 2's 0.9 of b does.
    drops = [np.nan, np.nan, (0.3 - 0.1) / 2, (0.2 + 0.3) / 2, (0.1 + 0.4 + 0.1) / 3]
    np.testing.assert_allclose(made["forgetting.chaudhry2018"][0], drops)


def test_the_peak_is_the_highest_score_since_a_task_was_learned() -> None:
    R = [[0.5, 0.9, 0.9], [0.8, 0.6, 0.9], [0.7, 0.7, 0.6], [0.4, 0.1, 0.6]]
    made = curves_over_rows(ScoreMatrix(R, learned_at=[0, 1, 2], orientation="time_rows"))
    # What was scored before a task was learned is no peak of it; a later and higher score than its own is.
    drops = [np.nan, 0.5 - 0.8, ((0.8 - 0.7) + (0.6 - 0.7)) / 2, ((0.8 - 0.4) + (0.7 - 0.1) + (0.6 - 0.6)) / 3]
    np.testing.assert_allclose(made["forgetting.chaudhry2018"][0], drops)


@pytest.mark.parametrize("rows", ["batches", "visits"])
@pytest.mark.parametrize("id", IDS)
def test_where_a_concept_was_learned_it_is_the_metric(rows: str, id: str) -> None:
    (one, *_) = make_detectors(seeds=3, rows=[rows])
    over_rows = curves_over_rows(one.matrix)[id]
    curve = evaluate(one.matrix, registry.get(id), curve=True).curve
    assert curve is not None
    learned_at = one.matrix.learned_at
    np.testing.assert_array_equal(over_rows[:, -1], evaluate(one.matrix, registry.get(id)).value)
    for task in range(one.matrix.T - 1):
        if not np.isnan(curve[:, task]).all():
            np.testing.assert_allclose(over_rows[:, learned_at[task]], curve[:, task], atol=1e-12)


def test_lower_scores_may_be_better() -> None:
    R = np.array([[0.2, 0.5], [0.6, 0.3], [0.4, 0.3]])
    falls, rises = (
        curves_over_rows(ScoreMatrix(values, learned_at=[0, 1], higher_is_better=higher, orientation="time_rows"))
        for values, higher in ((R, False), (1 - R, True))
    )
    np.testing.assert_allclose(falls["forgetting.chaudhry2018"], rises["forgetting.chaudhry2018"])
    np.testing.assert_allclose(falls["acc.average"], 1 - rises["acc.average"])


def test_rows_are_named_by_their_batch_and_what_was_learned() -> None:
    run = make_detector("naive", 0, rows="batches")
    words = words_for(group([run])[0])
    names = row_names(run, CONCEPTS, words)
    assert (names[0], names[2], names[4]) == ("batch 1", "batch 3 (web learned)", "batch 5 (dos, probe learned)")
    from dataclasses import replace

    sparse = replace(run, plan=Plan(rows=tuple(range(1, 24, 2))))
    assert row_numbers(sparse)[:3] == (2, 4, 6)


def test_the_table_and_the_end_of_the_curve_are_the_same_where_concepts_come_again() -> None:
    (stream,) = gather(make_detectors(seeds=2, rows=["visits"])).streams
    assert len(stream.rows) == 9
    for learner in stream.learners:
        for id in IDS:
            assert learner.curves[id].value.shape == (9,)
            assert learner.curves[id].value[-1] == pytest.approx(learner.numbers[id].value)
    (batches,) = gather(make_detectors(seeds=2, rows=["batches"])).streams
    assert batches.cautions == ()
