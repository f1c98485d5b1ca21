"""Runs without some of their concepts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.metrics import score
from recollect.problems import problem_of
from recollect.runs import Plan, Row, Run, Task, at_common_rows, load, save, stack
from recollect.runs.groups import comparable
from recollect.runs.identity import Identity
from recollect.runs.longcsv import write_long
from recollect.runs.reduced import NOTE, without


def detector(**changes: object) -> Run:
    rows = tuple(
        Row(
            k,
            step=k + 1,
            scores={"accuracy": (0.9 - 0.1 * k, 0.5, 0.6 + 0.1 * k), "f1": (0.1, 0.2, 0.3)},
        )
        for k in range(3)
    )
    untrained = Row(-1, step=0, reason="nothing yet")
    tasks = tuple(Task(name) for name in "abc")
    run = Run(learner="naive", stream="toy", tasks=tasks, rows=(untrained, *rows), scenario="concept-aware")
    return replace(run, **changes)


def test_the_scores_of_the_others_are_untouched() -> None:
    left = without(detector(), ["b"])
    np.testing.assert_allclose(left.matrix.R, [[0.9, 0.6], [0.8, 0.7], [0.7, 0.8]])
    assert left.matrix.learned_at.tolist() == [0, 2]
    assert score(left.matrix, "acc.average") == pytest.approx(0.75)
    assert score(left.matrix, "forgetting.chaudhry2018") == pytest.approx(0.2)
    assert left.with_metric("f1").matrix.R[0].tolist() == [0.1, 0.3]
    assert left.notes == ("left out: b",)


def test_the_first_concept_may_go() -> None:
    left = without(detector(), ["a"])
    assert left.matrix.S == 3, "its row is no untrained row"
    assert left.matrix.learned_at.tolist() == [1, 2]


def test_a_run_that_is_not_finished() -> None:
    run = detector(status="running")
    left = without(replace(run, rows=run.rows[:2]), ["b"])
    assert left.matrix.learned_at.tolist() == [0, 2]
    assert np.isnan(score(left.matrix, "acc.average"))


def test_a_sparse_plan_and_batches() -> None:
    run = detector(plan=Plan(rows=(0, 2)))
    left = without(replace(run, rows=(run.rows[0], run.rows[1], run.rows[3])), ["b"])
    assert left.matrix.learned_at.tolist() == [0, 1]
    batches = detector(scenario="concept-agnostic", learned_at={0: 0, 1: 2, 2: 2})
    assert without(batches, ["b"]).matrix.learned_at.tolist() == [0, 2]


def test_rows_inside_a_concept_are_not_task_ends() -> None:
    """Two rows inside each concept before its end: the concepts that stay are learned at their own ends."""
    rows = [Row(-1, step=0, scores={"accuracy": (None, None, None)})]
    for k in range(3):
        own = [[0.2, 0.5, 0.9][i] for i in range(3)]
        for i in range(3):
            cells = [0.9 - 0.2 * (k - j) if j < k else own[i] if j == k else 0.1 for j in range(3)]
            rows.append(Row(k - (i < 2), step=3 * k + i + 1, scores={"accuracy": tuple(cells)}, task_end=i == 2))
    run = detector(rows=tuple(rows))
    assert run.matrix.learned_at.tolist() == [2, 5, 8]
    left = without(run, ["b"])
    assert left.matrix.learned_at.tolist() == [2, 8]
    assert score(left.matrix, "acc.learning") == pytest.approx(0.9)
    assert score(left.matrix, "forgetting.first") == pytest.approx(0.4)


def scored(after: int, *scores: float | None, **moment: object) -> Row:
    return Row(after, scores={"accuracy": scores}, **moment)


def test_a_row_that_follows_only_what_is_left_out_is_not_the_base_row() -> None:
    base, first, second = scored(-1, 0.1, 0.1, 0.1), scored(0, 0.9, 0.2, 0.2), scored(1, 0.7, 0.9, 0.3)
    left = without(detector(rows=(base, first, second, scored(2, 0.5, 0.6, 0.9))), ["a"])
    assert left.timeline.base is not None
    assert left.timeline.base.scores["accuracy"] == (0.1, 0.1)
    assert [row.scores["accuracy"] for row in left.timeline.rows if row] == [(0.2, 0.2), (0.9, 0.3), (0.6, 0.9)]
    assert left.matrix.learned_at.tolist() == [1, 2]
    assert [(row.after, row.task_end) for row in left.rows] == [(-1, True), (-1, False), (0, True), (1, True)]


def test_every_column_of_a_row_is_cut() -> None:
    full = Row(
        0,
        scores={"accuracy": (0.1, 0.2, 0.3), "f1": (0.4, 0.5)},
        correct=(1, 2, 3),
        n=(4, 5, 6),
        masked=(7, 8, 9),
        restricted=((1, 2, 3),) * 3,
        joint=(0.7, 0.8, 0.9),
        errors={"own": (1, 2, 3)},
        standard_error=(0.01, 0.02, 0.03),
        reasons={"f1": {"b": "why", "c": "because"}},
    )
    (row,) = without(detector(rows=(full,), plan=Plan(rows=(0,))), ["b"]).rows
    assert row.scores == {"accuracy": (0.1, 0.3), "f1": (0.4, None)}
    assert (row.correct, row.n, row.masked, row.joint) == ((1, 3), (4, 6), (7, 9), (0.7, 0.9))
    assert (row.errors, row.standard_error) == ({"own": (1, 3)}, (0.01, 0.03))
    assert row.reasons == {"f1": {"c": "because"}}
    assert row.restricted is None


def test_the_joint_learner_loses_the_same_concepts() -> None:
    left = without(detector(joint_run=detector(learner="joint")), ["c"])
    assert left.joint_run is not None
    assert [task.name for task in left.joint_run.tasks] == ["a", "b"]


def test_seeds_that_learned_after_different_rows_are_seen_at_their_task_ends() -> None:
    rows = tuple(scored(-1 + (k > 0) + (k > 2), k / 10, 0.5, 0.6, step=k, task_end=False) for k in range(4))
    one = detector(rows=rows, learned_at={0: 0, 1: 2, 2: 3}, scenario="concept-agnostic")
    other = detector(rows=rows, learned_at={0: 1, 1: 2, 2: 3}, scenario="concept-agnostic", seed=1)
    assert comparable([one, one])[1] is one, "equal rows are left as they are"
    first, second = comparable([one, other])
    assert first.matrix.R[:, 0].tolist() == [0.0, 0.2, 0.3]
    assert second.matrix.R[:, 0].tolist() == [0.1, 0.2, 0.3]
    assert NOTE in first.notes
    together = detector(rows=rows, learned_at={0: 0, 1: 2, 2: 2}, scenario="concept-agnostic", seed=3)
    with pytest.raises(UsageError, match="no row of its own for each concept"):
        comparable([one, together])


def test_rows_that_all_have_of_concepts_that_recur() -> None:
    """Visits a, b, a, c; one learner was not evaluated after b: both are seen after a and c."""
    rows = tuple(
        scored(after, 0.1 * k, 0.5, 0.6, step=k, task_end=end)
        for k, (after, end) in enumerate([(0, True), (1, True), (1, False), (2, True)])
    )
    every = detector(rows=rows, learned_at={0: 0, 1: 1, 2: 3}, seed=0)
    sparse = detector(
        learner="sparse", rows=(rows[0], rows[2], rows[3]), learned_at={0: 0, 2: 2}, plan=Plan(rows=(0, 2, 3)), seed=0
    )
    assert sparse.timeline.ended == (0, 2)
    groups, common = at_common_rows([stack([every]), stack([sparse])])
    assert common == (0, 2)
    for one in groups:
        assert one.matrix.learned_at.tolist() == [0, -1, 2]
        np.testing.assert_allclose(one.matrix.R[0][[0, 2], 0], [0.0, 0.3])
    same, common = at_common_rows([stack([every]), stack([replace(every, learner="twin")])])
    assert common == (0, 1, 2)
    assert same[0].matrix.S == 4, "what all have is left as it is"


@pytest.mark.parametrize(
    ("changes", "names", "message"),
    [
        ({}, ["d"], "no concept 'd' to leave out; it has a, b, c"),
        ({}, ["a", "b", "c"], "All 3 concepts"),
    ],
)
def test_wrong_use(changes: dict[str, object], names: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        without(detector(**changes), names)


def test_tasks_whose_classes_are_answers_to_others_stay() -> None:
    run = detector(scenario="class-incremental", problem="classification")
    with pytest.raises(UsageError, match="No task of the run naive on toy can be left out: it is classification"):
        problem_of("classification").check_leaving_out(run)
    problem_of("detection").check_leaving_out(detector())


def test_a_planned_first_row_that_is_absent_keeps_its_place() -> None:
    run = detector()
    left = without(replace(run, rows=(run.rows[0], *run.rows[2:])), ["b"])
    assert left.matrix.learned_at.tolist() == [0, 2]
    assert np.isnan(left.matrix.R[0]).all()
    assert not np.isnan(left.matrix.R[1:]).any()


def test_rows_inside_concepts_stay_inside_when_a_concept_is_left_out(tmp_path: Path) -> None:
    """Two rows inside each of three concepts, b left out: every metric of ends reads those of a, b and c alone."""
    ends = [(0.9, 0.1, 0.1), (0.6, 0.9, 0.1), (0.4, 0.6, 0.9)]
    inside = [(0.2, 0.0, 0.0), (0.5, 0.0, 0.0), (0.8, 0.3, 0.1), (0.95, 0.5, 0.1), (0.55, 0.8, 0.3), (0.5, 0.7, 0.6)]
    rows = [scored(-1, 0.0, 0.0, 0.0, step=0)]
    for k, end in enumerate(ends):
        rows += [scored(k - 1, *inside[2 * k + i], step=3 * k + i + 1, task_end=False) for i in (0, 1)]
        rows.append(scored(k, *end, step=3 * k + 3))
    whole, sparse = (detector(rows=tuple(given)) for given in (rows, [row for row in rows if row.task_end]))
    for names, incremental in (
        (["b"], (0.9 + 0.6 + 0.65) / 3),
        (["a"], (0.9 + 0.75) / 2),
        (["c"], (0.9 + 0.75 + 0.5) / 3),
    ):
        left = without(whole, names)
        (saved,) = save([left], tmp_path / names[0])
        for one in (left, without(sparse, names), load(saved)[0]):
            assert score(one.matrix, "acc.incremental") == pytest.approx(incremental)
            assert score(one.matrix, "forgetting.chaudhry2018") == pytest.approx(
                {"a": 0.3, "b": 0.5, "c": 0.4}[names[0]]
            )
    left = without(whole, ["b"])
    assert left.timeline.inside == (True, True, False) * 3
    assert score(left.matrix, "anytime.average") != score(without(sparse, ["b"]).matrix, "anytime.average")
    with pytest.raises(UsageError, match="no column for the rows inside tasks"):
        write_long([left])
    assert without(left, ["c"]).timeline.inside == left.timeline.inside


def test_which_concepts_have_a_row_of_their_own_stays_known() -> None:
    """Batches after which a and c had been learned; the plan left out the rows before. The visits name all three."""
    rows = tuple(scored(-1 + k, 0.1 * k, 0.5, 0.6, step=50 * k, task_end=False) for k in (1, 2, 3))
    run = detector(
        rows=rows,
        learned_at={0: 0, 1: 1, 2: 2},
        visits=((0, 0), (50, 1), (100, 2)),
        plan=Plan(rows=(4, 9, 14)),
        identity=Identity("naive", {}, feeding={"batch": 10}),
    )
    assert run.timeline.own == (True, True, False)
    assert without(run, ["a"]).timeline.own == (True, False)
    assert without(run, ["b"]).timeline.own == (True, False)
    failed = detector(rows=(scored(0, 0.9, 0.1, 0.1),), plan=Plan(rows=(0, 2)), status="failed")
    assert failed.timeline.own == (True, False, True)
    assert without(failed, ["b"]).timeline.own == (True, True)
