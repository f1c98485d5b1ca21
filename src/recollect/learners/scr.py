"""SCR: supervised contrastive replay, answered by the nearest class mean of the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from recollect.errors import UsageError
from recollect.learners import devices
from recollect.learners.base import Array, Scores, Setting, State
from recollect.learners.finetune import make_optimiser
from recollect.learners.nearest_mean import by_label, nearest_mean_scores
from recollect.learners.options import Contrastive
from recollect.learners.randomness import sub_seed
from recollect.learners.replay import ReplayLearner
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class SCR(ReplayLearner):
    """Samples of a class are drawn together and others apart, in a projection of the features; no output is trained."""

    Options = Contrastive
    options: Contrastive

    def __init__(self, options: Contrastive, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        if not callable(getattr(self.network, "features", None)):
            raise UsageError(
                "The learner 'scr' trains the features of its network: give the network a method `features(x)` that"
                " returns what its last layer sees, one row per sample."
            )
        width = self._try(self.network.features).shape[1]  # type: ignore[arg-type]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(sub_seed(seeds.init, "projection"))
            layers = nn.Linear(width, width), nn.ReLU(), nn.Linear(width, options.projection)
        self.projection = nn.Sequential(*layers).to(self.device)
        self.optimiser = make_optimiser(options, nn.ModuleList([self.network, self.projection]))

    def train_on(self, batch: Batch) -> None:
        """A step on the batch and a batch of memory, each sample as it is and augmented; none while memory is empty."""
        for _ in range(self.options.iterations):
            places = self.retrieve(batch)
            if len(places):
                x, y = self.held(places)
                both = np.concatenate((x, batch.x))
                labels = self.labels(np.concatenate((y, batch.y)))
                views = [self.project(self.inputs.tensor(both)), self.project(self.inputs.training(both))]
                self.step(contrast(torch.cat(views), labels.repeat(2), self.options.temperature))
        self.remember(batch)

    def project(self, x: Tensor) -> Tensor:
        """Where samples lie in the projection, at length 1."""
        return F.normalize(self.projection(self.network.features(x)), dim=1)  # type: ignore[operator]

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """Minus the squared distance to each class's mean of the memory."""
        return nearest_mean_scores(self, by_label(self.memory.x, self.memory.y) if len(self.memory) else {}, x)

    def state(self) -> State:
        """Weights, projection, optimiser, generators, memory."""
        return {**super().state(), "projection": devices.weights(self.projection)}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        devices.set_weights(self.projection, state["projection"])


def contrast(z: Tensor, y: Tensor, temperature: float) -> Tensor:
    """The supervised contrastive loss (Khosla et al. 2020) of views of length 1: those of one label belong together.

    >>> z = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> bool(contrast(z, torch.tensor([0, 0, 1, 1]), 0.1) < contrast(z, torch.tensor([0, 1, 0, 1]), 0.1))
    True
    """
    logits = z @ z.T / temperature
    others = ~torch.eye(len(y), dtype=torch.bool, device=z.device)
    same = (y[:, None] == y[None, :]) & others
    likely = logits - torch.logsumexp(logits.masked_fill(~others, -torch.inf), 1, keepdim=True)
    return -((likely * same).sum(1) / same.sum(1)).mean()
