"""From rows to matrices, by hand."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import recollect as rc
from recollect.errors import UsageError
from recollect.runs import Plan, Row, Run, Task
from recollect.runs.run import Online

NAN = np.nan
AB = (Task("a", n_classes=2, n_samples=10), Task("b", n_classes=2, n_samples=20))


def run(rows, tasks=AB, **fields):
    return Run(learner="er", stream="toy", seed=0, tasks=tasks, rows=tuple(rows), **fields)


def test_counts_become_exact_ratios_with_their_sizes():
    matrix = run([Row(-1, correct=(1, 3)), Row(0, correct=(9, 1)), Row(1, correct=(7, 18))]).matrix
    assert_array_equal(matrix.R, [[0.9, 0.05], [0.7, 0.9]])
    assert_array_equal(matrix.b, [0.1, 0.15])
    assert_array_equal(matrix.correct, [[9, 1], [7, 18]])
    assert_array_equal(matrix.n_samples, [10, 20])
    assert_array_equal(matrix.n_classes, [2, 2])
    assert matrix.names == ("a", "b")


def test_sizes_may_come_with_the_rows():
    tasks = (Task("a"), Task("b"))
    matrix = run(
        [Row(0, scores={"accuracy": (0.9,)}, n=(10,)), Row(1, scores={"accuracy": (0.7, 0.9)}, n=(10, 20))], tasks
    ).matrix
    assert_array_equal(matrix.R, [[0.9, NAN], [0.7, 0.9]])
    assert_array_equal(matrix.n_samples, [10, 20])


def test_counts_out_of_changing_sizes_are_kept_as_scores_only():
    tasks = (Task("a"), Task("b"))
    matrix = run([Row(0, correct=(5,), n=(10,)), Row(1, correct=(2, 3), n=(8, 4))], tasks).matrix
    assert_array_equal(matrix.R, [[0.5, NAN], [0.25, 0.75]])
    assert matrix.correct is None


def test_percent_scores_beside_counts():
    matrix = run([Row(0, scores={"accuracy": (90.0, 5.0)}), Row(1, correct=(7, 18))], unit="percent").matrix
    assert_array_equal(matrix.R, [[0.9, 0.05], [0.7, 0.9]])


def test_zero_is_a_measurement_and_none_is_not():
    matrix = run([Row(0, scores={"accuracy": (0.0, None)}), Row(1, scores={"accuracy": (None, 0.0)})]).matrix
    assert_array_equal(matrix.R, [[0, NAN], [NAN, 0]])


def test_a_planned_row_that_is_absent_is_missing_and_one_never_planned_is_not():
    tasks = tuple(Task(name) for name in "abc")
    rows = [Row(0, scores={"accuracy": (0.9, 0.1, 0.1)}), Row(2, scores={"accuracy": (0.5, 0.5, 0.9)})]
    crashed = run(rows, tasks).matrix
    assert_array_equal(crashed.planned, [True, True, True])
    assert np.isnan(crashed.R[1]).all()
    sparse = run(rows, tasks, plan=Plan(rows=(0, 2))).matrix
    assert_array_equal(sparse.planned, [True, False, True])
    assert_array_equal(sparse.R[2], [0.5, 0.5, 0.9])


def test_rows_inside_tasks_keep_their_time_and_the_ends_are_found():
    rows = [
        Row(-1, step=0, scores={"accuracy": (0.1, 0.1)}),
        Row(-1, step=5, task_end=False, scores={"accuracy": (0.5, 0.1)}),
        Row(0, step=10, scores={"accuracy": (0.9, 0.1)}),
        Row(0, step=15, task_end=False, scores={"accuracy": (0.7, 0.6)}),
        Row(1, step=20, scores={"accuracy": (0.6, 0.8)}),
    ]
    matrix = run(rows).matrix
    assert_array_equal(matrix.R[:, 0], [0.5, 0.9, 0.7, 0.6])
    assert_array_equal(matrix.learned_at, [1, 3])
    assert_array_equal(matrix.steps, [5, 10, 15, 20])
    assert_array_equal(matrix.b, [0.1, 0.1])


def test_a_crash_inside_the_last_task_leaves_its_end_missing():
    rows = [
        Row(0, step=10, scores={"accuracy": (0.9, 0.1)}),
        Row(0, step=15, task_end=False, scores={"accuracy": (0.7, 0.6)}),
    ]
    matrix = run(rows).matrix
    assert_array_equal(matrix.learned_at, [0, 2])
    assert np.isnan(matrix.R[2]).all()


def test_without_any_task_end_the_first_row_after_a_task_stands_for_it():
    rows = [
        Row(-1, step=5, task_end=False, scores={"accuracy": (0.5, 0.1)}),
        Row(0, step=15, task_end=False, scores={"accuracy": (0.7, 0.6)}),
        Row(1, step=25, task_end=False, scores={"accuracy": (0.6, 0.7)}),
    ]
    assert_array_equal(run(rows, plan=Plan(rows=(), every=10)).matrix.learned_at, [1, 2])


def test_learned_at_where_rows_are_not_task_ends():
    rows = [Row(-1, scores={"accuracy": (0, 0)}), *(Row(i, scores={"accuracy": (i / 10, 0.5)}) for i in range(5))]
    matrix = run(rows, learned_at={0: 1, 1: 4}).matrix
    assert matrix.S == 5
    assert_array_equal(matrix.learned_at, [1, 4])
    assert_array_equal(matrix.R[:, 0], [0, 0.1, 0.2, 0.3, 0.4])


def test_restricted_counts_become_proportions():
    rows = [
        Row(0, correct=(9, 0), restricted=((9, 8), (None, 1))),
        Row(1, correct=(7, 18), restricted=((8, 7), (None, 18))),
    ]
    matrix = run(rows).matrix
    assert_array_equal(matrix.restricted[0], [[0.9, 0.8], [NAN, 0.05]])
    assert_array_equal(matrix.restricted[1], [[0.8, 0.7], [NAN, 0.9]])


def test_learned_at_names_rows_that_are_there():
    with pytest.raises(UsageError, match="rows from 0 to 1"):
        _ = run(
            [Row(0, scores={"accuracy": (0, 0)}), Row(1, scores={"accuracy": (0, 0)})], learned_at={0: 0, 1: 2}
        ).matrix


def test_joint_scores_of_the_rows_in_their_unit():
    rows = [
        Row(0, scores={"accuracy": (90.0, 5.0)}, joint=(91.0, 2.0)),
        Row(1, scores={"accuracy": (70.0, 90.0)}, joint=(88.0, 92.0)),
    ]
    assert_array_equal(run(rows, unit="percent").matrix.joint, [[0.91, 0.02], [0.88, 0.92]])


def test_masked_counts_are_a_matrix_of_their_own():
    rows = [Row(0, correct=(9, 0), masked=(10, 10)), Row(1, correct=(0, 18), masked=(9, 20))]
    one = run(rows)
    assert_array_equal(one.masked_matrix.R, [[1, 0.5], [0.9, 1]])
    assert_array_equal(one.matrix.R, [[0.9, 0], [0, 0.9]])
    with pytest.raises(UsageError, match="no task-masked counts"):
        _ = run([Row(0, scores={"accuracy": (1, 1)})]).masked_matrix


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([Row(0, scores={"accuracy": (0.5, 0.5, 0.5)})], "3 values of accuracy for 2 tasks"),
        ([Row(0, correct=(11, 0))], "11 of 10"),
        ([Row(0, correct=(-1, 0))], "-1 of 10"),
        ([Row(0, correct=(0, 0), n=(0, 0))], "0 of 0"),
        ([Row(0, correct=(10**400, 0))], "numbers"),
        ([Row(2, scores={"accuracy": (0.5, 0.5)})], "after = 2"),
        ([Row(-2, scores={"accuracy": (0.5, 0.5)})], "after = -2"),
        ([Row(0, scores={"accuracy": (0.5,)}), Row(0, scores={"accuracy": (0.6,)})], "two rows say after = 0"),
        ([Row(-1, scores={"accuracy": (0.5,)}), Row(-1, scores={"accuracy": (0.6,)})], "one untrained row"),
        ([Row(0, scores={"accuracy": (1.5, 0.5)})], "between 0 and 1"),
    ],
)
def test_rows_that_make_no_matrix_are_refused_with_the_run_named(rows, words):
    with pytest.raises(UsageError) as caught:
        _ = run(rows).matrix
    assert words in str(caught.value)
    assert "er on toy, seed 0" in str(caught.value)


def test_the_matrix_is_made_once():
    one = run([Row(0, scores={"accuracy": (0.5, 0.5)})])
    assert one.matrix is one.matrix


def test_a_learner_that_is_told_the_task_has_one_chance_for_ever():
    rows = [Row(0, correct=(9, 1)), Row(1, correct=(7, 18))]
    told = run(rows, scenario="task-incremental").matrix
    assert_array_equal(told.n_classes, [2, 0])
    assert rc.score(told, "raa.michel2023") == rc.score(told, "acc.average")
    assert np.isnan(rc.score(told, "raf.michel2023"))
    unequal = (Task("a", n_classes=2, n_samples=10), Task("b", n_classes=3, n_samples=20))
    assert run(rows, unequal, scenario="task-incremental").matrix.n_classes is None
    assert_array_equal(run(rows, unequal, scenario="class-incremental").matrix.n_classes, [2, 3])


def test_what_some_rows_have_beside_their_scores_is_kept_and_what_none_has_is_none():
    bare = [Row(0, scores={"accuracy": (50.0, 0.0)}), Row(1, scores={"accuracy": (50.0, 60.0)})]
    rows = [replace(bare[0], pooled=40.0, online=Online(10, {"accuracy": 30.0})), bare[1]]
    matrix = run(rows, unit="percent").matrix
    assert_array_equal(matrix.pooled, [0.4, NAN])
    assert_array_equal(matrix.online, [0.3, NAN])
    assert run(bare, unit="percent").matrix.pooled is None
    assert run(bare, unit="percent").matrix.online is None


@pytest.mark.parametrize(
    ("wrong", "said"), [((3, 21), "row 0, task 1 says 21 of 20"), ((11, 21), "row 0, task 0 says 11 of 10")]
)
def test_the_first_count_that_contradicts_is_named(wrong, said):
    with pytest.raises(UsageError, match=said):
        _ = run([Row(0, correct=wrong), Row(1, correct=(12, 22))]).matrix


def test_the_first_score_that_its_count_contradicts_is_named():
    with pytest.raises(UsageError, match=r"row 1, task 0 says 5 of 10 and 0\.7"):
        _ = run([Row(0, correct=(5, 1)), Row(1, correct=(5, 18), scores={"accuracy": (0.7, 0.5)})]).matrix
