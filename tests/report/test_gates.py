"""A gate never passes on runs that are not all there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.metrics import registry
from recollect.report.gates import Bound, Verdict, judge
from recollect.runs import Row, Run, Task, group

AA = Bound(registry.get("acc.average"), "min", 0.1)


def runs(seeds: int = 3, learner: str = "er") -> list[Run]:
    rows = (Row(0, scores={"accuracy": (0.9, 0.1)}), Row(1, scores={"accuracy": (0.8, 0.9)}))
    tasks = (Task("a"), Task("b"))
    return [Run(learner=learner, stream="toy", seed=k, tasks=tasks, rows=rows, status="finished") for k in range(seeds)]


def verdict(given: list[Run]) -> Verdict:
    return judge(group(given), [AA])[0]


def test_whole_runs_pass() -> None:
    assert verdict(runs()).holds
    assert judge(group([*runs(), *runs(learner="other")]), [AA])[1].holds


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": "failed", "error": "ValueError: no luck"}, "the run failed: ValueError: no luck"),
        ({"status": "running"}, "not finished when it was read"),
        ({"planned_seeds": (0, 1, 2, 3, 4)}, "seeds 3, 4 of 5 have no run"),
    ],
)
def test_runs_that_are_not_whole_never_pass(change: dict[str, object], said: str) -> None:
    given = runs()
    given[2] = replace(given[2], **change)  # type: ignore[arg-type]
    answer = verdict(given)
    assert not answer.holds
    assert said in answer.sentence


def test_a_seed_that_only_others_have_is_missing() -> None:
    answers = judge(group([*runs(3), *runs(2, "other")]), [AA])
    assert [answer.holds for answer in answers] == [True, False]
    assert "seed 2 of 3 have no run" in answers[1].sentence


def test_a_run_without_a_value_is_not_left_out_in_silence() -> None:
    given = runs()
    given[1] = replace(given[1], rows=(given[1].rows[0], Row(1, reason="diverged")))
    answer = verdict(given)
    assert not answer.holds


def test_a_value_within_whose_interval_is_not_is_not_called_beyond() -> None:
    given = [
        replace(run, rows=(run.rows[0], Row(1, scores={"accuracy": (score, score)})))
        for run, score in zip(runs(), (0.5, 0.7, 0.9), strict=True)
    ]
    (answer,) = judge(group(given), [Bound(registry.get("acc.average"), "min", 0.6)], sure=True)
    assert not answer.holds
    assert "not surely within the smallest allowed, 0.6." in answer.sentence
