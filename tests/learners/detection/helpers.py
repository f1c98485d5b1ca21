from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from recollect.learners import Setting, make_learner
from recollect.runs.seeds import derive
from recollect.streams.parts import Batch

SEEDS = derive(3)
D = 4


def setting(scenario: str = "incremental", concepts: int = 3) -> Setting:
    return Setting(
        input_shape=(D,),
        n_classes=2,
        tasks=((0, 1),) * concepts,
        gives_task=scenario == "aware",
        gives_boundaries=scenario != "agnostic",
        problem="detection",
    )


def new(name: str, scenario: str = "incremental", seeds: Any = SEEDS, **options: Any) -> Any:
    return make_learner(name, options, setting(scenario), seeds, device="cpu")


def concepts(count: int = 3, rows: int = 60) -> list[np.ndarray]:
    """Normal training data, a blob a concept."""
    rng = np.random.default_rng(0)
    return [rng.normal(3 * k, 1 + k, (rows, D)) for k in range(count)]


def test_rows() -> np.ndarray:
    return np.random.default_rng(1).normal(2, 4, (40, D))


test_rows.__test__ = False


def batches(
    units: Iterable[np.ndarray], order: Iterable[int] | None = None, size: int | None = None, scenario: str = "aware"
) -> Iterator[Batch]:
    """The batches of a stream of visits; in agnostic ones of `size`, whatever visits they hold."""
    number = 0
    units = list(units)
    order = list(range(len(units)) if order is None else order)
    if scenario == "agnostic":
        units, order = [np.concatenate([units[k] for k in order])], [0]
    for visit, k in enumerate(order):
        step = size or len(units[k])
        for start in range(0, len(units[k]), step):
            x = units[k][start : start + step]
            is_last = start + step >= len(units[k])
            yield Batch(
                x=x,
                y=np.full(len(x), -1),
                task=k if scenario == "aware" else None,
                number=number,
                repeat=False,
                ends=visit if is_last or scenario == "agnostic" else None,
                samples_seen=0,
            )
            number += 1


def feed(learner: Any, some: Iterable[Batch]) -> Any:
    for batch in some:
        learner.learn(batch)
        if batch.ends is not None and learner.setting.gives_boundaries:
            learner.end_task()
    return learner
