"""What networks are trained for, by problem: scores of classes, or a value. `Problem.objective` names the class."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from recollect.errors import UsageError
from recollect.learners.base import Scores, Setting
from recollect.problems import problem_of


class Objective(Protocol):
    """How far outputs are from what is true, and what they say."""

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The mean loss of a batch."""

    def losses(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The loss of each sample."""

    def likelihoods(self, outputs: Tensor, y: Any, most: int) -> list[tuple[Tensor, float]]:
        """Terms of one sample, and their shares, whose squared gradients add up to its Fisher information."""

    def answers(self, outputs: Scores) -> Scores:
        """What the learner says, in the shape that the problem asks for."""


class Classes:
    """Cross-entropy over all classes; over those of the sample's task where the scenario gives tasks."""

    def __init__(self, setting: Setting, device: torch.device, smoothing: float = 0.0) -> None:
        self._smoothing = smoothing
        owner = setting.task_of_class if setting.gives_task else None
        self._same_task = None if owner is None else torch.from_numpy(owner[:, None] == owner[None, :]).to(device)

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The mean cross-entropy; with smoothing a share of it over all classes that compete."""
        competing = self._competing(outputs, y)
        if not self._smoothing:
            return F.cross_entropy(competing, y)
        log_p = torch.log_softmax(competing, 1)
        there = competing != -torch.inf
        spread = -(log_p.masked_fill(~there, 0).sum(1) / there.sum(1)).mean()
        return (1 - self._smoothing) * F.nll_loss(log_p, y) + self._smoothing * spread

    def losses(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The cross-entropy of each sample."""
        return F.cross_entropy(self._competing(outputs, y), y, reduction="none")

    def likelihoods(self, outputs: Tensor, y: Any, most: int) -> list[tuple[Tensor, float]]:
        """The log-likelihoods of the likeliest labels, at most so many."""
        log_p = torch.log_softmax(self._competing(outputs, y), 1)[0]
        likely = torch.topk(log_p.detach(), min(most, len(log_p)))
        p = likely.values.exp()
        pairs = zip(likely.indices.tolist(), (p / p.sum()).tolist(), strict=True)
        return [(log_p[index], share) for index, share in pairs if share > 0]

    def answers(self, outputs: Scores) -> Scores:
        """The logits as they are."""
        return outputs

    def _competing(self, outputs: Tensor, y: Tensor | int) -> Tensor:
        return outputs if self._same_task is None else outputs.masked_fill(~self._same_task[y], -torch.inf)


class Values:
    """Squared error of one output, in units of the deviation that the first task's targets have from their mean."""

    def __init__(self, setting: Setting, device: torch.device, smoothing: float = 0.0) -> None:
        _refuse_smoothing(setting, smoothing)
        self._mean, self._deviation = setting.scale

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The mean squared error."""
        return F.mse_loss(outputs[:, 0], self._scaled(y).to(outputs.dtype))

    def losses(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The squared error of each sample."""
        return (outputs[:, 0] - self._scaled(y)).square()

    def _scaled(self, y: Tensor) -> Tensor:
        return (y - self._mean) / self._deviation

    def likelihoods(self, outputs: Tensor, y: Any, most: int) -> list[tuple[Tensor, float]]:
        """The output: under a Gaussian of variance 1 the Fisher information is its squared gradient."""
        return [(outputs[0, 0], 1.0)]

    def answers(self, outputs: Scores) -> Scores:
        """The value in its own unit."""
        return outputs[:, 0].astype("float64") * self._deviation + self._mean


class Verdict:
    """Cross-entropy of one output that says whether a sample holds."""

    def __init__(self, setting: Setting, device: torch.device, smoothing: float = 0.0) -> None:
        _refuse_smoothing(setting, smoothing)

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The mean cross-entropy."""
        return F.binary_cross_entropy_with_logits(outputs[:, 0], y.to(outputs.dtype))

    def losses(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The cross-entropy of each sample."""
        return F.binary_cross_entropy_with_logits(outputs[:, 0], y.to(outputs.dtype), reduction="none")

    def likelihoods(self, outputs: Tensor, y: Any, most: int) -> list[tuple[Tensor, float]]:
        """The log-likelihoods of both answers, each with its probability."""
        p = float(torch.sigmoid(outputs[0, 0].detach()))
        both = ((F.logsigmoid(outputs[0, 0]), p), (F.logsigmoid(-outputs[0, 0]), 1 - p))
        return [(term, share) for term, share in both if share > 0]

    def answers(self, outputs: Scores) -> Scores:
        """The score as it is."""
        return outputs[:, 0].astype("float64")


def objective_of(setting: Setting, device: torch.device, smoothing: float = 0.0) -> Objective:
    """The objective of the setting's problem."""
    path = problem_of(setting.problem).objective
    if path is None:
        raise UsageError(f"No network here is trained for {setting.problem}.")
    module, _, name = path.partition(":")
    made: Objective = getattr(import_module(module), name)(setting, device, smoothing)
    return made


def _refuse_smoothing(setting: Setting, smoothing: float) -> None:
    if smoothing:
        raise UsageError(f"label_smoothing is for classes; the stream asks for {setting.problem}. Leave it out.")
