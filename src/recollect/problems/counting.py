"""One evaluation of a classifier: one pass over the test samples of all tasks, counted in every way at once.

The learner gives scores of all classes. From the same scores come the answers among the classes seen so far,
among those of tasks up to any m (the restricted counts), among the task's own (the masked counts), and where
the wrong answers went. Ties go to the first class, as `argmax` has it, in all of them: so sums are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import RecollectError, UsageError
from recollect.problems.base import Answers, Moment
from recollect.problems.divergence import why_not_finite
from recollect.problems.marking import NEWER, OLDER, OUTCOMES, OWN, RIGHT, Bools, Ints, Marks, Question, answers, mark
from recollect.problems.targets import Target
from recollect.runs.confusion import pack
from recollect.runs.run import Plan, Row
from recollect.runs.scenarios import SCENARIOS

if TYPE_CHECKING:
    from recollect.streams.samples import Samples
    from recollect.streams.stream import Stream

# Of a test batch: samples and scores of it stay in the cache, and memory does not grow with the number of classes.
LARGEST_BATCH = 4096
MOST_BYTES = 2**20
MOST_SCORES = 2**19
# Restricted counts are T x T a row: above this many tasks they would outweigh everything else.
MOST_RESTRICTED = 200


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts of one evaluation, one value per task.

    `restricted[j, m]` (m >= j; below it -1) counts what is right when classes of tasks up to m may be
    answered. `older`, `own` and `newer` say to which tasks' classes the wrong answers went. `lost` counts the samples
    with a score that is NaN or infinite among those that decide: such a task has no accuracy. `items` says of each task
    which of its samples were answered right, in the data set's own order. `confusion` counts which class (columns) was
    answered for which (rows), over the tasks seen.
    """

    n: Ints
    correct: Ints
    masked: Ints | None
    restricted: Ints | None
    older: Ints
    own: Ints
    newer: Ints
    lost: Ints
    items: tuple[Bools | None, ...] | None = None
    confusion: Ints | None = None


@dataclass(frozen=True, eq=False)
class Counting:
    """The examiner of streams with classes: makes a row of the counts of one evaluation."""

    stream: Stream
    target: Target

    @property
    def marks_items(self) -> bool:
        """Every answer is right or wrong."""
        return True

    @property
    def counted_classes(self) -> int:
        """How many classes can be answered."""
        return self.stream.n_classes

    @cached_property
    def question(self) -> Question:
        """What the stream asks."""
        return question_of(self.stream)

    def row(self, learner: Answers, moment: Moment, plan: Plan, batch: int | None) -> Row:
        """Evaluate the learner as the plan says."""
        current = moment.current
        # The untrained row is the reference of transfer: it has every column even where the others have not.
        # Where the future cannot be seen there is nothing to ask it about.
        every = plan.columns == "all" or current < 0
        columns = None if every and self.stream.asks_future else current + 1
        counts = evaluate(
            learner,
            self.stream,
            self.question,
            current=current,
            columns=columns,
            subsample=plan.subsample,
            restricted=moment.task_end and current >= 0 and self.question.T <= MOST_RESTRICTED,
            batch=batch,
            items=bool(plan.items),
            confusion=bool(plan.confusion) and current >= 0,
        )
        if counts is None and columns == 0:
            return Row(moment.after, step=moment.step, task_end=moment.task_end, reason="nothing can be seen yet")
        if counts is None or (counts.lost[counts.n > 0] > 0).all():
            reason = why_not_finite(learner, moment.step, every=counts is None)
            return Row(moment.after, step=moment.step, task_end=moment.task_end, reason=reason)
        return self._as_row(counts, moment, plan)

    def _as_row(self, counts: Counts, moment: Moment, plan: Plan) -> Row:
        evaluated = (counts.n > 0) & (counts.lost == 0)
        reasons = {
            task.name: f"{lost} of its {n} test samples have scores that are NaN or infinite (step {moment.step})"
            for task, lost, n in zip(self.stream.tasks, counts.lost.tolist(), counts.n.tolist(), strict=True)
            if lost
        }

        def cells(values: NDArray[Any] | None) -> tuple[int | None, ...] | None:
            if values is None:
                return None
            return tuple(v if there else None for v, there in zip(values.tolist(), evaluated, strict=True))

        restricted = None
        if counts.restricted is not None:
            restricted = tuple(
                tuple(c if c >= 0 else None for c in line) if there else ()
                for line, there in zip(counts.restricted.tolist(), evaluated, strict=True)
            )
        errors: dict[str, tuple[int | None, ...]] = {}
        if self.question.grows:
            errors = {side: cells(getattr(counts, side)) or () for side in ("older", "own", "newer")}
        error = None
        if plan.subsample is not None:
            error = standard_errors(counts.correct, counts.n, expected_sizes(self.stream))
        return Row(
            moment.after,
            step=moment.step,
            task_end=moment.task_end,
            correct=cells(counts.correct),
            n=cells(counts.n),
            restricted=restricted,
            masked=cells(counts.masked),
            errors=errors,
            standard_error=error,
            marks=counts.items,
            confusion=None if counts.confusion is None else pack(counts.confusion),
            reasons={self.target.name: reasons} if reasons else {},
        )


