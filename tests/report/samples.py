"""Runs made up for the tests of reports: several learners, seeds and tasks, with restricted counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from recollect.runs import Group, Row, Run, Task, attach_joint, derive, group

N = 50


def make_run(
    learner: str,
    seed: int,
    T: int = 6,
    *,
    keep: float = 0.9,
    harder: float = 0.3,
    stream: str = "split toy",
    name: Callable[[int], str] = lambda j: f"task {j}",
    restricted: bool = True,
) -> Run:
    """A class-incremental run: knowledge decays by `keep` a task, and `harder` of it is confused in the end."""
    rng = np.random.default_rng([seed, *learner.encode()])
    rows = [_row(k, T, keep, harder, restricted, rng) for k in range(-1, T)]
    return Run(
        learner=learner,
        stream=stream,
        seed=seed,
        seeds=derive(seed),
        tasks=tuple(Task(name(j), 2, N, (2 * j, 2 * j + 1), (N // 2, N // 2)) for j in range(T)),
        rows=tuple(rows),
        scenario="class-incremental",
        online=True,
        data_hash="ab" * 32,
        status="finished",
        learner_config={"memory": 200} if learner == "er" else {},
        versions={"python": "3.11", "recollect": "0"},
        revision="0123abc",
        finished="2026-01-01T00:01:00+00:00",
        timings={"train_seconds": 12.0 + seed, "evaluate_seconds": 2.0},
        cost={"train_peak_bytes": 2.1e8, "stored_samples": 200},
    )


def _row(k: int, T: int, keep: float, harder: float, restricted: bool, rng: np.random.Generator) -> Row:
    correct, triangle = [], []
    errors: dict[str, list[int]] = {"own": [], "older": [], "newer": []}
    for j in range(T):
        skill = 0.95 * keep ** (k - j) if 0 <= j <= k else 0.5 / (j + 1)
        line: list[int | None] = [None] * T
        last = N
        for m in range(j, T):
            asked = skill * (1 - harder * (m - j) / T)
            last = int(np.clip(round(N * asked + rng.normal()), 0, last))
            line[m] = last
        right = line[max(k, j)] or 0
        correct.append(right)
        triangle.append(tuple(line))
        wrong = N - right
        errors["own"].append(wrong // 4)
        errors["newer"].append(wrong - wrong // 4 if k > j else 0)
        errors["older"].append(0 if k > j else wrong - wrong // 4)
    return Row(
        k,
        step=(k + 1) * 1000,
        correct=tuple(correct),
        n=(N,) * T,
        restricted=tuple(triangle) if restricted and k >= 0 else None,
        extra={"errors": errors},
    )


def make_groups(
    T: int = 6, seeds: int = 5, streams: Sequence[str] = ("split toy",), with_joint: bool = True
) -> tuple[Group, ...]:
    """Finetune, er and the joint learner, on each stream."""
    learners = {"finetune": (0.5, 0.8), "er": (0.93, 0.4)}
    if with_joint:
        learners["joint_incremental"] = (0.999, 0.1)
    runs = [
        make_run(learner, seed, T, keep=keep, harder=harder, stream=stream)
        for stream in streams
        for learner, (keep, harder) in learners.items()
        for seed in range(seeds)
    ]
    return group(attach_joint(runs))
