"""A run in memory: one learner on one stream with one seed, and every row that was evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.matrix import ScoreMatrix
from recollect.runs import fingerprint as _fingerprint
from recollect.runs.identity import Identity
from recollect.runs.scenarios import SCENARIOS, UNSAID
from recollect.runs.seeds import Seeds
from recollect.runs.timeline import RowFacts, Timeline, timeline_of
from recollect.values import shown

if TYPE_CHECKING:
    from recollect.runs.item_answers import ItemSource
    from recollect.runs.packed import Packed

# What runs are scored by unless they say otherwise.
ACCURACY = "accuracy"
_WHOLE = int | np.integer
STATUSES = ("running", "finished", "failed", "imported")
ROLES = ("contestant", "reference", "joint", "floor")
UNITS = ("fraction", "percent", "raw", "auto")


@dataclass(frozen=True)
class Task:
    """One task of the stream: a column of the score matrix.

    `n_classes` counts the classes that are new with this task; `n_samples` is the size of its test set;
    `class_counts` are its test samples per class, in the order of `classes`. A `held_out` task is never trained on:
    it is measured against the base row.
    """

    name: str
    n_classes: int | None = None
    n_samples: int | None = None
    classes: tuple[int | str, ...] | None = None
    class_counts: tuple[int, ...] | None = None
    held_out: bool = False


Scores = tuple[float | None, ...]
Counts = tuple[int | None, ...]


@dataclass(frozen=True)
class Online:
    """Scores of samples before they were learned from (test, then train), since the row before.

    `n` samples were scored, by every target in `scores`; `reasons` say why one has none. `unscored` samples had no
    answer yet. The curve: at each of `steps` (samples presented) the scores over the plan's window of the newest
    samples (`sliding`), and over all of them, each weighing less the older it is (`fading`).
    """

    n: int
    scores: Mapping[str, float | None] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    unscored: int = 0
    steps: tuple[int, ...] = ()
    sliding: Mapping[str, Scores] = field(default_factory=dict)
    fading: Mapping[str, Scores] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One evaluation of the learner. One value per task; None (or a tuple that ends early) is "not evaluated".

    The moment: `after` is the index of the last task learned, -1 before any training; `step` counts the samples
    presented; a row with `task_end=False` was evaluated inside the task that comes after `after`.

    `scores` holds the values of each target by its name, in the unit that the run says. Where answers are counted the
    score is the ratio of `correct` and `n`, and `n` may be left out if the tasks say their `n_samples`.
    `restricted[j][m]` counts what is right on task j when only classes of tasks up to m may be answered; `masked[j]`
    when only those of task j may; `errors` counts the wrong answers by where they went ("older", "own", "newer").
    `standard_error` is that of each score under the run's own target. `joint` holds the joint learner's scores of
    this row under the run's own target.

    `reasons[target][task]` says why a score is absent, `reason` why the whole row is. `state` is the digest of the
    learner's state. `notes` are whatever the recorder wanted to keep beside it; nothing is computed from them.
    `name` is what the row is called where rows are versions of a model. `pooled` is the score over all test samples of
    the tasks seen so far, where that was measured itself. `online` has the scores of the samples since the row before,
    made before they were learned from; `signals` are the steps at which the learner said that the stream had changed.

    `marks` says of each task which test items were answered right, as an evaluation that records items gives it; on
    disk they are a file of their own, and `items` is its checksum. `confusion` counts which class was answered for
    which (`recollect.runs.confusion` reads it).
    """

    after: int
    step: int | None = None
    task_end: bool = True
    scores: Mapping[str, Scores] = field(default_factory=dict)
    correct: Counts | None = None
    n: Counts | None = None
    restricted: tuple[Counts, ...] | None = None
    masked: Counts | None = None
    joint: Scores | None = None
    errors: Mapping[str, Counts] = field(default_factory=dict)
    standard_error: Scores | None = None
    reasons: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    reason: str | None = None
    state: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    pooled: float | None = None
    online: Online | None = None
    signals: tuple[int, ...] = ()
    items: str | None = None
    confusion: str | None = None
    marks: tuple[NDArray[np.bool_] | None, ...] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Measure:
    """What the scores of one target are: their unit and which way is better."""

    name: str
    unit: str = "fraction"
    higher_is_better: bool = True


