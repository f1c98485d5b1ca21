"""Detectors that learn one sample at a time: river's, and any object with `learn_one(x)` and `score_one(x)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.learners.base import Array, State
from recollect.learners.detection.detectors import Floats, quiet, threshold
from recollect.learners.keeping import bring_back, keep

# The threshold is set by the scores of so many of the newest samples: scoring all of a unit again would cost as much.
NEWEST = 1000


class OneByOne:
    """An object with `learn_one` and `score_one`, which take a sample as a mapping from features to numbers.

    A filter of river's (QuantileFilter, ThresholdFilter) brings its threshold; of others it is the quantile of the
    scores of the newest samples, after learning them.
    """

    can_update = True
    stored_bytes = 0

    def __init__(self, make: Callable[[], Any], name: str, seed: int, contamination: float) -> None:
        self._make, self._name, self._seed, self._contamination = make, name, seed, contamination
        self._model: Any = None
        self.threshold = np.inf
        self.notes: list[str] = []
        with quiet(seed):
            make()

    def fit(self, x: Array) -> None:
        """A new object, which learns the samples one after the other."""
        self._model = None
        self.update(x)

    def update(self, x: Array) -> None:
        """Learn the samples one after the other."""
        with quiet(self._seed):
            if self._model is None:
                self._model = self._make()
            learn = self._model.learn_one
            try:
                for values in x.tolist():
                    learn(dict(enumerate(values)))
            except (ValueError, TypeError, ArithmeticError) as error:
                raise UsageError(
                    f"The detector {self._name} cannot learn a sample of {x.shape[1]} features, given as a mapping from"
                    f" their places to numbers: {error}."
                ) from None
        self.threshold = self._own_threshold(x)

    def _own_threshold(self, x: Array) -> float:
        quantile, own = getattr(self._model, "quantile", None), getattr(self._model, "threshold", None)
        found = quantile.get() if quantile is not None and hasattr(quantile, "get") else own
        if isinstance(found, int | float):
            return float(np.nextafter(found, -np.inf))  # a filter flags what reaches its threshold
        return threshold(self.score(x[-NEWEST:]), self._contamination)

    def score(self, x: Array) -> Floats:
        """The object's scores; NaN before anything was learned."""
        if self._model is None:
            return np.full(len(x), np.nan)
        score = self._model.score_one
        with quiet(self._seed):
            found = [score(dict(enumerate(values))) for values in x.tolist()]
        try:
            if None in found:  # numpy would make a NaN of it
                raise TypeError
            return np.asarray(found, np.float64).reshape(len(x))
        except (TypeError, ValueError):
            shown = next((value for value in found if not isinstance(value, int | float)), found[0])
            raise UsageError(f"The detector {self._name} gives no number for a sample; got {shown!r}.") from None

    def state(self) -> State:
        """The object and the threshold."""
        return {} if self._model is None else {"model": keep(self._model), "threshold": self.threshold}

    def restore(self, state: State) -> None:
        """Become the detector whose state this is."""
        self._model, self.threshold = None, np.inf
        if state:
            with quiet(self._seed):
                self._model = bring_back(state["model"], self._make())
            self.threshold = float(state["threshold"])
