"""Why a learner's scores are no numbers: it has learned nothing, or it diverged."""

from __future__ import annotations

from typing import Any

import numpy as np


def why_not_finite(learner: Any, step: int, *, every: bool) -> str:
    """The reason of an evaluation without a score; `every` says that all of its scores are NaN."""
    if has_broken_weights(learner):
        return f"the learner diverged: at step {step} its weights are NaN or infinite"
    if every:
        return "the learner gave no scores: every one is NaN"
    return f"the learner diverged: at step {step} scores of every task are NaN or infinite"


def has_broken_weights(learner: Any) -> bool:
    """Whether an array of the learner's state has a value that is no finite number; asked when scores are not."""
    state = getattr(learner, "state", None)
    return callable(state) and _is_broken(state())


def _is_broken(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and not bool(np.isfinite(value).all())
    if isinstance(value, dict):
        return any(map(_is_broken, value.values()))
    return isinstance(value, list | tuple) and any(map(_is_broken, value))
