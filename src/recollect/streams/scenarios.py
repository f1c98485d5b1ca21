"""The scenario rules: from a data set and a spec to a stream.

Each rule answers the same question: which classes and which samples has each task?
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.assemble import Groups, assemble, class_order, some
from recollect.streams.blurry import blur
from recollect.streams.class_files import renamed
from recollect.streams.data import Dataset, checked_name
from recollect.streams.domains import domain_incremental
from recollect.streams.order import permutation
from recollect.streams.periods import time_incremental
from recollect.streams.prefetch import refuse_useless
from recollect.streams.spec import Spec
from recollect.streams.stream import Stream, StreamTask

SUBSET_SEED = 20230902


def build_stream(
    data: Dataset,
    spec: Spec,
    *,
    name: str | None = None,
    time_train: ArrayLike | None = None,
    time_test: ArrayLike | None = None,
    cuts: NDArray[Any] | None = None,
) -> Stream:
    """The stream that the spec asks for, over these data.

    `time_train` and `time_test` (a number or a datetime64 a sample) are what a time-incremental stream is ordered by,
    and `cuts` the times at which its second and later tasks begin, where that is not by numbers of samples.
    """
    name = checked_name(data.name if name is None else name)
    if spec.prefetch:
        refuse_useless(data.train, name)
    data = data if spec.label_names is None else renamed(data, spec.label_names)
    train = _of_each_class(data.y_train, len(data.classes), spec.limit("train"))
    test = _of_each_class(data.y_test, len(data.classes), spec.limit("test"))
    _check_every_class(data, train, test)
    scenario = SCENARIOS[spec.scenario]
    if scenario.is_timed:
        return time_incremental(data, spec, name, train, test, time_train, time_test, cuts)
    if time_train is not None or time_test is not None:
        raise UsageError(f"Times belong to a time-incremental stream; this one is {spec.scenario}.")
    if scenario.is_domains:
        return domain_incremental(data, spec, name, train, test)
    return _class_incremental(data, spec, name, train, test)


def task_sizes(n_classes: int, spec: Spec, name: str) -> tuple[int, ...]:
    """How many classes each task has.

    >>> task_sizes(10, Spec(tasks=5), "digits"), task_sizes(10, Spec(classes_per_task=(6, 2, 2)), "digits")
    ((2, 2, 2, 2, 2), (6, 2, 2))
    """
    tasks, sizes = spec.tasks, spec.classes_per_task
    if isinstance(sizes, tuple):
        if sum(sizes) != n_classes or tasks not in (None, len(sizes)):
            wrong = f"{len(sizes)} tasks with {sum(sizes)} classes" + (f", tasks = {tasks}" if tasks else "")
            raise UsageError(
                f"classes_per_task must use each of the {n_classes} classes of {name} once, and agree with"
                f" tasks if both are given; got {wrong}."
            )
        return sizes
    if tasks is None and sizes is None:
        raise UsageError(f"How is {name} to be split? Give tasks (a number) or classes_per_task.")
    if (tasks is not None and n_classes % tasks) or (sizes is not None and n_classes % sizes):
        divisors = [d for d in range(1, n_classes + 1) if n_classes % d == 0]
        what = f"tasks = {tasks}" if tasks is not None else f"classes_per_task = {sizes}"
        raise UsageError(
            f"{name} has {n_classes} classes, which do not split evenly with {what}; use one of"
            f" {', '.join(map(str, divisors))}, or give the size of each task: classes_per_task = [...]."
        )
    if tasks is not None and sizes is not None and tasks * sizes != n_classes:
        raise UsageError(
            f"{name} has {n_classes} classes; tasks = {tasks} times classes_per_task = {sizes} is"
            f" {tasks * sizes}. Give one of the two."
        )
    count = tasks if tasks is not None else n_classes // (sizes or 1)
    return (n_classes // count,) * count


def _class_incremental(data: Dataset, spec: Spec, name: str, train: Groups, test: Groups) -> Stream:
    order = class_order(data, spec)
    groups = np.split(order, np.cumsum(task_sizes(len(order), spec, name))[:-1])
    own = [[train[c] for c in group] for group in groups]
    shares = blur(own, spec) if spec.blurry else [np.concatenate(parts) for parts in own]
    labels = np.argsort(order)
    tasks = tuple(
        StreamTask(
            name=f"task {k}",
            classes=tuple(labels[group].tolist()),
            original=tuple(data.classes[c] for c in group),
            train=np.sort(share),
            test=np.sort(np.concatenate([test[c] for c in group])),
        )
        for k, (group, share) in enumerate(zip(groups, shares, strict=True))
    )
    blurry = spec.blurry > 0
    if blurry and spec.batch > min(len(task.train) for task in tasks):
        raise UsageError(
            "A batch of a blurry stream must not hold a whole task; the smallest task has"
            f" {min(len(task.train) for task in tasks)} samples and batch = {spec.batch}."
        )
    variant = f"blurry {spec.blurry:g} disjoint {spec.disjoint:g}" if blurry else ""
    return assemble(data, spec, name, tasks, labels, variant=variant, continuous=blurry)


def _of_each_class(y: NDArray[np.int64], n_classes: int, limit: int | None) -> Groups:
    """The samples of each class; where there is a limit, the same random draw every time."""
    order = np.argsort(y, kind="stable")
    groups = np.split(order, np.searchsorted(y[order], np.arange(1, n_classes)))
    if limit is None:
        return groups
    return [g[permutation(len(g), SUBSET_SEED, c)[:limit]] for c, g in enumerate(groups)]


def _check_every_class(data: Dataset, train: Groups, test: Groups) -> None:
    for part, groups in (("training", train), ("test", test)):
        empty = [data.classes[c] for c, group in enumerate(groups) if not len(group)]
        if empty:
            raise UsageError(
                f"Every class needs {part} samples; {some(empty)} of {data.name} has none. Drop the class,"
                " or split training and test data another way."
            )
