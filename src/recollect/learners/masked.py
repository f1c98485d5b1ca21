"""What PackNet and Piggyback share: each task is answered by a part of the weights, and by some of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from recollect.errors import UsageError
from recollect.learners import devices
from recollect.learners.base import Array, Scores, Setting, State
from recollect.learners.finetune import Finetune
from recollect.learners.options import Train
from recollect.runs.seeds import Seeds


class MaskedLearner(Finetune):
    """A network whose weights are shared by the tasks through masks; it has to be told the task of a sample.

    What is shared are the tables of weights before the answering layer. That layer, biases, and what batch norms hold
    are each task's own, kept when it ends. Nothing of a task that is over changes after it.
    """

    def __init__(self, options: Train, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.shared = shared_weights(self.network, setting.n_outputs)
        self.own: dict[int, State] = {}
        self.present: int | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """How much is shared, and how much is not."""
        total = sum(weight.numel() for weight in self.network.parameters())
        count = sum(weight.numel() for weight in self.shared.values())
        return (f"{count:,} of {total:,} weights are shared by the tasks; the others each task has for itself",)

    @property
    def stored_bytes(self) -> int:
        """Bytes of what tasks have of their own."""
        found: int = sum(array.nbytes for own in self.own.values() for array in own.values())
        return found

    def begin(self, task: int | None) -> bool:
        """Whether this is the first batch of a task."""
        if task is None:
            raise UsageError(
                f"{type(self).__name__} keeps weights for each task, and a batch came without its task. Use a"
                " task-incremental stream."
            )
        if task in self.own:
            raise UsageError(
                f"Task {task} comes again, and {type(self).__name__} never changes a task that is over. Use a stream in"
                " which each task comes once."
            )
        is_first, self.present = task != self.present, task
        return is_first

    def masked(self, task: int) -> dict[str, Tensor]:
        """The shared weights as a task that is over sees them."""
        raise NotImplementedError

    def close(self) -> None:
        """Keep what the task that ends has of its own."""
        assert self.present is not None
        self.own[self.present] = self._own_now()
        self.present = None

    def _own_now(self) -> State:
        return {name: array for name, array in devices.weights(self.network).items() if name not in self.shared}

    @contextmanager
    def as_of(self, task: int) -> Iterator[None]:
        """While entered, the network is that of the task, if it is over; then what it was."""
        if task not in self.own:
            yield
            return
        now = {name: tensor.detach().clone() for name, tensor in self.network.state_dict().items()}
        own = {name: torch.from_numpy(np.array(array)) for name, array in self.own[task].items()}
        self.network.load_state_dict({**own, **self.masked(task)})
        try:
            yield
        finally:
            self.network.load_state_dict(now)

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """The logits of all classes, of each sample by the network of its task."""
        if task is None:
            raise UsageError(
                f"{type(self).__name__} answers by the weights of each sample's task; give score(x, task)."
            )
        scores = np.empty((self.setting.n_outputs, len(x)), np.float32).T
        for one in np.unique(task).tolist():
            mine = np.flatnonzero(task == one)
            with self.as_of(one):
                scores[mine] = super().score(x[mine])
        return scores

    def state(self) -> State:
        """Weights, optimiser, generators, and what tasks have of their own."""
        own = [{"task": task, "weights": weights} for task, weights in self.own.items()]
        return {**super().state(), "own": own, "present": self.present}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.own = {int(one["task"]): dict(one["weights"]) for one in state["own"]}
        self.present = None if state["present"] is None else int(state["present"])


def shared_weights(network: nn.Module, n_outputs: int) -> dict[str, Tensor]:
    """The tables of weights that are trained, less those at the end with a row or column for each output.

    >>> list(shared_weights(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), 3))
    ['0.weight']
    """
    tables = [(name, weight) for name, weight in network.named_parameters() if weight.requires_grad and weight.ndim > 1]
    while tables and n_outputs in tables[-1][1].shape:
        tables.pop()
    if not tables:
        raise UsageError(
            f"{type(network).__name__} has no trained weights before those that give its {n_outputs} outputs, so tasks"
            " have nothing to share. Give it a hidden layer of another width."
        )
    return dict(tables)
