"""A domain that the tree does not know: an entry, a stream and a learner go through run, record, score and page."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.learners import Setting, make_learner
from recollect.learners.wrap import wrap
from recollect.problems.base import PROBLEMS, Focus, Problem, no_classes
from recollect.problems.targets import Target
from recollect.protocol import run_protocol
from recollect.report.gather import gather
from recollect.report.page import build_page
from recollect.runs import derive, group, load
from recollect.streams import Stream, stream_from_values


def deviance(truth: np.ndarray, given: np.ndarray) -> float:
    """The Poisson deviance of counts that are not 0."""
    return float(2 * np.mean(truth * np.log(truth / given) - (truth - given)))


EVENTS = Problem(
    name="events",
    asks="how many events there are",
    scenarios=("domain-incremental",),
    targets=(Target("deviance", "deviance", deviance, higher_is_better=False),),
    examiner="recollect.problems.scoring:Scoring",
    per_class=False,
    task="site",
    tasks="sites",
    focus=Focus(),
    not_shown=no_classes("a count is one number"),
)


class LastMean:
    """Answers with the mean of the newest batch."""

    def __init__(self) -> None:
        self.mean = math.nan

    def learn(self, batch: Any) -> None:
        self.mean = float(batch.y.mean())

    def score(self, x: Any, task: Any = None) -> np.ndarray:
        return np.full(len(x), self.mean)

    def end_task(self) -> None:
        pass

    def state(self) -> dict[str, float]:
        return {"mean": self.mean}

    def restore(self, state: dict[str, float]) -> None:
        self.mean = state["mean"]


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Stream:
    monkeypatch.setitem(PROBLEMS, "events", EVENTS)
    x, by = np.zeros((40, 2)), np.repeat(["north", "south"], 20)
    y = np.where(by == "north", 2.0, 8.0)
    made = stream_from_values(x, y, x, y, by_train=by, by_test=by, name="sites", batch=20)
    return replace(made, problem="events")


def test_a_run_of_it_is_recorded_scored_and_shown(stream: Stream, tmp_path: Path) -> None:
    run_protocol(wrap(LastMean(), Setting.of(stream)), stream, tmp_path / "mean", seed=0, name="mean")
    (run,) = load(tmp_path)
    wrong = [deviance(np.array([2.0]), np.array([8.0])), deviance(np.array([8.0]), np.array([2.0]))]
    assert run.problem == "events"
    assert pytest.approx(np.array([[0, wrong[1]], [wrong[0], 0]])) == run.matrix.R
    assert run.rows[0].reason == "the learner has learned nothing yet"
    assert rc.score(run.matrix, "acc.average") == pytest.approx(wrong[0] / 2)
    assert rc.score(run.matrix, "forgetting.chaudhry2018") == pytest.approx(wrong[0]), (
        "an error that rises is forgetting"
    )
    (shown,) = gather(group([run])).streams
    assert shown.words.tasks == "sites"
    assert {one.part for one in shown.left_out} == {"raa", "split", "errors"}
    assert "a count is one number" in build_page(gather(group([run])))


def test_a_learner_that_is_not_for_it_says_so(stream: Stream) -> None:
    with pytest.raises(UsageError, match=r"the stream asks for events\. No learner here is for that: give your own"):
        make_learner("finetune", {}, Setting.of(stream), derive(0), "cpu")


def test_a_part_of_a_report_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="no part 'difficulty'"):
        replace(EVENTS, not_shown={"difficulty": "it is none"})
