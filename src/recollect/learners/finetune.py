"""Finetune, and what every network trained on the stream shares with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from recollect.errors import UsageError
from recollect.learners import devices
from recollect.learners.base import Array, Keeping, Scores, Setting, State
from recollect.learners.inference import PIECE_OF_IMAGES, score_all
from recollect.learners.inputs import Adapter, Inputs
from recollect.learners.networks import MLP, ResNet18, build
from recollect.learners.objectives import objective_of
from recollect.learners.optimisers import SGD, Adam, Optimiser
from recollect.learners.options import Network, Offline, Train
from recollect.learners.randomness import OwnRandomness, sub_seed
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class NetworkLearner(Keeping):
    """A network, its inputs, and scores from it. What trains it comes in the classes below."""

    def __init__(self, options: Network, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        self.setting = setting
        self.device = devices.choose(device)
        self._seeds = seeds
        self._network_options = options
        self.objective = objective_of(setting, self.device)
        self._adopt(build(options, setting, seeds.init))
        self.inputs = self._adapter(options)
        self._random: OwnRandomness | None = None
        if not isinstance(self.network, MLP | ResNet18):
            self._random = OwnRandomness(sub_seed(seeds.learner, "network"), self.device)
        self._check_outputs()

    def _adapter(self, options: Network) -> Adapter:
        """What makes of samples what the network takes."""
        if self.setting.samples != "arrays":
            from recollect.learners.graphs.inputs import GraphInputs, refuse_image_options

            refuse_image_options(options)
            return GraphInputs(self.setting, self.device)
        return Inputs(
            options.normalise,
            options.augment,
            self.setting,
            sub_seed(self._seeds.learner, "augment"),
            self.device,
            channels_last=isinstance(self.network, ResNet18),
        )

    def see(self, view: Any) -> None:
        """Take what may be seen from now on, where samples are ids in something larger."""
        self.inputs.see(view)

    def _adopt(self, network: nn.Module) -> None:
        """Take a network as the learner's own, on its device and in its memory layout."""
        network = network.to(self.device)
        if isinstance(network, ResNet18):
            network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.network: nn.Module = network.train()

    def learn(self, batch: Batch) -> None:
        """Learn from one batch of the stream."""
        try:
            if self._random is None:
                self._learn(batch)
            else:
                with self._random:
                    self._learn(batch)
        except ValueError as error:
            refuse_lone_sample(error)
            raise

    def _learn(self, batch: Batch) -> None:
        raise NotImplementedError

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """The logits of all classes, or whatever the problem asks for."""
        return self.objective.answers(score_all(self.network, self.inputs, x, self.setting.n_outputs))

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The mean loss of a batch, under the objective of the problem."""
        return self.objective.loss(outputs, y)

    def state(self) -> State:
        """The weights and the generators."""
        random = {} if self._random is None else self._random.state()
        return {"network": devices.weights(self.network), "inputs": self.inputs.state(), "random": random}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        devices.set_weights(self.network, state["network"])
        self.inputs.restore(state["inputs"])
        if self._random is not None:
            self._random.restore(state["random"])

    def _check_outputs(self) -> None:
        _check_weights(self.network)
        shape = tuple(self._try(self.network).shape)
        wanted = self.setting.n_outputs
        if shape != (2, wanted):
            why = f"{wanted} classes" if self.setting.per_class else f"one number to predict ({self.setting.problem})"
            raise UsageError(
                f"The network gives outputs of shape {shape[1:]} for a sample; the stream has {why}, so it must give"
                f" ({wanted},)."
            )

    def _try(self, forward: Callable[[Any], Any]) -> Tensor:
        """What two empty samples give, in evaluation mode."""
        x = self.inputs.example()
        self.network.eval()
        try:
            with torch.inference_mode():
                outputs = forward(x)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise UsageError(
                f"The network cannot take the stream's samples: given {tuple(x.shape)} numbers of {x.dtype}, it stops"
                f" with {type(error).__name__}: {' '.join(str(error).split())}. Its first layer must fit samples of"
                f" shape {self.setting.input_shape} (nn.Flatten makes images rows)."
            ) from error
        finally:
            self.network.train()
        if not isinstance(outputs, Tensor):
            raise UsageError(
                f"The network gives a {type(outputs).__name__}; one tensor was expected, a row a sample. Return the"
                " logits alone."
            )
        return outputs


class Finetune(NetworkLearner):
    """Trains on the stream, one step a batch, and does nothing against forgetting."""

    def __init__(self, options: Train, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        if options.fresh and not setting.gives_boundaries:
            raise UsageError("The option 'fresh' needs to know where tasks end, and this scenario tells no boundaries.")
        self.options = options
        self.optimiser = make_optimiser(options, self.network)

    def _learn(self, batch: Batch) -> None:
        """Take `iterations` steps on the batch."""
        y = devices.to_tensor(batch.y, self.device)
        for _ in range(self.options.iterations):
            self.step(self.loss(self.network(self.inputs.training(batch.x)), y))

    def step(self, loss: Tensor) -> None:
        """One step down the gradient of the loss."""
        self.optimiser.step(loss)

    def end_task(self) -> None:
        """Forget what the optimiser remembers, if that was asked for."""
        if self.options.fresh:
            self.optimiser.forget()

    def state(self) -> State:
        """Weights, optimiser, generators."""
        return {**super().state(), "optimiser": self.optimiser.state()}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.optimiser.restore(state["optimiser"])


class FixedFeatures(NetworkLearner):
    """The features of a network that is never trained: its `features` method, else its output."""

    def __call__(self, x: Array) -> NDArray[np.float64]:
        forward = getattr(self.network, "features", self.network)
        self.network.eval()
        with torch.inference_mode():
            parts = [
                forward(self.inputs.tensor(x[start : start + PIECE_OF_IMAGES])).flatten(1).cpu().numpy()
                for start in range(0, len(x), PIECE_OF_IMAGES)
            ]
        return np.concatenate(parts).astype(np.float64)

    def _check_outputs(self) -> None:
        """Features may have any number of outputs, and weights that are never trained."""
        self._try(getattr(self.network, "features", self.network))


def refuse_lone_sample(error: ValueError) -> None:
    """Raise UsageError, saying what to do, if this is batch norm stopping at a training batch of one sample."""
    if "more than 1 value per channel" in str(error):
        raise UsageError(
            "The network has batch norm, which cannot be trained on a batch of one sample, and such a batch came: of"
            " the stream (the last one of a task may be short) or of the memory. Choose a `batch` of the stream that"
            " leaves no single sample over and a `memory_batch` of at least 2, or a network with group norm."
        ) from error


def _check_weights(network: nn.Module) -> None:
    weights = list(network.parameters())
    if not any(weight.requires_grad for weight in weights):
        raise UsageError(
            f"The network has nothing to train: of its {len(weights)} parameters none has requires_grad. Set it for"
            " those that are to learn, or take the network as fixed features of ncm or slda."
        )
    other = sorted({str(weight.dtype) for weight in weights if weight.dtype != torch.float32})
    if other:
        raise UsageError(
            f"The network has weights of {', '.join(other)}; samples are given as torch.float32. Make them that, too:"
            " network.float()."
        )


def make_optimiser(options: Train | Offline, network: nn.Module) -> Optimiser:
    """The optimiser of these options."""
    if options.optimizer == "adam":
        return Adam(network, options.lr, options.weight_decay)
    return SGD(network, options.lr, options.momentum, options.weight_decay)
