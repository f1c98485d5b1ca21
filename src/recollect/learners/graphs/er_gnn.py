"""ER-GNN: replay of a few nodes of each class, chosen by where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.learners import devices
from recollect.learners.base import Array, Setting, State
from recollect.learners.buffers import Everything
from recollect.learners.finetune import Finetune
from recollect.learners.options import NodeReplay
from recollect.learners.randomness import sub_seed
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch

Ids = NDArray[np.int64]


class ERGNN(Finetune):
    """Keeps `budget` nodes of each class when its task is over, and learns from them beside every later batch.

    Ids and labels are kept; features and neighbours are those that may be seen at the step. While a task lasts its
    samples are kept, too: the choice is made among all of them.
    """

    options: NodeReplay
    memory: Everything

    def __init__(self, options: NodeReplay, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        if setting.smallest_class is not None:
            _refuse_more(options.budget, setting.smallest_class)
        self.memory = Everything()
        self.recent = Everything()

    @property
    def stored_samples(self) -> int:
        """Nodes in memory, and those of the present task."""
        return len(self.memory) + len(self.recent)

    @property
    def stored_bytes(self) -> int:
        """Their ids and labels."""
        return self.memory.stored_bytes + self.recent.stored_bytes

    def train_on(self, batch: Batch) -> None:
        y = devices.to_tensor(batch.y, self.device)
        for _ in range(self.options.iterations):
            count, kept = len(y), len(self.memory)
            x = np.concatenate((batch.x, self.memory.x)) if kept else batch.x
            logits = self.network(self.inputs.training(x))
            loss = self.loss(logits[:count], y)
            if kept:
                old = self.loss(logits[count:], devices.to_tensor(self.memory.y, self.device))
                new_share, old_share = shares(self.options.beta, count, kept)
                loss = new_share * loss + old_share * old
            self.step(loss)
        if not batch.repeat:
            self.recent.add(batch.x, batch.y)

    def end_task(self) -> None:
        """Choose the nodes to keep of each class of the task."""
        super().end_task()
        if not len(self.recent):
            return
        x, y = self.recent.x, self.recent.y
        where = self._where(x)
        kept = [self._chosen(where, y, label) for label in np.unique(y).tolist()]
        places = np.concatenate(kept)
        self.memory.add(x[places], y[places])
        self.recent = Everything()

    def _where(self, x: Array) -> NDArray[np.float64]:
        """Where nodes lie: what the last layer sees of them, or their features."""
        seen = self.inputs.tensor(x)
        features = getattr(self.network, "features", None)
        self.network.eval()
        with torch.inference_mode():
            if self.options.by == "features" or features is None:
                table = seen.graph.dense_features[seen.places]
            else:
                table = features(seen.graph)[seen.places]
        self.network.train()
        where: NDArray[np.float64] = table.cpu().double().numpy()
        return where

    def _chosen(self, where: NDArray[np.float64], y: Ids, label: int) -> Ids:
        mine = np.flatnonzero(y == label)
        budget = self.options.budget
        _refuse_more(budget, len(mine))
        if self.options.sampler == "random":
            rng = np.random.default_rng(sub_seed(self._seeds.learner, "sampler", label))
            return np.sort(rng.choice(mine, budget, replace=False))
        rank = mean_feature if self.options.sampler == "MF" else coverage
        return np.sort(mine[rank(where, y, mine, self.options.distance)[:budget]])

    def state(self) -> State:
        """Weights, optimiser, generators, memory, and the samples of the present task."""
        return {**super().state(), "memory": self.memory.state(), "recent": self.recent.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.memory.restore(state["memory"])
        self.recent.restore(state["recent"])


def _refuse_more(budget: int, there: int) -> None:
    if budget > there:
        raise UsageError(
            f"The option 'budget' of the learner 'er_gnn' is {budget} nodes of each class, and a class of the stream"
            f" has {there} training nodes. Give at most that."
        )


def shares(beta: str, new: int, kept: int) -> tuple[float, float]:
    """How much the losses on new and on kept samples weigh.

    >>> shares("paper", 90, 10), shares("share", 90, 10), shares("none", 90, 10)
    ((0.1, 0.9), (0.9, 0.1), (1.0, 1.0))
    """
    part = kept / (new + kept)
    return {"paper": (part, 1 - part), "share": (1 - part, part), "none": (1.0, 1.0)}[beta]


def mean_feature(where: NDArray[np.float64], y: Ids, mine: Ids, distance: float) -> Ids:
    """The order of a class's nodes by their distance from its mean.

    >>> mean_feature(np.array([[0.0], [4.0], [1.0]]), np.zeros(3), np.arange(3), 0.5)
    array([2, 0, 1])
    """
    away = np.linalg.norm(where[mine] - where[mine].mean(0), axis=1)
    return np.argsort(away, kind="stable")


def coverage(where: NDArray[np.float64], y: Ids, mine: Ids, distance: float) -> Ids:
    """The order of a class's nodes by how few nodes of the task's other classes are nearer than `distance`.

    >>> coverage(np.array([[0.0], [4.0], [1.0], [1.2]]), np.array([0, 0, 0, 1]), np.arange(3), 1.0)
    array([0, 1, 2])
    """
    others = where[np.flatnonzero(y != y[mine[0]])]
    near = np.zeros(len(mine), np.int64)
    for low in range(0, len(others), 512):  # in pieces: the table of all distances may be large
        gaps = np.linalg.norm(where[mine][:, None] - others[None, low : low + 512], axis=2)
        near += (gaps < distance).sum(1)
    return np.argsort(near, kind="stable")