def question_of(stream: Stream) -> Question:
    """The question that a stream asks."""
    shared = SCENARIOS[stream.scenario].is_domains
    tasks = [tuple(int(c) for c in task.classes) for task in stream.tasks]
    return Question.of(tasks, stream.n_classes, is_given=stream.gives_task, is_shared=shared)


def evaluate(
    learner: Answers,
    stream: Stream,
    question: Question,
    *,
    current: int,
    columns: int | None = None,
    subsample: int | None = None,
    restricted: bool = True,
    batch: int | None = None,
    items: bool = False,
    confusion: bool = False,
) -> Counts | None:
    """Score the test samples of all tasks in their one mixed order, and count.

    `current` is the newest task of which something was seen (-1: none). Task j is asked among the classes of
    tasks up to max(current, j). `columns` limits the evaluation to the first tasks; `subsample` to so many
    samples per task, always the same ones. `restricted` asks for those counts, T x T of them. `batch` samples are
    scored at once; by default as many as is fastest. `items` keeps who was right on which sample, `confusion` which
    class was answered for which. The answer is None where the learner gave no number at all: it has no answer yet.
    """
    marks: list[Marks] = []
    places: list[Ints] = []
    said: list[tuple[Ints, Ints]] = []
    answered, lost = False, np.zeros(question.T, np.int64)
    allowed = np.maximum(np.arange(question.T), current)
    chosen = None if columns is None else range(columns)
    # One pass over a graph answers all its samples, however many are asked.
    all_at_once = 0 if stream.views is None else len(stream.data.test)
    size = batch or all_at_once or batch_size(stream.data.test, len(question.first))
    for given in stream.test_batches(size, tasks=chosen, subsample=subsample):
        scores = learner.score(given.x, given.task) if question.is_given else learner.score(given.x)
        scores = _checked(scores, len(given.y), len(question.first))
        answered = answered or not np.isnan(scores).all()
        if scores.dtype.kind == "f" and scores.size and not scores.max() < np.inf:
            lost += _lost(scores, given.task, question, allowed)
        marks.append(mark(scores, given.y, given.task, question, allowed))
        places.append(given.index)
        if confusion:
            said.append((given.y, answers(scores, given.task, question, allowed)))
    counts = replace(_count(marks, question, restricted), lost=lost)
    wanted = expected_sizes(stream, columns, subsample)
    if not np.array_equal(counts.n, wanted):
        j = int(np.flatnonzero(counts.n != wanted)[0])
        raise RecollectError(
            f"Not every test sample was counted: task {j} has {wanted[j]} and {counts.n[j]} came."
            " The stream's test_batches must give each sample once."
        )
    if items:
        counts = replace(counts, items=_items(marks, places, (counts.n > 0) & (lost == 0)))
    if confusion:
        counts = replace(counts, confusion=_confusion(marks, said, current, lost, len(question.first)))
    return counts if answered else None


def _confusion(marks: list[Marks], said: list[tuple[Ints, Ints]], current: int, lost: Ints, C: int) -> Ints:
    """Classes by classes, of the samples of the tasks seen so far whose scores are numbers."""
    counts = np.zeros(C * C, np.int64)
    for one, (true, answer) in zip(marks, said, strict=True):
        counted = (one.task <= current) & (lost[one.task] == 0)
        counts += np.bincount(true[counted] * C + answer[counted], minlength=C * C)
    return counts.reshape(C, C)


