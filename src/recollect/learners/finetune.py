"""Finetune, and what every network trained on the stream shares with it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from recollect.errors import UsageError
from recollect.learners import devices
from recollect.learners.augment import Mixed
from recollect.learners.base import Array, Keeping, Resumable, Scores, Setting, State
from recollect.learners.inference import PIECE_OF_IMAGES, features_of, in_pieces, score_all
from recollect.learners.inputs import Adapter, ArrayInputs
from recollect.learners.networks import MLP, ResNet18, build
from recollect.learners.objectives import objective_of
from recollect.learners.optimisers import SGD, Adam, Optimiser, clip
from recollect.learners.options import Network, Offline, Train
from recollect.learners.randomness import OwnRandomness, sub_seed
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


Method = TypeVar("Method", bound=Callable[..., None])


def by_loss_on(method: Method) -> Method:
    """Mark a `train_on` that learns by `loss_on` alone, so that samples and labels may be mixed."""
    method.mixes = True  # type: ignore[attr-defined]
    return method


class NetworkLearner(Keeping):
    """A network, its inputs, and scores from it. What trains it comes in the classes below.

    A subclass that draws takes `self.rng`; one that keeps attributes of its own (numbers, arrays, plain containers, or
    what has `state` and `restore`) names them in `keeps`. Both are then part of its state. `Options` is the dataclass
    of the options by which it is made in an experiment file.
    """

    Options: ClassVar[type[Any]] = Network
    keeps: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: Network, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        self.setting = setting
        self.device = devices.choose(device, deterministic=options.deterministic)
        self._seeds = seeds
        self._network_options = options
        smoothing = options.label_smoothing if isinstance(options, Train) else 0.0
        self.objective = objective_of(setting, self.device, smoothing)
        self._adopt(build(options, setting, seeds.init))
        self.inputs = self._adapter(options)
        if self.inputs.mixes and not getattr(type(self).train_on, "mixes", False):
            raise UsageError(
                f"{type(self).__name__} uses the outputs and labels of single samples, which mixup and cutmix would"
                " mix. Take another augmentation, or one of finetune, er, mir, ewc, mas, gdumb and the joint learners."
            )
        self._rng: np.random.Generator | None = None
        self._random: OwnRandomness | None = None
        if not isinstance(self.network, MLP | ResNet18):
            self._random = OwnRandomness(sub_seed(seeds.learner, "network"), self.device)
        self._check_outputs()

    def _adapter(self, options: Network) -> Adapter:
        """What makes of samples what the network takes."""
        if self.setting.samples != "arrays":
            from recollect.learners.graphs.inputs import GraphInputs, refuse_image_options

            refuse_image_options(options)
            seed = sub_seed(self._seeds.learner, "neighbours")
            return GraphInputs(self.setting, self.device, options.neighbours, seed, options.drawn_by)
        if options.neighbours is not None or options.drawn_by != "own":
            raise UsageError(
                "The options neighbours and drawn_by are for streams over graphs; samples of this one are arrays."
            )
        return ArrayInputs(
            options.normalise,
            options.augment,
            self.setting,
            sub_seed(self._seeds.learner, "augment"),
            self.device,
            channels_last=isinstance(self.network, ResNet18),
        )

    def precision(self) -> AbstractContextManager[Any]:
        """What a training step is taken in: numbers of half the size where that was asked for."""
        chosen = self._network_options.precision
        if chosen == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def see(self, view: Any) -> None:
        """Take what may be seen from now on, where samples are ids in something larger."""
        self.inputs.see(view)

    def _adopt(self, network: nn.Module) -> None:
        """Take a network as the learner's own, on its device and in its memory layout."""
        network = network.to(self.device)
        if isinstance(network, ResNet18):
            network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.network: nn.Module = network.train()
        if self._network_options.compile:
            self.network.compile()

    def learn(self, batch: Batch) -> None:
        """Learn from one batch of the stream."""
        try:
            with nullcontext() if self._random is None else self._random, self.precision():
                self.train_on(batch)
        except ValueError as error:
            refuse_lone_sample(error)
            raise

    def train_on(self, batch: Batch) -> None:
        """What is done with a batch: a method of one's own overrides this, or something that it calls."""
        raise NotImplementedError

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """The logits of all classes, or whatever the problem asks for."""
        return self.objective.answers(score_all(self.network, self.inputs, x, self.setting.n_outputs))

    def represent(self, x: Array) -> NDArray[np.float64]:
        """What the last layer reads of these samples; the network is left as it was."""
        return features_of(self.network, self.inputs, x, self.setting.n_outputs)

    @property
    def rng(self) -> np.random.Generator:
        """A generator of one's own: it comes from the run's seed and goes on where a resumed run was."""
        if self._rng is None:
            self._rng = np.random.default_rng(sub_seed(self._seeds.learner, "own"))
        return self._rng

    def outputs(self, x: Array) -> Tensor:
        """The network's outputs for these samples, augmented as in training."""
        outputs: Tensor = self.network(self.inputs.training(x))
        return outputs

    def labels(self, y: Array) -> Tensor:
        """Labels, or true values, where the network is."""
        return devices.to_tensor(y, self.device)

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The mean loss of a batch, under the objective of the problem."""
        return self.objective.loss(outputs, y)

    def loss_on(self, x: Array, y: Array) -> Tensor:
        """The mean loss of these samples, augmented, and mixed if that was asked for."""
        inputs, labels = self.inputs.training(x), self.labels(y)
        if self.inputs.mixes:
            return self.mixed_loss(self.inputs.mix(inputs), labels)
        return self.loss(self.network(inputs), labels)

    def mixed_loss(self, mixed: Mixed, labels: Tensor) -> Tensor:
        """The mean loss of mixed samples: that of both labels, by their shares."""
        outputs = self.network(mixed.images)
        return mixed.kept * self.loss(outputs, labels) + (1 - mixed.kept) * self.loss(outputs, labels[mixed.partner])

    def losses(self, x: Array, y: Array) -> Tensor:
        """The loss of each of these samples, as the network answers now: in evaluation mode, without a gradient."""
        self.network.eval()
        with torch.no_grad():
            found = self.objective.losses(self.network(self.inputs.tensor(x)), self.labels(y))
        self.network.train()
        return found

    def state(self) -> State:
        """The weights and the generators."""
        random = {} if self._random is None else self._random.state()
        state: State = {"network": devices.weights(self.network), "inputs": self.inputs.state(), "random": random}
        if self._rng is not None:
            state["rng"] = dict(self._rng.bit_generator.state)
        if self.keeps:
            state["keeps"] = {name: kept_state(getattr(self, name)) for name in self.keeps}
        return state

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        devices.set_weights(self.network, state["network"])
        self.inputs.restore(state["inputs"])
        if self._random is not None:
            self._random.restore(state["random"])
        self._rng = None
        if "rng" in state:
            self.rng.bit_generator.state = state["rng"]
        for name in self.keeps:
            held = getattr(self, name)
            if isinstance(held, Resumable):
                held.restore(state["keeps"][name])
            else:
                setattr(self, name, copy.deepcopy(state["keeps"][name]))

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
                f"The network gives a {type(outputs).__name__}; one tensor was expected, one row per sample. Return the"
                " logits alone."
            )
        return outputs


class Finetune(NetworkLearner):
    """Trains on the stream, one step a batch, and does nothing against forgetting."""

    Options = Train

    def __init__(self, options: Train, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        if options.fresh and not setting.gives_boundaries:
            raise UsageError("The option 'fresh' needs to know where tasks end, and this scenario tells no boundaries.")
        if options.select and not (setting.has_validation and setting.gives_boundaries):
            raise UsageError(
                "The option 'select' needs validation samples in each task and to know where tasks end; this stream has"
                " none, or tells no boundaries. Streams over nodes have them (valid_fraction)."
            )
        self.options = options
        self.optimiser = make_optimiser(options, self.network)
        self._best: tuple[float, State] | None = None

    @property
    def selects_weights(self) -> bool:
        """Whether weights are chosen by the validation samples."""
        return self.options.select is not None

    def keep_if_best(self, accuracy: float) -> None:
        """Keep the weights of now if none of this task were better before."""
        if self._best is None or accuracy > self._best[0]:
            self._best = accuracy, devices.weights(self.network)

    @by_loss_on
    def train_on(self, batch: Batch) -> None:
        """Take `iterations` steps on the batch."""
        for _ in range(self.options.iterations):
            self.step(self.loss_on(batch.x, batch.y))

    def step(self, loss: Tensor) -> None:
        """One step down the gradient of the loss, which is shortened if that was asked for."""
        if self.options.clip is None:
            self.optimiser.step(loss)
            return
        gradients = torch.autograd.grad(loss, self.optimiser.parameters, allow_unused=True)
        clip(gradients, self.options.clip)
        self.optimiser.apply(gradients)

    def end_task(self) -> None:
        """Take the best weights of the task, and forget what the optimiser remembers, if that was asked for."""
        if self._best is not None:
            devices.set_weights(self.network, self._best[1])
            self._best = None
        if self.options.fresh:
            self.optimiser.forget()

    def state(self) -> State:
        """Weights, optimiser, generators."""
        state = {**super().state(), "optimiser": self.optimiser.state()}
        if self._best is not None:
            state["best"] = {"accuracy": self._best[0], "weights": self._best[1]}
        return state

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.optimiser.restore(state["optimiser"])
        best = state.get("best")
        self._best = None if best is None else (float(best["accuracy"]), best["weights"])


class FixedFeatures(NetworkLearner):
    """The features of a network that is never trained: its `features` method, else its output."""

    def __call__(self, x: Array) -> NDArray[np.float64]:
        forward = getattr(self.network, "features", self.network)
        return in_pieces(self.network, forward, self.inputs, x, PIECE_OF_IMAGES)

    def _check_outputs(self) -> None:
        """Features may have any number of outputs, and weights that are never trained."""
        self._try(getattr(self.network, "features", self.network))


def kept_state(held: Any) -> Any:
    """What is saved of an attribute: its own state if it has one, a tensor as an array, else a copy."""
    if isinstance(held, Resumable):
        return held.state()
    return devices.to_array(held) if isinstance(held, Tensor) else copy.deepcopy(held)


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
    """The optimiser of these options: one of ours, which are faster, else torch's."""
    asked = options.optimizer if isinstance(options.optimizer, Mapping) else {"name": options.optimizer}
    schedule = options.scheduler if isinstance(options, Train) else None
    if schedule is None and asked == {"name": "adam"}:
        return Adam(network, options.lr, options.weight_decay)
    if schedule is None and asked == {"name": "sgd"}:
        return SGD(network, options.lr, options.momentum, options.weight_decay)
    from recollect.learners.torch_optim import TorchOptimiser

    given = {"lr": options.lr, "momentum": options.momentum, "weight_decay": options.weight_decay}
    return TorchOptimiser(network, asked, {"name": schedule} if isinstance(schedule, str) else schedule, given)
