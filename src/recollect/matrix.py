"""What was measured: scores by time and task, and what the metrics need beside them.

Rows are time, columns are evaluated tasks: ``R[..., i, j]`` is the score on task ``j`` in row ``i``. Leading
axes are runs (seeds). NaN means "not evaluated"; 0 is a measurement.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.inputs import (
    HELD_OUT,
    Array,
    Unit,
    as_numbers,
    as_scores,
    checked_class_counts,
    decide_unit,
    end_rows,
    whole_numbers,
)
from recollect.orientation import SAY_ROWS, doubt, why_empty
from recollect.values import shown

__all__ = ["Array", "Orientation", "ScoreMatrix", "Unit", "as_scores"]

Orientation = Literal["auto", "time_rows"]

_COMPANIONS = (
    "b",
    "joint",
    "restricted",
    "masked",
    "asked",
    "pooled",
    "probe",
    "single",
    "single_auc",
    "online",
    "near_future",
)


class ScoreMatrix:
    """A score matrix with its companions, checked once and then read-only.

    Parameters
    ----------
    R : array-like of shape (..., S, T)
        The scores. Nested lists may hold None and may be ragged (a lower triangle). Scores above 1 are
        taken for percent and divided by 100, unless `unit` says otherwise; `notes` tells.
    b : array-like of shape (..., T), optional
        The untrained learner's scores.
    joint : array-like of shape (..., T, T), optional
        The same matrix for the learner that is retrained on everything seen so far.
    restricted : array-like of shape (..., T, T, T), optional
        ``A[k, j, m]``: after task k, on task j's test set, with only the classes of tasks <= m as answers.
    masked : array-like of shape (..., S, T), optional
        The scores of the same answers when only the task's own classes are allowed.
    asked : array-like of shape (..., S, T), optional
        The same among the classes of tasks up to the column's, the question that was asked when it was learned.
    pooled : array-like of shape (..., S), optional
        The score over all test samples of the tasks seen so far, where it was measured and not made from R.
        Where `restricted` is given it holds them already.
    probe : array-like of shape (..., S, T), optional
        The scores of a linear classifier refitted on each task's training samples, with the features of the row.
    single, single_auc : array-like of shape (..., T), optional
        The scores of models trained on one task alone: at the end, and the mean over their training.
    online, near_future : array-like of shape (..., S), optional
        The test-then-train score over the samples between the row before and this one; the same on samples a delay
        ahead of training.
    correct : array-like of shape (..., S, T), optional
        Counts of right answers; with `n_samples` they define R exactly, and R may be None.
    n_classes, n_samples : array-like of shape (T,), optional
        New classes of each task; size of each task's test set (or (..., T) where the runs' test sets differ).
    class_counts : sequence of T sequences, optional
        Test samples of each class, task by task.
    learned_at : sequence of T, optional
        The row after which each task has first been learned; -1 where no evaluation was planned, "held out" for a
        column that is never trained on. Default: row i follows task i. All rows are ends of tasks, visits or batches
        unless `inside` says otherwise, and "now" is the last one: tasks may come again.
    planned : array-like of shape (T,), optional
        Whether an evaluation was planned right after each task; another way to say `learned_at`, and beside it what
        tells a task that was learned by a row from one that has this row as its own.
    inside : array-like of shape (S,), optional
        True for rows inside tasks, which the anytime and worst-case metrics alone read. Default: none.
    steps : array-like of shape (S,), optional
        Samples seen by the learner at each row.
    names : sequence of T str, optional
    unit : {"auto", "fraction", "percent", "raw"}
        "raw" is any other scale (a loss, a return): nothing is divided and bounds do not apply.
    higher_is_better : bool
        False for errors such as RMSE; difference metrics then turn the sign.
    orientation : {"auto", "time_rows"}
        "time_rows" states that rows are time, and switches the check for a transposed matrix off.

    Examples
    --------
    >>> matrix = ScoreMatrix([[80], [60, 90]], n_classes=[2, 2])
    >>> matrix.R
    array([[0.8, nan],
           [0.6, 0.9]])
    >>> matrix.notes
    ('scores above 1: read as percent and divided by 100',)
    """

    def __init__(
        self,
        R: ArrayLike | None,
        *,
        b: ArrayLike | None = None,
        joint: ArrayLike | None = None,
        restricted: ArrayLike | None = None,
        masked: ArrayLike | None = None,
        asked: ArrayLike | None = None,
        pooled: ArrayLike | None = None,
        probe: ArrayLike | None = None,
        single: ArrayLike | None = None,
        single_auc: ArrayLike | None = None,
        online: ArrayLike | None = None,
        near_future: ArrayLike | None = None,
        correct: ArrayLike | None = None,
        n_classes: ArrayLike | None = None,
        n_samples: ArrayLike | None = None,
        class_counts: Sequence[Sequence[int]] | None = None,
        learned_at: ArrayLike | None = None,
        planned: ArrayLike | None = None,
        inside: ArrayLike | None = None,
        steps: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        unit: Unit = "auto",
        higher_is_better: bool = True,
        orientation: Orientation = "auto",
        notes: Sequence[str] = (),
    ) -> None:
        if not isinstance(orientation, str) or orientation not in ("auto", "time_rows"):
            raise UsageError(f"orientation must be auto or time_rows; got {shown(orientation)}.")
        for what, texts in (("names", () if names is None else names), ("notes", notes)):
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise UsageError(f"{what} is a list of texts; got {shown(texts)}.")
        if not isinstance(higher_is_better, bool | np.bool_):
            raise UsageError(f"higher_is_better is True or False; got {shown(higher_is_better)}.")
        counts = None if correct is None else as_scores(correct, "correct")
        if R is None:
            scores, unit = _from_counts(counts, n_samples), "fraction"
        else:
            scores = as_numbers(R, "R")
        if scores.ndim < 2 or 0 in scores.shape:
            raise UsageError(
                f"R must have shape (..., rows, tasks) with at least one of each; got shape {scores.shape}."
                " One row of scores is not a matrix: give one row for every evaluation."
            )
        self.lead: tuple[int, ...] = scores.shape[:-2]
        self.S, self.T = S, T = scores.shape[-2:]
        given = {"R": scores}
        for name, values, tail in (
            ("b", b, (T,)),
            ("joint", joint, (T, T)),
            ("restricted", restricted, (T, T, T)),
            ("masked", masked, (S, T)),
            ("asked", asked, (S, T)),
            ("pooled", pooled, (S,)),
            ("probe", probe, (S, T)),
            ("single", single, (T,)),
            ("single_auc", single_auc, (T,)),
            ("online", online, (S,)),
            ("near_future", near_future, (S,)),
        ):
            if values is not None:
                given[name] = self._broadcast(as_numbers(values, name), tail, name)
        self.higher_is_better = bool(higher_is_better)
        self.unit: Unit
        self.unit, assumed = decide_unit(unit, given, self.higher_is_better)
        if self.unit == "percent":
            given = {name: values / 100 for name, values in given.items()}
        self.learned_at, self.planned = end_rows(learned_at, planned, S, T)
        self.inside = self._inside(inside)
        if asked is None and "restricted" in given:
            given["asked"] = self._asked_from(given["restricted"])
        for values in given.values():
            values.setflags(write=False)
        self.R: Array = given["R"]
        companions = [given.get(name) for name in _COMPANIONS]
        self.b, self.joint, self.restricted, self.masked, self.asked, self.pooled = companions[:6]
        self.probe, self.single, self.single_auc, self.online, self.near_future = companions[6:]
        self.correct = None if counts is None else self._broadcast(counts, (S, T), "correct")

        self.n_classes = whole_numbers(n_classes, T, "n_classes", least=0)
        self.n_samples = self._sizes(n_samples)
        self.class_counts = checked_class_counts(class_counts, self.n_classes, T)
        self.steps = whole_numbers(steps, S, "steps", least=0)
        if self.steps is not None and (np.diff(self.steps) < 0).any():
            raise UsageError("steps must not decrease: rows are in the order of time.")
        doubts = self._judge_orientation() if orientation == "auto" else []
        self._check_counts()
        self._check_restricted()
        self._check_order()
        if names is not None and len(names) != T:
            raise UsageError(f"names must have one entry per task: expected {T}, got {len(names)}.")
        self.names = None if names is None else tuple(str(n) for n in names)
        self.notes = (*notes, *([assumed] if assumed else []), *(said for said in doubts if said not in notes))
        # A place for upper layers to keep what they derive from this matrix; it never changes.
        self.cache: dict[str, Any] = {}

    @property
    def is_square(self) -> bool:
        """Whether row i follows task i, for every task."""
        return self.S == self.T and bool((self.learned_at == np.arange(self.T)).all() and self.planned.all())

    @cached_property
    def held_out(self) -> NDArray[np.bool_]:
        """Whether each column is a task that is never trained on."""
        is_held: NDArray[np.bool_] = self.learned_at == HELD_OUT
        return is_held

    def at(self, index: int | tuple[int, ...] | slice) -> ScoreMatrix:
        """Select runs: index the leading axes of everything that has them.

        >>> ScoreMatrix([[[.8]], [[.7]]]).at(1).R
        array([[0.7]])
        """
        picked = {k: None if v is None else v[index] for k, v in self._batched().items()}
        sizes = self.n_samples
        changes = {"n_samples": sizes[index]} if sizes is not None and sizes.ndim > 1 else {}
        return self._with(picked, changes, self.notes)

    def with_scores(self, R: Array, b: Array | None, unit: str | None = None) -> ScoreMatrix:
        """The same plan with other scores and base scores; what must agree with R stays out."""
        arrays: dict[str, Any] = dict.fromkeys(self._batched())
        arrays |= {name: getattr(self, name) for name in ("joint", "single", "single_auc")}
        return self._with(arrays | {"R": R, "b": b}, {} if unit is None else {"unit": unit}, ())

    @classmethod
    def stack(cls, matrices: Sequence[ScoreMatrix]) -> ScoreMatrix:
        """Put matrices of one stream under a new leading axis; companions are kept where all have them.

        >>> ScoreMatrix.stack([ScoreMatrix([[.8]]), ScoreMatrix([[.7]])]).lead
        (2,)
        """
        if not matrices:
            raise UsageError("stack needs at least one matrix; got none.")
        first = matrices[0]
        for other in matrices[1:]:
            same = (
                first.R.shape == other.R.shape
                and first.higher_is_better == other.higher_is_better
                and (first.unit == "raw") == (other.unit == "raw")
                and all(
                    _same(getattr(first, name), getattr(other, name)) for name in ("learned_at", "planned", "inside")
                )
            )
            if not same:
                raise UsageError(
                    "matrices of one stack must have the same shape, plan of rows, direction and unit: got"
                    f" {first!r} and {other!r}. Score them one by one."
                )
        parts = [m._batched() for m in matrices]
        arrays = {}
        for name in parts[0]:
            given = [part[name] for part in parts]
            arrays[name] = None if any(v is None for v in given) else np.stack([v for v in given if v is not None])
        differing = [
            name
            for name in ("n_classes", "n_samples", "steps", "class_counts", "names")
            if not all(_same(getattr(first, name), getattr(m, name)) for m in matrices[1:])
        ]
        changes: dict[str, Any] = dict.fromkeys(differing)
        sizes = [m.n_samples for m in matrices if m.n_samples is not None]
        if "n_samples" in differing and len(sizes) == len(matrices):
            # A class order drawn from the seed gives every seed tasks of other sizes.
            changes["n_samples"] = np.stack([np.broadcast_to(n, (*first.lead, first.T)) for n in sizes])
        notes = dict.fromkeys(note for m in matrices for note in m.notes)
        return first._with(arrays, changes, tuple(notes))

    def __repr__(self) -> str:
        have = [k for k in ("b", "joint", "restricted", "n_classes", "n_samples") if getattr(self, k) is not None]
        runs = f"{'x'.join(map(str, self.lead))} runs, " if self.lead else ""
        return f"ScoreMatrix({runs}{self.S} rows, {self.T} tasks{''.join(', ' + k for k in have)})"

    def _repr_html_(self) -> str:
        # Drawing is a layer above; a notebook asks for it by name.
        return str(import_module("recollect.report.notebook").matrix_html(self))

    def _batched(self) -> dict[str, Array | None]:
        return {name: getattr(self, name) for name in ("R", *_COMPANIONS, "correct")}

    def _with(self, arrays: dict[str, Array | None], changes: dict[str, Any], notes: tuple[str, ...]) -> ScoreMatrix:
        """Build a matrix of other runs of the same stream, from scores that are fractions already."""
        shared: dict[str, Any] = {
            "n_classes": self.n_classes,
            "n_samples": self.n_samples,
            "class_counts": self.class_counts,
            "learned_at": self.learned_at,
            "planned": self.planned,
            "inside": self.inside,
            "steps": self.steps,
            "names": self.names,
            "unit": "raw" if self.unit == "raw" else "fraction",
            "higher_is_better": self.higher_is_better,
            "orientation": "time_rows",
        }
        return ScoreMatrix(**(shared | arrays | changes), notes=notes)

    def _sizes(self, n_samples: ArrayLike | None) -> NDArray[np.int64] | None:
        """Check the sizes of the test sets: the same for all runs, or a row for each."""
        if n_samples is not None:
            n_samples = as_scores(n_samples, "n_samples")
        if n_samples is None or np.ndim(n_samples) <= 1:
            return whole_numbers(n_samples, self.T, "n_samples", least=1)
        if np.shape(n_samples) != (*self.lead, self.T):
            raise UsageError(
                f"n_samples must have {self.T} entries, or shape {(*self.lead, self.T)} where runs differ;"
                f" got shape {np.shape(n_samples)}."
            )
        flat = whole_numbers(np.ravel(n_samples), int(np.size(n_samples)), "n_samples", least=1)
        return None if flat is None else flat.reshape(*self.lead, self.T)

    def _inside(self, inside: ArrayLike | None) -> NDArray[np.bool_]:
        """Check which rows are inside tasks: a row at which a task was learned is not."""
        rows = whole_numbers(inside, self.S, "inside", least=0)
        marks = np.zeros(self.S, bool) if rows is None else rows.astype(bool)
        learned = self.learned_at[self.learned_at >= 0]
        if marks[learned].any() or marks.all():
            raise UsageError(
                "inside must leave out the rows of learned_at, and one row at least; got"
                f" {np.flatnonzero(marks).tolist()} with learned_at {self.learned_at.tolist()}."
            )
        marks.setflags(write=False)
        return marks

    def _broadcast(self, array: Array, tail: tuple[int, ...], name: str) -> Array:
        expected = self.lead + tail
        if array.shape[-len(tail) :] != tail:
            raise UsageError(f"{name} must have shape (..., {', '.join(map(str, tail))}); got {array.shape}.")
        try:
            return np.broadcast_to(array, expected)
        except ValueError:
            raise UsageError(
                f"{name} of shape {array.shape} does not fit R of shape {(*self.lead, self.S, self.T)}:"
                f" expected {expected}, or the same for all runs."
            ) from None

    def _judge_orientation(self) -> list[str]:
        """Refuse a matrix that is the wrong way round; say so of one that looks like it."""
        if not self.is_square:
            return []
        if (why := why_empty(self.R)) is not None:
            raise UsageError(f"R looks transposed: {why}. Rows are time and columns are tasks. {SAY_ROWS}")
        said = doubt(self.R, self.higher_is_better)
        return [] if said is None else [said]

    def _check_counts(self) -> None:
        """Counts of right answers lie between 0 and n, and give the scores, which may be rounded."""
        if self.correct is None or self.n_samples is None:
            return
        n = self.n_samples[..., None, :].astype(np.float64)
        wrong = np.argwhere((self.correct < 0) | (self.correct > n))
        if wrong.size:
            cell = tuple(wrong[0])
            of = np.broadcast_to(n, self.correct.shape)[cell]
            raise UsageError(
                f"correct must lie between 0 and n_samples: row {cell[-2]}, task {cell[-1]} says"
                f" {self.correct[cell]:g} of {of:g}."
            )
        # A score of three printed digits, or half a count where that is less: more is another score.
        apart = np.argwhere(np.abs(self.correct / n - self.R) > np.minimum(0.5 / n, 5e-4) + 1e-9)
        if apart.size:
            cell = tuple(apart[0])
            counted = (self.correct / n)[cell]
            raise UsageError(
                f"correct and R contradict each other: row {cell[-2]}, task {cell[-1]} counts {counted:.6g}, and R says"
                f" {self.R[cell]:.6g}. Give one of them, or counts and scores of one evaluation."
            )

    def _check_restricted(self) -> None:
        if self.restricted is None:
            return
        for k in np.flatnonzero(self.planned):
            row = self.learned_at[k]
            if row in self.learned_at[k + 1 :]:
                continue  # a newer task ends in the same row, so more classes may be answered there
            difference = np.abs(self.restricted[..., k, : k + 1, k] - self.R[..., row, : k + 1])
            if (difference > 1e-9).any():
                j = np.argwhere(difference > 1e-9)[0][-1]
                raise UsageError(
                    f"restricted does not belong to R: A[{k}, {j}, {k}] must equal R[{row}, {j}] (all classes"
                    f" seen so far may be answered), and differs by {np.nanmax(difference[..., j]):.3g}."
                )

    def _asked_from(self, restricted: Array) -> Array:
        """The scores among the classes of tasks up to each column's, at the rows that end a task."""
        asked = np.full((*self.lead, self.S, self.T), np.nan)
        own = np.diagonal(restricted, axis1=-2, axis2=-1)
        for task in np.flatnonzero(self.planned):
            asked[..., self.learned_at[task], :] = own[..., task, :]
        return asked

    def _check_order(self) -> None:
        """More classes to answer among can only take right answers away: R <= asked <= masked, once learned."""
        if self.unit == "raw":
            return
        learned = (self.learned_at >= 0) & (np.arange(self.S)[:, None] >= self.learned_at)
        named = [("R", self.R), ("asked", self.asked), ("masked", self.masked)]
        there = [(name, values) for name, values in named if values is not None]
        for (many, fewer_right), (few, more_right) in itertools.pairwise(there):
            where = np.argwhere(learned & (fewer_right > more_right + 1e-9))
            if where.size:
                cell = tuple(where[0])
                raise UsageError(
                    f"{few} does not belong to {many}: fewer classes to answer among give no fewer right answers, and"
                    f" row {cell[-2]}, task {cell[-1]} has {few} {more_right[cell]:.6g} below {many}"
                    f" {fewer_right[cell]:.6g}."
                )


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return a is b or (not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray) and bool(a == b))


def _from_counts(correct: Array | None, n_samples: ArrayLike | None) -> Array:
    if correct is None or n_samples is None:
        raise UsageError("without R, both correct and n_samples are needed; R = correct / n_samples.")
    n = as_scores(n_samples, "n_samples")
    n = n if n.ndim < 2 else n[..., None, :]
    if correct.ndim < 2 or n.shape[-1:] != correct.shape[-1:] or n.ndim > correct.ndim:
        raise UsageError(f"n_samples must have one entry per task; got {n.shape} for correct {correct.shape}.")
    if (correct < 0).any() or (correct > n).any():
        raise UsageError("correct must lie between 0 and n_samples.")
    with np.errstate(invalid="ignore"):
        return correct / n