def _items(marks: list[Marks], places: list[Ints], evaluated: Bools) -> tuple[Bools | None, ...]:
    """For each task which of its samples were answered right, in the data set's own order; None where not asked."""
    task, right = (np.concatenate([getattr(one, name) for one in marks]) for name in ("task", "outcome"))
    order = np.lexsort((np.concatenate(places), task))
    ends = np.searchsorted(task[order], np.arange(len(evaluated) + 1))
    sorted_right = (right == RIGHT)[order]
    return tuple(sorted_right[ends[j] : ends[j + 1]] if there else None for j, there in enumerate(evaluated.tolist()))


def batch_size(samples: Samples, n_classes: int) -> int:
    """How many test samples are scored at once: many small ones, fewer of large ones or with many classes.

    >>> from recollect.streams.samples import ImageFiles
    >>> batch_size(ImageFiles([], (8, 8), channels=1), 10), batch_size(ImageFiles([], (32, 32)), 100)
    (4096, 512)
    """
    a_sample = max(1, math.prod(samples.shape) * samples.dtype.itemsize)
    fitting = max(512, min(MOST_BYTES // a_sample, LARGEST_BATCH))
    # A power of two: what is left over after whole pieces costs a network nearly as much as a piece.
    return 1 << (min(fitting, max(1, MOST_SCORES // n_classes)).bit_length() - 1)


def expected_sizes(stream: Stream, columns: int | None = None, subsample: int | None = None) -> Ints:
    """How many samples of each task an evaluation counts."""
    sizes = np.array([len(task.test) for task in stream.tasks], np.int64)
    if subsample is not None:
        sizes = np.minimum(sizes, min(subsample, int(sizes.max(initial=0))))
    if columns is not None:
        sizes[columns:] = 0
    return sizes


def standard_errors(correct: Ints, n: Ints, sizes: Ints) -> tuple[float | None, ...]:
    """The standard error of each subsampled accuracy, for n drawn of `sizes` without replacement.

    >>> standard_errors(np.array([5]), np.array([10]), np.array([10]))
    (0.0,)
    >>> standard_errors(np.array([5, 0]), np.array([10, 0]), np.array([100, 9]))
    (0.158114, None)
    """
    errors: list[float | None] = []
    for right, drawn, size in zip(correct.tolist(), n.tolist(), sizes.tolist(), strict=True):
        if drawn < 2:
            errors.append(None if drawn == 0 or size > drawn else 0.0)
            continue
        p = right / drawn
        errors.append(round((p * (1 - p) / (drawn - 1) * (1 - drawn / size)) ** 0.5, 6))
    return tuple(errors)


def _count(marks: list[Marks], question: Question, with_restricted: bool) -> Counts:
    T = question.T
    task, beaten, outcome, right_masked = (
        np.concatenate([getattr(one, name) for one in marks]) if marks else np.zeros(0, np.int64)
        for name in ("task", "beaten", "outcome", "right_masked")
    )
    tally = np.bincount((2 * task + right_masked) * OUTCOMES + outcome, minlength=2 * T * OUTCOMES)
    by_mask = tally.reshape(T, 2, OUTCOMES)
    became = by_mask.sum(1)
    n = became.sum(1)
    masked = by_mask[:, 1].sum(1) if question.is_given or question.grows else None
    restricted = None
    if question.grows and with_restricted:
        first_beaten = np.bincount(task * (T + 1) + beaten, minlength=T * (T + 1)).reshape(T, T + 1)
        restricted = n[:, None] - first_beaten.cumsum(1)[:, :T]
        restricted[np.tril_indices(T, -1)] = -1
    return Counts(
        n, became[:, RIGHT], masked, restricted, became[:, OLDER], became[:, OWN], became[:, NEWER], np.zeros_like(n)
    )


def _lost(scores: NDArray[Any], task: Ints, question: Question, allowed: Ints) -> Ints:
    """Of each task the samples with a score of NaN or infinity among the classes that may be answered.

    Minus infinity is a score: that of a class which cannot be.
    """
    bad = np.isnan(scores) | (scores == np.inf)
    if question.is_given:
        decides = question.own[task]
    else:
        decides = np.arange(scores.shape[1]) < question.ends[allowed[task]][:, None]
    return np.bincount(task[(bad & decides).any(1)], minlength=question.T)


def _checked(scores: Any, n: int, classes: int) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(scores)
    if array.shape != (n, classes):
        raise UsageError(
            f"A learner's score(x) gives one row per sample and one column per class: expected {(n, classes)},"
            f" got {array.shape}. Score all {classes} classes, also those not seen yet."
        )
    return array
