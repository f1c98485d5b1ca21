from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import numpy as np

from recollect.learners import Learner, Setting, make_learner
from recollect.runs import safe_pickle
from recollect.runs.seeds import derive
from recollect.streams import Batch, Stream

SEEDS = derive(3)


def new(name: str, stream: Stream, seeds: Any = SEEDS, **options: Any) -> Learner:
    return make_learner(name, options, Setting.of(stream), seeds, device="cpu")


def feed(learner: Learner, batches: Iterable[Batch]) -> Learner:
    for batch in batches:
        learner.learn(batch)
        if batch.ends is not None:
            learner.end_task()
    return learner


def all_test_samples(stream: Stream) -> tuple[Any, Any]:
    parts = list(stream.test_batches())
    return np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts])


def through_disk(state: dict[str, Any]) -> Any:
    return safe_pickle.load(pickle.dumps(state, protocol=4))


def same(one: Any, other: Any) -> bool:
    """Equal bit for bit, through nested containers."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return bool(one == other)
