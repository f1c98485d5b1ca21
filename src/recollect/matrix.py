"""What was measured: scores by time and task, and what the metrics need beside them.

Rows are time, columns are evaluated tasks: ``R[..., i, j]`` is the score on task ``j`` in row ``i``. Leading
axes are runs (seeds). NaN means "not evaluated"; 0 is a measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError

Array = NDArray[np.float64]
Unit = Literal["auto", "fraction", "percent", "raw"]
Orientation = Literal["auto", "time_rows"]

# Accuracies computed in float32 may pass 1 by a rounding error; they are still fractions.
_ROUNDING = 1e-6


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
    correct : array-like of shape (..., S, T), optional
        Counts of right answers; with `n_samples` they define R exactly, and R may be None.
    n_classes, n_samples : array-like of shape (T,), optional
        New classes of each task; size of each task's test set.
    class_counts : sequence of T sequences, optional
        Test samples of each class, task by task.
    learned_at : array-like of shape (T,), optional
        The row after which each task has been learned, -1 where no evaluation was planned. Default: row i
        follows task i.
    planned : array-like of shape (T,), optional
        Whether an evaluation was planned after each task; another way to say `learned_at`.
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
        correct: ArrayLike | None = None,
        n_classes: ArrayLike | None = None,
        n_samples: ArrayLike | None = None,
        class_counts: Sequence[Sequence[int]] | None = None,
        learned_at: ArrayLike | None = None,
        planned: ArrayLike | None = None,
        steps: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        unit: Unit = "auto",
        higher_is_better: bool = True,
        orientation: Orientation = "auto",
        notes: Sequence[str] = (),
    ) -> None:
        said = list(notes)
        self.correct = None if correct is None else as_scores(correct, "correct")
        if R is None:
            scores, unit = _from_counts(self.correct, n_samples), "fraction"
        else:
            scores = as_scores(R, "R")
        if scores.ndim < 2 or 0 in scores.shape[-2:]:
            raise UsageError(
                f"R must have shape (..., rows, tasks) with at least one of each; got shape {scores.shape}."
                " One row of scores is not a matrix: give one row for every evaluation."
            )
        self.lead: tuple[int, ...] = scores.shape[:-2]
        self.S, self.T = scores.shape[-2:]
        T = self.T
        companions = {
            "R": scores,
            "b": None if b is None else self._broadcast(as_scores(b, "b"), (T,), "b"),
            "joint": None if joint is None else self._broadcast(as_scores(joint, "joint"), (T, T), "joint"),
            "restricted": None
            if restricted is None
            else self._broadcast(as_scores(restricted, "restricted"), (T, T, T), "restricted"),
        }
        self.higher_is_better = bool(higher_is_better)
        self.unit: Unit = _decide_unit(unit, companions, self.higher_is_better, said)
        if self.unit == "percent":
            companions = {k: None if v is None else v / 100 for k, v in companions.items()}
        self.R: Array = _frozen(companions["R"])
        self.b, self.joint, self.restricted = (
            None if companions[k] is None else _frozen(companions[k]) for k in ("b", "joint", "restricted")
        )
        if self.correct is not None:
            self.correct = _frozen(self._broadcast(self.correct, (self.S, T), "correct"))

        self.n_classes = _counts(n_classes, T, "n_classes", least=0)
        self.n_samples = _counts(n_samples, T, "n_samples", least=1)
        self.class_counts = _class_counts(class_counts, self.n_classes, T)
        self.steps = _counts(steps, self.S, "steps", least=0)
        if self.steps is not None and (np.diff(self.steps) < 0).any():
            raise UsageError("steps must not decrease: rows are in the order of time.")
        self.learned_at = _learned_at(learned_at, planned, self.S, T)
        if orientation == "auto":
            self._refuse_transposed()
        self._check_restricted()
        if names is not None and len(names) != T:
            raise UsageError(f"names must have one entry a task: expected {T}, got {len(names)}.")
        self.names = None if names is None else tuple(str(n) for n in names)
        self.notes = tuple(said)
        # A place for upper layers to keep what they derive from this matrix; it never changes.
        self.cache: dict[str, Any] = {}

    @property
    def is_square(self) -> bool:
        """Whether row i follows task i, for every task."""
        return self.S == self.T and bool((self.learned_at == np.arange(self.T)).all())

    @property
    def planned(self) -> NDArray[np.bool_]:
        """Whether an evaluation was planned after each task."""
        return self.learned_at >= 0

    def at(self, index: int | tuple[int, ...] | slice) -> ScoreMatrix:
        """Select runs: index the leading axes of everything that has them.

        >>> ScoreMatrix([[[.8]], [[.7]]]).at(1).R
        array([[0.7]])
        """
        pick = {k: None if v is None else v[index] for k, v in self._batched().items()}
        return ScoreMatrix(**pick, **self._shared(), notes=self.notes)

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
                and np.array_equal(first.learned_at, other.learned_at)
            )
            if not same:
                raise UsageError(
                    "matrices of one stack must have the same shape, plan of rows, direction and unit: got"
                    f" {first!r} and {other!r}. Score them one by one."
                )
        parts = [m._batched() for m in matrices]
        arrays = {
            k: None if any(p[k] is None for p in parts) else np.stack([p[k] for p in parts]) for k in parts[0]
        }
        shared = first._shared()
        for key in ("n_classes", "n_samples", "steps"):
            values = [getattr(m, key) for m in matrices]
            if not all(_same(values[0], v) for v in values[1:]):
                shared[key] = None
        if any(m.class_counts != first.class_counts for m in matrices):
            shared["class_counts"] = None
        if any(m.names != first.names for m in matrices):
            shared["names"] = None
        notes = dict.fromkeys(note for m in matrices for note in m.notes)
        return cls(**arrays, **shared, notes=tuple(notes))

    def __repr__(self) -> str:
        have = [
            k for k in ("b", "joint", "restricted", "n_classes", "n_samples") if getattr(self, k) is not None
        ]
        runs = f"{'x'.join(map(str, self.lead))} runs, " if self.lead else ""
        return f"ScoreMatrix({runs}{self.S} rows, {self.T} tasks{''.join(', ' + k for k in have)})"

    def _batched(self) -> dict[str, Array | None]:
        return {
            "R": self.R,
            "b": self.b,
            "joint": self.joint,
            "restricted": self.restricted,
            "correct": self.correct,
        }

    def _shared(self) -> dict[str, Any]:
        return {
            "n_classes": self.n_classes,
            "n_samples": self.n_samples,
            "class_counts": self.class_counts,
            "learned_at": self.learned_at,
            "steps": self.steps,
            "names": self.names,
            "unit": "raw" if self.unit == "raw" else "fraction",
            "higher_is_better": self.higher_is_better,
            "orientation": "time_rows",
        }

    def _broadcast(self, array: Array, tail: tuple[int, ...], name: str) -> Array:
        expected = self.lead + tail
        if array.shape[-len(tail) :] != tail:
            raise UsageError(f"{name} must have shape (..., {', '.join(map(str, tail))}); got {array.shape}.")
        try:
            return np.broadcast_to(array, expected)
        except ValueError:
            raise UsageError(
                f"{name} of shape {array.shape} does not fit R of shape {self.lead + (self.S, self.T)}:"
                f" expected {expected}, or the same for all runs."
            ) from None

    def _refuse_transposed(self) -> None:
        if not (self.is_square and self.T > 1):
            return
        below = self.R[..., *np.tril_indices(self.T, -1)]
        above = self.R[..., *np.triu_indices(self.T, 1)]
        way_out = (
            " Rows are time and columns are tasks: give R transposed, or, if it is right as it is, say so with"
            " orientation='time_rows'."
        )
        if np.isnan(below).all() and not np.isnan(above).all():
            raise UsageError("R looks transposed: only its upper triangle is filled." + way_out)
        if (below == 0).all() and (above > 0).all():
            raise UsageError(
                "R looks transposed: below the diagonal all is 0, above it nothing is." + way_out
            )

    def _check_restricted(self) -> None:
        if self.restricted is None or not self.is_square:
            return
        k = np.arange(self.T)
        asked_among_all = self.restricted[..., k, :, k]  # advanced indices first: (T, ..., T)
        difference = np.abs(np.moveaxis(asked_among_all, 0, -2) - self.R)
        lower = np.tril(np.ones((self.T, self.T), bool))
        if (difference[..., lower] > 1e-9).any():
            where = np.argwhere(np.where(lower, difference, 0) > 1e-9)[0]
            i, j = where[-2:]
            raise UsageError(
                f"restricted does not belong to R: A[{i}, {j}, {i}] must equal R[{i}, {j}]"
                f" (all classes seen so far may be answered), and differs by {difference[tuple(where)]:.3g}."
            )


def as_scores(values: ArrayLike, name: str) -> Array:
    """Return a float64 array, None as NaN and short rows filled with NaN; refuse what is not a number.

    >>> as_scores([[1], [None, 3]], "R")
    array([[ 1., nan],
           [nan,  3.]])
    """
    try:
        array = np.array(_pad(values) if isinstance(values, list | tuple) else values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(
            f"{name} must be an array of numbers (None or NaN where not evaluated); got {_short(values)}: {error}."
        ) from None
    if np.isinf(array).any():
        where = tuple(int(i) for i in np.argwhere(np.isinf(array))[0])
        raise UsageError(
            f"{name}{list(where)} is infinite; a score is a finite number, or NaN if not evaluated."
        )
    return array


def _pad(values: Sequence[Any]) -> list[Any]:
    """Fill the innermost rows of nested lists with NaN to one length, at every depth."""
    if any(isinstance(v, list | tuple) for v in values):
        rows = [_pad(v) if isinstance(v, list | tuple) else v for v in values]
        innermost = all(isinstance(r, list) and not any(isinstance(x, list) for x in r) for r in rows)
        if innermost:
            width = max(len(r) for r in rows)
            rows = [r + [np.nan] * (width - len(r)) for r in rows]
        return rows
    return [np.nan if v is None else v for v in values]


def _short(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 60 else text[:57] + "..."


def _frozen(array: Array | None) -> Array:
    assert array is not None
    view = np.array(array) if not array.flags.owndata or array.flags.writeable else array
    view.setflags(write=False)
    return view


def _same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))


def _from_counts(correct: Array | None, n_samples: ArrayLike | None) -> Array:
    if correct is None or n_samples is None:
        raise UsageError("without R, both correct and n_samples are needed; R = correct / n_samples.")
    n = as_scores(n_samples, "n_samples")
    if correct.ndim < 2 or n.shape != correct.shape[-1:]:
        raise UsageError(f"n_samples must have one entry a task; got {n.shape} for correct {correct.shape}.")
    if (correct < 0).any() or (correct > n).any():
        raise UsageError("correct must lie between 0 and n_samples.")
    return correct / n


def _decide_unit(unit: Unit, parts: dict[str, Array | None], higher: bool, said: list[str]) -> Unit:
    """Settle the unit of all scores together, so that percent and fractions cannot mix."""
    if unit not in ("auto", "fraction", "percent", "raw"):
        raise UsageError(f"unit must be auto, fraction, percent or raw; got {unit!r}.")
    finite = {k: v[~np.isnan(v)] for k, v in parts.items() if v is not None}
    low = min((v.min() for v in finite.values() if v.size), default=0.0)
    high = max((v.max() for v in finite.values() if v.size), default=0.0)
    if unit in ("fraction", "percent"):
        top = 1 if unit == "fraction" else 100
        if low < -_ROUNDING * top or high > top * (1 + _ROUNDING):
            raise UsageError(
                f"scores declared as {unit} must lie between 0 and {top}; got {low:g} to {high:g}."
                " Declare unit='raw' for scores on another scale."
            )
        return unit
    if unit == "raw":
        return unit
    if not higher or low < 0:
        said.append("scores on a scale of their own (raw): not read as accuracies")
        return "raw"
    if high <= 1 + _ROUNDING:
        return "fraction"
    if high > 100 * (1 + _ROUNDING):
        raise UsageError(f"scores up to {high:g} are neither fractions nor percent; declare unit='raw'.")
    for name, values in finite.items():
        small = values[(values > 0) & (values <= 1)]
        if small.size:
            raise UsageError(
                f"percent mixed with fractions? Scores reach {high:g}, and {name} holds {small[0]:g}, which may be"
                f" {small[0]:g} % or {small[0] * 100:g} %. Declare the unit: percent if all of them are percent;"
                " otherwise convert the fractions first."
            )
    said.append("scores above 1: read as percent and divided by 100")
    return "percent"


def _counts(values: ArrayLike | None, length: int, name: str, least: int) -> NDArray[np.int64] | None:
    if values is None:
        return None
    array = as_scores(values, name)
    if array.shape != (length,):
        raise UsageError(f"{name} must have {length} entries; got shape {array.shape}.")
    if np.isnan(array).any() or (array != np.floor(array)).any() or (array < least).any():
        raise UsageError(f"{name} must be whole numbers of at least {least}; got {_short(array.tolist())}.")
    whole = array.astype(np.int64)
    whole.setflags(write=False)
    return whole


def _class_counts(
    values: Sequence[Sequence[int]] | None, n_classes: NDArray[np.int64] | None, T: int
) -> tuple[tuple[int, ...], ...] | None:
    if values is None:
        return None
    counts = tuple(tuple(int(c) for c in task) for task in values)
    if len(counts) != T or any(c < 0 for task in counts for c in task):
        raise UsageError(f"class_counts must hold {T} sequences of counts, one a task.")
    if n_classes is not None and any(n and n != len(c) for n, c in zip(n_classes, counts, strict=True)):
        raise UsageError("class_counts must hold as many classes a task as n_classes says.")
    return counts


def _learned_at(learned_at: ArrayLike | None, planned: ArrayLike | None, S: int, T: int) -> NDArray[np.int64]:
    """Find the row that follows each task, -1 where none was planned."""
    if learned_at is not None:
        rows = np.asarray(learned_at, dtype=np.int64)
    elif planned is not None:
        wanted = np.asarray(planned, dtype=bool)
        if wanted.shape == (T,) and wanted.sum() == S:
            rows = np.where(wanted, np.cumsum(wanted) - 1, -1)
        elif wanted.shape == (T,) and S == T:
            rows = np.where(wanted, np.arange(T), -1)
        else:
            raise UsageError(f"planned must have {T} entries, {S} of them true (one for every row of R).")
    elif S == T:
        rows = np.arange(T)
    else:
        raise UsageError(
            f"R has {S} rows and {T} tasks. Where rows are not task ends, say after which row each task has been"
            " learned (learned_at, -1 where none was planned); missing rows of a square matrix are NaN."
        )
    kept = rows[rows >= 0]
    if rows.shape != (T,) or rows.min() < -1 or rows.max() >= S or (np.diff(kept) < 0).any() or not kept.size:
        raise UsageError(
            f"learned_at must give, for each of {T} tasks in the order of learning, a row from 0 to {S - 1}"
            f" (or -1), never decreasing; got {rows.tolist()}."
        )
    rows = rows.copy()
    rows.setflags(write=False)
    return rows
