"""Reference learners for the rescaled metrics: what a score is compared with, so that difficulty cancels.

A reference is a score matrix under the same plan of rows. The random classifier of Michel et al. 2023 is the
``"uniform"`` one; the two definitions, AA and AF, are then simply computed on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.matrix import Array, ScoreMatrix, as_scores
from recollect.metrics.sweep import MissingInput, Sweep, Undefined

REFERENCES = {
    "uniform": "guesses among the classes seen so far, all equally likely (Michel et al. 2023)",
    "prior": "guesses among the classes seen so far, each as often as it occurs in the test sets",
    "untrained": "the measured scores of the learner before any training (b)",
    "joint": "the measured matrix of the joint learner",
}


def reference_sweep(s: Sweep, reference: Any) -> Sweep:
    """Return the reference's scores on the planned rows of `s`."""
    if not isinstance(reference, str):
        return s.like(_measured(s, reference))
    if reference not in REFERENCES:
        raise UsageError(
            f"unknown reference {reference!r}; there are {', '.join(REFERENCES)}, or any measured matrix."
        )
    last = [k - 1 for k in s.seen]
    if reference == "uniform":
        return s.like(np.repeat((1 / classes_seen(s))[last][:, None, None], s.T, axis=1))
    if reference == "prior":
        return s.like(_prior(s)[:, :, None])
    if reference == "untrained":
        return s.like(np.repeat(s.need("b")[None], s.P, axis=0))
    return s.like(s.need("joint")[last])


def classes_seen(s: Sweep) -> Array:
    """C: the number of classes seen after each task."""
    C = np.cumsum(s.need("n_classes"))
    if C[0] == 0:
        raise Undefined("the first task has no classes, so there is nothing to guess among")
    return C


def require_accuracies(s: Sweep) -> None:
    """Refuse scores that are not fractions: the largest ratio a learner can reach is known for those only."""
    if s.matrix is not None and (s.matrix.unit == "raw" or not s.matrix.higher_is_better):
        raise Undefined(
            "is defined for accuracies (fractions or percent, higher is better), not for a raw score"
        )


def _prior(s: Sweep) -> Array:
    """Accuracy on task j of guessing each seen class as often as it occurs: sum of shares times frequencies."""
    assert s.matrix is not None
    counts = s.matrix.class_counts
    if counts is None:
        try:
            n, c = s.need("n_samples"), s.need("n_classes")
        except MissingInput as missing:
            raise MissingInput(f"the prior reference {missing}, or class_counts") from None
        if (c == 0).any():
            raise Undefined("a task without new classes: give class_counts for the prior reference")
        counts = tuple((size / classes,) * int(classes) for size, classes in zip(n, c, strict=True))  # type: ignore[assignment]
        assert counts is not None
    per_task = np.array([sum(c) for c in counts], np.float64)
    squares = np.array([sum(c * c for c in task) for task in counts], np.float64)
    samples_seen = np.cumsum(per_task)[[k - 1 for k in s.seen]]
    on_task: Array = (squares / per_task)[None, :] / samples_seen[:, None]
    return on_task


def _measured(s: Sweep, reference: Any) -> Array:
    matrix = reference if isinstance(reference, ScoreMatrix) else None
    scores = matrix.R if matrix is not None else as_scores(reference, "reference")
    assert s.matrix is not None
    if scores.shape[-2:] != (s.matrix.S, s.matrix.T):
        raise UsageError(
            f"a measured reference must have the shape of R, (..., {s.matrix.S}, {s.matrix.T}); got {scores.shape}."
        )
    flat = np.broadcast_to(scores, s.matrix.lead + scores.shape[-2:]) if scores.ndim > 2 else scores
    rows = np.moveaxis(flat.reshape(-1, *scores.shape[-2:]), 0, -1)
    return np.ascontiguousarray(rows[s.ends])
