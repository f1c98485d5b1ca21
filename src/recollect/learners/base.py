"""What a learner is, what it may know of its stream, and the card that describes it.

A learner is any object with the five methods of `Learner`; nothing need be inherited. Which classes may be
answered is the engine's matter: a learner scores all of them, and the engine masks those not seen yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.problems import problem_of

if TYPE_CHECKING:
    from recollect.streams import Batch

Array = NDArray[Any]
Scores = NDArray[np.floating[Any]]
State = dict[str, Any]


@runtime_checkable
class Resumable(Protocol):
    """Can be saved, and made again of what was saved."""

    def state(self) -> State:
        """All that decides the future, in plain containers, numbers and numpy arrays; a copy."""

    def restore(self, state: State) -> None:
        """Become the one whose `state` this is; bit for bit, in any process."""


@runtime_checkable
class Learner(Resumable, Protocol):
    """Learns from batches of a stream, and scores samples whenever it is asked.

    `score` changes nothing that `learn` reads: asking more often never changes what is learned. What a learner can
    do beside this is said by the protocols in `abilities`.
    """

    def learn(self, batch: Batch) -> None:
        """Learn from one batch of the stream. `batch.task` is None where the scenario hides it."""

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """Scores of all classes, shape (n, n_classes), higher = more likely.

        In anomaly detection one score per sample, shape (n,), higher = more anomalous; a detector with a
        threshold has `flagged(scores, task)` too, which says for each whether it is an alarm. `task` holds the
        task of each sample where the scenario gives it.
        """

    def end_task(self) -> None:
        """A task is over. Called only where the scenario tells boundaries."""

    @property
    def stored_samples(self) -> int:
        """How many samples of the stream are kept."""

    @property
    def stored_bytes(self) -> int:
        """How many bytes are kept beside the network: samples, old weights, statistics."""


class Memory(Protocol):
    """Samples of the stream that are kept."""

    def __len__(self) -> int:
        """How many."""

    @property
    def stored_bytes(self) -> int:
        """In how many bytes."""


class Keeping:
    """What a learner keeps of the stream: what is in its memory, and nothing if it has none."""

    memory: Memory | None = None

    @property
    def stored_samples(self) -> int:
        """Samples in memory."""
        return 0 if self.memory is None else len(self.memory)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the memory."""
        return 0 if self.memory is None else self.memory.stored_bytes


@dataclass(frozen=True)
class Setting:
    """What a learner may know of a stream before it starts.

    `scale` is the mean and the deviation of the first task's training targets, where they are numbers;
    `n_edge_features` how many numbers are known of an edge, where samples are in a graph; `smallest_class` how many
    training samples every class of every task has at least, where there are classes; `has_validation` whether tasks
    have validation samples.

    >>> setting = Setting(input_shape=(64,), n_classes=4, tasks=((0, 1), (2, 3)))
    >>> setting.n_features, setting.task_of_class
    (64, array([0, 0, 1, 1]))
    """

    input_shape: tuple[int, ...]
    n_classes: int
    tasks: tuple[tuple[int, ...], ...]
    gives_task: bool = False
    gives_boundaries: bool = True
    passes: int = 1
    problem: str = "classification"
    samples: str = "arrays"
    scale: tuple[float, float] = (0.0, 1.0)
    n_edge_features: int = 0
    smallest_class: int | None = None
    has_validation: bool = False

    def __post_init__(self) -> None:
        if not self.tasks or self.n_classes < self.per_class or not self.input_shape:
            raise UsageError(
                f"A setting has at least one task, one class and one input axis; got {len(self.tasks)} tasks,"
                f" {self.n_classes} classes and the input shape {self.input_shape}."
            )
        outside = sorted({c for task in self.tasks for c in task if not 0 <= c < self.n_classes})
        if outside:
            raise UsageError(
                f"The classes of the tasks lie in 0 .. {self.n_classes - 1} (n_classes = {self.n_classes});"
                f" got {outside[:5]}. Give labels in order of appearance."
            )

    @classmethod
    def of(cls, stream: Any) -> Setting:
        """The setting of a `Stream`."""
        return cls(
            input_shape=tuple(stream.input_shape),
            n_classes=int(stream.n_classes),
            tasks=tuple(tuple(int(c) for c in task.classes) for task in stream.tasks),
            gives_task=bool(stream.gives_task),
            gives_boundaries=bool(stream.gives_boundaries),
            passes=int(stream.passes),
            problem=str(stream.problem),
            samples=str(stream.samples),
            scale=stream.value_scale,
            n_edge_features=int(stream.n_edge_features),
            smallest_class=stream.smallest_class,
            has_validation=bool(stream.valid),
        )

    @property
    def per_class(self) -> bool:
        """Whether a learner gives one score per class; else it gives one number per sample."""
        return problem_of(self.problem).per_class

    @property
    def n_outputs(self) -> int:
        """How many outputs a network has for one sample."""
        return self.n_classes if self.per_class else 1

    @property
    def n_features(self) -> int:
        """How many numbers a sample has."""
        return int(np.prod(self.input_shape))

    @property
    def task_of_class(self) -> NDArray[np.int64] | None:
        """The task of each class, -1 where no task has it; None where tasks share classes."""
        owner = np.full(self.n_classes, -1, np.int64)
        for index, classes in enumerate(self.tasks):
            if np.any(owner[list(classes)] >= 0):
                return None
            owner[list(classes)] = index
        return owner


@dataclass(frozen=True)
class Option:
    """One option of a learner: what it means, its default, and whose default that is."""

    name: str
    default: Any
    meaning: str
    whose: str


@dataclass(frozen=True)
class LearnerCard:
    """What is known of a learner without importing torch.

    `maker` is "module:Class"; `options` the frozen dataclass of its options; `needs_boundaries`: it does
    nothing of its own unless `end_task` is called; `needs_task`: it has to be told the task of each sample;
    `evaluated` is "always" or "end" (its scores in between are NaN, so those rows are not planned); `extra` is the pip
    extra that it needs; `problems` names those that it can answer. `role` says what it is for in a comparison: a
    "contestant"; a "reference", which others are measured against because it may keep or see everything; a "floor",
    which learns nothing. `samples` says what kinds of samples it takes.
    """

    name: str
    summary: str
    source: str
    maker: str
    options: type[Any]
    stores: str
    costs: str
    needs_boundaries: bool = False
    needs_task: bool = False
    evaluated: str = "always"
    extra: str | None = "torch"
    problems: tuple[str, ...] = ("classification", "properties")
    role: str = "contestant"
    samples: tuple[str, ...] = ("arrays",)

    @property
    def defaults(self) -> dict[str, Any]:
        """The options with their defaults."""
        return {option.name: option.default for option in self.describe()}

    def describe(self) -> Sequence[Option]:
        """The options, in order."""
        return [
            Option(f.name, f.default, f.metadata.get("meaning", ""), f.metadata.get("whose", "ours"))
            for f in fields(self.options)
        ]
