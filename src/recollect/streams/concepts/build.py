"""From concepts and a spec to a stream: order, visits, batches, scale."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.concepts.checks import there_are
from recollect.streams.concepts.concepts import Concepts, Index, concepts_from_parts
from recollect.streams.concepts.spec import ConceptSpec, SourceSpec, read_options
from recollect.streams.data import Dataset, checked_name
from recollect.streams.order import permutation
from recollect.streams.stream import Scale, Stream, StreamTask, Visit

SUBSET_SEED = 20230905
CLASSES = ("normal", "anomaly")


def stream_from_concepts(
    parts: Iterable[tuple[str, ArrayLike, ArrayLike, ArrayLike]], *, name: str = "concepts", **options: Any
) -> Stream:
    """A stream over concepts given as (name, x_train, x_test, y_test); `options` are those of `ConceptSpec`.

    Training rows have no labels: they are taken as normal. Test labels are 0 (normal) and 1 (anomaly).

    >>> day = ("day", [[0.0], [0.1], [0.2], [0.3]], [[0.2], [9.0]], [0, 1])
    >>> night = ("night", [[5.0], [5.1], [5.2]], [[5.1], [0.1]], [0, 1])
    >>> stream = stream_from_concepts([day, night], scenario="concept-agnostic", batch=2)
    >>> [b.x.ravel().tolist() for b in stream.batches(seed=0)]
    [[0.0, 0.1], [0.2, 0.3], [5.0, 5.1], [5.2]]
    >>> stream.n_sections, stream.learned_at
    (4, (1, 3))
    """
    return concept_stream(concepts_from_parts(parts, name=name), **options)


def concept_stream(concepts: Concepts, **options: Any) -> Stream:
    """The stream over these concepts; `options` are those of `ConceptSpec`."""
    spec, source = read_options(options)
    if source != SourceSpec():
        stray = next(key for key in options if not hasattr(spec, key))
        raise UsageError(f"The option {stray} says how concepts are made; these are made already.")
    return build(concepts, spec)


def build(concepts: Concepts, spec: ConceptSpec) -> Stream:
    """The stream that the spec asks for, over these concepts."""
    checked_name(concepts.name)
    used = range(len(concepts.names))
    for k in [_place(concepts, name, "order") for name in spec.order] if isinstance(spec.order, tuple) else used:
        concepts.check(k)
    rows = [_drawn(concepts, spec, k) for k in range(len(concepts.names))]
    route = _route(concepts, spec)
    order = list(dict.fromkeys(route))  # columns are in the order of first visits
    visits = _visits([order.index(k) for k in route], [rows[k][0] for k in order], [concepts.names[k] for k in order])
    tasks = tuple(
        StreamTask(name=concepts.names[k], classes=(0, 1), original=(concepts.names[k],), train=train, test=test)
        for k, (train, test) in ((k, rows[k]) for k in order)
    )
    batch = _batch(concepts, spec, [len(visit.train) for visit in visits])
    scenario = SCENARIOS[spec.scenario]
    data = Dataset(
        concepts.name, concepts.x_train, concepts.y_train, concepts.x_test, concepts.y_test, CLASSES, concepts.notes
    )
    return Stream(
        name=concepts.name,
        data=data,
        tasks=tasks,
        labels=np.arange(2),
        scenario=spec.scenario,
        batch=batch,
        gives_task=scenario.gives_task,
        gives_boundaries=not scenario.by_batches,
        continuous=scenario.by_batches and spec.cut == "anywhere",
        shuffle=spec.shuffle,
        variant=_variant(concepts, spec, order, rows, visits, batch),
        scale=Scale.of(concepts.x_train[visits[0].train]) if spec.standardize else None,
        problem="detection",
        adds_classes=False,
        tells_labels=False,
        visits=visits,
        notes=_notes(concepts, spec, tasks, len(order)),
    )


def _drawn(concepts: Concepts, spec: ConceptSpec, k: int) -> tuple[Index, Index]:
    """Training and test rows of a concept; where there is a limit, the same random draw every time, in order."""

    def draw(rows: Index, part: str) -> Index:
        limit = spec.limit(part)
        if limit is None or limit >= len(rows):
            return rows
        return rows[np.sort(permutation(len(rows), SUBSET_SEED, k, part == "test")[:limit])]

    return draw(concepts.train[k], "train"), draw(concepts.test[k], "test")


def _route(concepts: Concepts, spec: ConceptSpec) -> list[int]:
    """The concepts (as places in `concepts.names`) in the order in which they are visited."""
    visits = spec.visits
    if isinstance(visits, tuple) and any(isinstance(stop, str) for stop in visits):
        if spec.order != "natural":
            raise UsageError(
                "visits that name concepts are an order by themselves; leave out order, or give visits as places in"
                " it, such as [0, 1, 0, 2]."
            )
        route = [_place(concepts, stop, "visits") for stop in visits]
        return _every_one(concepts, route, range(len(concepts.names)))
    order = _order(concepts, spec)
    if isinstance(visits, int):
        return order * visits
    outside = next((stop for stop in visits if not 0 <= int(stop) < len(order)), None)
    if outside is not None:
        raise UsageError(f"visits are concepts as places in the order, 0 to {len(order) - 1}; got {outside}.")
    return _every_one(concepts, [order[int(stop)] for stop in visits], order)


def _every_one(concepts: Concepts, route: list[int], used: Iterable[int]) -> list[int]:
    missing = [concepts.names[k] for k in used if k not in route]
    if missing:
        raise UsageError(
            f"visits goes to every concept at least once; {missing[0]!r} is missing. To do without it name the"
            " others in order, and give visits as places in it."
        )
    return route


def _order(concepts: Concepts, spec: ConceptSpec) -> list[int]:
    n = len(concepts.names)
    if isinstance(spec.order, tuple):
        order = [_place(concepts, name, "order") for name in spec.order]
        if len(set(order)) < len(order):
            twice = next(name for name in spec.order if spec.order.count(name) > 1)
            raise UsageError(f"order names a concept once; {twice!r} comes twice. For recurring concepts use visits.")
        return order
    if spec.order == "random":
        return [int(k) for k in permutation(n, spec.class_order_seed)]
    if spec.order == "similarity":
        return chain(np.stack([_mean(concepts.x_train, rows) for rows in concepts.train]))
    return list(range(n))


def _place(concepts: Concepts, name: int | str, option: str) -> int:
    if str(name) not in concepts.names:
        raise UsageError(f"{option} names concepts of {concepts.name}; {name!r}? {there_are(name, concepts.names)}")
    return concepts.names.index(str(name))


def chain(centres: NDArray[Any]) -> list[int]:
    """From the first on, always the nearest of those left; of equally near ones the first.

    Features count by their range over the centres, so that none decides by its unit alone.

    >>> chain(np.array([[0.0], [5.0], [1.0], [4.0]]))
    [0, 2, 3, 1]
    """
    spread = np.ptp(centres, axis=0)
    points = centres / np.where(spread > 0, spread, 1)
    left, order = list(range(1, len(points))), [0]
    while left:
        distances = np.linalg.norm(points[left] - points[order[-1]], axis=1)
        order.append(left.pop(int(np.argmin(distances))))
    return order


def _visits(route: list[int], train: list[Index], names: list[str]) -> tuple[Visit, ...]:
    """Each concept's training rows, shared out over its visits in equal parts that keep their order."""
    shares = []
    for k, rows in enumerate(train):
        times = route.count(k)
        if times > len(rows):
            raise UsageError(f"{names[k]!r} is visited {times} times and has {len(rows)} training rows. Visit it less.")
        shares.append(iter(np.array_split(rows, times)))
    return tuple(Visit(k, next(shares[k])) for k in route)


