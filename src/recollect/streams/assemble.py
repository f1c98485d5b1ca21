"""What all scenarios share: the order of the classes, and the stream made of finished tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.data import Dataset
from recollect.streams.order import permutation
from recollect.streams.spec import Spec
from recollect.streams.stream import Scale, Stream, StreamTask

Groups = list[NDArray[np.int64]]


def class_order(data: Dataset, spec: Spec) -> NDArray[np.int64]:
    """The data set's classes (as places in `data.classes`) in the order of the stream."""
    n, asked = len(data.classes), spec.class_order
    if asked is None:
        return permutation(n, spec.class_order_seed)
    if isinstance(asked, str):  # "natural", the only word that a spec admits
        return np.arange(n)
    place: dict[int | str, int] = {name: i for i, name in enumerate(data.classes)}
    for i, known in enumerate(data.classes):  # a file has numbers as text
        place.setdefault(str(known), i)
    strangers = [c for c in asked if c not in place]
    if strangers or sorted(place[c] for c in asked) != list(range(n)):
        problem = f"{strangers[0]!r} is not one of them" if strangers else f"got {len(set(asked))} of them"
        raise UsageError(
            f"class_order names each of the {n} classes of {data.name} once; {problem}. They are {some(data.classes)}."
        )
    return np.array([place[c] for c in asked])


def assemble(
    data: Dataset,
    spec: Spec,
    name: str,
    tasks: tuple[StreamTask, ...],
    labels: NDArray[np.int64],
    **more: Any,
) -> Stream:
    told = not more.get("continuous", False) if spec.boundaries is None else spec.boundaries
    limits = [f"{n} {part}" for part in ("train", "test") if (n := spec.limit(part)) is not None]
    if spec.standardize:
        more["variant"] = f"{more.get('variant', '')} standardized".strip()
        more["scale"] = _scale(data, tasks[0])
    notes = (*data.notes, *([f"at most {' and '.join(limits)} samples per class"] if limits else []))
    return Stream(
        name=name,
        data=data,
        tasks=tasks,
        labels=labels,
        scenario=spec.scenario,
        passes=spec.passes,
        batch=spec.batch,
        prefetch=spec.prefetch,
        gives_task=SCENARIOS[spec.scenario].gives_task,
        gives_boundaries=told,
        notes=notes,
        **more,
    )


def _scale(data: Dataset, first: StreamTask) -> Scale:
    if data.train.dtype == np.uint8:
        raise UsageError(f"standardize is for tables of features; {data.name} has uint8 images.")
    return Scale.of(data.train.take(first.train))


def some(names: Sequence[int | str], most: int = 5) -> str:
    """The first names of a list that may be long.

    >>> some(("a", "b", "c"), most=2)
    "'a', 'b', ..."
    """
    return ", ".join(map(repr, names[:most])) + (", ..." if len(names) > most else "")
