"""A detector that is fitted when it is asked, not when it is told: units that nothing is asked after cost nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recollect.learners.base import Array, State
from recollect.learners.detection.detectors import Detector, Floats, threshold


class Lazy:
    """A detector and the rows that it is to be fitted on.

    A detector that can be updated takes its rows at once and keeps none. Another keeps them: they are its state, from
    which it is fitted again, and being fitted later, or twice, it is the same. Rows that are `held_back` from it,
    evenly spaced, set the threshold in its place.
    """

    def __init__(self, detector: Detector, contamination: float = 0.1, held_back: float = 0.0) -> None:
        self.detector = detector
        self._contamination, self._part = contamination, held_back
        self._rows: Array | None = None
        self._is_stale = False

    def take(self, rows: Array) -> None:
        """Update the detector with these rows, or put off fitting it on them."""
        if self.detector.can_update:
            self._with_threshold(self.detector.update, rows)
        else:
            self.put_off(rows)

    def begin(self, rows: Array) -> None:
        """Begin anew with these rows: what was learned before is gone."""
        if self.detector.can_update:
            self._with_threshold(self.detector.fit, rows)
        else:
            self.put_off(rows)

    def _with_threshold(self, learn: Callable[[Array], None], rows: Array) -> None:
        held = np.zeros(len(rows), bool)
        count = round(self._part * len(rows))
        if 0 < count < len(rows):
            held[np.linspace(0, len(rows) - 1, count).astype(np.int64)] = True
        learn(rows[~held] if count else rows)
        if held.any():
            self.detector.threshold = threshold(self.detector.score(rows[held]), self._contamination)

    def put_off(self, rows: Array) -> None:
        """Fit the detector on these rows when it is asked next."""
        self._rows, self._is_stale = rows, True

    def settle(self) -> None:
        """Fit it, if that was put off."""
        if self._is_stale and self._rows is not None:
            self._with_threshold(self.detector.fit, self._rows)
            self._is_stale = False

    def score(self, x: Array) -> Floats:
        """The detector's scores."""
        self.settle()
        return self.detector.score(x)

    @property
    def threshold(self) -> float:
        """Above which score a sample is an alarm."""
        self.settle()
        return self.detector.threshold

    @property
    def kept(self) -> Array | None:
        """The rows that it keeps."""
        return self._rows

    def state(self) -> State:
        """The rows, or what updates have made of the detector."""
        return {"rows": None if self._rows is None else np.array(self._rows), "detector": self.detector.state()}

    def restore(self, state: State) -> None:
        """Become the one whose state this is."""
        self.detector.restore(state["detector"])
        self._rows, self._is_stale = None, False
        if state["rows"] is not None:
            self.put_off(np.array(state["rows"]))