def _batch(concepts: Concepts, spec: ConceptSpec, sizes: list[int]) -> int:
    if spec.batch is None:
        return max(sizes)
    if spec.batch > sum(sizes):
        raise UsageError(
            f"batch = {spec.batch:,} is more than the whole stream: {concepts.name} has {sum(sizes):,} training rows in"
            f" {len(sizes)} visits. Give a smaller batch, or none (then a visit is a batch, where boundaries are told)."
        )
    return spec.batch


def _mean(x: NDArray[Any], rows: Index) -> NDArray[np.float64]:
    return np.asarray(x[rows].mean(axis=0, dtype=np.float64))


def _variant(
    concepts: Concepts,
    spec: ConceptSpec,
    order: list[int],
    rows: list[tuple[Index, Index]],
    visits: tuple[Visit, ...],
    batch: int,
) -> str:
    """All that makes the data other data, whatever the order: the rows of each concept, and how they come."""
    drawn = spec.limit("train") is not None or spec.limit("test") is not None
    digests = [concepts.digest(concepts.names[k], *rows[k]) if drawn else concepts.digests[k] for k in sorted(order)]
    said = ["concepts", *digests]
    if len(visits) > len(order):
        said.append("visits " + " ".join(str(visit.task) for visit in visits))
    if SCENARIOS[spec.scenario].by_batches:  # where batches are the rows, another size is another matrix
        said.append(f"batch {batch}" + (", cut at visits" if spec.cut == "visits" else ""))
    if spec.standardize:
        said.append("standardized")
    return "; ".join(said)


def _notes(concepts: Concepts, spec: ConceptSpec, tasks: tuple[StreamTask, ...], used: int) -> tuple[str, ...]:
    notes = list(concepts.notes)
    limits = [f"{n} {part}" for part in ("train", "test") if (n := spec.limit(part)) is not None]
    if limits:
        notes.append(f"at most {' and '.join(limits)} rows a concept")
    if used < len(concepts.names):
        notes.append(f"{used} of {len(concepts.names)} concepts are used")
    if concepts.constant:
        shown = ", ".join(concepts.constant[:5]) + (", ..." if len(concepts.constant) > 5 else "")
        notes.append(f"kept, though of one value in all training rows: {shown} ({len(concepts.constant)} features)")
    one = [task.name for task in tasks if len(np.unique(concepts.y_test[task.test])) == 1]
    if one:
        notes.append(f"the test rows of {', '.join(map(repr, one))} are of one class: scores of ranking are undefined")
    return tuple(notes)
