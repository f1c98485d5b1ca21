"""Which words a run asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.problems import problem_of
from recollect.report.words import Words, focus_of, words_for
from recollect.runs import Plan, group
from tests.report.samples import make_detector, make_run


@pytest.mark.parametrize(
    ("rows", "moment", "axis"),
    [("concepts", "concept", "concepts learned"), ("batches", "batch", "batches"), ("visits", "visit", "visits")],
)
def test_time_is_counted_in_what_the_rows_are(rows: str, moment: str, axis: str) -> None:
    words = words_for(group([make_detector("naive", 0, rows=rows)])[0])
    assert (words.task, words.score) == ("concept", "ROC-AUC")
    assert (words.moment, words.axis) == (moment, axis)


def test_a_sparse_plan_of_concepts_still_counts_concepts() -> None:
    run = make_detector("naive", 0)
    sparse = replace(run, plan=Plan(rows=(1, 4)), rows=(run.rows[0], run.rows[2], run.rows[5]))
    assert not words_for(group([sparse])[0]).by_rows


def test_a_single_pass_over_classes_keeps_its_words() -> None:
    words = words_for(group([make_run("er", 0)])[0])
    assert (words.task, words.score, words.headline) == ("task", "accuracy", "average accuracy over all tasks")


def test_scores_by_their_names() -> None:
    assert [
        problem_of("detection").score_name(name) for name in ("roc_auc", "average_precision", "f1", "my_score", "RMSE")
    ] == [
        "ROC-AUC",
        "average precision",
        "F1",
        "my_score",
        "RMSE",
    ]
    assert Words("concept", "concepts", "average precision").average == "mean average precision"


def test_runs_of_two_problems_together_are_asked_what_any_matrix_can_answer() -> None:
    detector, classifier = group([make_detector("naive", 0)])[0], group([make_run("er", 0)])[0]
    assert focus_of([detector]) is problem_of("detection").focus
    assert focus_of([detector, classifier]) is problem_of("classification").focus
    assert focus_of([]) is problem_of("classification").focus
