"""Linear probes: is a task still readable from the features of a learner, whatever its head does with them?

After a row, a linear classifier is fitted anew for every task learned so far, to the features of a fixed draw of its
training samples, and asked for its test samples among the task's own classes. The learner is asked for features and
never for anything else: its own numbers are the same with and without probes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.problems import problem_of
from recollect.problems.base import Represents
from recollect.runs.assemble import PROBE
from recollect.runs.run import Plan, Row

if TYPE_CHECKING:
    from recollect.streams.stream import Stream

Floats = NDArray[np.float64]
# Training samples of each task that a probe is fitted to, unless a plan says how many.
SAMPLES = 1000
# Penalties for each training sample, of features of deviation 1; leaving one sample out chooses among them.
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True, eq=False)
class Probes:
    """The probes of a run: `samples` of each task's training samples, and the test samples that the plan asks."""

    stream: Stream
    samples: int
    subsample: int | None

    @classmethod
    def of(cls, plan: Plan, stream: Stream, learner: Any) -> Probes | None:
        """The probes that a plan asks for, None if it asks for none; UsageError if the learner cannot be probed."""
        if plan.probe is None:
            return None
        made = cls(stream, int(plan.probe), plan.subsample)
        made.refuse_unprobed(learner)
        return made

    def refuse_unprobed(self, learner: Any) -> None:
        """Raise UsageError for a learner without features, or a stream whose tasks have no classes of their own."""
        instead = "Leave `probe` out of its plan (`{random: {}, plan: {probe: false}}` is a plan of its own)."
        name = type(learner).__name__
        problem = problem_of(self.stream.problem)
        if not problem.per_class:
            raise UsageError(
                f"`probe` in a plan tells the classes of each {problem.task} apart, and {self.stream.name} is of"
                f" {problem.name}, which asks for {problem.asks}. Leave it out."
            )
        if not isinstance(learner, Represents):
            raise UsageError(
                f"`probe` in a plan needs the features of a learner, and {name} has none: no `represent(x)`. {instead}"
            )
        views = self.stream.views
        if views is not None:
            learner.see(views.training(0))  # type: ignore[attr-defined]
        self._features(learner, self.stream.train_of(0, 2)[0])

    @property
    def kept(self) -> int:
        """How many training samples the probes of all tasks are fitted to."""
        return sum(min(self.samples, len(task.train)) for task in self.stream.tasks)

    def add(self, row: Row, learner: Any) -> Row:
        """The row with the scores of the probes of every task learned by then, in fractions."""
        scores: list[float | None] = []
        reasons: dict[str, str] = {}
        for task in range(row.after + 1):
            value, reason = self._score(learner, task)
            scores.append(value)
            if reason is not None:
                reasons[self.stream.tasks[task].name] = reason
        known = {**row.reasons, PROBE: reasons} if reasons else row.reasons
        return replace(row, scores={**row.scores, PROBE: tuple(scores)}, reasons=known)

    def _score(self, learner: Any, task: int) -> tuple[float | None, str | None]:
        x, y = self.stream.train_of(task, self.samples)
        if len(np.unique(y)) < 2:
            return None, "a probe tells classes apart, and its training samples are of one class"
        seen = self._features(learner, x)
        asked, truth = self.stream.test_of(task, self.subsample)
        given = self._features(learner, asked)
        if not (np.isfinite(seen).all() and np.isfinite(given).all()):
            return None, "the learner's features are NaN or infinite"
        return float(np.mean(ridge(seen, y, given) == truth)), None

    @staticmethod
    def _features(learner: Any, x: Any) -> Floats:
        features = np.asarray(learner.represent(x))
        if features.ndim < 2 or len(features) != len(x) or features.dtype.kind not in "fiub":
            raise UsageError(
                f"{type(learner).__name__}.represent(x) gives one row of numbers per sample, here {len(x)} rows; got"
                f" {features.dtype} of shape {features.shape}."
            )
        return features.reshape(len(x), -1).astype(np.float64)


def ridge(x: Floats, y: NDArray[Any], asked: Floats) -> NDArray[Any]:
    """The classes that a ridge classifier, fitted to (x, y) in closed form, gives to the samples that are asked.

    One column of targets for each class; features are brought to mean 0 and deviation 1; the penalty is that of
    `PENALTIES` with the smallest squared error when each sample is left out in turn, the larger one if tied.

    >>> x = np.array([[0.0, 5], [0.2, 5], [1.0, 5], [1.2, 5]])
    >>> ridge(x, np.array([3, 3, 7, 7]), np.array([[0.1, 5], [1.5, 5]]))
    array([3, 7])
    """
    classes, place = np.unique(y, return_inverse=True)
    mean, deviation = x.mean(0), x.std(0)
    scale = np.where(deviation > 1e-12 * (np.abs(mean) + deviation), deviation, np.inf)  # what is constant says nothing
    targets = np.eye(len(classes))[place]
    level = targets.mean(0)
    left, size, right = np.linalg.svd((x - mean) / scale, full_matrices=False)
    inside = left.T @ (targets - level)
    best: tuple[float, Floats] | None = None
    for penalty in sorted(PENALTIES, reverse=True):
        kept = size**2 / (size**2 + penalty * len(x))
        leverage = (left**2 @ kept) + 1 / len(x)
        error = float(np.mean(((targets - level - left @ (kept[:, None] * inside)) / (1 - leverage)[:, None]) ** 2))
        if best is None or error < best[0]:
            best = error, right.T @ ((size / (size**2 + penalty * len(x)))[:, None] * inside)
    assert best is not None
    answers: NDArray[Any] = classes[(((asked - mean) / scale) @ best[1] + level).argmax(1)]
    return answers
