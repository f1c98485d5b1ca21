"""What a user may ask of a stream over graphs, beside what every stream has; checked before any data are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from recollect.errors import UsageError
from recollect.options import check, is_finite, option, refuse, refuse_unknown
from recollect.streams.spec import Spec, plain

LEVELS = ("node", "link", "graph")
VISIBILITIES = ("whole", "seen", "seen-separate")
TEST_NODES = ("visible", "hidden")
REMAINDERS = ("drop", "first", "last")
SPLITS = ("public", "random")
FEATURES = ("as-is", "rows")
PERIODS = ("count", "value")
ASKS = ("classes", "values", "properties")


@dataclass(frozen=True, kw_only=True)
class GraphSpec:
    """How a graph becomes a stream. These are taken beside the options of `Spec`.

    Attributes
    ----------
    level : node, link or graph: what a sample is. By default what the data set is made for.
    visibility : whole (all nodes, features and edges from the start), seen (the nodes of tasks up to now and the edges
        between them) or seen-separate (the same without edges between tasks).
    test_nodes : visible (test nodes are in the graph that is learned from, without labels) or hidden (they come in
        for the evaluation only).
    remainder : what happens to classes that do not fill a task: drop (the last of the class order; their nodes stay
        in a whole graph without a label), first or last (they join that task).
    split : public (the data set's own) or random, in each class, always the same draw for one `split_seed`. By default
        public where there is one.
    features : as-is, or rows (each node's divided by their sum, as DGL and therefore BeGin load citation graphs).
    test_fraction, valid_fraction, split_seed : the parts of each class in a random split; 0.2 and 0.2 if not given.
    ask : of whole graphs and of links with labels: classes (of links: which of two), values (a number) or properties
        (one yes or no for each task). By default what the labels look like.
    nodes : beside an edge list: the path of a table with a line for each node (see `with_nodes`).
    column : of values: the name of the number that is asked, where there are several.
    periods : of time-incremental streams: count (as many training nodes, or links, in each; those of one time are
        never in two), value (equally long), or the times at which the second and later ones begin.

    >>> GraphSpec(visibility="all")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: visibility is one of whole, seen, seen-separate; got 'all'.
    """

    level: str | None = option(None, choices=LEVELS)
    visibility: str = option("whole", choices=VISIBILITIES)
    test_nodes: str = option("visible", choices=TEST_NODES)
    remainder: str = option("drop", choices=REMAINDERS)
    split: str | None = option(None, choices=SPLITS)
    features: str = option("as-is", choices=FEATURES)
    test_fraction: float | None = option(None, kind="float", low=0, high=1, between=True)
    valid_fraction: float | None = option(None, kind="float", low=0, high=1, between=True)
    split_seed: int = option(0, low=0)
    periods: str | tuple[float, ...] = "count"
    ask: str | None = option(None, choices=ASKS)
    column: str | int | None = None
    nodes: str | None = option(None, kind="str")

    def __post_init__(self) -> None:
        check(self)
        if not (self.periods in PERIODS or (isinstance(self.periods, tuple) and all(map(is_finite, self.periods)))):
            refuse("periods", f"one of {', '.join(PERIODS)}, or a list of times", self.periods, PERIODS)
        if self.column is not None and (isinstance(self.column, bool) or not isinstance(self.column, str | int)):
            refuse("column", "the name or the number of a column", self.column, ())
        if sum(self.fractions) >= 1:
            raise UsageError(
                f"valid_fraction and test_fraction leave nothing to train on: {' + '.join(map(str, self.fractions))}."
            )
        if self.split == "public" and (self.test_fraction is not None or self.valid_fraction is not None):
            raise UsageError("A public split is given by the data set; leave test_fraction and valid_fraction out.")

    @property
    def fractions(self) -> tuple[float, float]:
        """The parts for validation and for testing in a random split."""
        valid, test = (0.2 if part is None else float(part) for part in (self.valid_fraction, self.test_fraction))
        return valid, test

    def wants_public(self, given: Mapping[str, Any]) -> bool:
        """Whether the data set's own split is taken: if asked for, or if it is there and nothing else was asked for."""
        return self.split == "public" or (self.split is None and "train" in given and not self._draws)

    def split_name(self, given: Mapping[str, Any]) -> str:
        """Which split is taken, for the fingerprint."""
        if self.wants_public(given):
            return "split public"
        valid, test = self.fractions
        return f"split random {valid:g} {test:g} seed {self.split_seed}"

    @property
    def _draws(self) -> bool:
        return self.test_fraction is not None or self.valid_fraction is not None


def graph_options() -> list[str]:
    """The names of the options that only streams over graphs have.

    >>> graph_options()[:2]
    ['level', 'visibility']
    """
    return [field.name for field in fields(GraphSpec)]


def read_graph_options(options: Mapping[str, Any], what: str) -> tuple[Spec, GraphSpec, bool]:
    """The two specs with these options, and whether the size of a batch was given."""
    refuse_unknown(what, options, [*(field.name for field in fields(Spec)), *graph_options()])
    own = set(graph_options())
    spec = Spec.of({key: value for key, value in options.items() if key not in own})
    if spec.blurry or spec.standardize:
        name = "blurry" if spec.blurry else "standardize"
        raise UsageError(
            f"The option {name} is for arrays of samples; those of {what[11:]} are in a graph. Leave it out."
        )
    return spec, GraphSpec(**{key: plain(value) for key, value in options.items() if key in own}), "batch" in options
