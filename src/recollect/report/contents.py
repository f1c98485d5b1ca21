"""What a report says: the whole page as data, computed once.

Every number that the page, the figures and the sentences show is in this tree; they draw and never compute.
`gather` makes it from groups of runs, `page.pack` turns it into JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from recollect.matrix import Array
from recollect.report.words import Focus, Words, common_words
from recollect.stats import Estimate

NAN = float("nan")


@dataclass(frozen=True)
class Number:
    """A number over seeds: its interval (NaN where there is none), n, and why there is no value."""

    value: float = NAN
    low: float = NAN
    high: float = NAN
    n: int = 0
    reason: str | None = None

    @classmethod
    def of(cls, made: Estimate) -> Number:
        return cls.rounded(float(made.value), float(made.low), float(made.high), int(made.n))

    @classmethod
    def rounded(cls, value: float, low: float, high: float, n: int, reason: str | None = None) -> Number:
        """To nine digits, so that a tie such as 0.6125 is shown alike wherever it is shown."""
        return cls(round(value, 9), round(low, 9), round(high, 9), n, reason)

    @property
    def is_known(self) -> bool:
        return not np.isnan(self.value)


@dataclass(frozen=True, eq=False)
class Band:
    """A curve or a matrix over seeds: values with the ends of their intervals, arrays of one shape."""

    value: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, made: Estimate) -> Band:
        return cls(np.asarray(made.value), np.asarray(made.low), np.asarray(made.high))


@dataclass(frozen=True)
class Bend:
    """Where a curve stops rising (tasks from 0), or what it does instead; slopes are per task."""

    kind: str
    found: bool
    at: int | None
    low: int | None
    high: int | None
    before: Number
    after: Number
    n: int
    reason: str | None


@dataclass(frozen=True, eq=False)
class Parts:
    """Forgetting split in lost, chance confusion and excess confusion: over time, and per task at the end.

    Per task the arrays have T entries, NaN for the newest. `chance` and `excess` are NaN where the classes
    are not known; `confusion` is their sum.
    """

    over_time: Mapping[str, Band]
    per_task: Mapping[str, Band]


@dataclass(frozen=True, eq=False)
class Errors:
    """Where the answers go, as shares of the test samples of the tasks seen: right, own, older, newer."""

    over_time: Mapping[str, Band]
    per_task: Mapping[str, Band]


@dataclass(frozen=True, eq=False)
class Learner:
    """One learner (with one configuration) on one stream.

    `ends[i]` is how many tasks had been learned at row i of its matrix, None for a row inside a task. Where rows
    are not task ends, `learned_at[j]` is the row after which task j had been learned. `matrix` is the mean over
    seeds, `untrained` the row before any training, `joint` the joint learner's. `drops` is the forgetting of each
    task at the end, where it cannot be split.
    """

    label: str
    name: str
    config: str
    seeds: tuple[int | None, ...]
    is_reference: bool
    numbers: Mapping[str, Number]
    curves: Mapping[str, Band]
    bend: Bend | None
    ends: tuple[int | None, ...]
    learned_at: tuple[int, ...]
    matrix: Band
    untrained: Band | None = None
    joint: Band | None = None
    parts: Parts | None = None
    errors: Errors | None = None
    drops: Band | None = None


@dataclass(frozen=True)
class Pair:
    """Two learners compared: first - second, the p values, and how often the first is better."""

    first: str
    second: str
    difference: Number
    p: float
    holm_p: float
    smallest_p: float
    wilcoxon_p: float
    improvement: Number
    reason: str | None = None


@dataclass(frozen=True)
class PairTable:
    """The pairs of one metric. `scope` says which pairs: "all", or "leader" for those of the best mean."""

    id: str
    better: str
    pairs: tuple[Pair, ...]
    scope: str = "all"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Difference:
    """The score matrices of two learners, first - second, seed by seed."""

    first: str
    second: str
    cells: Band


@dataclass(frozen=True)
class Column:
    """A column of the table of learners: the dialects that may stand in it, and the one that does at first."""

    key: str
    title: str
    summary: str
    ids: tuple[str, ...]
    id: str
    unit: str = ""


@dataclass(frozen=True)
class Refusal:
    """Something that is not in the page, and why; `part` names it where another part of the page says so."""

    what: str
    why: str
    part: str = ""


@dataclass(frozen=True, eq=False)
class Stream:
    """A stream and the learners that were run on it. `key` is its name, made unique within the page.

    `rows` says what each row is where rows are batches or visits, and `numbers` which; both are empty where a
    row follows each task. `unscored` are the tasks without a score, with the reason. `left_out` is what does not
    apply to such a stream at all, `refusals` what these runs lack; `cautions` are to be read with the numbers.
    """

    key: str
    name: str
    scenario: str | None
    online: bool | None
    metric: str
    higher_is_better: bool
    words: Words
    focus: Focus
    tasks: tuple[str, ...]
    rows: tuple[str, ...]
    numbers: tuple[int, ...]
    unscored: Mapping[str, str]
    n_classes: int | None
    n_samples: int | None
    family: str
    fingerprints: tuple[str, ...]
    learners: tuple[Learner, ...]
    columns: tuple[Column, ...]
    comparisons: tuple[PairTable, ...]
    differences: tuple[Difference, ...]
    left_out: tuple[Refusal, ...]
    refusals: tuple[Refusal, ...]
    cautions: tuple[str, ...]
    notes: tuple[str, ...]
    difficulty: Mapping[str, Array] = field(default_factory=dict)

    @property
    def T(self) -> int:
        return len(self.tasks)

    @cached_property
    def labels(self) -> dict[str, int]:
        """The place of each learner."""
        return {one.label: place for place, one in enumerate(self.learners)}

    def learner(self, label: str) -> Learner:
        return self.learners[self.labels[label]]

    @property
    def has_parts(self) -> bool:
        return any(learner.parts for learner in self.learners)

    @property
    def has_drops(self) -> bool:
        return any(learner.drops for learner in self.learners)

    def why_not(self, part: str) -> str | None:
        """Why a part is not there: "raa", "raf", "split"."""
        return next((one.why for one in (*self.left_out, *self.refusals) if one.part == part), None)


@dataclass(frozen=True)
class RankTable:
    """Average ranks over streams by one metric (rank 1 is the best), and which differ."""

    id: str
    labels: tuple[str, ...]
    average: tuple[float, ...]
    p: float
    critical_difference: float
    different: tuple[tuple[str, str], ...]
    n: int
    reason: str | None


@dataclass(frozen=True)
class Definition:
    """A metric's footnote, from its card."""

    id: str
    summary: str
    latex: str
    source: str
    better: str
    undefined: str
    printed_by: tuple[str, ...]
    equals: str


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
    """A whole report."""

    title: str
    streams: tuple[Stream, ...]
    labels: tuple[str, ...]
    shown_first: tuple[str, ...]
    ranks: tuple[RankTable, ...]
    definitions: tuple[Definition, ...]
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
