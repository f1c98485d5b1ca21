"""Evaluation: counts against an independent slow loop that takes one argmax at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import NotComputable, RecollectError, UsageError
from recollect.problems import marking
from recollect.problems.counting import evaluate, expected_sizes, question_of, standard_errors
from recollect.problems.marking import Question, mark
from recollect.runs import Row
from recollect.streams import stream_from_arrays


class Table:
    """A learner whose scores are a fixed table, looked up by the sample's own number."""

    stored_samples = stored_bytes = 0

    def __init__(self, scores: Any) -> None:
        self.scores = np.asarray(scores)
        self.tasks_given: list[Any] = []
        self.sizes: list[int] = []

    def score(self, x: Any, task: Any = None) -> Any:
        self.tasks_given.append(task)
        self.sizes.append(len(x))
        return self.scores[x[:, 0].astype(int)]

    def learn(self, batch: Any) -> None: ...

    def end_task(self) -> None: ...

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None: ...


def make(n_classes: int, tasks: Any, per_class: int = 5, **options: Any) -> Any:
    y = np.repeat(np.arange(n_classes), per_class)
    x = np.arange(len(y), dtype=np.float32)[:, None]
    return stream_from_arrays(x, y, x, y, name="toy", class_order=list(range(n_classes)), **tasks, **options)


