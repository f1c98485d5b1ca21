"""RanPAC: random projections of fixed features, and ridge regression on everything seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.learners.base import Array, Scores, Setting, State
from recollect.learners.options import Projected
from recollect.learners.prototypes import NearestClassMean
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch

_RIDGES = tuple(10.0**power for power in range(-4, 7))
# One sample in so many is held back to choose the ridge.
_HELD = 5


class RanPAC(NearestClassMean):
    """Ridge regression from random rectified features to the classes, exact after every batch.

    The sums of features and of their products do not depend on the order of the samples, so nothing is forgotten.
    """

    options: Projected

    def __init__(self, options: Projected, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        width, classes = self.means.shape[1], setting.n_classes
        rng = np.random.default_rng([seeds.init, *b"projection"])
        self._projection = rng.standard_normal((width, options.projection))
        self.means = np.zeros((0, 0))
        parts = 2 if options.ridge is None else 1
        self.gram = np.zeros((parts, options.projection, options.projection))
        self.sums = np.zeros((parts, options.projection, classes))
        self._solved: tuple[tuple[NDArray[np.float64], ...], NDArray[np.float64]] | None = None

    @property
    def stored_bytes(self) -> int:
        """Bytes of the sums."""
        return self.gram.nbytes + self.sums.nbytes + self.counts.nbytes

    def learn(self, batch: Batch) -> None:
        """Add the batch to the sums; a sample counts once, however many passes there are."""
        if batch.repeat:
            return
        hidden = self._hidden(batch.x)
        answers = np.eye(len(self.counts))[batch.y]
        place = self.counts.sum() + np.arange(len(hidden))
        part = np.where(place % _HELD == _HELD - 1, len(self.gram) - 1, 0)
        for k in range(len(self.gram)):
            self.gram[k] += hidden[part == k].T @ hidden[part == k]
            self.sums[k] += hidden[part == k].T @ answers[part == k]
        np.add.at(self.counts, batch.y, 1)

    def _hidden(self, x: Array) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.maximum(self._features(x) @ self._projection, 0)
        return found

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """What the regression says of each class."""
        if not self.counts.any():
            return np.zeros((len(x), len(self.counts)), np.float32)
        return self._seen_only(self._hidden(x) @ self._weights())

    def _weights(self) -> NDArray[np.float64]:
        """The solution of the ridge regression; that of the last call if it was of the same sums."""
        made_of = self.gram, self.sums
        if self._solved is None or not all(map(np.array_equal, self._solved[0], made_of)):
            ridge = self.options.ridge if self.options.ridge is not None else self.ridge()
            gram = self.gram.sum(0) + ridge * np.eye(self.gram.shape[1])
            self._solved = (self.gram.copy(), self.sums.copy()), np.linalg.solve(gram, self.sums.sum(0))
        return self._solved[1]

    def ridge(self) -> float:
        """Of some ridges the one with the smallest squared error on the samples held back, from their sums alone."""
        values, vectors = np.linalg.eigh(self.gram[0])
        inside, other = vectors.T @ self.sums[0], vectors.T @ self.gram[1] @ vectors
        aimed = vectors.T @ self.sums[1]

        def error(ridge: float) -> float:
            w = inside / (np.maximum(values, 0)[:, None] + ridge)
            return float(np.einsum("ic,ij,jc->", w, other, w, optimize=True) - 2 * (w * aimed).sum())

        return min(_RIDGES, key=error)

    def state(self) -> State:
        """The sums; the projection comes from the seed."""
        return {"gram": self.gram.copy(), "sums": self.sums.copy(), "counts": self.counts.copy()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        self.gram, self.sums, self.counts = (np.array(state[name]) for name in ("gram", "sums", "counts"))
