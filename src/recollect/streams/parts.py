"""What a stream is made of: tasks, and the batches that it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Transform(Protocol):
    """What a domain does to its samples, a batch at a time."""

    def __call__(self, x: NDArray[Any]) -> NDArray[Any]:
        """The samples of the domain; shape and type stay as they are."""

    @property
    def description(self) -> str:
        """What is done, in words that differ for every other transform: they enter the fingerprint."""


class Views(Protocol):
    """What may be seen beside the samples at each step, where samples are ids in something larger: a graph.

    `samples` says what an id is of, `input_shape` what there is to see of one, `future` whether samples of tasks to
    come can be asked.
    """

    @property
    def samples(self) -> str:
        """What a sample is: nodes, links or graphs."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of what is seen of one sample."""

    @property
    def n_edge_features(self) -> int:
        """How many numbers are known of an edge."""

    @property
    def future(self) -> bool:
        """Whether samples of tasks to come can be seen."""

    def training(self, step: int) -> Any:
        """What may be seen while section `step` is learned."""

    def evaluation(self, step: int) -> Any:
        """What may be seen in an evaluation after section `step`."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """What a learner meets.

    Attributes
    ----------
    x : array of shape (n, *input_shape)
        uint8 images (channels, height, width) or float32 features; the learner makes floats of them. Where the
        stream has views, ids: of nodes, of graphs, or of both ends of links.
    y : array of shape (n,)
        Labels in the order of the tasks: those of task 0 are 0 .. c0 - 1, those of task 1 follow. In streams
        of anomaly detection they are hidden: -1.
    task : the task, None where the scenario hides it.
    number : place of the batch in the stream, over all tasks and passes, from 0.
    repeat : True in the second and later passes over a task: these samples have been seen before.
    ends : the section (task, visit or batch) that is over with this batch, None inside one. For the engine,
        not for learners.
    samples_seen : samples presented up to and including this batch, repetitions counted.
    index : the places of the samples in the data set. For the engine, not for learners.
    """

    x: NDArray[Any]
    y: NDArray[np.int64]
    task: int | None
    number: int
    repeat: bool
    ends: int | None
    samples_seen: int
    index: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TestBatch:
    """Test samples of all tasks mixed; `task` says for each sample whose it is, `index` its place in the data set."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

    x: NDArray[Any]
    y: NDArray[np.int64]
    task: NDArray[np.int64]
    index: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scale:
    """Features in units of a deviation from a mean, made a batch at a time."""

    mean: NDArray[Any]
    deviation: NDArray[Any]

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Scale:
        """The scale of these rows, in their type; a feature that does not vary in them is only shifted.

        >>> Scale.of(np.array([[0.0, 5], [4, 5]])).deviation
        array([2., 1.])
        """
        exact = rows.astype(np.float64)
        deviation = exact.std(axis=0)
        deviation[deviation == 0] = 1
        return cls(exact.mean(axis=0).astype(rows.dtype), deviation.astype(rows.dtype))

    def __call__(self, x: NDArray[Any]) -> NDArray[Any]:
        """The scaled features, in place."""
        x -= self.mean
        x /= self.deviation
        return x


@dataclass(frozen=True, eq=False)
class Visit:
    """Training samples of one task that come in one piece; a task that recurs has several visits."""

    task: int
    train: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StreamTask:
    """One task: its classes, as the learner sees them and as the data set calls them, and its samples."""

    name: str
    classes: tuple[int, ...]
    original: tuple[int | str, ...]
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    transform: Transform | None = None
