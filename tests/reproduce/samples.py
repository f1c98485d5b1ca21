"""Runs whose curves are known in advance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from recollect.runs import Plan, Row, Run, Task, derive

Score = Callable[[int, int], float]


def make_run(
    learner: str,
    seed: int,
    score: Score,
    *,
    T: int = 10,
    stream: str = "split-cifar100",
    rows: Sequence[int] | None = None,
) -> Run:
    """A run of T tasks of 10 classes; `score(k, j)` counts tasks from 1; each seed has its own factor."""
    factor = 1 + 0.01 * np.random.default_rng([seed, *learner.encode()]).normal()
    planned = range(T) if rows is None else rows
    return Run(
        learner=learner,
        stream=stream,
        seed=seed,
        seeds=derive(seed),
        tasks=tuple(Task(f"task {j}", 10, 100) for j in range(T)),
        rows=tuple(
            Row(
                k,
                scores={
                    "accuracy": tuple(min(1.0, factor * score(k + 1, j + 1)) if j <= k else None for j in range(T))
                },
            )
            for k in planned
        ),
        scenario="class-incremental",
        online=True,
        status="finished",
        plan=Plan(rows=None if rows is None else tuple(rows), columns="seen"),
    )


def newest_only(k: int, j: int) -> float:
    """Keeps the newest task alone: AA = a / k, RAA = a / K, AF = a."""
    return 0.5 if j == k else 0.0


def rising(k: int, j: int) -> float:
    """Falls slowly and never stops gaining: RAA rises to the end."""
    return 0.7 - 0.03 * k


def saturating(k: int, j: int) -> float:
    """RAA = 0.2 min(k, 5) / K: it stops rising at task 5."""
    return 0.2 * min(k, 5) / k


def paper_like(seeds: int = 3, **options: object) -> list[Run]:
    """The paper's three learners, behaving as it says."""
    behaviour = {"finetune": newest_only, "er": rising, "gdumb": saturating}
    return [
        make_run(learner, seed, score, **options)  # type: ignore[arg-type]
        for learner, score in behaviour.items()
        for seed in range(seeds)
    ]
