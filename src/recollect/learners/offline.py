"""A network trained from scratch on stored samples, whenever scores are asked after they changed."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recollect.learners import devices
from recollect.learners.augment import Mixed, paste
from recollect.learners.base import Array, Scores, Setting, State
from recollect.learners.buffers import Everything, GreedyBalanced
from recollect.learners.finetune import NetworkLearner, by_loss_on, make_optimiser, refuse_lone_sample
from recollect.learners.networks import build
from recollect.learners.optimisers import clip
from recollect.learners.options import Offline
from recollect.learners.randomness import OwnRandomness, sub_seed
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class OfflineLearner(NetworkLearner):
    """Trains a NEW network with a NEW optimiser on what `stored` holds, when it is scored after a change.

    Everything that a training draws comes from the seeds and the number of changes: the network is a pure
    function of the memory and its history, so scoring more often changes nothing later. `kept_as` is the memory's
    name in the state.
    """

    memory: GreedyBalanced | Everything
    kept_as = "memory"

    def __init__(self, options: Offline, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.options = options
        self.trained_at = 0
        self.trainings = 0

    @property
    def changes(self) -> int:
        """How often what is stored has changed: the memory counts it."""
        return self.memory.changes

    def stored(self) -> tuple[Array, NDArray[np.int64]]:
        """The samples and labels to train on, each once."""
        return self.memory.x, self.memory.y

    @by_loss_on
    def train_on(self, batch: Batch) -> None:
        """Offer the batch to the memory, unless an earlier pass brought it."""
        if not batch.repeat:
            self.memory.add(batch.x, batch.y)

    def end_task(self) -> None:
        """Do nothing: the training waits until scores are asked."""

    def settle(self) -> None:
        """Train anew if what is stored has changed, with what may be seen now."""
        if self.changes != self.trained_at:
            self._retrain()

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """The logits of all classes, after training anew if what is stored has changed."""
        self.settle()
        return super().score(x, task)

    def represent(self, x: Array) -> NDArray[np.float64]:
        """What the last layer reads, after training anew if what is stored has changed."""
        self.settle()
        return super().represent(x)

    def _retrain(self) -> None:
        self._adopt(build(self.options, self.setting, sub_seed(self._seeds.init, self.changes)))
        seed = sub_seed(self._seeds.learner, "training", self.changes)
        self.inputs.reseed(seed)
        random = nullcontext() if self._random is None else OwnRandomness(seed, self.device)
        try:
            with random, self.precision():
                self._train(np.random.default_rng(seed))
        except ValueError as error:
            refuse_lone_sample(error)
            raise
        self.trained_at = self.changes
        self.trainings += 1

    def _train(self, rng: np.random.Generator) -> None:
        chosen = self.options
        x, y = self.stored()
        optimiser = make_optimiser(chosen, self.network)
        for epoch in range(chosen.epochs):
            optimiser.lr = learning_rate(chosen, epoch)
            order = rng.permutation(len(y))
            for start in range(0, len(y), chosen.batch):
                places = order[start : start + chosen.batch]
                if len(places) == 1 and start:
                    break  # batch norm has nothing to normalise in a lone sample; its turn comes next epoch
                loss = self._loss(x[places], y[places], rng)
                gradients = torch.autograd.grad(loss, optimiser.parameters, allow_unused=True)
                clip(gradients, chosen.clip)
                optimiser.apply(gradients)

    def _loss(self, x: Array, y: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        if not self.options.cutmix:
            return self.loss_on(x, y)
        inputs, labels = self.inputs.training(x), devices.to_tensor(y, self.device)
        if inputs.ndim != 4 or rng.random() >= self.options.cutmix:
            return self.loss(self.network(inputs), labels)
        return self.mixed_loss(cutmix(inputs, rng), labels)

    def state(self) -> State:
        """The network, if it is trained, what is stored, and how often that has changed."""
        kept = {self.kept_as: self.memory.state(), "changes": self.changes, "trained_at": self.trained_at}
        return {**super().state(), **kept}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.memory.restore(state[self.kept_as])
        self.memory.changes, self.trained_at = int(state["changes"]), int(state["trained_at"])


def learning_rate(options: Offline, epoch: int) -> float:
    """GDumb's rate: one epoch at a tenth, then cosine cycles that begin at epochs 1, 2, 4, 8, ...

    >>> [round(learning_rate(Offline(lr=1, min_lr=0), epoch), 2) for epoch in range(8)]
    [0.1, 1.0, 1.0, 0.5, 1.0, 0.85, 0.5, 0.15]
    """
    if options.schedule == "constant":
        return options.lr
    if epoch == 0:
        return 0.1 * options.lr
    length = 1 << (epoch.bit_length() - 1)
    wave = (1 + math.cos(math.pi * (epoch - length) / length)) / 2
    return options.min_lr + (options.lr - options.min_lr) * wave


def cutmix(images: Tensor, rng: np.random.Generator) -> Mixed:
    """Images with a rectangle of another image each; the share is drawn evenly (Beta(1, 1)), as in Yun et al. 2019."""
    height, width = images.shape[-2:]
    share, row, column = rng.random(), int(rng.integers(height)), int(rng.integers(width))
    return paste(images, torch.from_numpy(rng.permutation(len(images))).to(images.device), share, row, column)
