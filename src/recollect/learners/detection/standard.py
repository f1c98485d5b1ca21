"""Means and deviations of features that come a unit at a time."""

from __future__ import annotations

import numpy as np

from recollect.learners.base import Array, State


class RunningScale:
    """Features in units of the deviation from the mean of all samples seen, merged as Chan et al. 1983 do.

    Before the first sample, and for features that never changed, the deviation is 1.

    >>> scale = RunningScale(1)
    >>> scale.add(np.array([[1.0], [1.0]])); scale.add(np.array([[5.0], [5.0]]))
    >>> scale(np.array([[3.0], [7.0]])).tolist(), float(scale.deviation[0])
    ([[0.0], [2.0]], 2.0)
    """

    def __init__(self, n_features: int) -> None:
        self.count = 0
        self.mean = np.zeros(n_features)
        self.squares = np.zeros(n_features)

    def add(self, x: Array) -> None:
        """Count these samples."""
        mean = x.mean(0, dtype=np.float64)
        total = self.count + len(x)
        away = mean - self.mean
        self.squares += np.square(x - mean).sum(0) + np.square(away) * (self.count * len(x) / total)
        self.mean += away * (len(x) / total)
        self.count = total

    @property
    def deviation(self) -> Array:
        """The standard deviation of each feature; 1 where it is 0."""
        found = np.sqrt(self.squares / max(1, self.count))
        # A sum of squares that is nothing but rounding is no deviation.
        is_constant = found <= 1e-9 * np.maximum(1, np.abs(self.mean))
        return np.where(is_constant, 1.0, found)

    def __call__(self, x: Array) -> Array:
        scaled: Array = (x - self.mean) / self.deviation
        return scaled

    def state(self) -> State:
        """Count, mean and squares, copied."""
        return {"count": self.count, "mean": self.mean.copy(), "squares": self.squares.copy()}

    def restore(self, state: State) -> None:
        """Become the scale whose state this is."""
        self.count = int(state["count"])
        self.mean, self.squares = np.array(state["mean"]), np.array(state["squares"])
