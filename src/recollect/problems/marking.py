"""Which answers are right: the scores of a batch, judged under every restriction of the classes at once.

Labels are in the order of appearance, so the classes of tasks up to m are a prefix, and the new classes of a task a
block. With the best score of each block and its running maximum over the blocks, every question about a sample is
one comparison with the score of its true class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError

Ints = NDArray[np.signedinteger[Any]]
Bools = NDArray[np.bool_]

# What became of a sample: to which tasks' classes a wrong answer went, against its own, or that it is right.
OLDER, OWN, NEWER, RIGHT = range(4)
OUTCOMES = 4
# Two bytes count them.
MOST_BLOCKS = 2**16 - 1
# So few rows are compared one after the other.
_FEW = 32


@dataclass(frozen=True, eq=False)
class Blocks:
    """The classes cut where tasks add new ones, on streams where every task's own classes are one block.

    `starts` are the first classes of the blocks, `stops` the ends; `of_task[j]` is task j's block, `begins[b]` the
    task that brought block b, with T behind the last; `width` is the size of all blocks if they have one.
    """

    starts: Ints
    stops: Ints
    of_task: Ints
    begins: Ints
    width: int | None


@dataclass(frozen=True, eq=False)
class Question:
    """Which classes may be answered: labels are in the order of appearance, so tasks up to m are a prefix.

    `ends[m]` is the number of classes of tasks up to m; `first[c]` the task that class c first belongs to;
    `own[j, c]` whether task j has class c. `is_given` says that the task of each sample is known, so that
    only its own classes are asked for.

    >>> question = Question.of([(0, 1), (2, 3, 4)], n_classes=5)
    >>> question.ends, question.first
    (array([2, 5]), array([0, 0, 1, 1, 1]))
    """

    ends: Ints
    first: Ints
    own: Bools
    is_given: bool = False

    @classmethod
    def of(
        cls, tasks: list[tuple[int, ...]], n_classes: int, *, is_given: bool = False, is_shared: bool = False
    ) -> Question:
        """Make the question of a stream; `is_shared`: all classes may always be answered (domains)."""
        own = np.zeros((len(tasks), n_classes), bool)
        for j, classes in enumerate(tasks):
            own[j, list(classes)] = True
        if is_shared:
            own[:] = True
        appears = np.logical_or.accumulate(own)
        ends = appears.sum(1)
        if any(not appears[m, : ends[m]].all() for m in range(len(tasks))):
            raise UsageError(
                "The labels of a stream are numbered in the order of appearance: the first task has 0, 1, ..."
                f" and the next goes on from there; got tasks with the classes {_short(tasks)}."
            )
        return cls(ends, np.searchsorted(ends, np.arange(n_classes), side="right"), own, is_given)

    @property
    def T(self) -> int:
        return len(self.ends)

    @property
    def grows(self) -> bool:
        """Whether there are more answers later than at first: else restricting them changes nothing."""
        return not self.is_given and bool(self.ends[0] < self.ends[-1])

    @cached_property
    def blocks(self) -> Blocks | None:
        """The classes in blocks; None where a task mixes old and new ones, some are nobody's, or they are many."""
        begins = np.flatnonzero(np.diff(self.ends, prepend=0))
        if len(begins) > MOST_BLOCKS:
            return None
        stops = self.ends[begins]
        starts = np.concatenate([[0], stops[:-1]])
        of_task = np.searchsorted(begins, self.first[self.own.argmax(1)])
        classes = np.arange(len(self.first))
        blocks = (classes >= starts[of_task, None]) & (classes < stops[of_task, None])
        if stops[-1] != len(classes) or not np.array_equal(blocks, self.own):
            return None
        widths = set((stops - starts).tolist())
        return Blocks(starts, stops, of_task, np.append(begins, self.T), widths.pop() if len(widths) == 1 else None)


@dataclass(frozen=True, eq=False)
class Marks:
    """What is kept of each sample.

    `beaten` is the first task whose classes beat the true one, T where none does: then the answer is right whatever
    may be answered. `outcome` is OLDER, OWN, NEWER or RIGHT, among the classes that are asked for.
    """

    task: Ints
    beaten: Ints
    outcome: Ints
    right_masked: Bools


def mark(scores: NDArray[Any], y: Ints, task: Ints, question: Question, allowed: Ints) -> Marks:
    """Mark a batch: `scores` is (n, classes); a NaN never wins, and a true class with NaN never is right.

    Ties go to the first class, as `argmax` has it. `allowed[j]` is the last task whose classes may be answered for
    samples of task j.

    >>> question = Question.of([(0, 1), (2, 3)], n_classes=4)
    >>> scores = np.array([[.1, .5, .7, .2], [.1, .5, .5, .2]])
    >>> mark(scores, np.array([1, 1]), np.array([0, 0]), question, np.array([1, 1])).beaten
    array([1, 2])
    """
    marks = None
    if question.blocks is not None and np.issubdtype(scores.dtype, np.floating):
        marks = _mark_by_blocks(scores, y, task, question, question.blocks, allowed)
    return _mark_by_classes(scores, y, task, question, allowed) if marks is None else marks


