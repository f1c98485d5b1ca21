"""The score matrix: what it accepts, what it makes of it, and how it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect import ScoreMatrix
from recollect.errors import UsageError

R = [[0.8, 0.1], [0.6, 0.9]]


def test_what_it_holds():
    matrix = ScoreMatrix(R, b=[0.1, 0.2], n_classes=[2, 3], names=["a", "b"])
    np.testing.assert_array_equal(matrix.R, R)
    np.testing.assert_array_equal(matrix.b, [0.1, 0.2])
    assert (matrix.S, matrix.T, matrix.lead) == (2, 2, ())
    assert matrix.is_square
    assert matrix.unit == "fraction"
    assert matrix.learned_at.tolist() == [0, 1]
    assert matrix.planned.tolist() == [True, True]
    assert matrix.n_classes.tolist() == [2, 3]
    assert matrix.names == ("a", "b")
    assert matrix.joint is None
    assert matrix.notes == ()
    assert repr(matrix) == "ScoreMatrix(2 rows, 2 tasks, b, n_classes)"


def test_everything_is_read_only():
    matrix = ScoreMatrix(R, b=[0.1, 0.2], joint=R, n_classes=[2, 2], n_samples=[5, 5], steps=[1, 2])
    for name in ("R", "b", "joint", "n_classes", "n_samples", "steps", "learned_at"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(matrix, name)[...] = 0


def test_leading_axes_and_companions_shared_by_all_runs():
    runs = np.random.default_rng(0).random((2, 3, 4, 4))
    matrix = ScoreMatrix(runs, b=[0.1] * 4, joint=runs[0, 0])
    assert matrix.lead == (2, 3)
    assert matrix.b.shape == (2, 3, 4)
    assert matrix.joint.shape == (2, 3, 4, 4)
    np.testing.assert_array_equal(matrix.at((1, 2)).R, runs[1, 2])
    assert matrix.at(1).lead == (3,)
    assert matrix.at(slice(1)).lead == (1, 3)


@pytest.mark.parametrize(
    ("given", "unit", "noted"),
    [
        ({"R": R}, "fraction", False),
        ({"R": np.array(R) * 100}, "percent", True),
        ({"R": np.array(R) * 100, "unit": "percent"}, "percent", False),
        ({"R": [[0.0, 0.0], [0.0, 0.0]]}, "fraction", False),
        ({"R": [[100.0, 0.0], [0.0, 50.0]]}, "percent", True),
        ({"R": [[1.0 + 1e-7, 0], [0.5, 0.5]]}, "fraction", False),
        ({"R": [[0.5, 0.2], [0.9, 0.4]], "unit": "percent"}, "percent", False),
        ({"R": [[-0.5, 0.2], [0.9, 0.4]]}, "raw", True),
        ({"R": R, "higher_is_better": False}, "raw", True),
        ({"R": [[250.0, 3], [1, 2]], "unit": "raw"}, "raw", False),
        ({"R": [[None, None], [None, None]]}, "fraction", False),
    ],
)
def test_units(given, unit, noted):
    matrix = ScoreMatrix(**given)
    assert matrix.unit == unit
    assert bool(matrix.notes) == noted


def test_percent_of_less_than_one_must_be_declared():
    """0.5 beside 80 may be half a percent or a half: nobody but the user knows."""
    with pytest.raises(UsageError, match=r"R holds 0\.5, which may be 0\.5 % or 50 %"):
        ScoreMatrix([[80, 0.5], [60, 90]])
    assert ScoreMatrix([[80, 0.5], [60, 90]], unit="percent").R[0, 1] == 0.005


def test_percent_is_settled_for_all_scores_together():
    matrix = ScoreMatrix(np.array(R) * 100, b=[10, 20], joint=np.array(R) * 100)
    np.testing.assert_allclose(matrix.b, [0.1, 0.2])
    np.testing.assert_allclose(matrix.joint, R)


def test_counts_define_the_scores():
    matrix = ScoreMatrix(None, correct=[[8, None], [6, 27]], n_samples=[10, 30])
    np.testing.assert_allclose(matrix.R, [[0.8, np.nan], [0.6, 0.9]])
    np.testing.assert_array_equal(matrix.correct, [[8, np.nan], [6, 27]])


def test_notes_of_the_reader_come_first():
    assert ScoreMatrix([[80]], notes=["from a file"]).notes[0] == "from a file"


def test_one_row_per_evaluation_not_per_task():
    matrix = ScoreMatrix(np.full((5, 2), 0.5), learned_at=[2, 4], steps=[1, 2, 3, 4, 5])
    assert not matrix.is_square
    assert (matrix.S, matrix.T) == (5, 2)
    assert not ScoreMatrix([[0.5, 0.5]], planned=[False, True]).planned[0]


def test_stack():
    a = ScoreMatrix(R, b=[0.1, 0.2], n_classes=[2, 2], names=["a", "b"], notes=["x"])
    b = ScoreMatrix(np.array(R) * 90, n_classes=[2, 3], names=["a", "b"], notes=["x"])
    both = ScoreMatrix.stack([a, b])
    assert both.lead == (2,)
    np.testing.assert_allclose(both.R[1], np.array(R) * 0.9)
    assert both.b is None, "only one has it"
    assert both.n_classes is None, "they differ"
    assert both.names == ("a", "b")
    assert both.notes == ("x", "scores above 1: read as percent and divided by 100")


def test_stack_keeps_what_all_have():
    one = ScoreMatrix(R, b=[0.1, 0.2], joint=R, steps=[1, 2], class_counts=[[1], [2]], n_samples=[1, 2])
    both = ScoreMatrix.stack([one, one])
    assert both.b.shape == (2, 2)
    assert both.class_counts == ((1,), (2,))
    assert both.steps.tolist() == [1, 2]
    assert ScoreMatrix.stack([both, both]).lead == (2, 2)


@pytest.mark.parametrize(
    "others",
    [
        [],
        [ScoreMatrix(R), ScoreMatrix([[0.5]])],
        [ScoreMatrix(R), ScoreMatrix(R, higher_is_better=False)],
        [ScoreMatrix(R), ScoreMatrix(R, unit="raw")],
        [ScoreMatrix(R), ScoreMatrix(R, learned_at=[0, 0])],
    ],
)
def test_stack_refuses_what_does_not_belong_together(others):
    with pytest.raises(UsageError, match="stack"):
        ScoreMatrix.stack(others)


A = np.full((2, 2, 2), np.nan)
A[0, 0], A[1, 0], A[1, 1, 1] = [0.8, 0.7], [0.7, 0.6], 0.9

REFUSED = {
    "one row": ({"R": [0.5, 0.6]}, "R must have shape"),
    "a number": ({"R": 0.5}, "R must have shape"),
    "nothing": ({"R": []}, "R must have shape"),
    "no tasks": ({"R": [[], []]}, "R must have shape"),
    "no runs": ({"R": np.zeros((0, 2, 2))}, "R must have shape"),
    "words": ({"R": [["a", "b"], ["c", "d"]]}, "R must be an array of numbers"),
    "infinite": ({"R": [[np.inf, 1], [1, 1]]}, r"R\[0, 0\] is infinite"),
    "not square": ({"R": [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]}, "R has 2 rows and 3 tasks"),
    "short b": ({"R": R, "b": [0.1]}, r"b must have shape \(\.\.\., 2\)"),
    "b of other runs": ({"R": R, "b": [[0.1, 0.2], [0.1, 0.2]]}, "b of shape .* does not fit R"),
    "joint": ({"R": R, "joint": [[0.1]]}, r"joint must have shape \(\.\.\., 2, 2\)"),
    "restricted shape": ({"R": R, "restricted": R}, "restricted must have shape"),
    "restricted of another R": (
        {"R": [[0.9, 0], [0.6, 0.9]], "restricted": A},
        "restricted does not belong",
    ),
    "correct shape": ({"R": R, "correct": [[1, 2, 3]]}, "correct must have shape"),
    "no scores": ({"R": None}, "without R, both correct and n_samples are needed"),
    "no sizes": ({"R": None, "correct": [[1]]}, "without R, both correct and n_samples"),
    "counts too large": ({"R": None, "correct": [[11]], "n_samples": [10]}, "between 0 and n_samples"),
    "counts negative": ({"R": None, "correct": [[-1]], "n_samples": [10]}, "between 0 and n_samples"),
    "sizes shape": ({"R": None, "correct": [[1]], "n_samples": [10, 10]}, "one entry per task"),
    "sizes zero": ({"R": None, "correct": [[0]], "n_samples": [0]}, "n_samples must be whole numbers"),
    "classes short": ({"R": R, "n_classes": [2]}, "n_classes must have 2 entries"),
    "classes negative": ({"R": R, "n_classes": [2, -1]}, "n_classes must be whole numbers of at least 0"),
    "classes half": ({"R": R, "n_classes": [2, 1.5]}, "n_classes must be whole numbers"),
    "classes missing": ({"R": R, "n_classes": [2, None]}, "n_classes must be whole numbers"),
    "class counts short": ({"R": R, "class_counts": [[1, 2]]}, "class_counts must hold 2 sequences"),
    "class counts flat": ({"R": R, "class_counts": [1, 2]}, "class_counts must hold 2 sequences"),
    "class counts half": ({"R": R, "class_counts": [[1], [2.5]]}, r"class_counts\[1\] must be whole"),
    "class counts none": (
        {"R": R, "class_counts": [[1], [None]]},
        r"class_counts\[1\] must be whole",
    ),
    "class counts and classes": (
        {"R": R, "class_counts": [[1], [2, 3]], "n_classes": [1, 1]},
        "class_counts of task 1 must hold 1 classes",
    ),
    "steps back": ({"R": R, "steps": [20, 10]}, "steps must not decrease"),
    "steps short": ({"R": R, "steps": [20]}, "steps must have 2 entries"),
    "names": ({"R": R, "names": ["a"]}, "names must have one entry per task: expected 2, got 1"),
    "unit": ({"R": R, "unit": "permille"}, "unit must be auto, fraction, percent or raw"),
    "orientation": ({"R": R, "orientation": "columns"}, "orientation must be auto or time_rows"),
    "not fractions": (
        {"R": [[1.5, 0], [0, 1]], "unit": "fraction"},
        "as fraction must lie between 0 and 1",
    ),
    "not percent": (
        {"R": [[150, 2], [2, 3]], "unit": "percent"},
        "as percent must lie between 0 and 100",
    ),
    "neither": ({"R": [[150, 2], [2, 3]]}, "neither fractions nor percent"),
    "mixed": ({"R": [[80, 0.5], [2, 3]]}, "percent mixed with fractions"),
    "transposed": ({"R": [[0.8, 0.6], [None, 0.9]]}, "R looks transposed"),
    "transposed zeros": ({"R": [[0.8, 0.6], [0, 0.9]]}, "R looks transposed"),
    "learned_at": ({"R": R, "learned_at": [0, 7]}, "learned_at must give"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_in_one_paragraph(given, message):
    with pytest.raises(UsageError, match=message) as error:
        ScoreMatrix(**given)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_a_batch_is_transposed_only_if_every_run_is():
    upper, fine = [[0.8, 0.6], [None, 0.9]], [[0.8, None], [0.6, 0.9]]
    with pytest.raises(UsageError, match="transposed"):
        ScoreMatrix([upper, upper])
    assert ScoreMatrix([upper, fine]).lead == (2,)
    assert ScoreMatrix([fine, upper]).lead == (2,)


def test_a_learner_that_forgets_everything_is_not_transposed():
    """Zeros below the diagonal and above it: finetuning in the class-incremental setting."""
    assert rc.score(ScoreMatrix(np.eye(3) * 0.9), "forgetting.chaudhry2018") == pytest.approx(0.9)


def test_restricted_of_planned_rows_only_is_checked_there():
    A = np.full((2, 2, 2), np.nan)
    A[1, :, 1] = [0.6, 0.9]
    assert ScoreMatrix([[0.6, 0.9]], planned=[False, True], restricted=A).S == 1
    with pytest.raises(UsageError, match=r"A\[1, 0, 1\] must equal R\[0, 0\]"):
        ScoreMatrix([[0.5, 0.9]], planned=[False, True], restricted=A)


def test_runs_may_have_test_sets_of_other_sizes():
    """A class order drawn from the seed gives every seed tasks of other sizes."""
    one = ScoreMatrix([[0.8, 0.1], [0.6, 0.9]], n_samples=[300, 100])
    other = ScoreMatrix([[0.8, 0.1], [0.6, 0.9]], n_samples=[100, 300])
    both = ScoreMatrix.stack([one, other])
    assert both.n_samples.shape == (2, 2)
    assert rc.score(both, "acc.pooled") == pytest.approx([0.675, 0.825])
    assert rc.score(both.at(1), "acc.pooled") == pytest.approx(0.825)
    with pytest.raises(UsageError, match="where runs differ"):
        ScoreMatrix(both.R, n_samples=[[1, 2, 3], [1, 2, 3]])
