"""The seeds of one learner trained together, as one batched network.

A small network leaves a processor idle: most of a step is the cost of calling it. Here the weights of all
seeds are stacked and every layer is one batched matrix product, with the gradient written out. Each seed
keeps its own stream, memory and generators; what it learns is what it would learn alone, to float tolerance.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recollect.errors import UsageError
from recollect.learners.base import Array, Learner, Scores, State
from recollect.learners.finetune import Finetune
from recollect.learners.joining import WINS_UP_TO, plain_steps
from recollect.learners.networks import MLP
from recollect.learners.replay import ExperienceReplay

if TYPE_CHECKING:
    from recollect.streams import Batch

QUEUE = 512

Result = TypeVar("Result")


def wins(learner: Learner) -> bool:
    """Can learners like this one be trained together, and is it faster?

    >>> from recollect.learners import Setting, make_learner
    >>> from recollect.runs.seeds import derive
    >>> setting = Setting(input_shape=(64,), n_classes=10, tasks=((0, 1), (2, 3)))
    >>> wins(make_learner("er", {"memory": 50}, setting, derive(0)))
    True
    >>> wins(make_learner("er", {"hidden": [900, 900]}, setting, derive(0)))
    False
    """
    if not can_join(learner):
        return False
    assert isinstance(learner, Finetune)
    # Elsewhere than on a processor, speed and bits have not been measured.
    return learner.device.type == "cpu" and sum(p.numel() for p in learner.network.parameters()) <= WINS_UP_TO


def can_join(learner: Learner) -> bool:
    """Finetune or ER with an MLP and plain SGD: what is written out below."""
    if type(learner) not in (Finetune, ExperienceReplay) or not isinstance(learner.network, MLP):  # type: ignore[attr-defined]
        return False
    assert isinstance(learner, Finetune)
    return plain_steps(learner.options, learner.setting)


def width(learner: Learner, batch: int) -> int:
    """The largest batch of one step: the stream's, and for replay the memory batch beside it."""
    return batch + learner.options.memory_batch if isinstance(learner, ExperienceReplay) else batch


class Together:
    """Learners of one kind, one for each seed, trained in step.

    `width` is the largest batch that one step takes (the function of that name tells it). It is fixed, so that
    what a seed learns does not depend, to the bit, on the others' batches.
    """

    def __init__(self, learners: Sequence[Learner], width: int) -> None:
        if not learners or not all(map(can_join, learners)):
            raise UsageError(
                "Only finetune and er with an mlp, plain sgd and one iteration are trained together; train"
                " the others one by one."
            )
        self.learners = [learner for learner in learners if isinstance(learner, Finetune)]
        if any(learner.options != self.learners[0].options for learner in self.learners):
            raise UsageError("Learners that are trained together have the same options; these differ.")
        self._width = width
        self._lr = self.learners[0].options.lr
        self._device = self.learners[0].device
        self._layers: list[tuple[Tensor, Tensor]] = []
        self.gather()

    def gather(self) -> None:
        """Stack the weights of all learners."""
        columns = zip(*(_layers(learner) for learner in self.learners), strict=True)
        with torch.no_grad():
            self._layers = [
                (
                    torch.stack([layer.weight.T for layer in column]).contiguous(),
                    torch.stack([layer.bias for layer in column])[:, None].contiguous(),
                )
                for column in columns
            ]

    def scatter(self, index: int) -> None:
        """Give one learner its weights back."""
        with torch.no_grad():
            for layer, (weight, bias) in zip(_layers(self.learners[index]), self._layers, strict=True):
                layer.weight.copy_(weight[index].T)
                layer.bias.copy_(bias[index, 0])

    def take(self, index: int) -> None:
        """Take over the weights that one learner has now."""
        with torch.no_grad():
            for layer, (weight, bias) in zip(_layers(self.learners[index]), self._layers, strict=True):
                weight[index].copy_(layer.weight.T)
                bias[index, 0].copy_(layer.bias)

    def learn(self, batches: Sequence[Batch | None]) -> None:
        """One step of every seed that has a batch."""
        x, y, share = self._padded(batches)
        idle = [index for index, batch in enumerate(batches) if batch is None]
        with torch.no_grad():
            # A step with an empty batch adds zeros; to weights that have overflowed it would add NaN.
            kept = [tensor[idle] for layer in self._layers for tensor in layer] if idle else []
            self._step(x, y, share)
            for tensor, old in zip((tensor for layer in self._layers for tensor in layer), kept, strict=False):
                tensor[idle] = old
        for learner, batch in zip(self.learners, batches, strict=True):
            if batch is not None:
                learner.optimiser.steps += 1
                if isinstance(learner, ExperienceReplay):
                    learner.remember(batch)

    def _padded(self, batches: Sequence[Batch | None]) -> tuple[Tensor, Tensor, Tensor]:
        """Samples, labels, and each sample's share in its seed's mean loss: 0 for padding."""
        example = next(batch for batch in batches if batch is not None).x
        seeds, width = len(batches), self._width
        x = np.zeros((seeds, width, *example.shape[1:]), example.dtype)
        y = np.zeros((seeds, width), np.int64)
        share = np.zeros((seeds, width, 1), np.float32)
        for index, (learner, batch) in enumerate(zip(self.learners, batches, strict=True)):
            if batch is None:
                continue
            count = len(batch.y)
            x[index, :count], y[index, :count] = batch.x, batch.y
            if isinstance(learner, ExperienceReplay):
                places = learner.memory.sample(learner.options.memory_batch)
                if len(places):
                    end = count + len(places)
                    x[index, count:end] = learner.memory.columns["x"][places]
                    y[index, count:end] = learner.memory.columns["y"][places]
                    count = end
            share[index, :count] = 1 / count
        floats = self.learners[0].inputs.tensor(x.reshape(seeds * width, *example.shape[1:]))
        labels, shares = (torch.from_numpy(array).to(self._device) for array in (y, share))
        return floats.reshape(seeds, width, -1), labels, shares

    def _step(self, x: Tensor, y: Tensor, share: Tensor) -> None:
        """Forward, backward and update, layer by layer."""
        inputs = [x]
        for weight, bias in self._layers[:-1]:
            inputs.append(torch.baddbmm(bias, inputs[-1], weight).relu_())
        weight, bias = self._layers[-1]
        slope = torch.softmax(torch.baddbmm(bias, inputs[-1], weight), 2)
        slope.scatter_add_(2, y[..., None], torch.full_like(share, -1.0))
        slope *= share
        for index in range(len(self._layers) - 1, -1, -1):
            weight, bias = self._layers[index]
            below = torch.bmm(slope, weight.mT).mul_(inputs[index] > 0) if index else slope
            weight.baddbmm_(inputs[index].mT, slope, alpha=-self._lr)
            bias.sub_(slope.sum(1, keepdim=True), alpha=self._lr)
            slope = below


