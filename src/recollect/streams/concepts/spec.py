"""What a user may ask of an anomaly detection stream, checked before any data are read."""

# `option` returns a dataclass field, which is what a default may be.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from recollect.errors import UsageError
from recollect.options import check, is_names, option, refuse, refuse_unknown
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.order import checked_seed
from recollect.streams.spec import at_least_one, plain

OF_CONCEPTS = ("concept-aware", "concept-incremental", "concept-agnostic")
CUTS = ("anywhere", "visits")
ORDERS = ("natural", "random", "similarity")
CONCEPTS = ("clusters", "families", "column", "folders", "files")
ANOMALIES = ("spread", "nearest", "closest", "shuffled", "random")
WINDOW_LABELS = ("last", "any")


@dataclass(frozen=True, kw_only=True)
class ConceptSpec:
    """How concepts become a stream. Every function that makes one takes these as keywords.

    Attributes
    ----------
    scenario : concept-aware (the concept is given in training and in testing), concept-incremental
        (boundaries only) or concept-agnostic (neither; batches may hold parts of several concepts).
    batch : rows in a batch; None is a whole visit. A concept-agnostic stream needs a number.
    cut : where the batches of a concept-agnostic stream end: "anywhere" (all of one size, a batch may hold the end of
        one concept and the beginning of the next), or "visits" (at the end of each visit too, as pyCLAD cuts them, so
        that the last batch of a visit may be short).
    order : "natural" (the source's own), "random", "similarity" (from the first concept on, always the one
        whose training mean is nearest), or a list of concept names; concepts left out of it are not used.
    class_order_seed : the seed of a random order.
    visits : how often the stream goes round the concepts; or the concepts visited one after the other, as
        names or as places in the order: [0, 1, 0, 2]. A concept's training rows are shared out over its visits
        in equal parts, in their order.
    subset : at most so many training rows a concept; or {"train": n, "test": m}. Always the same random draw.
    standardize : from every feature take its mean over the first visit's training rows, and divide by their
        deviation. Later visits are not looked at.
    shuffle : whether the rows of a visit come in an order that the run's seed chose, not in their own.

    >>> ConceptSpec(scenario="concept-agnostic")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: A concept-agnostic stream comes in batches of a fixed size; give batch, a whole \
number, such as 256.
    """

    scenario: str = option("concept-incremental", choices=OF_CONCEPTS)
    batch: int | None = option(None, kind="int", low=1)
    cut: str = option("anywhere", choices=CUTS)
    order: str | tuple[int | str, ...] = "natural"
    class_order_seed: int = 0
    visits: int | tuple[int | str, ...] = 1
    subset: int | Mapping[str, int] | None = None
    standardize: bool = option(False)
    shuffle: bool = option(False)

    def __post_init__(self) -> None:
        check(self)
        if self.batch is None and SCENARIOS[self.scenario].by_batches:
            raise UsageError(
                "A concept-agnostic stream comes in batches of a fixed size; give batch, a whole number, such as 256."
            )
        if self.cut != "anywhere" and not SCENARIOS[self.scenario].by_batches:
            raise UsageError(
                f"cut says where the batches of a concept-agnostic stream end; this one is {self.scenario}, where they"
                " end with each visit."
            )
        if isinstance(self.order, str) and self.order not in ORDERS:
            refuse("order", f"one of {', '.join(ORDERS)}, or a list of concept names", self.order, ORDERS)
        elif not isinstance(self.order, str):
            _names("order", self.order)
        if isinstance(self.visits, tuple):
            _names("visits", self.visits)
        else:
            at_least_one("visits", self.visits)
        checked_seed(self.class_order_seed)
        for part, count in self._limits().items():
            if part not in ("train", "test"):
                raise UsageError(f"subset limits the 'train' and 'test' rows of a concept; got {part!r}.")
            if count is not None:
                at_least_one(f"subset ({part})", count)

    def limit(self, part: str) -> int | None:
        """At most how many rows of each concept the part "train" or "test" may have; None: all."""
        return self._limits().get(part)

    def _limits(self) -> Mapping[str, int | None]:
        return self.subset if isinstance(self.subset, Mapping) else {"train": self.subset}


