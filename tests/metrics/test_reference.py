"""RAA and RAF with every reference, worked by hand on R = [[.8, .1], [.6, .9]] (AA .8, .75; AF .2)."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from tests.metrics import slow
from tests.metrics.samples import R1, RESCALED

R = [[0.8, 0.1], [0.6, 0.9]]
J = [[0.9, 0.1], [0.8, 0.95]]


def curves(matrix, reference):
    return {id.split(".")[0]: rc.score(matrix, id, curve=True, reference=reference).tolist() for id in RESCALED}


def check(got, **expected):
    for name, values in expected.items():
        np.testing.assert_allclose(got[name], values, rtol=1e-12, err_msg=name)


def test_uniform():
    got = curves(rc.ScoreMatrix(R, n_classes=[2, 2]), "uniform")
    check(got, uraa=[1.6, 3.0], raa=[0.4, 0.75], uraf=[np.nan, 0.8], raf=[np.nan, 0.2])


def test_prior_of_unequal_classes():
    """After task 1 the guesses are .3, .1, .4, .2: right on task 0 by .75 x .3 + .25 x .1."""
    matrix = rc.ScoreMatrix(R, class_counts=[[3, 1], [4, 2]])
    AA = [0.625, (0.25 + (4 * 0.4 + 2 * 0.2) / 6) / 2]
    check(
        curves(matrix, "prior"),
        uraa=[0.8 / AA[0], 0.75 / AA[1]],
        raa=[0.8 / AA[0] * AA[1], 0.75],
        uraf=[np.nan, 0.2 / 0.375],
        raf=[np.nan, 0.2],
    )


def test_prior_of_equal_classes_and_tasks_is_uniform():
    matrix = rc.ScoreMatrix(R1, n_classes=[2] * 4, n_samples=[100] * 4)
    uniform, prior = curves(matrix, "uniform"), curves(matrix, "prior")
    check(prior, **uniform)


def test_prior_without_class_counts_takes_classes_of_one_size():
    by_counts = rc.ScoreMatrix(R, class_counts=[[5, 5], [10, 10, 10]])
    by_sizes = rc.ScoreMatrix(R, n_classes=[2, 3], n_samples=[10, 30])
    check(curves(by_sizes, "prior"), **curves(by_counts, "prior"))


def test_prior_of_another_domain_of_the_same_classes():
    """Task 1 adds no class: its counts (1, 3) are of the two classes seen, both guessed half the time."""
    matrix = rc.ScoreMatrix(R, n_classes=[2, 0], class_counts=[[3, 1], [1, 3]])
    check(curves(matrix, "prior"), uraa=[0.8 / 0.625, 1.5], uraf=[np.nan, 0.2 / (0.625 - 0.5)])


def test_untrained():
    got = curves(rc.ScoreMatrix(R, b=[0.2, 0.1]), "untrained")
    check(got, uraa=[4.0, 5.0], raa=[4 * 0.15, 0.75], uraf=[np.nan] * 2, raf=[np.nan] * 2)
    score = rc.score(rc.ScoreMatrix(R, b=[0.2, 0.1]), "raf.michel2023", reference="untrained")
    assert score.reason == "the reference forgets nothing: there is nothing to rescale by"


def test_joint_and_the_same_matrix_measured():
    expected = {
        "uraa": [0.8 / 0.9, 0.75 / 0.875],
        "raa": [0.8 / 0.9 * 0.875, 0.75],
        "uraf": [np.nan, 2.0],
        "raf": [np.nan, 0.2],
    }
    check(curves(rc.ScoreMatrix(R, joint=J), "joint"), **expected)
    check(curves(rc.ScoreMatrix(R), J), **expected)
    check(curves(rc.ScoreMatrix(R), rc.ScoreMatrix(J)), **expected)
    check(curves(rc.ScoreMatrix(R), np.array(J) * 100), **expected)


def test_a_learner_is_once_itself():
    got = curves(rc.ScoreMatrix(R1), R1)
    check(got, uraa=[1.0] * 4, uraf=[np.nan, np.nan, 1.0, 1.0])


def test_a_batch_of_references_goes_run_by_run():
    rng = np.random.default_rng(0)
    runs, references = np.sort(rng.random((2, 3, 5, 5)), axis=-2)[:, :, ::-1]
    together = rc.score(rc.ScoreMatrix(runs), "raf.michel2023", curve=True, reference=references)
    for run, reference, row in zip(runs, references, together, strict=True):
        alone = rc.score(rc.ScoreMatrix(run), "raf.michel2023", curve=True, reference=reference)
        np.testing.assert_allclose(row, alone, rtol=1e-13)
        AF = slow.curve("forgetting.chaudhry2018", run.tolist())
        ref = slow.curve("forgetting.chaudhry2018", reference.tolist())
        expected = [f / r / max(1 / x for x in ref[1:]) for f, r in zip(AF[1:], ref[1:], strict=True)]
        np.testing.assert_allclose(row[1:], expected, rtol=1e-11)


def test_one_measured_reference_for_all_runs():
    runs = np.random.default_rng(1).random((4, 2, 2))
    together = rc.score(rc.ScoreMatrix(runs), "raa.michel2023", reference=J)
    np.testing.assert_allclose(together, [rc.score(rc.ScoreMatrix(r), "raa.michel2023", reference=J) for r in runs])


def test_domain_incremental_raf_is_undefined_and_raa_is_aa():
    matrix = rc.ScoreMatrix(R1, n_classes=[10, 0, 0, 0])
    score = rc.score(matrix, "raf.michel2023")
    assert np.isnan(score)
    assert "no classes are added, so a random classifier never gets worse" in score.reason
    assert np.isnan(rc.metrics.raf.michel2023.curve(R1, n_classes=[10, 0, 0, 0])).all()
    np.testing.assert_allclose(
        rc.score(matrix, "raa.michel2023", curve=True), rc.score(matrix, "acc.average", curve=True)
    )


def test_a_task_without_new_classes_among_others_is_undefined_only_where_nothing_grew():
    curve = rc.score(rc.ScoreMatrix(R1, n_classes=[2, 0, 2, 2]), "uraf.michel2023", curve=True)
    np.testing.assert_array_equal(np.isnan(curve), [True, True, False, False])


def test_a_missing_reference_row_does_not_change_the_normaliser_in_silence():
    holed = [[0.5, None, None], [0.4, None, None], [0.3, 0.2, 0.4]]
    curve = rc.score(rc.ScoreMatrix(np.array(R1)[:3, :3]), "raa.michel2023", curve=True, reference=holed)
    assert np.isnan(curve).all()


def test_a_reference_that_scores_zero():
    score = rc.score(rc.ScoreMatrix(R, b=[0, 0]), "uraa.michel2023", reference="untrained")
    assert score.reason == "the reference scores 0 everywhere"


def test_what_a_reference_needs_is_said():
    plain = rc.ScoreMatrix(R)
    for reference, need in {"uniform": "n_classes", "untrained": "b", "joint": "joint"}.items():
        assert rc.score(plain, "raa.michel2023", reference=reference).reason.startswith(f"needs {need},")
    assert "prior reference needs n_samples" in rc.score(plain, "raa.michel2023", reference="prior").reason
    no_first = rc.score(rc.ScoreMatrix(R, n_classes=[0, 2]), "raa.michel2023")
    assert no_first.reason == "the first task has no classes, so there is nothing to guess among"
    empty = rc.ScoreMatrix(R, class_counts=[[1, 1], [0, 0]])
    assert "without test samples" in rc.score(empty, "raa.michel2023", reference="prior").reason


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("random", "unknown reference 'random'; there are uniform, prior, untrained, joint"),
        ([[0.5]], "R has 1 rows and 1 tasks|learned_at must have|shape of R"),
        (np.full((3, 2, 2), 0.5), "must have the shape of R"),
        ([[-1, 2], [3, 4]], "must hold accuracies"),
    ],
)
def test_a_bad_reference_is_refused(reference, message):
    with pytest.raises(UsageError, match=message):
        rc.score(rc.ScoreMatrix(R), "raa.michel2023", reference=reference)
