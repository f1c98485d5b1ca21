"""Time-incremental streams: tasks are periods, samples keep the order of time."""

from __future__ import annotations

from typing import Any

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
    cuts: NDArray[Any] | None = None,
) -> Stream:
    """As many training samples per task, in the order of time, or those between the cuts.

    A test sample goes to its time's task.
    """
    if spec.tasks is None or spec.classes_per_task is not None or spec.class_order is not None:
        raise UsageError("A time-incremental stream takes tasks (a number); its classes come as they come.")
    when_train, when_test = _comparable(
        _times(time_train, len(data.y_train), "time_train"), _times(time_test, len(data.y_test), "time_test")
    )
    index = np.sort(np.concatenate(train))
    index = index[np.argsort(when_train[index], kind="stable")]
    if len(index) < spec.tasks:
        raise UsageError(f"{len(index)} training samples cannot fill {spec.tasks} tasks.")
    if cuts is None:
        periods = np.array_split(index, spec.tasks)
        starts = when_train[[period[0] for period in periods]]
        cuts = starts[1:]
    else:
        periods = np.split(index, np.searchsorted(when_train[index], cuts, side="left"))
        starts = np.concatenate([when_train[index[:1]], cuts])
    names = _names(starts)
    empty = next((names[k] for k, period in enumerate(periods) if not len(period)), None)
    if empty is not None:
        raise UsageError(f"The period {empty!r} of {name} has no training samples. Use fewer tasks, or other periods.")
    all_test = np.sort(np.concatenate(test))
    place = np.searchsorted(cuts, when_test[all_test], side="right")
    _, first = np.unique(data.y_train[index], return_index=True)
    trained_in = np.searchsorted(np.cumsum([len(period) for period in periods]), first, side="right")
    order = np.argsort(first, kind="stable")
    labels = np.argsort(order)
    tasks = []
    for k, period in enumerate(periods):
        mine = all_test[place == k]
        if not len(mine):
            raise UsageError(f"Task {k} ({names[k]}) has no test samples; use fewer tasks or other times.")
        early = mine[trained_in[data.y_test[mine]] > k]
        if len(early):
            c = data.y_test[early[0]]
            raise UsageError(
                f"A class is tested from the period on in which it is first trained; class {data.classes[c]!r} is"
                f" tested in task {k} ({names[k]}), test sample {early[0]} for one, and first trained in task"
                f" {trained_in[c]} ({names[trained_in[c]]}). Drop such test samples, give them later times, or use"
                " fewer tasks."
            )
        present = np.union1d(data.y_train[period], data.y_test[mine])
        present = present[np.argsort(labels[present])]
        original = tuple(data.classes[c] for c in present)
        tasks.append(StreamTask(names[k], tuple(labels[present].tolist()), original, period, mine))
    return assemble(data, spec, name, tuple(tasks), labels, shuffle=False)


def _times(times: ArrayLike | None, n: int, what: str) -> NDArray[Any]:
    """Numbers or dates as they are: a float64 has no room for the nanoseconds of a date."""
    if times is None:
        raise UsageError("A time-incremental stream needs time_train and time_test, one number per sample.")
    array = np.asarray(times)
    if array.shape != (n,) or array.dtype.kind not in "iufM":
        raise UsageError(
            f"{what} has a number or a datetime64 for each of {n} samples; got {array.shape} of {array.dtype}."
        )
    if array.dtype.kind == "M" and np.isnat(array).any():
        raise UsageError(
            f"{what} has NaT, which is no time, for {np.isnat(array).sum():,} samples, the first of them"
            f" {np.isnat(array).argmax()}. Drop these samples, or give them their times."
        )
    if not np.isfinite(array).all():
        raise UsageError(f"{what} has values that are not finite.")
    return array


def _comparable(train: NDArray[Any], test: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both in one type, without loss where there is such a type."""
    if (train.dtype.kind == "M") != (test.dtype.kind == "M"):
        raise UsageError(
            f"time_train and time_test are both numbers or both dates; got {train.dtype} and {test.dtype}."
        )
    common = np.result_type(train, test)
    both = train.astype(common), test.astype(common)
    for given, times, what in zip((train, test), both, ("time_train", "time_test"), strict=True):
        # A date that the finer unit cannot express comes out as another date, without a word from numpy.
        if common.kind == "M" and (times.astype(given.dtype) != given).any():
            raise UsageError(
                f"{what} has dates that {common} cannot express; give both in one unit, such as datetime64[s]."
            )
    return both


def _names(starts: NDArray[Any]) -> list[str]:
    """The periods by their first times; shortened if that leaves them different.

    >>> _names(np.array([0.5, 1 / 3])), _names(np.array([1700000000, 1700000060]))
    (['from 0.5', 'from 0.333333'], ['from 1700000000', 'from 1700000060'])
    """
    if starts.dtype.kind != "M":
        short = [f"from {start:g}" for start in starts]
        if len(set(short)) == len(short):
            return short
    return [f"from {start}" for start in starts]


def cuts_of(times: NDArray[Any], tasks: int | None, periods: str | tuple[float, ...]) -> NDArray[Any]:
    """The times at which the second and later periods begin: as given, equally far apart, or by numbers of samples.

    Samples of one time are never in two periods.

    >>> times = np.array([2015, 2016, 2016, 2016, 2017, 2020])
    >>> cuts_of(times, 2, "count").tolist(), cuts_of(times, 2, "value").tolist()
    ([2016], [2017.5])
    """
    if isinstance(periods, tuple):
        cuts = np.array(periods, np.float64)
        if not len(cuts) or np.any(np.diff(cuts) <= 0) or tasks not in (None, len(cuts) + 1):
            raise UsageError(f"periods are rising times, one fewer than tasks; got {list(periods)}.")
        if times.dtype.kind == "M":
            raise UsageError("periods are numbers, and the times are dates. Give count or value, or times as numbers.")
        return cuts
    if tasks is None:
        raise UsageError("A time-incremental stream takes tasks (a number), or periods as a list of times.")
    if periods == "value":
        found: NDArray[Any] = times.min() + (times.max() - times.min()) * np.arange(1, tasks) / tasks
        return found
    sorted_times: NDArray[Any] = np.sort(times)[[len(times) * k // tasks for k in range(1, tasks)]]
    return sorted_times
