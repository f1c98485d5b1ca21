"""Runs made up for the tests of reports: class-incremental ones with restricted counts, and detectors on concepts."""

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
        role="joint" if learner == "joint_incremental" else "contestant",
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
    correct, triangle, masked = [], [], []
    errors: dict[str, list[int]] = {"own": [], "older": [], "newer": []}
    for j in range(T):
        skill = 0.95 * keep ** (k - j) if 0 <= j <= k else 0.5 / (j + 1)
        # More classes only take answers away.
        asked = skill * (1 - harder * np.arange(T - j) / T)
        drawn = np.clip(np.rint(N * asked + rng.normal(size=T - j)), 0, N)
        line: list[int | None] = [None] * j + [int(v) for v in np.minimum.accumulate(drawn)]
        right = line[max(k, j)] or 0
        correct.append(right)
        triangle.append(tuple(line))
        wrong = N - right
        masked.append(min(N, (line[j] or 0) + 1 + (k - j) // 2 if k >= j else (line[j] or 0) + 1))
        errors["own"].append(wrong // 4)
        errors["newer"].append(wrong - wrong // 4 if k > j else 0)
        errors["older"].append(0 if k > j else wrong - wrong // 4)
    return Row(
        k,
        step=(k + 1) * 1000,
        correct=tuple(correct),
        n=(N,) * T,
        restricted=tuple(triangle) if restricted and k >= 0 else None,
        masked=tuple(masked) if restricted and k >= 0 else None,
        errors={side: tuple(counts) for side, counts in errors.items()},
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


CONCEPTS = ("web", "dos", "probe", "r2l", "u2r")
# Twelve batches over five concepts: the second and the third end within one batch.
BATCHES = {0: 2, 1: 4, 2: 4, 3: 8, 4: 11}
# Which concept each visit is to: three of five come again, two of the visits after all have been learned.
VISITS = (0, 1, 2, 0, 3, 1, 4, 0, 2)
_SCENARIOS = {"concepts": "concept-aware", "visits": "concept-incremental", "batches": "concept-agnostic"}


def make_detector(
    learner: str,
    seed: int,
    *,
    keep: float = 0.9,
    rows: str = "concepts",
    scenario: str = "",
    stream: str = "nsl_kdd",
    one_class: str | None = None,
) -> Run:
    """A detector's run, scored by ROC-AUC with the others beside it; `rows` are concepts, batches or visits.

    The untrained detector gives no scores, and the concept `one_class` has none in any row.
    """
    rng = np.random.default_rng([seed, *learner.encode(), *rows.encode()])
    T = len(CONCEPTS)
    ends: dict[str, list[int]] = {
        "concepts": list(range(T)),
        "batches": [BATCHES[j] for j in range(T)],
        "visits": [VISITS.index(j) for j in range(T)],
    }
    learned_at, S = ends[rows], {"concepts": T, "batches": 12, "visits": len(VISITS)}[rows]
    reasons = {one_class: "its test set holds normal samples only"} if one_class else {}
    made = [Row(-1, step=0, reason="the learner has learned nothing yet")]
    for i in range(S):
        auc: list[float | None] = []
        for j, name in enumerate(CONCEPTS):
            last = max((v for v in range(i + 1) if VISITS[v] == j), default=-1) if rows == "visits" else learned_at[j]
            level = 0.5 + 0.45 * keep ** (i - last) if 0 <= last <= i else 0.6 + 0.02 * j
            auc.append(None if name == one_class else round(float(np.clip(level + 0.01 * rng.normal(), 0, 1)), 4))
        others = {
            name: tuple(None if v is None else round(v * share, 4) for v in auc)
            for name, share in (("average_precision", 0.8), ("f1", 0.6))
        }
        after = sum(end <= i for end in learned_at) - 1
        scores = {"roc_auc": tuple(auc), **others}
        is_end = rows != "batches"
        made.append(Row(after, step=(i + 1) * 500, task_end=is_end, scores=scores, reasons={"roc_auc": reasons}))
    return Run(
        learner=learner,
        role="reference" if learner.startswith("cumulative") else "contestant",
        stream=stream,
        seed=seed,
        seeds=derive(seed),
        tasks=tuple(Task(name, n_samples=200, classes=(name,)) for name in CONCEPTS),
        rows=tuple(made),
        scenario=scenario or _SCENARIOS[rows],
        online=True,
        metric="roc_auc",
        learned_at=None if rows == "concepts" else dict(enumerate(learned_at)),
        data_hash="cd" * 32,
        status="finished",
        learner_config={"detector": learner.partition("-")[2]},
        timings={"train_seconds": 3.0 + seed, "evaluate_seconds": 1.0},
        cost={"stored_samples": 500 if learner.startswith("replay") else 0},
    )


def make_detectors(
    seeds: int = 5, rows: Sequence[str] = ("concepts",), one_class: str | None = None
) -> tuple[Group, ...]:
    """Three strategies with two detectors, on a stream for each kind of rows."""
    strategies = {"naive": 0.55, "replay": 0.85, "cumulative": 0.99}
    runs = [
        make_detector(f"{strategy}-{detector}", seed, keep=keep - less, rows=kind, one_class=one_class)
        for kind in rows
        for strategy, keep in strategies.items()
        for detector, less in (("IForest", 0.0), ("ECOD", 0.06))
        for seed in range(seeds)
    ]
    return group(attach_joint(runs))