def slow_counts(scores: Any, y: Any, task_of: Any, tasks: Any, current: int) -> dict[str, Any]:
    """The definitions, one sample and one question at a time."""
    T = len(tasks)
    seen_until = [sorted({c for t in tasks[: m + 1] for c in t}) for m in range(T)]

    def answer(row: Any, classes: Any) -> int:
        best = classes[0]
        for c in classes[1:]:
            if row[c] > row[best]:
                best = c
        return int(best)

    out: dict[str, Any] = {k: [0] * T for k in ("correct", "masked", "older", "own", "newer")}
    out["restricted"] = [[0] * T for _ in range(T)]
    for row, label, j in zip(scores, y, task_of, strict=True):
        for m in range(j, T):
            out["restricted"][j][m] += answer(row, seen_until[m]) == label
        said = answer(row, seen_until[max(current, j)])
        out["correct"][j] += said == label
        out["masked"][j] += answer(row, list(tasks[j])) == label
        if said != label:
            home = next(t for t in range(T) if said in tasks[t])
            out["own" if home == j else "older" if home < j else "newer"][j] += 1
    return out


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    levels=st.sampled_from([2, 3, 50]),  # few levels: many ties
    current=st.integers(-1, 4),
)
def test_counts_equal_the_slow_loop_with_ties(seed: int, sizes: list[int], levels: int, current: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.cumsum(sizes)
    C, T = int(ends[-1]), len(sizes)
    current = min(current, T - 1)
    tasks = [tuple(range(end - size, end)) for end, size in zip(ends.tolist(), sizes, strict=True)]
    stream = make(C, {"classes_per_task": sizes})
    scores = rng.integers(0, levels, (5 * C, C)).astype(np.float32)
    y = np.repeat(np.arange(C), 5)
    question = question_of(stream)
    counts = evaluate(Table(scores), stream, question, current=current, batch=7)  # type: ignore[arg-type]
    assert counts is not None
    slow = slow_counts(scores, y, question.first[y], tasks, current)
    assert counts.correct.tolist() == slow["correct"]
    for side in ("older", "own", "newer"):
        assert getattr(counts, side).tolist() == slow[side]
    assert (counts.correct + counts.older + counts.own + counts.newer).tolist() == counts.n.tolist()
    if T > 1:
        assert counts.masked is not None
        assert counts.restricted is not None
        assert counts.masked.tolist() == slow["masked"]
        upper = np.triu_indices(T)
        assert counts.restricted[upper].tolist() == np.array(slow["restricted"])[upper].tolist()
        for j in range(T):
            assert counts.restricted[j, max(current, j)] == counts.correct[j]


def test_all_equal_scores_go_to_the_first_class() -> None:
    stream = make(4, {"tasks": 2})
    counts = evaluate(Table(np.zeros((20, 4))), stream, question_of(stream), current=1)  # type: ignore[arg-type]
    assert counts is not None
    assert counts.correct.tolist() == [5, 0]
    assert counts.masked is not None
    assert counts.masked.tolist() == [5, 5]
    assert counts.older.tolist() == [0, 10]


def test_a_future_task_is_asked_among_its_own_classes_and_the_older_ones() -> None:
    # Class 2 (task 1) has the highest score but for class 5 (task 2), which may not be answered for task 1.
    scores = np.tile(np.array([0, 0, 8, 0, 0, 9], np.float32), (30, 1))
    stream = make(6, {"tasks": 3})
    question = question_of(stream)
    early = evaluate(Table(scores), stream, question, current=0)  # type: ignore[arg-type]
    late = evaluate(Table(scores), stream, question, current=2)  # type: ignore[arg-type]
    assert early is not None
    assert late is not None
    assert early.correct.tolist() == [5, 5, 5]
    assert late.correct.tolist() == [0, 0, 5]


def test_a_domain_stream_restricts_nothing() -> None:
    stream = make(2, {"tasks": 2}, scenario="domain-incremental")
    question = question_of(stream)
    assert question.ends.tolist() == [2, 2]
    # Test samples of a domain are permuted, not renumbered: with one feature the table still knows them.
    counts = evaluate(Table(np.tile([0.2, 0.1], (10, 1))), stream, question, current=0)  # type: ignore[arg-type]
    assert counts is not None
    assert counts.correct.tolist() == [5, 5]
    assert counts.masked is None
    assert counts.restricted is None


def test_task_incremental_asks_among_the_own_classes_and_tells_the_task() -> None:
    stream = make(4, {"tasks": 2}, scenario="task-incremental")
    table = Table(np.tile(np.array([0, 1, 5, 4], np.float32), (20, 1)))
    counts = evaluate(table, stream, question_of(stream), current=1)  # type: ignore[arg-type]
    assert counts is not None
    assert counts.correct.tolist() == [5, 5]
    assert counts.restricted is None
    assert counts.own.tolist() == [5, 5]
    assert all(task is not None for task in table.tasks_given)


def test_test_batches_are_mixed_and_of_the_size_asked_for() -> None:
    stream = make(4, {"tasks": 2}, per_class=25)
    table = Table(np.zeros((100, 4)))
    evaluate(table, stream, question_of(stream), current=0, batch=32)  # type: ignore[arg-type]
    assert table.sizes == [32, 32, 32, 4]
    assert len(set(next(iter(stream.test_batches(32))).task.tolist())) == 2


def test_columns_and_subsample() -> None:
    stream = make(4, {"tasks": 2}, per_class=25)
    question = question_of(stream)
    scores = np.eye(4, dtype=np.float32)[np.repeat(np.arange(4), 25)]
    table = Table(scores)
    counts = evaluate(table, stream, question, current=0, columns=1, subsample=8)  # type: ignore[arg-type]
    assert counts is not None
    assert counts.n.tolist() == [8, 0]
    assert counts.correct.tolist() == [8, 0]
    assert sum(table.sizes) == 8
    assert expected_sizes(stream, columns=1, subsample=80).tolist() == [50, 0]


def test_nan_is_never_right_and_all_nan_is_no_answer() -> None:
    question = Question.of([(0, 1), (2, 3)], 4)
    scores = np.array([[np.nan, 1, 2, 3], [np.nan, 1, 0, 0], [np.nan] * 4, [1, np.nan, 0, 0]], np.float32)
    y = np.array([0, 1, 0, 1])
    marks = mark(scores, y, np.zeros(4, int), question, np.array([1, 1]))
    assert (marks.beaten > 1).tolist() == [False, True, False, False]
    stream = make(4, {"tasks": 2})
    assert evaluate(Table(np.full((20, 4), np.nan)), stream, question_of(stream), current=0) is None  # type: ignore[arg-type]


def test_a_sample_that_is_not_counted_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = make(4, {"tasks": 2})
    whole = type(stream).test_batches
    monkeypatch.setattr(type(stream), "test_batches", lambda self, *a, **k: list(whole(self, *a, **k))[:-1])
    with pytest.raises(RecollectError, match=r"Not every test sample was counted: task 0 has 10"):
        evaluate(Table(np.zeros((20, 4))), stream, question_of(stream), current=0, batch=8)  # type: ignore[arg-type]


def test_scores_of_a_wrong_shape_are_refused() -> None:
    stream = make(4, {"tasks": 2})
    with pytest.raises(UsageError, match=r"expected \(20, 4\), got \(20, 2\)"):
        evaluate(Table(np.zeros((20, 2))), stream, question_of(stream), current=0)  # type: ignore[arg-type]


def test_labels_out_of_order_are_refused() -> None:
    with pytest.raises(UsageError, match="order of appearance"):
        Question.of([(2, 3), (0, 1)], 4)


def test_standard_error_covers_the_whole_test_set() -> None:
    # Exhaustive: all 20 ways to draw 3 of 6 with 2 right; the estimate of the variance is unbiased.
    from itertools import combinations

    right = np.array([1, 1, 0, 0, 0, 0])
    means, squares = [], []
    for chosen in combinations(range(6), 3):
        k = int(right[list(chosen)].sum())
        means.append(k / 3)
        error = standard_errors(np.array([k]), np.array([3]), np.array([6]))[0]
        assert error is not None
        squares.append(error**2)
    assert np.mean(squares) == pytest.approx(np.var(means), rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6), given_task=st.booleans())
