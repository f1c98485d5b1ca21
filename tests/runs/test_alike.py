"""Matrices of many runs at once: what stacking them one by one gives, or left to that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.matrix import _COMPANIONS, ScoreMatrix
from recollect.runs import Plan, Row, Run, Task, group, load
from recollect.runs.alike import matrix_of_alike, matrix_of_runs

RESULTS = Path(__file__).parents[2] / "results"
PLAIN = ("n_classes", "n_samples", "class_counts", "learned_at", "planned", "inside", "steps", "names", "notes")


def same(one: ScoreMatrix, other: ScoreMatrix) -> bool:
    arrays = all(
        (a is None and b is None) or np.array_equal(a, b, equal_nan=True)
        for a, b in ((getattr(one, name), getattr(other, name)) for name in ("R", *_COMPANIONS, "correct"))
    )
    return arrays and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in PLAIN)


def run(seed: int, sizes: tuple[int, ...] = (10, 20), **changes: object) -> Run:
    rng = np.random.default_rng(seed)
    rows = []
    for after in range(-1, 2):
        masked = tuple(int(rng.integers(n // 2, n + 1)) for n in sizes)
        asked = tuple(m - int(rng.integers(0, 3)) for m in masked)
        right = tuple(a - int(rng.integers(0, 3)) if j < after else a for j, a in enumerate(asked))
        block = ((asked[0], right[0]), (None, right[1])) if after == 1 else ((right[0], 1), (None, 3))
        rows.append(
            Row(
                after,
                100 * (after + 1),
                correct=right,
                n=sizes,
                masked=masked,
                restricted=block if after >= 0 else None,
            )
        )
    tasks = tuple(Task(name, 2, n, (k, k + 9)) for k, (name, n) in enumerate(zip("ab", sizes, strict=True)))
    given = {"learner": "er", "stream": "toy", "seed": seed, "tasks": tasks, "rows": tuple(rows), "status": "finished"}
    return Run(**{**given, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("folder", sorted({path.parents[1].name for path in RESULTS.glob("*/*/run.json")}))
def test_committed_runs(folder: str) -> None:
    for members in group([one for one in load(RESULTS / folder) if one.status == "finished"]):
        made = matrix_of_alike(members.runs)
        assert made is not None or folder != "digits-probe"
        if made is not None:
            assert same(made, ScoreMatrix.stack([one.matrix for one in members.runs]))


def test_counts_with_all_companions() -> None:
    for runs in ([run(0), run(1), run(2)], [run(0), run(1, (12, 8))]):
        made = matrix_of_alike(runs)
        assert made is not None
        assert same(made, ScoreMatrix.stack([one.matrix for one in runs]))


def test_scores_without_counts_and_seen_columns() -> None:
    rows = (
        Row(0, scores={"accuracy": (0.9, None), "probe": (0.9, None)}),
        Row(1, scores={"accuracy": (0.5, 0.8), "probe": (0.7, 0.8)}),
    )
    tasks = (Task("a", n_samples=10), Task("b", n_samples=10))
    runs = [run(seed, rows=rows, tasks=tasks, plan=Plan(columns="seen")) for seed in range(2)]
    made = matrix_of_alike(runs)
    assert made is not None
    assert same(made, ScoreMatrix.stack([one.matrix for one in runs]))


def changed(one: Run, **change: object) -> Run:
    return replace(one, rows=(*one.rows[:-1], replace(one.rows[-1], **change)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "other",
    [
        run(1, rows=run(1).rows[:-1]),
        run(1, status="imported"),
        run(1, unit="percent"),
        changed(run(1), masked=None),
        changed(run(1), joint=(0.5, 0.5)),
        changed(run(1), n=(10, 19)),
        changed(run(1), correct=(11, 3)),
        changed(run(1), masked=(3, 21)),
        changed(run(1), correct=(1, 2, 3)),
        changed(run(1), scores={"accuracy": (0.0, 0.0)}),
        changed(run(1), restricted=((1, 1), (None, 1))),
    ],
)
def test_anything_else_is_left_to_each_run(other: Run) -> None:
    runs = [run(0), other, run(2)]
    assert matrix_of_alike(runs) is None
    try:
        alone = ScoreMatrix.stack([one.matrix for one in runs])
    except UsageError:
        with pytest.raises(UsageError, match=r"er on toy, seed 1|must have the same shape"):
            matrix_of_runs(runs)
    else:
        assert same(matrix_of_runs(runs), alone)
