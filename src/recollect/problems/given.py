"""Scores that come from elsewhere: a function of the user's examines the learner (generation, robots, simulators)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import UsageError
from recollect.problems.base import Focus, Moment, Problem, no_classes
from recollect.problems.targets import Target
from recollect.runs.run import Plan, Row

if TYPE_CHECKING:
    from recollect.streams.stream import Stream

# Called with the learner and the number of a task; gives one score, or scores by the names of their targets.
Function = Callable[[Any, int], Any]

GIVEN = Problem(
    name="given",
    asks="whatever the examiner asks",
    scenarios=(),
    targets=(Target("score", "score"),),
    examiner="",
    focus=Focus(),
    not_shown=no_classes("its scores come from an examiner of the user's, and single answers are not known"),
)


@dataclass(frozen=True)
class Given:
    """An examiner made of a function `(learner, task) -> score`, or `-> {target: score}`.

    `task` is the number of a task of the stream. The first of `targets` is what learners are scored by; each says its
    unit and which way is better. What the function gives beyond them is recorded as it is: raw, higher is better.

    >>> steps = Target("steps", "steps to the goal", higher_is_better=False)
    >>> Given(lambda learner, task: {"steps": 9.0 - task, "reward": 1}, (steps,)).ask(None, 2)
    {'steps': 7.0, 'reward': 1.0}
    """

    function: Function
    targets: tuple[Target, ...]

    @property
    def target(self) -> Target:
        """What learners are scored by."""
        return self.targets[0]

    def ask(self, learner: Any, task: int) -> dict[str, float]:
        """The scores of a task by the names of their targets; NaN where the function has none."""
        answer = self.function(learner, task)
        if not isinstance(answer, Mapping):
            answer = {self.target.name: answer}
        if self.target.name not in answer:
            raise UsageError(
                f"The examiner gave scores of {', '.join(map(str, answer)) or 'nothing'} for task {task}, and the"
                f" target is {self.target.name}. Name one of them: target='...', or give `Given(function, targets)`."
            )
        return {name: self._checked(name, value, task) for name, value in answer.items()}

    def _checked(self, name: Any, value: Any, task: int) -> float:
        if not isinstance(name, str) or not name:
            raise UsageError(f"An examiner names its scores by texts; got {name!r} for task {task}.")
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number | None):
            raise UsageError(f"An examiner gives numbers; got {value!r} as {name} of task {task}.")
        score = math.nan if value is None else float(value)
        unit = next((target.unit for target in self.targets if target.name == name), "raw")
        if unit == "fraction" and not math.isnan(score) and not -1e-9 <= score <= 1 + 1e-9:
            raise UsageError(f"{name} is stated to be a fraction, and the examiner gave {score:g} for task {task}.")
        return score


@dataclass(frozen=True, eq=False)
class Asking:
    """A `Given` on a stream: makes the rows."""

    given: Given
    stream: Stream

    def row(self, learner: Any, moment: Moment, plan: Plan, batch: int | None) -> Row:
        """Ask for every task, or for those seen so far."""
        if plan.subsample is not None:
            raise UsageError("A plan's subsample draws test samples, and the examiner chooses its own. Leave it out.")
        T = len(self.stream.tasks)
        last = T if plan.columns == "all" or moment.current < 0 else moment.current + 1
        answers = [self.given.ask(learner, task) for task in range(last)]
        names = dict.fromkeys(name for answer in answers for name in answer)
        scores: dict[str, tuple[float | None, ...]] = {}
        reasons: dict[str, dict[str, str]] = {}
        for name in names:
            values = [answer.get(name, math.nan) for answer in answers]
            scores[name] = tuple(value if math.isfinite(value) else None for value in values) + (None,) * (T - last)
            absent = [task for task, value in enumerate(values) if not math.isfinite(value)]
            if absent:
                why = {self.stream.tasks[task].name: _why(values[task]) for task in absent}
                reasons[name] = why
        return Row(moment.after, moment.step, moment.task_end, scores, reasons=reasons)


def given_of(examiner: Given | Function, target: Target | str | None = None) -> Given:
    """The examiner as it was given, or made of a function; its target is named as asked, else like the function.

    >>> given_of(lambda learner, task: 0.5, "success").target
    Target(name='success', label='success', ...)
    """
    if isinstance(examiner, Given):
        if target is None:
            return examiner
        wanted = target if isinstance(target, Target) else _named(target, examiner.targets)
        return Given(examiner.function, (wanted, *(one for one in examiner.targets if one.name != wanted.name)))
    if not callable(examiner):
        raise UsageError(f"An examiner is a function of the learner and the number of a task; got {examiner!r}.")
    if isinstance(target, Target):
        return Given(examiner, (target,))
    name = str(target or getattr(examiner, "__name__", type(examiner).__name__))
    name = "score" if name == "<lambda>" else name
    return Given(examiner, (Target(name, name),))


def _named(name: str, targets: tuple[Target, ...]) -> Target:
    return next((one for one in targets if one.name == name), Target(name, name))


def _why(value: float) -> str:
    return "the examiner gave no score" if math.isnan(value) else "the examiner gave a score that is not finite"
