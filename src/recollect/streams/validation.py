"""A stream to choose settings on: it is tested on training samples that are held back, never on test samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.order import permutation
from recollect.streams.stream import Stream

HELD_BACK_SEED = 20230908
PART = 0.1


def validation_of(stream: Stream, how: float | Mapping[str, Any] = PART) -> Stream:
    """The stream with a part of each task's training samples in the place of its test samples.

    `how` is that part, of every class of every task; or {"part": 0.1, "tasks": 3}, with the first tasks only: settings
    that were chosen without a look at later tasks (Chaudhry et al. 2019, who leave those tasks out of what they
    compare, for they choose on test samples). What is held back is always the same draw, and is not trained on. The
    data set's own test samples are not part of the stream that is given.

    >>> from recollect.streams import make_stream
    >>> stream = make_stream("digits", tasks=5)
    >>> held = validation_of(stream, 0.2)
    >>> len(stream.tasks[0].train), len(held.tasks[0].train), len(held.tasks[0].test)
    (288, 231, 57)
    """
    part, first = _checked(how, len(stream.tasks))
    if not stream.tells_labels or stream.visits or stream.views is not None:
        raise UsageError(
            f"A validation part is made of labelled training samples, each task of them in one piece; {stream.name} is"
            f" {stream.scenario}. Choose settings on a stream of other data instead."
        )
    kept_tasks = stream.tasks[:first]
    held_back = _held_back(stream, np.unique(np.concatenate([task.train for task in kept_tasks])), part)
    tasks, y = [], stream.data.y_train
    for task in kept_tasks:
        back = np.isin(task.train, held_back)
        if back.all() or not back.any():
            raise UsageError(f"{task.name} has {len(task.train)} training samples, too few to hold back {part:g}.")
        tasks.append(replace(task, train=task.train[~back], test=np.sort(task.train[back])))
    said = f"tested on {part:g} of the training samples of each task, which are not trained on"
    if first < len(stream.tasks):
        said += f"; the first {first} of {len(stream.tasks)} tasks"
    data = replace(stream.data, x_test=stream.data.x_train, y_test=y)
    values = None if stream.values is None else (stream.values[0], stream.values[0])
    variant = f"{stream.variant}; validation {part!r}".lstrip("; ")
    return replace(stream, data=data, tasks=tuple(tasks), values=values, variant=variant, notes=(*stream.notes, said))


def _held_back(stream: Stream, used: NDArray[np.int64], part: float) -> NDArray[np.int64]:
    """A fixed draw of the samples, class by class where there are classes.

    It does not ask for the task: where a sample comes in several, it is trained on in none of them.
    """
    if not stream.adds_classes:
        return _draw(used, part)
    y = stream.data.y_train[used]
    return np.concatenate([_draw(used[y == label], part) for label in np.unique(y)])


def _draw(index: NDArray[np.int64], part: float) -> NDArray[np.int64]:
    """At least one sample where two are there."""
    count = min(max(1, round(part * len(index))), len(index) - 1)
    return index[permutation(len(index), HELD_BACK_SEED)[:count]]


def _checked(how: Any, n_tasks: int) -> tuple[float, int]:
    given = dict(how) if isinstance(how, Mapping) else {"part": how}
    part, first = given.pop("part", PART), given.pop("tasks", n_tasks)
    right = isinstance(part, float | int) and not isinstance(part, bool) and 0 < part < 1
    if given or not right:
        raise UsageError(
            "validation is the part of the training samples that is held back, such as 0.1, or {part: 0.1, tasks: 3};"
            f" got {how!r}."
        )
    if isinstance(first, bool) or not isinstance(first, int) or not 1 <= first <= n_tasks:
        raise UsageError(f"tasks in validation says how many of the {n_tasks} tasks are used; got {first!r}.")
    return float(part), first