def test_marking_by_blocks_equals_marking_by_classes(seed: int, sizes: list[int], given_task: bool) -> None:
    rng = np.random.default_rng(seed)
    ends = np.cumsum(sizes).tolist()
    question = Question.of(
        [tuple(range(end - size, end)) for end, size in zip(ends, sizes, strict=True)], ends[-1], is_given=given_task
    )
    assert question.blocks is not None
    scores = rng.random((50, ends[-1]), np.float32)
    y = rng.integers(0, ends[-1], 50)
    allowed = np.maximum(np.arange(question.T), rng.integers(-1, question.T))
    for order in ("C", "F"):
        laid = np.asarray(scores, order=order)  # type: ignore[call-overload]
        fast = marking._mark_by_blocks(laid, y, question.first[y], question, question.blocks, allowed)
        slow = marking._mark_by_classes(laid, y, question.first[y], question, allowed)
        assert fast is not None
        for name in ("task", "beaten", "outcome", "right_masked"):
            assert getattr(fast, name).tolist() == getattr(slow, name).tolist()


@pytest.mark.parametrize(("widths", "given_task"), [((1,), False), ((2,), False), ((1, 3), False), ((2, 1), True)])
def test_many_blocks_are_marked_the_same(widths: tuple[int, ...], given_task: bool) -> None:
    rng = np.random.default_rng(len(widths))
    ends = np.cumsum(np.resize(widths, 601)).tolist()
    starts = [0, *ends[:-1]]
    question = Question.of(
        [tuple(range(a, b)) for a, b in zip(starts, ends, strict=True)], ends[-1], is_given=given_task
    )
    assert question.blocks is not None
    scores = rng.random((40, ends[-1]), np.float32)
    y = rng.integers(0, ends[-1], 40)
    scores[np.arange(20), y[:20]] += 1  # half of them right, or beaten late
    scores[np.arange(20), np.arange(20) + ends[-1] - 20] += 0.9995
    for newest in (-1, 0, 254, 255, 256, 600):
        allowed = np.maximum(np.arange(question.T), newest)
        fast = marking._mark_by_blocks(scores, y, question.first[y], question, question.blocks, allowed)
        slow = marking._mark_by_classes(scores, y, question.first[y], question, allowed)
        assert fast is not None
        for name in ("beaten", "outcome", "right_masked"):
            assert getattr(fast, name).tolist() == getattr(slow, name).tolist()


def test_blocks_are_for_streams_whose_tasks_are_blocks() -> None:
    plain = Question.of([(0, 1), (2, 3, 4)], 5).blocks
    assert plain is not None
    assert (plain.starts.tolist(), plain.stops.tolist(), plain.width) == ([0, 2], [2, 5], None)
    shared = Question.of([(0, 1), (0, 1)], 2, is_shared=True).blocks
    assert shared is not None
    assert (shared.of_task.tolist(), shared.begins.tolist(), shared.width) == ([0, 0], [0, 2], 2)
    assert Question.of([(0, 1), (1, 2)], 3).blocks is None  # class 1 comes back beside a new one
    assert Question.of([(0, 1)], 3).blocks is None  # class 2 is nobody's


