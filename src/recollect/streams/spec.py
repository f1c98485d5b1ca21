"""What a user may ask of a stream, checked before any data are read."""

# `option` returns a dataclass field, which is what a default may be.

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ParamSpec, TypeVar

import numpy as np

from recollect.errors import UsageError
from recollect.options import check, is_finite, is_whole, option, refuse, refuse_unknown
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.order import checked_seed
from recollect.values import LARGEST_SEED, detached, shown

OF_TASKS = ("class-incremental", "task-incremental", "domain-incremental", "time-incremental")
DOMAINS = ("permutations", "rotations")
_OF_DOMAINS = ("domain", "domain_seed", "angles")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """The options of a stream; `make_stream` and `stream_from_arrays` take them as keywords.

    Attributes
    ----------
    scenario : class-incremental, task-incremental (the task is given in training and in testing),
        domain-incremental (every task has all classes, its inputs changed) or time-incremental.
    tasks : the number of tasks; with classes it must divide their number.
    classes_per_task : one size for all tasks, or a size for each, such as [50, 10, 10, 10, 10, 10].
    passes, batch : passes over each task (1: online), samples in a batch.
    class_order_seed, class_order : the seed of the order of the classes; or the order itself, as the data
        set's class names, "natural" for the data set's own, or a file with one class per line (or JSON), in
        which empty lines (or lists in the list) may say the tasks.
    label_names : what classes are called: a list, a mapping, or a file with one name per line.
    subset : at most so many training samples per class; or {"train": n, "test": m}.
    blurry, disjoint : the part of a class's training samples that comes in other tasks, and the part of the
        classes to which this does not happen (i-Blurry).
    domain, domain_seed, angles : for domain-incremental streams: permutations (if not given) or rotations, the
        seed of either (0 if not given), or the angles themselves.
    boundaries : whether the learner is told where tasks end; by default not in blurry streams.
    standardize : for tables: from every feature take the mean over the first task's training samples, and
        divide by their deviation. Later tasks are not looked at.
    prefetch : so many processes read and decode samples on disk while the learner learns; the results are the same.

    >>> Spec.of({"tasks": 5, "bach": 10})
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: A stream has no option 'bach'; did you mean 'batch'?
    """

    scenario: str = option("class-incremental", choices=OF_TASKS)
    tasks: int | None = option(None, kind="int", low=1)
    classes_per_task: int | tuple[int, ...] | None = None
    passes: int = option(1, low=1)
    batch: int = option(10, low=1)
    class_order_seed: int = 0
    class_order: str | tuple[int | str, ...] | None = None
    subset: int | Mapping[str, int] | None = None
    blurry: float = option(0.0, low=0, high=1)
    disjoint: float = option(0.0, low=0, high=1)
    domain: str | None = option(None, choices=DOMAINS)
    domain_seed: int | None = None
    angles: tuple[float, ...] | None = None
    boundaries: bool | None = option(None, kind="bool")
    standardize: bool = option(False)
    label_names: tuple[int | str, ...] | Mapping[str, int | str] | None = None
    prefetch: int = option(0, low=0, high=64)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Spec:
        """The spec with these options; lists and arrays may stand for tuples, numpy's numbers for Python's."""
        if "epochs" in options:
            raise UsageError("A stream has no option 'epochs'; passes over each task are called `passes`.")
        refuse_unknown("A stream", options, [field.name for field in fields(cls)])
        from recollect.streams.class_files import with_files

        return cls(**with_files({key: plain(value) for key, value in options.items()}))

    def __post_init__(self) -> None:
        check(self)
        sizes = self.classes_per_task
        for size in sizes if isinstance(sizes, tuple) else () if sizes is None else (sizes,):
            at_least_one("classes_per_task", size)
        checked_seed(self.class_order_seed)
        if self.domain_seed is not None:
            checked_seed(self.domain_seed)
        self._check_blurry()
        subset = self.subset if isinstance(self.subset, Mapping) else {"train": self.subset}
        for part, count in subset.items():
            if part not in ("train", "test"):
                raise UsageError(f"subset limits 'train' and 'test' samples per class; got {part!r}.")
            if count is not None:
                at_least_one(f"subset ({part})", count)
        angles, order = self.angles, self.class_order
        if angles is not None and not (isinstance(angles, tuple) and all(map(is_finite, angles))):
            refuse("angles", "a list of degrees, finite numbers, one per task", angles)
        names = order if isinstance(order, tuple) else ()
        if order is not None and order != "natural" and not (names and all(map(_is_name, names))):
            refuse("class_order", "'natural' or a list of all classes", order)
        if self.label_names is not None and not isinstance(self.label_names, (tuple, Mapping)):
            refuse("label_names", "a list of names, a mapping from classes to names, or a file", self.label_names)
        given = [name for name in _OF_DOMAINS if getattr(self, name) is not None]
        if given and not SCENARIOS[self.scenario].is_domains:
            raise UsageError(
                f"The option {given[0]} belongs to domain-incremental streams; this one is {self.scenario}. Leave it"
                " out, or give scenario = 'domain-incremental'."
            )

    def limit(self, part: str) -> int | None:
        """At most how many samples per class the part "train" or "test" may have; None: all."""
        if isinstance(self.subset, Mapping):
            return self.subset.get(part)
        return self.subset if part == "train" else None

    def _check_blurry(self) -> None:
        if not self.blurry:
            if self.disjoint:
                raise UsageError("disjoint belongs to blurry streams; give blurry, a fraction above 0, too.")
            return
        scenario = SCENARIOS[self.scenario]
        if scenario.gives_task or not scenario.adds_classes:
            raise UsageError(f"Only class-incremental streams can be blurry; this one is {self.scenario}.")
        if self.passes != 1:
            raise UsageError(
                f"A blurry stream has no task ends to go back from, so it is passed once; got passes = {self.passes}."
            )


P = ParamSpec("P")
R = TypeVar("R")


def takes_options(function: Callable[P, R]) -> Callable[P, R]:
    """Show the options of `Spec` in the signature, in the place of `**options`: for help() and for checks."""
    own = inspect.signature(function)
    kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    options = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
        for f in fields(Spec)
    ]
    setattr(function, "__signature__", own.replace(parameters=[*kept, *options]))  # noqa: B010
    return function


def plain(value: Any) -> Any:
    """An option as Python writes it: arrays and lists as tuples, numpy's scalars as numbers and texts.

    >>> plain(np.array([3, 1])), plain([np.int64(3), "a"]), plain(np.float32(0.5)), plain("natural")
    ((3, 1), (3, 'a'), 0.5, 'natural')
    """
    if hasattr(value, "__array__"):
        value = np.asarray(detached(value)).tolist()
    if isinstance(value, int) and abs(value) > LARGEST_SEED:
        raise UsageError(f"A whole number in an option of a stream is below 2**63; got {shown(value)}.")
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return tuple(plain(part) for part in value)
    return value


def _is_name(value: Any) -> bool:
    return isinstance(value, (int, str))


def at_least_one(name: str, value: Any) -> None:
    """Refuse what is not a whole number of at least 1."""
    if not is_whole(value) or value < 1:
        refuse(name, "a whole number of at least 1", value)
