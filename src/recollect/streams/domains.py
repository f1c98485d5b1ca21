"""Domain-incremental streams: every task has all classes, its inputs permuted or rotated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recollect.errors import UsageError
from recollect.streams.assemble import Groups, assemble, class_order
from recollect.streams.data import Dataset
from recollect.streams.order import permutation
from recollect.streams.spec import Spec
from recollect.streams.stream import Stream, StreamTask, Transform
from recollect.streams.transforms import Permutation, Rotation


def domain_incremental(data: Dataset, spec: Spec, name: str, train: Groups, test: Groups) -> Stream:
    if spec.classes_per_task is not None:
        raise UsageError("Every task of a domain-incremental stream has all classes: give tasks alone.")
    count = spec.tasks if spec.tasks is not None else len(spec.angles or ())
    if not count:
        raise UsageError("How many domains? Give tasks (or, for rotations, angles).")
    transforms = _rotations(data, spec, count) if spec.domain == "rotations" else _permutations(spec, count)
    all_train, all_test = np.sort(np.concatenate(train)), np.sort(np.concatenate(test))
    order = class_order(data, spec)
    labels = np.argsort(order)
    tasks = tuple(
        StreamTask(
            name="original" if transform is None else transform.description,
            classes=tuple(range(len(order))),
            original=tuple(data.classes[c] for c in order),
            train=all_train,
            test=all_test,
            transform=transform,
        )
        for transform in transforms
    )
    variant = "; ".join(task.name for task in tasks)
    return assemble(data, spec, name, tasks, labels, variant=variant)


def _permutations(spec: Spec, count: int) -> list[Transform | None]:
    """The first domain is the data as they are."""
    if spec.angles is not None:
        raise UsageError("angles belong to domain = 'rotations'.")
    return [Permutation(spec.domain_seed or 0, k) if k else None for k in range(count)]


def _rotations(data: Dataset, spec: Spec, count: int) -> list[Transform | None]:
    if len(data.input_shape) not in (2, 3):
        raise UsageError(
            f"Rotations need images, (channels, height, width); a sample of {data.name} has the shape"
            f" {data.input_shape}. Use domain = 'permutations'."
        )
    angles: Sequence[float]
    if spec.angles is not None:
        if len(spec.angles) != count:
            raise UsageError(f"Give an angle for each of the {count} tasks; got {len(spec.angles)}.")
        angles = spec.angles
    elif count > 180:
        raise UsageError(f"There are 180 angles to draw from; got tasks = {count}. Give angles yourself.")
    else:
        angles = [0, *(permutation(179, spec.domain_seed or 0)[: count - 1] + 1).tolist()]
    return [Rotation(float(angle)) if angle % 360 else None for angle in angles]
