"""Runs that are not whole are named beside every answer."""

from __future__ import annotations

from recollect.cli.options import _unfinished
from recollect.runs import Run


def run(status: str, seed: int, error: str | None = None) -> Run:
    return Run(learner="er", stream="toy", seed=seed, tasks=(), rows=(), status=status, error=error)


def test_a_failed_run_is_named_with_its_reason() -> None:
    runs = [run("finished", 0), run("failed", 1, "ValueError: no luck"), run("running", 2)]
    assert _unfinished(runs) == [
        "er on toy, seed 1, 0 rows: the run failed: ValueError: no luck",
        "er on toy, seed 2, 0 rows: the run was not finished when it was read",
    ]


def test_many_are_counted() -> None:
    assert _unfinished([run("running", seed) for seed in range(9)])[-1] == "6 more runs are not finished"