def test_a_class_that_comes_back_is_counted_by_hand() -> None:
    question = Question.of([(0, 1), (1, 2)], 3)
    scores = np.array([[0.1, 0.5, 0.9], [0.1, 0.5, 0.9], [0.6, 0.5, 0.1], [0.6, 0.5, 0.1]])
    marks = mark(scores, np.array([1, 1, 1, 1]), np.array([0, 1, 0, 1]), question, np.array([1, 1]))
    assert marks.beaten.tolist() == [1, 1, 0, 0]
    assert marks.outcome.tolist() == [marking.NEWER, marking.OWN, marking.OWN, marking.OLDER]
    assert marks.right_masked.tolist() == [True, False, False, True]


def test_whole_numbers_as_scores_are_marked_too() -> None:
    question = Question.of([(0, 1), (2, 3)], 4)
    marks = mark(np.array([[0, 3, 1, 2], [0, 3, 4, 2]]), np.array([1, 1]), np.array([0, 0]), question, np.array([1, 1]))
    assert marks.outcome.tolist() == [marking.RIGHT, marking.NEWER]


class Diverging:
    """Right until step `at`; then some of its scores, or all its weights, are no numbers."""

    stored_samples = stored_bytes = 0

    def __init__(self, n_classes: int, at: int, how: str) -> None:
        self.n_classes, self.at, self.how, self.seen = n_classes, at, how, 0
        self.weights = np.zeros(3)

    def learn(self, batch: Any) -> None:
        self.seen += len(batch.y)
        if self.seen >= self.at and self.how == "weights":
            self.weights[1] = np.nan

    def score(self, x: np.ndarray, task: Any = None) -> np.ndarray:
        scores = np.tile(np.arange(self.n_classes, dtype=np.float64), (len(x), 1))
        if self.seen >= self.at:
            if self.how == "weights":
                scores[:] = np.nan
            elif self.how == "one cell":
                scores[0, 0] = np.nan
            elif self.how == "infinite":
                scores[:, 0] = np.inf
            elif self.how == "unseen":
                scores[:, -1] = np.nan
            elif self.how == "minus infinite":
                scores[:, 0] = -np.inf
        return scores

    def end_task(self) -> None: ...

    def state(self) -> dict[str, Any]:
        return {"seen": self.seen, "weights": self.weights.copy()}

    def restore(self, state: dict[str, Any]) -> None: ...


def rows_of(how: str) -> list[Row]:
    from recollect.protocol import iter_protocol

    stream = make(4, {"tasks": 2})
    return list(iter_protocol(Diverging(4, stream.n_train, how), stream, seed=0))


def test_a_learner_whose_weights_are_no_numbers_diverged_at_a_step() -> None:
    rows = rows_of("weights")
    assert rows[1].correct is not None
    assert rows[2].correct is None
    assert rows[2].reason == f"the learner diverged: at step {rows[2].step} its weights are NaN or infinite"


def test_one_nan_among_the_scores_of_a_task_is_no_accuracy() -> None:
    row = rows_of("one cell")[2]
    assert row.correct is not None
    (name, reason), *more = row.reasons["accuracy"].items()
    assert not more
    assert reason.startswith("1 of its ")
    assert reason.endswith(f"NaN or infinite (step {row.step})")
    lost = int(name.split()[-1])
    assert row.correct[lost] is None
    assert row.correct[1 - lost] is not None
    assert row.restricted is not None
    assert row.restricted[lost] == ()


def test_infinite_scores_are_said_and_minus_infinity_is_a_score() -> None:
    row = rows_of("infinite")[2]
    assert row.reason == f"the learner diverged: at step {row.step} scores of every task are NaN or infinite"
    assert rows_of("minus infinite")[2].correct == rows_of("nothing")[2].correct


def test_a_class_that_may_not_be_answered_may_have_no_score() -> None:
    from recollect.protocol import iter_protocol

    stream = make(4, {"tasks": 2})
    first = list(iter_protocol(Diverging(4, 1, "unseen"), stream, seed=0))[1]
    assert first.correct is not None
    assert first.correct[0] is not None
    assert first.correct[1] is None  # among whose classes it is


def test_score_says_that_a_learner_diverged(tmp_path: Path) -> None:
    from recollect.cli import build
    from recollect.protocol import run_protocol

    stream = make(4, {"tasks": 2})
    run_protocol(Diverging(4, stream.n_train, "weights"), stream, tmp_path / "r", name="mine")
    with pytest.raises(NotComputable, match="the learner diverged: at step 20 its weights are NaN"):
        build(("score",))(["score", str(tmp_path / "r"), "-m", "acc.average"], prog_name="recollect")