def _mark_by_blocks(
    scores: NDArray[Any], y: Ints, task: Ints, question: Question, blocks: Blocks, allowed: Ints
) -> Marks | None:
    """The marks, or None if a true class ties with another one or a score is NaN: then order or care is needed."""
    columns = np.ascontiguousarray(scores.T)  # whole rows of it are compared at once; often it lies so already
    n = len(y)
    place = np.arange(n)
    true = columns.take(y * n + place)
    best, before = _block_maxima(columns, blocks)
    if np.isnan(before[-1]).any() or np.count_nonzero(columns == true) != n:
        return None
    own = blocks.of_task[task] * n + place
    right_masked: Bools = best.take(own) <= true
    if question.is_given:
        return Marks(task, np.where(right_masked, question.T, 0), np.where(right_masked, RIGHT, OWN), right_masked)
    unbeaten = _trues(before[1:] <= true)
    last = np.searchsorted(blocks.begins[:-1], allowed, side="right")  # how many blocks are asked for
    top = before.take(last[task] * n + place)
    # Where the best answer is: the running maximum has reached it before, in, or only after the own block.
    outcome = NEWER - (before.take(own + n) == top).view(np.int8) - (before.take(own) == top).view(np.int8)
    outcome[top <= true] = RIGHT
    return Marks(task, blocks.begins[unbeaten], outcome, right_masked)


def _trues(table: Bools) -> Ints:
    """How many are true in each column; a byte counts so many that its sum does not go round."""
    parts = [table[low : low + 255].view(np.uint8).sum(0, dtype=np.uint8) for low in range(0, len(table), 255)]
    total: Ints = parts[0] if len(parts) == 1 else np.sum(parts, axis=0, dtype=np.uint16)
    return total


def _block_maxima(columns: NDArray[Any], blocks: Blocks) -> tuple[NDArray[Any], NDArray[Any]]:
    """The best score in each block, and in all blocks before each: `before[b]`, with all of them in the last."""
    n = columns.shape[1]
    count = len(blocks.starts)
    if blocks.width is not None:
        best = columns.reshape(count, blocks.width, n).max(1)
    else:
        best = np.empty((count, n), columns.dtype)
        for b in range(count):
            columns[blocks.starts[b] : blocks.stops[b]].max(0, out=best[b])
    return best, _running_maxima(best)


def _running_maxima(best: NDArray[Any]) -> NDArray[Any]:
    """The largest of all rows before each, and of all rows in the last: many times faster than `maximum.accumulate`.

    Within groups of rows first, all groups at once, then group by group: two times the root of the rows as many steps.

    >>> _running_maxima(np.array([[1.0], [3.0], [2.0], [5.0], [4.0]])).ravel().tolist()
    [-inf, 1.0, 3.0, 3.0, 5.0, 5.0]
    """
    count, n = best.shape
    before = np.empty((count + 1, n), best.dtype)
    before[0] = -np.inf
    size = math.isqrt(count) if count > _FEW else 1
    whole = count - count % size
    groups = before[1 : whole + 1].reshape(-1, size, n)
    groups[:] = best[:whole].reshape(groups.shape)
    for i in range(1, size):
        np.maximum(groups[:, i - 1], groups[:, i], out=groups[:, i])
    for k in range(1, len(groups)):
        np.maximum(groups[k], groups[k - 1, -1], out=groups[k])
    for b in range(whole, count):
        np.maximum(before[b], best[b], out=before[b + 1])
    return before


def _mark_by_classes(scores: NDArray[Any], y: Ints, task: Ints, question: Question, allowed: Ints) -> Marks:
    """The marks of any scores on any stream, class by class."""
    n, C = scores.shape
    rows = np.arange(n)
    true = scores[rows, y]
    loses = ((scores <= true[:, None]) & (np.arange(C) > y[:, None])) | (scores < true[:, None]) | np.isnan(scores)
    loses[np.isnan(true)] = False
    loses[rows, y] = ~np.isnan(true)
    rival = loses.argmin(1)
    beaten = np.where(loses[rows, rival], question.T, question.first[rival])
    right_masked: Bools = np.logical_and.reduce(loses | ~question.own[task], axis=1)
    if question.is_given:
        beaten = np.where(right_masked, question.T, 0)
        return Marks(task, beaten, np.where(right_masked, RIGHT, OWN), right_masked)
    outcome = np.full(n, RIGHT)
    wrong = np.flatnonzero(beaten <= allowed[task])
    if len(wrong):
        home = task[wrong]
        possible = np.arange(C) < question.ends[allowed[home]][:, None]
        answer = np.where(possible & ~np.isnan(scores[wrong]), scores[wrong], -np.inf).argmax(1)
        outcome[wrong] = OWN + np.where(question.own[home, answer], 0, np.sign(question.first[answer] - home))
    return Marks(task, beaten, outcome, right_masked)


def answers(scores: NDArray[Any], task: Ints, question: Question, allowed: Ints) -> Ints:
    """The class that each sample is answered with, among those that may be; ties go to the first, as `mark` has it.

    >>> question = Question.of([(0, 1), (2, 3)], n_classes=4)
    >>> answers(np.array([[.1, .5, .7, .2], [.1, .5, .7, .2]]), np.array([0, 1]), question, np.array([0, 1]))
    array([1, 2])
    """
    if question.is_given:
        possible = question.own[task]
    else:
        possible = np.arange(scores.shape[1]) < question.ends[allowed[task]][:, None]
    # Minus infinity is a score, so that what may not be answered has to be lower than all: it is looked at last.
    known = np.where(possible & ~np.isnan(scores), scores.astype(float), -np.inf)
    best: Ints = known.argmax(1)
    lowest = ~np.isfinite(known.max(1))
    best[lowest] = possible[lowest].argmax(1)
    return best


def _short(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 80 else text[:77] + "..."