class Member:
    """One seed of a group, as a learner: batches wait until the others have theirs."""

    def __init__(self, group: Group, index: int, alone: Finetune) -> None:
        self._group, self._index, self._alone = group, index, alone
        self.queue: deque[Batch] = deque()
        self.spent = np.zeros(2)

    @property
    def alone(self) -> Finetune:
        """The learner that it stands for."""
        return self._alone

    def clock(self) -> tuple[float, float]:
        """Seconds and processor seconds of this job: without its waiting, with its share of the training."""
        wall, processor = _now() + self.spent
        return float(wall), float(processor)

    @property
    def stored_samples(self) -> int:
        """Samples in memory, those that wait not counted."""
        return self._alone.stored_samples

    @property
    def stored_bytes(self) -> int:
        """Bytes of the memory, those that wait not counted."""
        return self._alone.stored_bytes

    def learn(self, batch: Batch) -> None:
        """Put the batch in the queue."""
        self.queue.append(batch)
        if len(self.queue) >= QUEUE:
            self._group.flush(self)

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """Learn what waits, then score."""
        self.settle()
        return self._alone.score(x, task)

    def end_task(self) -> None:
        """Do nothing."""

    def state(self) -> State:
        """The state of the learner alone: either kind can be resumed as the other."""
        self.settle()
        return self._alone.state()

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        self.queue.clear()
        self._alone.restore(state)
        self._group.together.take(self._index)

    def settle(self) -> None:
        """Learn what waits."""
        if self.queue:
            self._group.flush(self)
        self._group.together.scatter(self._index)


class Group:
    """Runs one job a seed, each with a learner that is trained together with the others.

    The jobs run in threads, one at a time, and are written as if each had its learner to itself. When a job asks
    for scores or a state it waits until every other job does so too, or is over; then all that waits is learned
    in step.
    """

    def __init__(self, learners: Sequence[Learner], width: int) -> None:
        self.together = Together(learners, width)
        self.members = [Member(self, index, one) for index, one in enumerate(self.together.learners)]
        self._turn = threading.Condition()
        self._alive = self._waiting = self._drained = 0
        self._error: BaseException | None = None

    def run(self, jobs: Sequence[Callable[[Learner], Result]]) -> list[Result | BaseException]:
        """What each job returned, or raised."""
        results: list[Any] = [None] * len(jobs)
        self._alive = len(jobs)

        def work(index: int) -> None:
            with self._turn:  # given away only while waiting in `flush`: a group is no more than one busy thread
                try:
                    results[index] = jobs[index](self.members[index])
                except BaseException as error:  # handed to the caller, who knows which run it was
                    results[index] = error
                finally:
                    self.members[index].queue.clear()
                    self._alive -= 1
                    self._turn.notify_all()

        threads = [threading.Thread(target=work, args=(index,)) for index in range(len(jobs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    def flush(self, member: Member) -> None:
        """Wait until nobody is busy, then learn what waits; whoever comes last does it for all."""
        with self._turn:
            began = _now()
            drained = self._drained
            self._waiting += 1
            self._turn.notify_all()
            self._turn.wait_for(lambda: self._drained != drained or self._waiting >= self._alive)
            if self._drained == drained:
                try:
                    self._drain()
                except BaseException as error:  # every member must hear of it, not only this one
                    self._error = error
                self._waiting = 0
                self._drained += 1
                self._turn.notify_all()
            member.spent -= _now() - began
            if self._error is not None:
                raise self._error

    def _drain(self) -> None:
        began = _now()
        waiting = np.array([len(member.queue) for member in self.members])
        while any(member.queue for member in self.members):
            self.together.learn([member.queue.popleft() if member.queue else None for member in self.members])
        cost = _now() - began
        for member, share in zip(self.members, waiting / waiting.sum(), strict=True):
            member.spent += share * cost


def _now() -> NDArray[np.float64]:
    """Seconds, and processor seconds of this thread."""
    return np.array([time.perf_counter(), time.thread_time()])


def _layers(learner: Finetune) -> list[torch.nn.Linear]:
    network = learner.network
    assert isinstance(network, MLP)
    return [layer for layer in (*network.body, network.head) if isinstance(layer, torch.nn.Linear)]
