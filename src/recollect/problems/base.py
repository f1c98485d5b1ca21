"""What a problem is: what is asked of a learner, how an answer is marked, and what the field calls things.

A domain is an entry here, not a fork elsewhere: streams, the protocol, records and reports ask the problem, and
none of them tests which one it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from recollect.errors import UsageError
from recollect.nearest import nearest
from recollect.problems.targets import Target, target_of
from recollect.runs.run import Online, Plan, Row, Run

if TYPE_CHECKING:
    from recollect.streams.stream import Stream


@dataclass(frozen=True)
class Moment:
    """When an evaluation is made: the newest task learned (-1: none), and how far it has come.

    `current` is the newest task of which something was seen; `step` counts the samples presented.
    """

    after: int
    current: int
    step: int
    task_end: bool


class Answers(Protocol):
    """What an examiner asks of a learner: scores of samples."""

    def score(self, x: Any, task: Any = None) -> Any:
        """Scores of the samples, in the shape that the problem asks for."""


@runtime_checkable
class Flags(Protocol):
    """Sets a threshold: it says which scores are alarms."""

    def flagged(self, scores: Any, task: Any = None) -> Any:
        """For each score whether it is an alarm."""


@runtime_checkable
class Represents(Protocol):
    """Has features: what its last layer reads."""

    def represent(self, x: Any) -> Any:
        """The features of these samples, one row each; asking changes nothing."""


class Tracker(Protocol):
    """Scores samples before they are learned from, and keeps what scores over time need."""

    def see(self, learner: Any, batch: Any) -> None:
        """Score a batch that the learner is about to learn."""

    def taken(self) -> Online:
        """The scores since this was asked last."""

    def state(self) -> dict[str, Any]:
        """What the scores to come depend on."""

    def restore(self, state: dict[str, Any]) -> None:
        """Become the one whose state this is."""


@runtime_checkable
class Tracks(Protocol):
    """An examiner that can score samples before they are learned from."""

    def tracker(self, plan: Plan) -> Tracker:
        """Who scores them, as the plan says; UsageError where the stream gives nothing to score."""


class Examiner(Protocol):
    """Evaluates a learner on a stream and makes the row."""

    def row(self, learner: Any, moment: Moment, plan: Plan, batch: int | None) -> Row:
        """One evaluation."""


@runtime_checkable
class MarksItems(Examiner, Protocol):
    """An examiner whose answers are right or wrong one by one, so that single items can be recorded."""

    @property
    def marks_items(self) -> bool:
        """Always true; an examiner that cannot has no such property."""


@runtime_checkable
class CountsClasses(Examiner, Protocol):
    """An examiner that can count which class was answered for which."""

    @property
    def counted_classes(self) -> int:
        """How many classes there are."""


@dataclass(frozen=True)
class Focus:
    """What a field asks of its learners, and shows first; by default what any matrix of scores can answer.

    `headline` decides who is ahead, and `level` says it in words; `compared` is what pairs are compared by; the curves
    of one tuple of `panels` stand side by side; `bwt` and `fwt` are the field's own definitions; `shown` are the
    columns of a short table, in their order, and `titles` the field's letters for metrics, where it has them. `close`:
    its scores lie far from 0, so that their curves are looked at closely. `questions` are those that a report answers
    first, by their keys in `recollect.report.sentences`.
    """

    headline: str = "acc.average"
    compared: tuple[str, ...] = (
        "acc.average",
        "forgetting.chaudhry2018",
        "acc.incremental",
        "bwt.lopezpaz2017",
        "fwt.lopezpaz2017",
        "intransigence.begin",
    )
    panels: tuple[tuple[str, ...], ...] = (("acc.average",), ("forgetting.chaudhry2018",))
    bwt: str = "bwt.lopezpaz2017"
    fwt: str = "fwt.lopezpaz2017"
    shown: tuple[str, ...] = (
        "acc.average",
        "acc.incremental",
        "forgetting.chaudhry2018",
        "bwt.lopezpaz2017",
        "fwt.lopezpaz2017",
    )
    titles: Mapping[str, str] = field(default_factory=dict)
    level: str = "{average} over all {tasks}"
    close: bool = False
    questions: tuple[str, ...] = ("ahead", "learning", "forgotten", "sure")


def titles(average: str) -> dict[str, str]:
    """The letters of a field that calls the average so."""
    return {"acc.average": average, "forgetting.chaudhry2018": "AF"}


def no_classes(why: str) -> dict[str, str]:
    """What a report of a problem without classes does not show: `why` tells it of answers."""
    return {"raa": "its difficulty does not follow from a number of classes", "split": why, "errors": why}


@dataclass(frozen=True)
class Problem:
    """One kind of question that learners are asked.

    `asks` is what its streams ask for, in words. `task` and `tasks` are what the units of its streams are called;
    `rows` is what a row and rows are called, by scenario, where they do not follow one task each.
    The first of `targets` is the one that learners are scored by unless another is asked for. `examiner` is the
    "module:Class" that is called with the stream and the target. `per_class`: a learner gives one score per class, else
    one number per sample. `objective` is the "module:Class" of what networks are trained for. `not_shown` says of a
    part of a report ("raa", "split", "errors") why this problem has none of it. `tasks_stand_alone`: what is
    asked of a task does not depend on the others, so that one can be left out.
    """

    name: str
    asks: str
    scenarios: tuple[str, ...]
    targets: tuple[Target, ...]
    focus: Focus
    examiner: str
    task: str = "task"
    tasks: str = "tasks"
    rows: Mapping[str | None, tuple[str, str]] = field(default_factory=dict)
    per_class: bool = True
    objective: str | None = None
    not_shown: Mapping[str, str] = field(default_factory=dict)
    tasks_stand_alone: bool = True

    def __post_init__(self) -> None:
        stray = sorted(set(self.not_shown) - set(no_classes("")))
        if stray:
            raise UsageError(f"A report has no part {stray[0]!r} that {self.name} could leave out.")

    def check_leaving_out(self, run: Run) -> None:
        """Raise UsageError unless a task can be left out of a run without changing what the others were asked."""
        if not self.tasks_stand_alone:
            raise UsageError(
                f"No {self.task} of the run {run.name} can be left out: it is {self.name}, where the classes of a"
                f" {self.task} that is left out would still be among the answers."
            )

    def target(self, given: Any = None) -> Target:
        """The target that was asked for, or the first."""
        if given is None:
            return self.targets[0]
        counted = [target.name for target in self.targets if target.function is None]
        if counted and given not in (*counted, *self.targets):
            raise UsageError(
                f"{given!r} cannot be the target: {self.name} asks for {self.asks}, and right answers are counted"
                f" ({', '.join(counted)}). Leave the target out."
            )
        return target_of(given, self.targets)

    def counts(self, metric: str) -> bool:
        """Whether a score is the share of right answers, as far as is known: a ranking of a test set is not.

        >>> from recollect.problems import problem_of
        >>> problem_of("classification").counts("accuracy"), problem_of("links").counts("roc_auc")
        (True, False)
        """
        return all(target.function is None for target in self.targets if target.name == metric)

    def score_name(self, metric: str) -> str:
        """A score as people call it: the label of a target, else the name itself, in small letters if it is a word.

        >>> from recollect.problems import problem_of
        >>> [problem_of("detection").score_name(name) for name in ("roc_auc", "Accuracy", "F1-Score", "RMSE")]
        ['ROC-AUC', 'accuracy', 'F1-Score', 'RMSE']
        """
        labels = {target.name: target.label for target in self.targets}
        return labels.get(metric, metric if metric.isupper() or "-" in metric else metric.lower())

    def examiner_of(self, stream: Stream, target: Any = None) -> Examiner:
        """Who evaluates learners on this stream."""
        module, _, attribute = self.examiner.partition(":")
        made: Examiner = getattr(import_module(module), attribute)(stream, self.target(target))
        return made


# Every problem by its name; `recollect.problems` fills it.
PROBLEMS: dict[str, Problem] = {}


def problem_of(name: str) -> Problem:
    """The problem of this name.

    >>> from recollect.problems import problem_of
    >>> problem_of("detection").task
    'concept'
    """
    if name not in PROBLEMS:
        raise UsageError(f"There is no problem {name!r}; the nearest is {nearest(name, PROBLEMS)!r}.")
    return PROBLEMS[name]
