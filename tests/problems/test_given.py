"""Examiners of the user's: one score or several, units and directions, what is refused, resumption."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.problems import Given, Target
from recollect.protocol import iter_protocol, iter_run, run_protocol
from recollect.report.gather import gather
from recollect.runs import Plan, group
from recollect.runs.reading import read_run
from recollect.streams import stream_from_arrays

X = np.arange(12, dtype=np.float32).reshape(12, 1)
STREAM = stream_from_arrays(X, [0, 1, 2] * 4, X, [0, 1, 2] * 4, name="toy", classes_per_task=1, batch=2)
SUCCESS = Target("success", "success rate", unit="fraction")
STEPS = Target("steps", "steps", higher_is_better=False)


class Robot:
    """Knows how many samples of each task it has met; it answers nothing by itself."""

    stored_samples = stored_bytes = 0

    def __init__(self) -> None:
        self.met = np.zeros(3)

    def learn(self, batch: Any) -> None:
        np.add.at(self.met, batch.y, 1)
        self.met[: batch.y.max()] -= 0.5

    def end_task(self) -> None:
        pass

    def state(self) -> Any:
        return {"met": self.met.copy()}

    def restore(self, state: Any) -> None:
        self.met = state["met"]


def drive(learner: Robot, task: int) -> dict[str, float]:
    return {"success": learner.met[task] / 4, "steps": 10 - learner.met[task]}


def test_scores_by_hand_under_both_targets(tmp_path: Path) -> None:
    run = run_protocol(Robot(), STREAM, tmp_path / "r", name="robot", examiner=Given(drive, (SUCCESS, STEPS)))
    assert (run.problem, run.metric, run.unit, run.higher_is_better) == ("given", "success", "fraction", True)
    np.testing.assert_allclose(run.matrix.R, [[1, 0, 0], [0.75, 1, 0], [0.5, 0.75, 1]])
    assert rc.score(run.matrix, "forgetting.chaudhry2018") == pytest.approx((0.5 + 0.25) / 2)
    steps = run.with_metric("steps")
    assert (steps.unit, steps.higher_is_better) == ("raw", False)
    np.testing.assert_allclose(steps.matrix.R[2], [8, 7, 6])
    assert rc.score(steps.matrix, "forgetting.chaudhry2018") == pytest.approx((2 + 1) / 2), "more steps are worse"
    assert run.tasks[0].n_classes is None
    assert run.tasks[0].n_samples is None, "the test samples of the stream were not what was asked"


def test_the_report_reads_it(tmp_path: Path) -> None:
    runs = [
        run_protocol(Robot(), STREAM, tmp_path / str(s), name="robot", seed=s, examiner=drive, target=SUCCESS)
        for s in range(2)
    ]
    (stream,) = gather(group(runs)).streams
    assert stream.words.score == "success"
    assert stream.learners[0].numbers["acc.average"].value == pytest.approx(0.75)


def test_one_number_is_named_like_the_function_or_as_asked() -> None:
    def reward(learner: Any, task: int) -> float:
        return float(task)

    first = next(iter_protocol(Robot(), STREAM, seed=0, examiner=reward))
    assert first.scores == {"reward": (0.0, 1.0, 2.0)}
    named = next(iter_protocol(Robot(), STREAM, seed=0, examiner=reward, target="return"))
    assert named.scores == {"return": (0.0, 1.0, 2.0)}
    under = next(iter_protocol(Robot(), STREAM, seed=0, examiner=Given(drive, (SUCCESS, STEPS)), target="steps"))
    assert list(under.scores) == ["success", "steps"]


def test_what_it_has_no_score_for_is_absent_with_a_reason() -> None:
    def some(learner: Any, task: int) -> Any:
        return {"score": [1.0, None, math.inf][task]} | ({"extra": 3} if task else {})

    row = next(iter_protocol(Robot(), STREAM, seed=0, examiner=some, target="score"))
    assert row.scores == {"score": (1.0, None, None), "extra": (None, 3.0, 3.0)}
    assert row.reasons["score"] == {
        "task 1": "the examiner gave no score",
        "task 2": "the examiner gave a score that is not finite",
    }
    assert row.reasons["extra"] == {"task 0": "the examiner gave no score"}


def test_only_tasks_that_were_seen() -> None:
    asked: list[int] = []

    def note(learner: Any, task: int) -> float:
        asked.append(task)
        return 0.5

    rows = list(iter_protocol(Robot(), STREAM, seed=0, examiner=note, plan=Plan(columns="seen")))
    assert [row.scores["note"] for row in rows[1:]] == [(0.5, None, None), (0.5, 0.5, None), (0.5, 0.5, 0.5)]
    assert asked == [0, 1, 2, 0, 0, 1, 0, 1, 2]


@pytest.mark.parametrize(
    ("examiner", "options", "words"),
    [
        (3, {}, "a function of the learner"),
        (lambda learner, task: "good", {}, "gives numbers; got 'good'"),
        (lambda learner, task: True, {}, "gives numbers; got True"),
        (lambda learner, task: {"loss": 1.0}, {"target": "accuracy"}, "scores of loss .* target is accuracy"),
        (lambda learner, task: {}, {"target": "accuracy"}, "scores of nothing"),
        (lambda learner, task: {"a": 1.0, 2: 1.0}, {"target": "a"}, "by texts; got 2"),
        (lambda learner, task: 1.5, {"target": SUCCESS}, "stated to be a fraction, and the examiner gave 1.5"),
        (drive, {"plan": Plan(subsample=2), "target": SUCCESS}, "Leave it out"),
    ],
)
def test_what_is_refused(examiner: Any, options: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        list(iter_protocol(Robot(), STREAM, seed=0, examiner=examiner, **options))


def test_without_an_examiner_a_learner_must_answer() -> None:
    with pytest.raises(UsageError, match="lacks score"):
        next(iter_protocol(Robot(), STREAM, seed=0))


def test_interrupted_it_goes_on_to_the_same_end(tmp_path: Path) -> None:
    given = Given(drive, (SUCCESS, STEPS))
    whole = run_protocol(Robot(), STREAM, tmp_path / "whole", name="robot", examiner=given)
    begun = iter_run(Robot(), STREAM, tmp_path / "begun", name="robot", examiner=given)
    next(begun)
    next(begun)
    begun.close()
    other = Given(lambda learner, task: drive(learner, task), (SUCCESS, STEPS))
    with pytest.raises(UsageError, match=r"the target was success by drive and is success by .*lambda"):
        run_protocol(Robot(), STREAM, tmp_path / "begun", name="robot", examiner=other)
    run_protocol(Robot(), STREAM, tmp_path / "begun", name="robot", examiner=given)
    assert read_run(tmp_path / "begun").rows == whole.rows
    with pytest.raises(UsageError, match="the metric was 'success' and is 'steps' now"):
        run_protocol(Robot(), STREAM, tmp_path / "begun", name="robot", examiner=given, target="steps")
