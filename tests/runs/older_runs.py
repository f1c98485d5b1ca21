"""The runs in `older_records`: a learner and streams that any version can run, so that they can be resumed.

Their folders were written when rows had `score` and `extra` and targets had no names: `*-begun` after two rows, with a
checkpoint, `*-whole` to the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from recollect.learners import Setting, make_learner
from recollect.protocol import iter_run
from recollect.runs.run import Plan, Row
from recollect.runs.seeds import derive
from recollect.streams import stream_from_arrays, stream_from_concepts

FOLDER = Path(__file__).parent / "older_records"


class Distance:
    """How far a sample is from the mean of the newest batch."""

    stored_samples = stored_bytes = 0

    def __init__(self) -> None:
        self.mean: Any = None

    def learn(self, batch: Any) -> None:
        self.mean = batch.x.mean(0)

    def end_task(self) -> None:
        pass

    def score(self, x: Any, task: Any = None) -> Any:
        return np.full(len(x), np.nan) if self.mean is None else np.abs(x - self.mean).sum(1)

    def flagged(self, scores: Any, task: Any = None) -> Any:
        return scores > 2

    def state(self) -> Any:
        return {"mean": self.mean}

    def restore(self, state: Any) -> None:
        self.mean = state["mean"]


def classes(folder: Path) -> Iterator[Row]:
    """Nearest class mean on three tasks of two classes, a part of the test samples."""
    x = (np.arange(60) * 7 % 60).astype(np.float32).reshape(60, 1)
    y = (x[:, 0] // 10).astype(int)
    stream = stream_from_arrays(x, y, x, y, name="toy", tasks=3, batch=4)
    learner = make_learner("ncm", {}, Setting.of(stream), derive(3))
    return iter_run(learner, stream, folder, name="ncm", seed=3, plan=Plan(subsample=15))


def concepts(folder: Path) -> Iterator[Row]:
    """A detector on three concepts, the last with normal test samples only."""
    test = np.array([[0.0], [0.5], [4.0], [1.0]])
    level = np.linspace(0, 1, 4).reshape(4, 1)
    parts = [(name, level + 10 * k, test + 10 * k, [0, 0, int(k < 2), int(k < 2)]) for k, name in enumerate("abc")]
    stream = stream_from_concepts(parts, name="toy", scenario="concept-incremental", order="natural")
    return iter_run(Distance(), stream, folder, name="distance", seed=1)
