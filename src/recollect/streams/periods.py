"""Time-incremental streams: tasks are periods, samples keep the order of time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.streams.assemble import Groups, assemble
from recollect.streams.data import Dataset
from recollect.streams.spec import Spec
from recollect.streams.stream import Stream, StreamTask


def time_incremental(
    data: Dataset,
    spec: Spec,
    name: str,
    train: Groups,
    test: Groups,
    time_train: ArrayLike | None,
    time_test: ArrayLike | None,
) -> Stream:
    """As many training samples a task, in the order of time; a test sample goes to its time's task."""
    if spec.tasks is None or spec.classes_per_task is not None or spec.class_order is not None:
        raise UsageError("A time-incremental stream takes tasks (a number); its classes come as they come.")
    when_train = _times(time_train, len(data.y_train), "time_train")
    when_test = _times(time_test, len(data.y_test), "time_test")
    index = np.sort(np.concatenate(train))
    index = index[np.argsort(when_train[index], kind="stable")]
    if len(index) < spec.tasks:
        raise UsageError(f"{len(index)} training samples cannot fill {spec.tasks} tasks.")
    periods = np.array_split(index, spec.tasks)
    starts = when_train[[period[0] for period in periods]]
    all_test = np.sort(np.concatenate(test))
    place = np.searchsorted(starts[1:], when_test[all_test], side="right")
    _, first = np.unique(data.y_train[index], return_index=True)
    order = np.argsort(first, kind="stable")
    labels = np.argsort(order)
    tasks = []
    for k, period in enumerate(periods):
        mine = all_test[place == k]
        if not len(mine):
            raise UsageError(
                f"Task {k} (from time {starts[k]:g} on) has no test samples; use fewer tasks or other times."
            )
        present = np.union1d(data.y_train[period], data.y_test[mine])
        present = present[np.argsort(labels[present])]
        original = tuple(data.classes[c] for c in present)
        tasks.append(StreamTask(f"from {starts[k]:g}", tuple(labels[present].tolist()), original, period, mine))
    return assemble(data, spec, name, tuple(tasks), labels, shuffle=False)


def _times(times: ArrayLike | None, n: int, what: str) -> NDArray[np.float64]:
    if times is None:
        raise UsageError("A time-incremental stream needs time_train and time_test, a number a sample.")
    array = np.asarray(times)
    if array.shape != (n,) or array.dtype.kind not in "iufM":
        raise UsageError(f"{what} has a number for each of {n} samples; got {array.shape} of {array.dtype}.")
    if array.dtype.kind == "M":
        array = array.astype("datetime64[s]").astype(np.int64)
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise UsageError(f"{what} has values that are not finite.")
    return array
