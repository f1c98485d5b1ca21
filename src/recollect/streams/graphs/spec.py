"""What a user may ask of a stream over graphs, beside what every stream has; checked before any data are read."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from recollect.errors import UsageError
from recollect.streams.spec import Spec, is_number, one_of, plain

LEVELS = ("node", "link", "graph")
VISIBILITIES = ("whole", "seen", "seen-separate")
TEST_NODES = ("visible", "hidden")
REMAINDERS = ("drop", "first", "last")
SPLITS = ("public", "random")
FEATURES = ("as-is", "rows")


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

    >>> GraphSpec(visibility="all")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: visibility is one of whole, seen, seen-separate; got 'all'.
    """

    level: str | None = None
    visibility: str = "whole"
    test_nodes: str = "visible"
    remainder: str = "drop"
    split: str | None = None
    features: str = "as-is"
    test_fraction: float | None = None
    valid_fraction: float | None = None
    split_seed: int = 0

    def __post_init__(self) -> None:
        for option, allowed in (
            ("level", LEVELS),
            ("visibility", VISIBILITIES),
            ("test_nodes", TEST_NODES),
            ("remainder", REMAINDERS),
            ("split", SPLITS),
            ("features", FEATURES),
        ):
            if getattr(self, option) is not None:
                one_of(option, getattr(self, option), allowed)
        for option in ("test_fraction", "valid_fraction"):
            value = getattr(self, option)
            if value is not None and not (is_number(value) and 0 < value < 1):
                raise UsageError(f"{option} is a fraction between 0 and 1; got {value!r}.")
        _ = self.fractions
        if self.split == "public" and (self.test_fraction is not None or self.valid_fraction is not None):
            raise UsageError("A public split is given by the data set; leave test_fraction and valid_fraction out.")

    @property
    def fractions(self) -> tuple[float, float]:
        """The parts for validation and for testing in a random split."""
        valid = 0.2 if self.valid_fraction is None else float(self.valid_fraction)
        test = 0.2 if self.test_fraction is None else float(self.test_fraction)
        if valid + test >= 1:
            raise UsageError(f"valid_fraction and test_fraction leave nothing to train on: {valid:g} + {test:g}.")
        return valid, test


def graph_options() -> list[str]:
    """The names of the options that only streams over graphs have.

    >>> graph_options()[:2]
    ['level', 'visibility']
    """
    return [field.name for field in fields(GraphSpec)]


def read_graph_options(options: Mapping[str, Any], what: str) -> tuple[Spec, GraphSpec, bool]:
    """The two specs with these options, and whether the size of a batch was given."""
    own, shared = set(graph_options()), [field.name for field in fields(Spec)]
    for option in options:
        if option not in own and option not in shared:
            known = [*shared, *graph_options()]
            near = difflib.get_close_matches(str(option), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}."
            raise UsageError(f"{what} has no option {option!r}; {hint}")
    spec = Spec.of({key: value for key, value in options.items() if key not in own})
    graph = GraphSpec(**{key: plain(value) for key, value in options.items() if key in own})
    return spec, graph, "batch" in options
