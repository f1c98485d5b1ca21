"""A stream: tasks in an order, cut into batches that can be sought, and one mixed test set.

Everything about the order is a function of (seed, task, pass), so a stream can be entered at any batch
without producing the earlier ones, and a resumed run meets the batches that it would have met.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.runs import fingerprint as _fingerprint
from recollect.runs.run import Task
from recollect.runs.scenarios import SCENARIOS
from recollect.streams.data import Dataset
from recollect.streams.order import permutation
from recollect.streams.parts import Batch, Scale, StreamTask, TestBatch, Transform, Views, Visit
from recollect.streams.prefetch import Decoders
from recollect.streams.samples import Samples, checksum

# Test samples are always met in this order: a learner that looks at whole batches gains nothing from it.
TEST_ORDER_SEED = 20230901
_NOTHING: NDArray[Any] = np.empty(0)
Take = Callable[[NDArray[np.int64]], NDArray[Any]]

__all__ = ["Batch", "Scale", "Stream", "StreamTask", "TestBatch", "Transform", "Views", "Visit"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Stream:
    """Ordered tasks over one data set, with a label space and a scenario.

    Made by `make_stream` and `stream_from_arrays`. `labels[c]` is the label of the data set's class c.
    `continuous` streams are cut into batches without regard to the tasks (blurry boundaries);
    `shuffle=False` keeps the order of the samples in each task (time). `variant` is what the fingerprint
    must know beside classes, counts and test samples. `problem` is what is asked; `adds_classes` says that a task may
    bring classes, `tells_labels` that a learner is told the labels of its training samples. `visits` are the pieces
    in which the training samples come, where that is not each task once. `views` say what may be seen
    at each step where samples are ids in a graph. `values`, of training and test samples, are what is asked for where
    that is a number and no class. `valid` has the validation samples of each task with their labels, where there are
    some: the protocol asks them where a learner chooses its weights by them. `prefetch` processes read samples on disk
    ahead; it changes no result and is in no fingerprint.

    A stream is evaluated after sections: the visits, each a task, unless concepts recur; in a
    concept-agnostic stream, which has no such pieces, the batches. `learned_at` says which section a task is
    learned with.

    >>> from recollect.streams import stream_from_arrays
    >>> x = np.arange(8, dtype=np.uint8).reshape(8, 1)
    >>> stream = stream_from_arrays(x, [0, 1] * 4, x, [0, 1] * 4, name="toy", tasks=2, batch=3)
    >>> [(len(b.y), b.ends, b.samples_seen) for b in stream.batches(seed=0)]
    [(3, None, 3), (1, 0, 4), (3, None, 7), (1, 1, 8)]
    >>> [b.number for b in stream.batches(seed=0, start=2)]
    [2, 3]
    """

    name: str
    data: Dataset
    tasks: tuple[StreamTask, ...]
    labels: NDArray[np.int64]
    scenario: str = "class-incremental"
    passes: int = 1
    batch: int = 10
    gives_task: bool = False
    gives_boundaries: bool = True
    continuous: bool = False
    shuffle: bool = True
    variant: str = ""
    scale: Scale | None = None
    problem: str = "classification"
    adds_classes: bool = True
    tells_labels: bool = True
    visits: tuple[Visit, ...] = ()
    views: Views | None = None
    values: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    valid: tuple[tuple[NDArray[Any], NDArray[np.int64]], ...] = ()
    notes: tuple[str, ...] = ()
    prefetch: int = 0

    def __repr__(self) -> str:
        return f"<Stream {self.name}: {len(self.tasks)} tasks, {self.scenario}, {self.problem}>"

    @cached_property
    def n_classes(self) -> int:
        """The size of the whole label space."""
        return len({label for task in self.tasks for label in task.classes})

    @cached_property
    def value_scale(self) -> tuple[float, float]:
        """Mean and deviation of the first task's training values; later tasks are not looked at."""
        first = self._y_train[self.tasks[0].train] if self.values is not None else np.zeros(1)
        deviation = float(first.std())
        return float(first.mean()), deviation if deviation > 1e-9 * float(np.abs(first).max()) else 1.0

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one sample, or of what is seen of it."""
        return self.data.input_shape if self.views is None else self.views.input_shape

    @property
    def samples(self) -> str:
        """What the samples are: arrays, or ids of nodes, links or graphs."""
        return "arrays" if self.views is None else self.views.samples

    @property
    def n_edge_features(self) -> int:
        """How many numbers are known of an edge of what may be seen."""
        return 0 if self.views is None else self.views.n_edge_features

    def task_passed(self, batch: Batch) -> int | None:
        """The task of which a whole pass is over with this batch, None inside one."""
        seen = self._first_sample * self.passes
        section = int(np.searchsorted(seen, batch.samples_seen - 1, side="right")) - 1
        visit = self._visits[section]
        return visit.task if (batch.samples_seen - int(seen[section])) % len(visit.train) == 0 else None

    @cached_property
    def smallest_class(self) -> int | None:
        """How many training samples every class of every task has at least; None where there are no classes."""
        if self.values is not None or not self.tells_labels or not any(task.classes for task in self.tasks):
            return None
        y = self.labels[self.data.y_train]
        sizes = [np.unique(y[task.train], return_counts=True)[1] for task in self.tasks]
        return min((int(counts.min()) for counts in sizes if len(counts)), default=None)

    @property
    def asks_future(self) -> bool:
        """Whether tasks that have not come can be asked: in a graph that grows, their nodes are not there."""
        return self.views is None or self.views.future

    @cached_property
    def n_train(self) -> int:
        """How many training samples there are, each counted once a visit."""
        return sum(len(visit.train) for visit in self._visits)

    @property
    def parts(self) -> tuple[Visit, ...]:
        """The pieces in which the training samples come: the visits, or each task once."""
        return self._visits

    @property
    def starts(self) -> tuple[tuple[int, int], ...]:
        """Where the stream changes: the samples presented before each visit, and its task."""
        places = (self._first_sample[:-1] * self.passes).tolist()
        return tuple((place, visit.task) for place, visit in zip(places, self._visits, strict=True))

    @property
    def n_samples(self) -> int:
        """How many samples are presented, passes counted."""
        return self.n_train * self.passes

    @cached_property
    def n_batches(self) -> int:
        """How many batches there are, passes counted."""
        return -(-self.n_train // self.batch) if self.continuous else int(self._first_batch[-1])

    @property
    def sections_are_batches(self) -> bool:
        """Whether a row may stand in the middle of a task: where the learner is not told of concepts."""
        return SCENARIOS[self.scenario].by_batches

    @property
    def n_sections(self) -> int:
        """After how many sections a learner may be evaluated."""
        return self.n_batches if self.sections_are_batches else len(self._visits)

    @cached_property
    def learned_at(self) -> tuple[int, ...]:
        """The section after which each task has been learned: with the last sample of its first visit.

        >>> from recollect.streams import stream_from_arrays
        >>> x = np.arange(8, dtype=np.uint8).reshape(8, 1)
        >>> stream_from_arrays(x, [0, 1] * 4, x, [0, 1] * 4, name="toy", tasks=2).learned_at
        (0, 1)
        """
        places: dict[int, int] = {}
        for section, visit in enumerate(self._visits):
            end = int(self._first_sample[section + 1])
            last = (end - 1) // self.batch if self.continuous else int(self._first_batch[section + 1]) - 1
            places.setdefault(visit.task, last if self.sections_are_batches else section)
        return tuple(places[k] for k in range(len(self.tasks)))

    def learned_by(self, section: int) -> int:
        """The newest of the tasks that have been learned after a section; -1: none yet."""
        return int(np.searchsorted(self.learned_at, section, side="right")) - 1

    def batches(self, seed: int, start: int = 0) -> Iterator[Batch]:
        """The batches from number `start` on: the same for the same seed, whichever way they are reached.

        Every sample comes exactly once a pass; the last batch of a task may be short.
        """
        if not 0 <= start <= self.n_batches:
            raise UsageError(f"The stream {self.name} has batches 0 to {self.n_batches - 1}; got start = {start}.")
        walk = self._continuous if self.continuous else self._visit_by_visit
        if not self.prefetch:
            return walk(seed, start, lambda index: self._take(self.data.train, index))
        ahead = self._decoders.take(0, (b.index for b in walk(seed, start, None) if b.index is not None))
        return walk(seed, start, lambda index: self._scaled(next(ahead)))

    def _visit_by_visit(self, seed: int, start: int, take: Take | None) -> Iterator[Batch]:
        """The batches; without `take` only their places, and no samples."""
        y, size, number = self._y_train, self.batch, start
        first = int(np.searchsorted(self._first_batch, start, side="right")) - 1
        for section in range(first, len(self._visits)):
            visit = self._visits[section]
            length = len(visit.train)
            transform = self.tasks[visit.task].transform
            per_pass = -(-length // size)
            before = self._first_sample[section] * self.passes
            first_pass, skipped = divmod(number - int(self._first_batch[section]), per_pass)
            for p in range(first_pass, self.passes):
                order = self._order(seed, section, p)
                for low in range(skipped * size, length, size):
                    index = order[low : low + size]
                    inputs = _NOTHING if take is None else take(index)
                    seen = low + len(index)
                    is_last = p == self.passes - 1 and seen == length
                    yield Batch(
                        x=inputs if transform is None or take is None else transform(inputs),
                        y=y[index],
                        task=visit.task if self.gives_task else None,
                        number=number,
                        repeat=p > 0,
                        ends=number if self.sections_are_batches else section if is_last else None,
                        samples_seen=int(before) + p * length + seen,
                        index=index,
                    )
                    number += 1
                skipped = 0

    def _continuous(self, seed: int, start: int, take: Take | None) -> Iterator[Batch]:
        y, size = self._y_train, self.batch
        # The batch that holds the last sample of a task's part ends the task; where batches are the sections,
        # every batch ends one.
        ends = {(int(last) - 1) // size: k for k, last in enumerate(self._first_sample[1:])}
        order = lru_cache(maxsize=2)(lambda section: self._order(seed, section, 0))
        for number in range(start, self.n_batches):
            index = self._stretch(order, number * size, (number + 1) * size)
            seen = number * size + len(index)
            over = number if self.sections_are_batches else ends.get(number)
            yield Batch(_NOTHING if take is None else take(index), y[index], None, number, False, over, seen, index)

    def _stretch(self, order: Callable[[int], NDArray[np.int64]], low: int, high: int) -> NDArray[np.int64]:
        """The samples from place `low` to `high` of a continuous stream, visits one after the other."""
        first, last = np.searchsorted(self._first_sample, (low, min(high, self.n_train) - 1), side="right") - 1
        starts = self._first_sample
        parts = [order(k)[max(0, low - starts[k]) : high - starts[k]] for k in range(first, last + 1)]
        return np.concatenate(parts)

    def test_batches(
        self, batch: int = 512, *, tasks: Collection[int] | None = None, subsample: int | None = None
    ) -> Iterator[TestBatch]:
        """All tasks' test samples, or those of some tasks, in one fixed mixed order.

        `subsample` keeps the first so many samples of each task in that order: a fixed random draw.
        """
        if batch < 1:
            raise UsageError(f"A test batch has at least 1 sample; got {batch}.")
        index, task = self._test_order
        keep = np.ones(len(index), dtype=bool)
        if tasks is not None:
            keep &= np.isin(task, list(tasks))
        if subsample is not None:
            keep &= _rank_in_group(task) < subsample
        if not keep.all():
            index, task = index[keep], task[keep]
        transforming = any(t.transform is not None for t in self.tasks)
        lows = range(0, len(index), batch)
        taken = self._taken_test(index[low : low + batch] for low in lows)
        for low, x in zip(lows, taken, strict=True):
            rows, whose = index[low : low + batch], task[low : low + batch]
            if transforming:
                self._transform_mixed(x, whose)
            yield TestBatch(x, self._y_test.take(rows), whose, rows)

    def test_of(self, task: int, subsample: int | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
        """The test samples of one task with their labels, in the data set's own order."""
        index = self.tasks[task].test
        if subsample is not None and subsample < len(index):
            index = np.sort(index[permutation(len(index), TEST_ORDER_SEED, task)[:subsample]])
        return self._changed(self.data.test, index, task), self._y_test.take(index)

    def train_of(self, task: int, most: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """At most so many training samples of one task with their labels, always the same ones: a fixed random draw."""
        index = self.tasks[task].train
        if most < len(index):
            index = np.sort(index[permutation(len(index), TEST_ORDER_SEED, task)[:most]])
        return self._changed(self.data.train, index, task), self._y_train.take(index)

    def record_tasks(self) -> tuple[Task, ...]:
        """The tasks as a run's record keeps them, under the data set's own names of the classes."""
        if not self.adds_classes:  # what tells the tasks apart is their names
            return tuple(Task(task.name, None, len(task.test), task.original) for task in self.tasks)
        seen: set[int] = set()
        tasks, n_classes = [], self.n_classes
        for task in self.tasks:
            counts = np.bincount(self._y_test[task.test], minlength=n_classes)
            new = len(set(task.classes) - seen)
            seen |= set(task.classes)
            # Counts per class belong to the new classes; where old ones come back they would be ambiguous.
            plain = new in (0, len(task.classes))
            class_counts = tuple(int(counts[label]) for label in task.classes) if plain else None
            tasks.append(Task(task.name, new, len(task.test), task.original, class_counts))
        return tuple(tasks)

    @cached_property
    def data_hash(self) -> str:
        """The hash of the test samples that are used, in the data set's own order, with what else matters.

        What else: the names of the classes, how many training samples each has, and `variant`. The order of
        the tasks is left out, so that the seeds of an experiment share this hash.
        """
        used = np.unique(np.concatenate([task.test for task in self.tasks]))
        samples, classes = self.data.test, self.data.classes
        n_train: list[int] = []
        if self.adds_classes:  # else the variant has a hash of the training samples themselves
            train = np.unique(np.concatenate([task.train for task in self.tasks]))
            n_train = np.bincount(self.data.y_train[train], minlength=len(classes)).tolist()
        head = ["recollect data 1", samples.dtype.str, samples.shape, len(used), classes, n_train, self.variant]
        hashed = hashlib.sha256(repr(head).encode())
        hashed.update(self.data.y_test[used].tobytes())
        samples.digest(used, hashed)
        return hashed.hexdigest()

    @cached_property
    def training_hash(self) -> str:
        """The hash of the training samples that are used, in the data set's own order, and of their labels.

        It is made of a checksum, which finds damage and change at the speed of memory.
        """
        used = np.unique(np.concatenate([visit.train for visit in self._visits]))
        samples, labels = self.data.train, self.data.y_train[used]
        head = [samples.dtype.str, samples.shape, len(used), crc32(labels.tobytes()), checksum(samples, used)]
        return hashlib.sha256(repr(["recollect training 1", *head]).encode()).hexdigest()[:20]

    @cached_property
    def order_hash(self) -> str:
        """The hash of which training samples come in which visit of which task, and of what is done to them there."""
        hashed = hashlib.sha256(self.labels.tobytes())
        for visit in self._visits:
            transform = self.tasks[visit.task].transform
            said = "" if transform is None else transform.description
            hashed.update(repr((visit.task, len(visit.train), said)).encode())
            hashed.update(np.ascontiguousarray(visit.train).tobytes())
        return hashed.hexdigest()[:20]

    @cached_property
    def fingerprint(self) -> str:
        """Which stream this is: equal for equal classes in equal tasks, counts, test data and scenario.

        Passes and batch size are how a learner is fed, not what it is asked: they are left out.
        """
        return _fingerprint.fingerprint(
            self.record_tasks(), stream=self.name, scenario=self.scenario, data_hash=self.data_hash
        )

    @cached_property
    def family(self) -> str:
        """Which stream this is up to the class order that a seed chose."""
        return _fingerprint.family(
            self.record_tasks(), stream=self.name, scenario=self.scenario, data_hash=self.data_hash
        )

    @cached_property
    def _y_train(self) -> NDArray[Any]:
        if self.values is not None:
            return self.values[0]
        if not self.tells_labels:
            return np.broadcast_to(np.int64(-1), len(self.data.y_train))
        return self.labels[self.data.y_train]

    @cached_property
    def _y_test(self) -> NDArray[Any]:
        if self.values is not None:
            return self.values[1]
        return self.labels[self.data.y_test]

    @cached_property
    def _visits(self) -> tuple[Visit, ...]:
        return self.visits or tuple(Visit(k, task.train) for k, task in enumerate(self.tasks))

    @cached_property
    def _first_sample(self) -> NDArray[np.int64]:
        """Training samples before each visit (one pass), and their total."""
        return np.cumsum([0, *(len(visit.train) for visit in self._visits)])

    @cached_property
    def _first_batch(self) -> NDArray[np.int64]:
        """The number of each visit's first batch, and the number of batches."""
        return np.cumsum([0, *(-(-len(visit.train) // self.batch) * self.passes for visit in self._visits)])

    @cached_property
    def _test_order(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        index = np.concatenate([task.test for task in self.tasks])
        task = np.repeat(np.arange(len(self.tasks)), [len(task.test) for task in self.tasks])
        order = permutation(len(index), TEST_ORDER_SEED)
        return index[order], task[order]

    def _order(self, seed: int, section: int, number_of_pass: int) -> NDArray[np.int64]:
        train = self._visits[section].train
        return train[permutation(len(train), seed, section, number_of_pass)] if self.shuffle else train

    def _take(self, samples: Samples, index: NDArray[np.int64]) -> NDArray[Any]:
        return self._scaled(samples.take(index))

    def _scaled(self, taken: NDArray[Any]) -> NDArray[Any]:
        return taken if self.scale is None else self.scale(taken)

    def _taken_test(self, places: Iterable[NDArray[np.int64]]) -> Iterator[NDArray[Any]]:
        if self.prefetch:
            return map(self._scaled, self._decoders.take(1, places))
        return (self._take(self.data.test, index) for index in places)

    @cached_property
    def _decoders(self) -> Decoders:
        return Decoders((self.data.train, self.data.test), self.prefetch, self.name)

    def _changed(self, samples: Samples, index: NDArray[np.int64], task: int) -> NDArray[Any]:
        x, transform = self._take(samples, index), self.tasks[task].transform
        return x if transform is None else transform(x)

    def _transform_mixed(self, x: NDArray[Any], task: NDArray[np.int64]) -> None:
        for k in np.unique(task):
            transform = self.tasks[k].transform
            if transform is not None:
                mine = task == k
                x[mine] = transform(x[mine])


def _rank_in_group(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many members of its own group stand before each element.

    >>> _rank_in_group(np.array([7, 7, 5, 7, 5]))
    array([0, 1, 0, 2, 1])
    """
    order = np.argsort(group, kind="stable")
    _, first, size = np.unique(group[order], return_index=True, return_counts=True)
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(first, size)
    return rank