@dataclass(frozen=True, kw_only=True)
class SourceSpec:
    """How a source's rows become concepts. Which of these a source takes depends on what it holds.

    Attributes
    ----------
    concepts : clusters of the normal rows (k-means); families, one kind of attack each; column, a column says
        it; folders or files. None is the source's own way.
    n_concepts : how many clusters; 5 if not given.
    anomalies : which cluster an anomaly belongs to: "nearest", the one whose centre is nearest; "spread", the same,
        but a cluster that would have none takes some of those nearest to its centre, so that every concept can be
        scored; "closest", the anomalies are clustered too and each concept takes the nearest group left; "shuffled",
        such groups are dealt out at random; "random", the anomalies themselves are. The last three are those of Faber
        et al. 2024 (CC, CR and R).
    per_concept : of each cluster only the so many normal rows nearest its centre. The source's own training
        and test rows are then split anew, as with test_fraction.
    test_fraction : which part of a concept's normal rows is for testing, with all its anomalies. None is the
        source's own split, and 0.4 where it has none.
    anomaly_share : at most this part of a concept's test rows are anomalies, a fixed draw of them.
    contaminated : training rows keep their anomalies. By default only normal rows are trained on.
    training_share : of a concept's training rows at most this part are anomalies, a fixed draw of them, where training
        rows keep theirs.
    unit_range : every feature brought to 0 .. 1 by its range over all normal training rows, those of later
        concepts too, like a sensor whose range is known. None is the source's own way.
    window, stride, window_label : for series and tables in the order of time: how many rows, up to and including the
        current one, make a sample; one sample every so many rows; and whether it is an anomaly: "last" (the newest
        row is), "any" (one row is), or a number (at least this part of its rows are). No window crosses a concept, a
        series, or the border between training and test.
    concept_column, label_column, time_column, split_column, series_column, features : for tables: the columns that
        hold the concept, the label (0 normal, 1 anomaly), the time, "train" or "test", and the series where several
        stand in one table; the columns that are features.

    >>> SourceSpec(concepts="clusters", n_concepts=0)
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: n_concepts is a whole number of at least 1; got 0.
    """

    concepts: str | None = option(None, choices=CONCEPTS)
    n_concepts: int | None = option(None, kind="int", low=1)
    anomalies: str = option("spread", choices=ANOMALIES)
    per_concept: int | None = option(None, kind="int", low=1)
    test_fraction: float | None = option(None, kind="float", low=0, high=1, between=True)
    anomaly_share: float | None = option(None, kind="float", low=0, high=1, between=True)
    contaminated: bool = option(False)
    training_share: float | None = option(None, kind="float", low=0, high=1, between=True)
    unit_range: bool | None = option(None, kind="bool")
    window: int | None = option(None, kind="int", low=1)
    stride: int = option(1, low=1)
    window_label: str | float = "last"
    concept_column: str = option("concept", kind="column", optional=True)
    label_column: str = option("label", kind="column", optional=True)
    time_column: str | None = option(None, kind="column")
    split_column: str | None = option(None, kind="column")
    series_column: str | None = option(None, kind="column")
    features: tuple[str, ...] | None = option(None, kind="names")

    def __post_init__(self) -> None:
        check(self)
        rule = self.window_label
        is_part = isinstance(rule, int | float) and not isinstance(rule, bool) and 0 < rule <= 1
        if not (is_part or rule in WINDOW_LABELS):
            raise UsageError(
                f"window_label is {' or '.join(WINDOW_LABELS)}, or a part above 0, at most 1; got {rule!r}."
            )
        if self.training_share is not None and not self.contaminated:
            raise UsageError(
                "training_share says how many anomalies training rows keep, and they keep none: give contaminated:"
                " true."
            )


def concept_options() -> list[str]:
    """The names of all options of anomaly detection streams.

    >>> concept_options()[:3]
    ['scenario', 'batch', 'cut']
    """
    return [field.name for spec in (ConceptSpec, SourceSpec) for field in fields(spec)]


def read_options(options: Mapping[str, Any], what: str = "A concept stream") -> tuple[ConceptSpec, SourceSpec]:
    """The two specs with these options; lists and arrays may stand for tuples, numpy's numbers for Python's.

    >>> read_options({"ordre": "random"})
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: A concept stream has no option 'ordre'; did you mean 'order'?
    """
    refuse_unknown(what, options, concept_options())
    own = {field.name for field in fields(ConceptSpec)}
    presented: dict[str, Any] = {}
    made: dict[str, Any] = {}
    for key, value in options.items():
        (presented if key in own else made)[key] = plain(value)
    return ConceptSpec(**presented), SourceSpec(**made)


def _names(name: str, value: Any) -> None:
    if not is_names(value):
        refuse(name, "a list of names, not empty", value)
