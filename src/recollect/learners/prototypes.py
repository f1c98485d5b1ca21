"""Nearest class mean and streaming LDA: statistics of fixed features, no gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.learners.base import Array, Scores, Setting, State
from recollect.learners.options import Prototypes, Shrinkage
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch

# A class that was never seen is never answered, but a score is a finite number.
NEVER = np.finfo(np.float32).min


class NearestClassMean:
    """NCM: the class whose mean is nearest, in the features of a fixed network or in the samples as they are.

    The means do not depend on the order of the samples, so nothing is ever forgotten.
    """

    stored_samples = 0

    def __init__(self, options: Prototypes, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        self.options = options
        self._features = _extractor(options, setting, seeds, device)
        width = self._features(np.zeros((1, *setting.input_shape), np.uint8)).shape[1]
        self.counts = np.zeros(setting.n_classes, np.int64)
        self.means = np.zeros((setting.n_classes, width))

    @property
    def stored_bytes(self) -> int:
        """Bytes of the means and counts."""
        return self.means.nbytes + self.counts.nbytes

    def learn(self, batch: Batch) -> None:
        """Move the means; a sample counts once, however many passes there are."""
        if batch.repeat:
            return
        features = self._features(batch.x)
        for label in np.unique(batch.y):
            rows = features[batch.y == label]
            self.counts[label] += len(rows)
            self.means[label] += (rows - self.means[label]).sum(0) / self.counts[label]

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """Minus the squared distance to each mean, up to a term that is the same for all classes."""
        features = self._features(x)
        scores = 2 * features @ self.means.T - (self.means**2).sum(1)
        return self._seen_only(scores)

    def represent(self, x: Array) -> NDArray[np.float64]:
        """The fixed features."""
        features: NDArray[np.float64] = self._features(x)
        return features

    def _seen_only(self, scores: Array) -> Scores:
        if not self.counts.any():
            return np.zeros(scores.shape, np.float32)
        seen: Scores = np.where(self.counts > 0, scores, NEVER).astype(np.float32)
        return seen

    def end_task(self) -> None:
        """Do nothing."""

    def state(self) -> State:
        """Means and counts."""
        return {"means": self.means.copy(), "counts": self.counts.copy()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        self.means, self.counts = np.array(state["means"]), np.array(state["counts"])


class StreamingLDA(NearestClassMean):
    """SLDA: class means and one covariance for all, both exact after every sample."""

    options: Shrinkage

    def __init__(self, options: Shrinkage, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        width = self.means.shape[1]
        self.scatter = np.zeros((width, width))
        self._inverted: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @property
    def stored_bytes(self) -> int:
        """Bytes of the means, counts and covariance."""
        return super().stored_bytes + self.scatter.nbytes

    def learn(self, batch: Batch) -> None:
        """Welford's update of each class: the deviation from the mean before, weighted n / (n + 1)."""
        if batch.repeat:
            return
        deviations = self._features(batch.x)
        for row, label in zip(deviations, batch.y.tolist(), strict=True):
            count = self.counts[label]
            row -= self.means[label]
            self.means[label] += row / (count + 1)
            row *= np.sqrt(count / (count + 1))
            self.counts[label] += 1
        self.scatter += deviations.T @ deviations

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """The linear discriminant of each class, under equal priors."""
        if not self.counts.any():
            return np.zeros((len(x), len(self.counts)), np.float32)
        weights = self.means @ self._precision()
        return self._seen_only(self._features(x) @ weights.T - 0.5 * (weights * self.means).sum(1))

    def _precision(self) -> NDArray[np.float64]:
        """The inverse of the covariance; that of the last call if it was of the same covariance."""
        shrinkage, width = self.options.shrinkage, len(self.scatter)
        covariance = (1 - shrinkage) * self.scatter / max(1, self.counts.sum()) + shrinkage * np.eye(width)
        if self._inverted is None or not np.array_equal(self._inverted[0], covariance):
            if not shrinkage:
                self._refuse_singular(covariance)
            self._inverted = covariance, np.linalg.inv(covariance)
        return self._inverted[1]

    def _refuse_singular(self, covariance: Array) -> None:
        rank, width = int(np.linalg.matrix_rank(covariance, hermitian=True)), len(covariance)
        if rank < width:
            raise UsageError(
                f"Without shrinkage the covariance must have an inverse; of {width} features, {int(self.counts.sum())}"
                f" samples so far vary in {rank} directions alone. Give slda a shrinkage above 0, such as 0.0001."
            )

    def state(self) -> State:
        """Means, counts and covariance."""
        return {**super().state(), "scatter": self.scatter.copy()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.scatter = np.array(state["scatter"])


def _extractor(options: Prototypes, setting: Setting, seeds: Seeds, device: str) -> Any:
    """A function from samples to features (n, width) in double precision; a new array every time."""
    if options.network == "raw":
        return _raw
    from recollect.learners.finetune import FixedFeatures

    return FixedFeatures(options, setting, seeds, device)


def _raw(x: Array) -> NDArray[np.float64]:
    flat = x.reshape(len(x), -1).astype(np.float64)
    return flat / 255 if x.dtype == np.uint8 else flat
