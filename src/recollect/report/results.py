"""What a report says: the whole page as data, computed once.

Every number that the page, the figures and the sentences show is in this tree; they draw and never compute. Numbers,
curves and matrices over seeds are `Estimate`s; pairs, ranks and plateaus are what `recollect.stats` gives. `gather`
makes the tree from groups of runs, `page.pack` turns it into JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from recollect.matrix import Array
from recollect.metrics import Card
from recollect.problems import Focus, Problem
from recollect.report.changes import Change, RowFlow
from recollect.report.over_items import ItemPair
from recollect.report.words import Words, common_words
from recollect.stats import Estimate, Lead, Pairwise, Plateau, Ranks

NAN = float("nan")
UNKNOWN = Estimate(NAN, NAN, NAN, 0, "", NAN)


@dataclass(frozen=True, eq=False)
class Shares:
    """Parts of a whole by name: over time (the mean over tasks), and per task at the end, with T entries each."""

    over_time: Mapping[str, Estimate]
    per_task: Mapping[str, Estimate]


@dataclass(frozen=True, eq=False)
class Classes:
    """What each class is answered with, of the test samples of the tasks seen so far; the mean over seeds.

    `answered[c, d]` is the share of class c that is answered with class d at the end; `over_time[k, c]` the share of
    class c that is answered right after task k.
    """

    names: tuple[str, ...]
    answered: Estimate
    over_time: Estimate


@dataclass(frozen=True, eq=False)
class LearnerResult:
    """One learner (with one configuration) on one stream.

    `role` is the record's. `ends[i]` is how many tasks had been learned at row i of its matrix, None for a row inside
    a task. Where rows are not task ends, `learned_at[j]` is the row after which task j had been learned. `matrix` is
    the mean over seeds, `untrained` the row before any training, `joint` the joint learner's. `parts` are those of
    its forgetting, `errors` where its wrong answers go, `classes` to which class;
    `drops` is the forgetting of each task at the end, where it
    cannot be split. `is_constant`: every run gave the same scores, so that they are one observation. `null` is the
    forgetting that test noise alone would show: in a single run with its range, of several its mean. `beyond` are AF
    and its parts minus that, over seeds.
    """

    label: str
    name: str
    config: str
    seeds: tuple[int | None, ...]
    role: str
    numbers: Mapping[str, Estimate]
    curves: Mapping[str, Estimate]
    plateau: Plateau | None
    ends: tuple[int | None, ...]
    learned_at: tuple[int, ...]
    matrix: Estimate
    untrained: Estimate | None = None
    joint: Estimate | None = None
    parts: Shares | None = None
    errors: Shares | None = None
    classes: Classes | None = None
    drops: Estimate | None = None
    is_constant: bool = False
    null: Estimate | None = None
    beyond: Mapping[str, Estimate] = field(default_factory=dict)

    @property
    def is_contestant(self) -> bool:
        return self.role == "contestant"


@dataclass(frozen=True, eq=False)
class Watched:
    """Scores before learning over time: by learner the curves of the sliding window and of the fading one.

    `steps` are the samples presented at each point, `drifts` the places among them where the stream changed;
    `own_drifts`: every run has its own, so that none are marked. `lines` say how learners found them.
    """

    steps: tuple[int, ...]
    drifts: tuple[float, ...]
    own_drifts: bool
    window: int
    fading: float
    curves: Mapping[str, Mapping[str, Estimate]]
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparisons:
    """The learners compared by one metric. `scope` says which pairs: "all", or "leader" for those of the best mean.

    `lead` is who is ahead, with intervals that hold for all pairs at once.
    """

    id: str
    better: str
    pairs: tuple[Pairwise, ...]
    lead: Lead | None
    scope: str = "all"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Difference:
    """The score matrices of two learners, first - second, seed by seed."""

    first: str
    second: str
    cells: Estimate


@dataclass(frozen=True)
class Column:
    """A column of the table of learners: the definitions that may stand in it, and the one that does at first.

    `is_first`: it belongs to the short table.
    """

    key: str
    title: str
    summary: str
    ids: tuple[str, ...]
    id: str
    unit: str = ""
    is_first: bool = True


@dataclass(frozen=True)
class Refusal:
    """Something that is not in the page, and why; `part` names it where another part of the page says so."""

    what: str
    why: str
    part: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


@dataclass(frozen=True, eq=False)
class StreamResult:
    """A stream and the learners that were run on it. `key` is its name, made unique within the page.

    `rows` says what each row is where rows are batches or visits, and `numbers` which; both are empty where a
    row follows each task. `unscored` are the tasks without a score, with the reason. `left_out` is what does not
    apply to such a stream at all, `refusals` what these runs lack; `cautions` are to be read with the numbers.
    `bounded`: its scores lie in [0, 1], and so do their bands; errors and rewards have no such end.
    `costs` has what each row cost, by learner: "seconds" and "megabytes".
    `masked` are the learners whose every score of a task that was not yet learned is 0: it could not be answered.
    Of learners with one run each `over_items` are the pairs by the headline over their test items, `changes` what
    became of each column, and `flows` of the items from row to row.
    """

    key: str
    name: str
    scenario: str | None
    online: bool | None
    metric: str
    higher_is_better: bool
    problem: Problem
    words: Words
    tasks: tuple[str, ...]
    rows: tuple[str, ...]
    numbers: tuple[int, ...]
    unscored: Mapping[str, str]
    n_classes: int | None
    n_samples: int | None
    family: str
    fingerprints: tuple[str, ...]
    learners: tuple[LearnerResult, ...]
    columns: tuple[Column, ...]
    comparisons: tuple[Comparisons, ...]
    differences: tuple[Difference, ...]
    left_out: tuple[Refusal, ...]
    refusals: tuple[Refusal, ...]
    cautions: tuple[str, ...]
    notes: tuple[str, ...]
    bounded: bool = True
    difficulty: Mapping[str, Array] = field(default_factory=dict)
    masked: tuple[str, ...] = ()
    watched: Watched | None = None
    costs: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    over_items: tuple[ItemPair, ...] = ()
    changes: tuple[Change, ...] = ()
    flows: tuple[RowFlow, ...] = ()

    @property
    def T(self) -> int:
        return len(self.tasks)

    @property
    def focus(self) -> Focus:
        return self.problem.focus

    @property
    def ranked(self) -> tuple[LearnerResult, ...]:
        """The learners, the best by the headline first, those without a value last."""
        sign = -1 if self.higher_is_better else 1

        def rank(one: LearnerResult) -> float:
            number = one.numbers[self.focus.headline]
            return sign * float(number.value) if number.is_known else float("inf")

        return tuple(sorted(self.learners, key=rank))

    @property
    def contestants(self) -> tuple[LearnerResult, ...]:
        """The learners that are compared with each other, the best first; all of them where there is no contestant."""
        return tuple(one for one in self.ranked if one.is_contestant) or self.ranked

    @property
    def headline(self) -> Comparisons | None:
        """The learners compared by the number that decides who is ahead."""
        return next((table for table in self.comparisons if table.id == self.focus.headline), None)

    @cached_property
    def labels(self) -> dict[str, int]:
        """The place of each learner."""
        return {one.label: place for place, one in enumerate(self.learners)}

    def learner(self, label: str) -> LearnerResult:
        return self.learners[self.labels[label]]

    @property
    def has_parts(self) -> bool:
        return any(learner.parts for learner in self.learners)

    @property
    def is_trained(self) -> bool:
        """Whether a task was learned on the way: else there is nothing to forget."""
        return any(row >= 0 for one in self.learners for row in one.learned_at) or any(
            end is not None for one in self.learners for end in one.ends
        )

    @property
    def has_drops(self) -> bool:
        return any(learner.drops for learner in self.learners)

    def why_not(self, part: str) -> str | None:
        """Why a part is not there: "raa", "raf", "split"."""
        return next((one.why for one in (*self.left_out, *self.refusals) if one.part == part), None)


@dataclass(frozen=True)
class Provenance:
    """What made the runs of one learner on one stream."""

    label: str
    stream: str
    config: str
    seeds: str
    n: int
    status: str
    made: str
    versions: str
    revision: str
    source: str
    path: str
    experiment: str


@dataclass(frozen=True, eq=False)
class Contents:
    """A whole report; `ranks` over streams are by metric."""

    title: str
    streams: tuple[StreamResult, ...]
    labels: tuple[str, ...]
    shown_first: tuple[str, ...]
    ranks: Mapping[str, Ranks]
    definitions: tuple[Card, ...]
    provenance: tuple[Provenance, ...]
    refusals: tuple[Refusal, ...]
    notes: tuple[str, ...]
    n_runs: int
    version: str
    command: str = ""

    @property
    def words(self) -> Words:
        """The words for what is said of all streams."""
        return common_words([stream.words for stream in self.streams])
