"""Which stream was this? Two hashes that guard comparison.

The *fingerprint* names one concrete stream: which classes in which task, how many test samples, which
test set, which scenario. Runs are paired only where it is equal. The *family* names the stream up to the
order that a seed chose: the same classes in tasks of the same sizes. Runs over seeds are grouped by it,
because the class order usually belongs to the seed.

Where a record does not say enough (no classes or no hash of the test set, as in most files of other
tools) both hashes are made from what is known and start with `partial-`: equal then means "nothing
contradicts", not "the same".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.runs.run import Task

PARTIAL = "partial-"


def fingerprint(
    tasks: Sequence[Task], *, stream: str = "", scenario: str | None = None, data_hash: str | None = None
) -> str:
    """The hash of one concrete stream.

    `data_hash` is the hash of the whole test set in the data set's own order, so that it does not depend
    on the order of the tasks. The stream's name counts only where the data are not known: a name can be
    anything.

    >>> from recollect.runs.run import Task
    >>> fingerprint([Task("a", n_samples=9, classes=(0, 1))], scenario="class-incremental", data_hash="f00d")
    '1-64308a504da2494587f5'
    >>> fingerprint([Task("a"), Task("b")], stream="mine")
    'partial-1-d557708fe23c8a06f503'
    """
    known = _is_known(tasks, data_hash)
    described = [[None if known else task.name, task.n_classes, task.n_samples, _classes(task)] for task in tasks]
    return _digest(known, ["fingerprint", None if known else stream, scenario, data_hash, described])


def family(
    tasks: Sequence[Task], *, stream: str = "", scenario: str | None = None, data_hash: str | None = None
) -> str:
    """The hash of a stream up to the order of its classes: equal for all seeds of one experiment.

    >>> from recollect.runs.run import Task
    >>> one = [Task("a", n_samples=9, classes=(0, 1)), Task("b", n_samples=8, classes=(2, 3))]
    >>> other = [Task("a", n_samples=7, classes=(3, 0)), Task("b", n_samples=10, classes=(1, 2))]
    >>> family(one, data_hash="f00d") == family(other, data_hash="f00d")
    True
    >>> fingerprint(one, data_hash="f00d") == fingerprint(other, data_hash="f00d")
    False
    """
    known = _is_known(tasks, data_hash)
    sizes = [task.n_classes if task.classes is None else len(task.classes) for task in tasks]
    samples = [task.n_samples for task in tasks]
    total = sum(n for n in samples if n is not None) if None not in samples else None
    labels = sorted({_label(label) for task in tasks for label in task.classes or ()})
    names = None if known else sorted(task.name for task in tasks)
    return _digest(known, ["family", None if known else stream, scenario, data_hash, names, sizes, total, labels])


_kept: dict[tuple[Any, ...], tuple[Sequence[Task], str]] = {}
_MOST_KEPT = 4096


def of_shared(
    made: Callable[..., str], tasks: Sequence[Task], stream: str, scenario: str | None, data_hash: str | None
) -> str:
    """One of the two hashes; of tasks that thousands of runs share it is made once."""
    if not isinstance(tasks, tuple):
        return made(tasks, stream=stream, scenario=scenario, data_hash=data_hash)
    key = (made, id(tasks), stream, scenario, data_hash)
    known = _kept.get(key)
    if known is None:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        # The tasks are kept too, so that no others get their id.
        known = _kept[key] = (tasks, made(tasks, stream=stream, scenario=scenario, data_hash=data_hash))
    return known[1]


def is_partial(hashed: str) -> bool:
    """Was this hash made without the classes or without the test set?"""
    return hashed.startswith(PARTIAL)


def _is_known(tasks: Sequence[Task], data_hash: str | None) -> bool:
    return data_hash is not None and all(t.classes is not None and t.n_samples is not None for t in tasks)


def _label(label: int | str) -> str:
    # The class 1 and the class "1" are not the same class.
    return f"{type(label).__name__}:{label}"


def _classes(task: Task) -> list[tuple[str, int | None]] | None:
    """The classes with their test samples, sorted: inside a task the order means nothing."""
    if task.classes is None:
        return None
    counts = task.class_counts or (None,) * len(task.classes)
    return sorted(zip(map(_label, task.classes), counts, strict=False), key=lambda pair: pair[0])


def _digest(known: bool, content: list[Any]) -> str:
    text = json.dumps(["recollect stream 1", *content], ensure_ascii=True, separators=(",", ":"))
    return f"{'' if known else PARTIAL}1-{hashlib.sha256(text.encode()).hexdigest()[:20]}"
