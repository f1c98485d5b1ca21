"""iCaRL: exemplars by herding, distillation, and answers by the nearest mean of exemplars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from recollect.learners.base import Array, Scores, Setting, State
from recollect.learners.buffers import Everything
from recollect.learners.finetune import Finetune
from recollect.learners.holding import Teacher
from recollect.learners.nearest_mean import by_label, nearest_mean_scores, unit_features
from recollect.learners.options import Exemplary
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class Exemplars:
    """Samples of each class, the most telling first; every class has an equal share of the places."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.rows: dict[int, Array] = {}

    def __len__(self) -> int:
        return sum(map(len, self.rows.values()))

    @property
    def stored_bytes(self) -> int:
        """Bytes of the samples; their labels are what they are stored under."""
        return sum(rows.nbytes for rows in self.rows.values())

    @property
    def x(self) -> Array:
        """All of them, class by class."""
        return np.concatenate(list(self.rows.values()))

    def take(self, chosen: dict[int, Array]) -> None:
        """Replace the classes given; every class keeps its first ones, as many as its share is now."""
        self.rows.update(chosen)
        share = self.share(len(self.rows))
        self.rows = {label: rows[:share].copy() for label, rows in self.rows.items()}

    def share(self, classes: int) -> int:
        """How many samples a class has when there are so many classes: at least one."""
        return max(1, self.capacity // max(1, classes))

    def state(self) -> State:
        """Everything, copied."""
        return {"labels": list(self.rows), "rows": [rows.copy() for rows in self.rows.values()]}

    def restore(self, state: State) -> None:
        """Become the exemplars whose state this is."""
        self.rows = dict(zip(map(int, state["labels"]), map(np.array, state["rows"]), strict=True))


class ICaRL(Finetune):
    """Trains on the batch and some exemplars: new classes by their labels, old ones by the network before the task."""

    Options = Exemplary
    options: Exemplary
    memory: Exemplars
    keeps = ("memory", "recent", "seen")

    def __init__(self, options: Exemplary, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.memory = Exemplars(options.memory)
        self.recent = Everything()
        self.seen = np.zeros(setting.n_classes, bool)
        self.teacher = Teacher()

    @property
    def stored_samples(self) -> int:
        """Exemplars, and the samples of the present task, from which its own are chosen."""
        return len(self.memory) + len(self.recent)

    @property
    def stored_bytes(self) -> int:
        """Bytes of these and of the teacher."""
        return self.memory.stored_bytes + self.recent.stored_bytes + self.teacher.stored_bytes

    def train_on(self, batch: Batch) -> None:
        """Take `iterations` steps; the samples of the task are kept until it ends."""
        self.seen[batch.y] = True
        for _ in range(self.options.iterations):
            x, y = self._with_exemplars(batch)
            inputs = self.inputs.training(x)
            self.step(self._loss(self.network(inputs), inputs, self.labels(y)))
        if not batch.repeat:
            self.recent.add(batch.x, batch.y)

    def _with_exemplars(self, batch: Batch) -> tuple[Array, Array]:
        if not len(self.memory):
            return batch.x, batch.y
        labels = np.concatenate([np.full(len(rows), label) for label, rows in self.memory.rows.items()])
        count = min(len(labels), self.options.memory_batch)
        places = self.rng.choice(len(labels), count, replace=False, shuffle=False)
        return np.concatenate((batch.x, self.memory.x[places])), np.concatenate((batch.y, labels[places]))

    def _loss(self, outputs: Tensor, inputs: Tensor, y: Tensor) -> Tensor:
        """A yes-or-no loss for each class seen: the label says it of new classes, the teacher of old ones."""
        wanted = F.one_hot(y, self.setting.n_classes).to(outputs.dtype)
        if self.teacher.network is not None:
            old = torch.tensor(list(self.memory.rows), device=self.device)
            with torch.no_grad():
                wanted[:, old] = torch.sigmoid(self.teacher.network(inputs))[:, old]
        seen = torch.from_numpy(self.seen).to(self.device)
        return F.binary_cross_entropy_with_logits(outputs[:, seen], wanted[:, seen], reduction="none").sum(1).mean()

    def end_task(self) -> None:
        """Choose the exemplars of the task by herding, and become the teacher of the next."""
        super().end_task()
        if not len(self.recent):
            return
        new = self._stored(by_label(self.recent.x, self.recent.y))
        share = self.memory.share(len({*self.memory.rows, *new}))
        self.memory.take({label: rows[herd(unit_features(self, rows), share)] for label, rows in new.items()})
        self.recent = Everything()
        self.teacher.become(self.network)

    def _stored(self, recent: dict[int, Array]) -> dict[int, Array]:
        """Samples of these classes: exemplars that there are of them, then those of the present task."""
        held = self.memory.rows
        return {k: np.concatenate((held[k], rows)) if k in held else rows for k, rows in recent.items()}

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """Minus the squared distance to each class's mean of exemplars; of the present task, of all its samples."""
        recent = self._stored(by_label(self.recent.x, self.recent.y)) if len(self.recent) else {}
        return nearest_mean_scores(self, {**self.memory.rows, **recent}, x)

    def state(self) -> State:
        """Weights, optimiser, generators, exemplars, the task's samples, the teacher."""
        return {**super().state(), "teacher": self.teacher.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.teacher.restore(state["teacher"], self.network)


def herd(features: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The places of so many rows whose mean, with each one more, stays nearest to the mean of all.

    >>> herd(np.array([[0.0], [1.0], [2.0], [10.0]]), 2)
    array([2, 1])
    """
    mean, total = features.mean(0), np.zeros(features.shape[1])
    free = np.ones(len(features), bool)
    chosen = np.empty(min(count, len(features)), np.int64)
    for k in range(len(chosen)):
        distance = ((mean - (total + features) / (k + 1)) ** 2).sum(1)
        chosen[k] = np.where(free, distance, np.inf).argmin()
        free[chosen[k]] = False
        total += features[chosen[k]]
    return chosen