@dataclass(frozen=True)
class Source:
    """The file of another tool that a run was read from.

    `rows` says what the rows of the file are, "time" or "tasks"; None where a bare matrix does not tell and time was
    assumed. `part` is the run's place in a file that holds several, from 1.
    `guessed` is the learner's name where it was taken from the path, because the file does not say it.
    """

    tool: str
    path: str
    sha256: str | None = None
    version: str | None = None
    rows: str | None = None
    part: int | None = None
    guessed: str | None = None


@dataclass(frozen=True)
class Start:
    """One start of the process that made a run: when, after how many rows, and with which versions."""

    at: str
    rows: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    revision: str | None = None


@dataclass(frozen=True)
class Plan:
    """What was to be evaluated. A row outside the plan is not missing; a planned one that is absent is.

    `rows` are the tasks after which an evaluation was planned (None: after every task); `columns` is
    "all", or "seen" for the tasks learned so far; `every` the steps between evaluations inside tasks;
    `subsample` the test samples drawn per task where not all were used. `online`: every batch is scored before it is
    learned, and the scores over time are those of a window of so many samples; `fading` is what a sample weighs beside
    the next one in the fading scores (1 - 1 / online, if not given). `probe` are the training samples of each task that
    linear probes are fitted to after a row, None without probes. `items` records who was right on which test sample.
    `confusion` counts which class was answered for which.
    """

    rows: tuple[int, ...] | None = None
    columns: str = "all"
    every: int | None = None
    subsample: int | None = None
    online: int | None = None
    fading: float | None = None
    probe: int | None = None
    items: bool | None = None
    confusion: bool | None = None

    def __post_init__(self) -> None:
        if isinstance(self.rows, int) or not all(isinstance(row, _WHOLE) for row in self.rows or ()):
            raise UsageError(
                f"A plan's rows are the tasks after which to evaluate, such as (4, 9); got {self.rows!r}."
                " `recollect.protocol.spread(2, 10)` spreads 2 of them over 10 tasks."
            )
        for name, low in (("every", 1), ("subsample", 1), ("online", 2), ("probe", 1)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, _WHOLE) or value < low):
                raise UsageError(f"{name} in a plan is a whole number of at least {low}; got {shown(value)}.")
        if self.fading is not None and (self.online is None or not _is_part(self.fading)):
            raise UsageError(
                "fading in a plan is a number between 0 and 1, such as 0.999, beside online: what a sample weighs"
                f" beside the next one; got {shown(self.fading)}{'' if self.online else ' without online'}."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """One learner on one stream with one seed, from a run folder, a matrix file or another tool's file.

    `metric` is the target that the run is scored by, `unit` tells how its scores are written ("fraction", "percent",
    "raw" for scores that are no proportions, "auto" to look); the matrix is always in fractions. `targets` says the
    same of the further targets that the rows have scores of (see `with_metric`). `visits` says where the stream
    changes, if that is known: the samples presented before each visit, and its task. `learned_at` maps a task to the
    row after which it has been learned, for streams whose rows are not task ends; rows are then counted as they come,
    without the untrained one; `row_facts` is what else is known of such rows. `joint_run` is the joint learner's run
    on the same stream (see `attach_joint`).
    `planned_seeds` are those of its experiment, to see which are missing. `tuning` is how the learner's options were
    chosen: on what, what was tried, what it cost. `identity` is what the seeds of one learner
    have in common; `row_costs` has for each row the seconds, the energy and the highest memory of the training and the
    evaluation that led to it, since the row before; `versions` and `revision` are those of the first of the `starts`.
    `problem` names what was asked (`recollect.problems`); by default the problem of the scenario. `role` is what the
    learner is for in a comparison: a "contestant"; a "reference", which others are measured against because it keeps
    everything; the "joint" learner, a reference that is retrained on all data seen so far; a "floor", which learns
    nothing. `items` is where the single test items of an imported run lie.

    >>> run = Run(learner="er", stream="toy", seed=0,
    ...           tasks=(Task("a", n_samples=10), Task("b", n_samples=10)),
    ...           rows=(Row(-1, correct=(5, 5)), Row(0, correct=(9, 5)), Row(1, correct=(7, 8))))
    >>> run.matrix.R
    array([[0.9, 0.5],
           [0.7, 0.8]])
    >>> run.matrix.b
    array([0.5, 0.5])
    """

    learner: str
    stream: str
    tasks: tuple[Task, ...]
    rows: tuple[Row, ...]
    seed: int | None = None
    learner_config: Mapping[str, Any] = field(default_factory=dict)
    identity: Identity | None = None
    role: str = "contestant"
    problem: str = ""
    scenario: str | None = None
    online: bool | None = None
    experiment: str | None = None
    planned_seeds: tuple[int, ...] = ()
    tuning: Mapping[str, Any] = field(default_factory=dict)
    seeds: Seeds | None = None
    metric: str = ACCURACY
    unit: str = "fraction"
    higher_is_better: bool = True
    targets: tuple[Measure, ...] = ()
    plan: Plan = Plan()
    learned_at: Mapping[int, int] | None = None
    row_facts: RowFacts | None = None
    visits: tuple[tuple[int, int], ...] = ()
    data_hash: str | None = None
    status: str = "imported"
    error: str | None = None
    joint_learner: str | None = None
    joint_run: Run | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    revision: str | None = None
    starts: tuple[Start, ...] = ()
    created: str | None = None
    finished: str | None = None
    timings: Mapping[str, float] = field(default_factory=dict)
    cost: Mapping[str, float] = field(default_factory=dict)
    row_costs: tuple[Mapping[str, float], ...] = ()
    source: Source | None = None
    notes: tuple[str, ...] = ()
    path: Path | None = None
    items: ItemSource | None = None

    def __repr__(self) -> str:
        return f"<Run {self.name}: {self.T} tasks, {len(self.rows)} rows, {self.metric}, {self.status}>"

    def _repr_html_(self) -> str:
        # Drawing is a layer above; a notebook asks for it by name.
        return str(import_module("recollect.report.notebook").run_html(self))

    @property
    def T(self) -> int:
        """How many tasks the stream has."""
        return len(self.tasks)

    @property
    def name(self) -> str:
        """Learner, stream and seed, to tell runs apart in messages.

        >>> Run(learner="er", stream="toy", seed=3, tasks=(), rows=()).name
        'er on toy, seed 3'
        """
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"{self.learner} on {self.stream}{seed}"

    @cached_property
    def matrix(self) -> ScoreMatrix:
        """The score matrix, built from the rows when it is first asked for."""
        from recollect.runs.assemble import matrix_of

        return matrix_of(self)

    def confusion(self, after: int | None = None) -> NDArray[np.signedinteger[Any]]:
        """How often each class (rows) was answered as each (columns), after a task (from 0) or at the end.

        The test samples are those of the tasks seen so far; `recollect.runs.confusion.class_names` names the classes.
        """
        from recollect.runs.confusion import confusion

        return confusion(self, after)

    @cached_property
    def timeline(self) -> Timeline:
        """Which row is the base row, which rows there are in time, and where each task was learned."""
        return timeline_of(self)

    @property
    def packed(self) -> Packed | None:
        """The numbers as an index has them, of a plain run whose rows need not be read for them."""
        return self.__dict__.get("_packed")

    @property
    def ended(self) -> tuple[int, ...]:
        """The tasks that have a row of their own."""
        return self.timeline.ended if self.packed is None else tuple(range(self.T))

    @cached_property
    def masked_matrix(self) -> ScoreMatrix:
        """The task-incremental twin: the same rows, answered among the classes of each sample's own task."""
        from recollect.runs.assemble import masked_matrix_of

        return masked_matrix_of(self)

    @cached_property
    def fingerprint(self) -> str:
        """Which concrete stream this was; starts with `partial-` where the record does not say enough."""
        return _fingerprint.of_shared(_fingerprint.fingerprint, self.tasks, self.stream, self.scenario, self.data_hash)

    @cached_property
    def family(self) -> str:
        """Which stream this was up to the class order that the seed chose: what seeds are grouped by."""
        return _fingerprint.of_shared(_fingerprint.family, self.tasks, self.stream, self.scenario, self.data_hash)

    @property
    def measure(self) -> Measure:
        """What the run's scores are."""
        return Measure(self.metric, self.unit, self.higher_is_better)

    def with_metric(self, metric: str) -> Run:
        """The same run under another of the targets that its evaluations gave.

        >>> run = Run(learner="naive", stream="toy", tasks=(Task("a"),), metric="roc_auc", targets=(Measure("f1"),),
        ...           rows=(Row(0, scores={"roc_auc": (0.9,), "f1": (0.5,)}),))
        >>> run.with_metric("f1").matrix.R
        array([[0.5]])
        """
        if metric == self.metric:
            return self
        given = [row.scores for row in self.rows if row.scores and row.reason is None]
        if not given or not all(metric in scores for scores in given):
            there = sorted({name for scores in given for name in scores} | {self.metric})
            raise UsageError(f"The run {self.name} has no scores {metric!r}; it has {', '.join(there)}.")
        others = {target.name: target for target in (*self.targets, self.measure)}
        measure = others.pop(metric, Measure(metric, "raw"))
        joint = self.joint_run
        return replace(
            self,
            metric=metric,
            unit=measure.unit,
            higher_is_better=measure.higher_is_better,
            targets=tuple(others.values()),
            # Counts, and the joint learner's scores in a row, are of the other target.
            rows=tuple(
                replace(row, joint=None, pooled=None, correct=None, masked=None, restricted=None, items=None)
                for row in self.rows
            ),
            items=None,
            joint_run=joint.with_metric(metric) if joint is not None and joint.has_target(metric) else None,
        )

    @property
    def why_incomplete(self) -> str | None:
        """Why the run has not all of its rows; None of one that is finished or another tool's."""
        if self.status == "failed":
            return f"the run failed: {self.error or 'no reason given'}"
        return "the run was not finished when it was read" if self.status == "running" else None

    def has_target(self, name: str) -> bool:
        """Whether the run has scores of this target."""
        return name == self.metric or any(name in row.scores for row in self.rows)

    def __post_init__(self) -> None:
        for name, (kinds, words) in _KINDS.items():
            if not isinstance(getattr(self, name), kinds):
                raise UsageError(f"The {name} of a run is {words}; got {shown(getattr(self, name))}.")
        for name, kind in (("tasks", Task), ("rows", Row), ("notes", str)):
            if not all(isinstance(one, kind) for one in getattr(self, name)):
                raise UsageError(
                    f"The {name} of a run are of the type {kind.__name__}; got {shown(getattr(self, name))}."
                )
        if self.scenario is not None and self.scenario not in SCENARIOS:
            raise _not_one_of("scenario", self.scenario, tuple(SCENARIOS))
        if not self.problem:
            object.__setattr__(self, "problem", UNSAID if self.scenario is None else SCENARIOS[self.scenario].problem)
        if self.role not in ROLES:
            raise _not_one_of("role", self.role, ROLES)
        if self.status not in STATUSES:
            raise _not_one_of("status", self.status, STATUSES)
        if self.unit not in UNITS:
            raise _not_one_of("unit", self.unit, UNITS)
        if self.plan.columns not in ("all", "seen"):
            raise _not_one_of("plan's columns", self.plan.columns, ("all", "seen"))


# Types in tuples, the usual one first: a thousand runs are looked at in one go.
_NONE = type(None)
_TEXT, _TEXT_OR_NONE = (str, "a text"), ((str, _NONE), "a text or None")
_TABLE = ((dict, Mapping), "a mapping")
_KINDS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(("learner", "stream", "metric", "role", "problem", "status", "unit"), _TEXT),
    **dict.fromkeys(("scenario", "data_hash", "experiment", "error", "revision", "created", "finished"), _TEXT_OR_NONE),
    **dict.fromkeys(("learner_config", "versions", "timings", "cost", "tuning"), _TABLE),
    **dict.fromkeys(("tasks", "rows", "notes"), ((tuple, list), "a tuple")),
    "seed": ((int, _NONE), "a whole number or None"),
    "higher_is_better": ((bool, np.bool_), "True or False"),
    "plan": (Plan, "a Plan"),
    "learned_at": ((_NONE, dict, Mapping), "a mapping from tasks to rows, or None"),
    "row_facts": ((_NONE, RowFacts), "RowFacts or None"),
    "joint_run": ((_NONE, Run), "a Run or None"),
    "source": ((_NONE, Source), "a Source or None"),
    "identity": ((_NONE, Identity), "an Identity or None"),
}


def _is_part(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(0 < value < 1)


def _not_one_of(word: str, value: object, allowed: tuple[str, ...]) -> UsageError:
    return UsageError(f"The {word} of a run is one of {', '.join(allowed)}; got {shown(value)}.")
