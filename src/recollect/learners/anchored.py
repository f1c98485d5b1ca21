"""EWC and MAS: weights that mattered for earlier tasks are held near the values they had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from recollect.learners import devices
from recollect.learners.base import Setting, State
from recollect.learners.buffers import Reservoir
from recollect.learners.finetune import Finetune, by_loss_on
from recollect.learners.holding import Anchor
from recollect.learners.options import Anchored, Fisher
from recollect.learners.randomness import sub_seed
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class AnchoredLearner(Finetune):
    """Adds strength / 2 * sum(importance * (weight - anchor)^2) to the loss.

    The step on the data is a gradient step; the step on the penalty is taken implicitly (its proximal map,
    which is exact for a quadratic), so that no strength makes the training diverge. At the end of a task
    the importance of each weight is added up over a sample of the task, and the anchor moves to the weights.
    """

    Options = Anchored
    options: Anchored

    def __init__(self, options: Anchored, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.anchor = Anchor(self.optimiser.parameters)
        self.tasks_over = 0
        self.recent = self._new_sample()

    @property
    def stored_samples(self) -> int:
        """Samples of the present task, kept for its end."""
        return len(self.recent)

    @property
    def stored_bytes(self) -> int:
        """Bytes of those samples, of the anchors and of the importance."""
        return self.recent.stored_bytes + self.anchor.stored_bytes

    def importance_of(self, x: Tensor, label: float) -> list[Tensor]:
        """How much each weight matters for one sample, of shape (1, ...)."""
        raise NotImplementedError

    @by_loss_on
    def train_on(self, batch: Batch) -> None:
        super().train_on(batch)
        if not batch.repeat:
            self.recent.add(batch.x, batch.y)

    def step(self, loss: Tensor) -> None:
        """A gradient step on the loss, and an implicit one on the penalty."""
        super().step(loss)
        if self.anchor:
            self.anchor.pull(self.optimiser.lr * self.options.strength)

    def end_task(self) -> None:
        """Add the importance for the task that is over, and move the anchor."""
        super().end_task()
        self.tasks_over += 1
        if not len(self.recent):
            return
        self.network.eval()
        found = self.importance()
        self.network.train()
        self.anchor.move(found, self.options.decay)
        self.recent = self._new_sample()

    def importance(self) -> list[Tensor]:
        """How much each weight matters for the task that is over: the mean over a sample of it."""
        found = self.anchor.nothing()
        for sample, label in zip(self.recent.x, self.recent.y.tolist(), strict=True):
            parts = self.importance_of(self.inputs.tensor(sample[None]), label)
            torch._foreach_add_(found, torch._foreach_div(parts, len(self.recent)))
        return found

    def squares(self, loss: Tensor) -> list[Tensor]:
        """The squared gradient of a loss."""
        parameters = self.optimiser.parameters
        found = torch.autograd.grad(loss, parameters, materialize_grads=True, allow_unused=True)
        return [part.square() for part in found]

    def _new_sample(self) -> Reservoir:
        return Reservoir(self.options.samples, sub_seed(self._seeds.learner, "sample", self.tasks_over))

    def state(self) -> State:
        """Weights, optimiser, generators, importance, anchors, samples of the present task."""
        return {
            **super().state(),
            **self.anchor.state(),
            "tasks_over": self.tasks_over,
            "recent": self.recent.state(),
        }

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.anchor.restore(state)
        self.tasks_over = int(state["tasks_over"])
        self.recent = self._new_sample()
        self.recent.restore(state["recent"])


class EWC(AnchoredLearner):
    """Online EWC: importance is the diagonal of the Fisher information."""

    Options = Fisher
    options: Fisher

    def importance(self) -> list[Tensor]:
        """The mean of the samples' squared gradients, or the square of the gradient of their mean loss."""
        if self.options.fisher == "samples":
            return super().importance()
        y = devices.to_tensor(self.recent.y, self.device)
        return self.squares(self.loss(self.network(self.inputs.tensor(self.recent.x)), y))

    def importance_of(self, x: Tensor, label: float) -> list[Tensor]:
        """The squared gradient of the log-likelihood, its mean over the labels that the network gives."""
        total = self.anchor.nothing()
        for term, share in self.objective.likelihoods(self.network(x), label, self.options.labels):
            gradient = torch.autograd.grad(term, self.optimiser.parameters, retain_graph=True)
            torch._foreach_add_(total, torch._foreach_mul(torch._foreach_mul(gradient, gradient), share))
        return total


class MAS(AnchoredLearner):
    """Memory aware synapses: importance is how much the output's squared length depends on a weight."""

    def importance_of(self, x: Tensor, label: float) -> list[Tensor]:
        """The absolute gradient of the squared length of the outputs."""
        length = self.network(x).square().sum()
        return [gradient.abs() for gradient in torch.autograd.grad(length, self.optimiser.parameters)]
