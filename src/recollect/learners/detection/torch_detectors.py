"""Autoencoders, plain and variational, of rows and of windows, that learn as the stream goes on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from recollect.errors import UsageError
from recollect.learners import devices
from recollect.learners.base import Array, State
from recollect.learners.detection import options as available
from recollect.learners.detection.coders import dense, sequential
from recollect.learners.detection.detectors import Floats, threshold
from recollect.learners.detection.names import Spec
from recollect.learners.detection.standard import RunningScale
from recollect.learners.optimisers import Adam
from recollect.learners.options import read
from recollect.learners.randomness import sub_seed
from recollect.paths import import_path
from recollect.runs.seeds import Seeds

PIECE = 4096
# What a strategy adds to the loss of a step: a function of the inputs and of the network's outputs for them.
Extra = Callable[[Tensor, Tensor], Tensor]


class CodedNetwork(nn.Module):
    """An encoder and a decoder. What the code is, and what a sample costs, is said below."""

    codes = 1

    def __init__(self, encoder: nn.Module, decoder: nn.Module, width: int) -> None:
        super().__init__()
        self.encoder, self.decoder, self.width = encoder, decoder, width

    def losses(self, x: Tensor, noise: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The loss of each sample, which is its score too, and the outputs."""
        raise NotImplementedError


class AutoencoderNetwork(CodedNetwork):
    """The loss of a sample is the mean of its squared reconstruction errors.

    >>> losses, outputs = AutoencoderNetwork(*dense(6, (8, 2), 1), 2).losses(torch.zeros(5, 6))
    >>> losses.shape, outputs.shape
    (torch.Size([5]), torch.Size([5, 6]))
    """

    def losses(self, x: Tensor, noise: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The mean squared error of each sample, and the reconstructions."""
        outputs = self.decoder(self.encoder(x))
        return (outputs - x).square().mean(1), outputs


class VariationalNetwork(CodedNetwork):
    """The loss of a sample is its negative ELBO under a Gaussian of variance 1, without the constant.

    Without noise the code is its mean: a score draws nothing.
    """

    codes = 2

    def __init__(self, encoder: nn.Module, decoder: nn.Module, width: int, beta: float = 1.0) -> None:
        super().__init__(encoder, decoder, width)
        self.beta = beta

    def losses(self, x: Tensor, noise: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The negative ELBO of each sample, and the reconstructions."""
        mean, log_variance = self.encoder(x).chunk(2, 1)
        outputs = self.decoder(mean if noise is None else mean + noise * torch.exp(0.5 * log_variance))
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1)
        return 0.5 * (outputs - x).square().sum(1) + self.beta * divergence, outputs


class NetworkDetector:
    """A network that goes on learning with Adam: `epochs` passes over a unit, in mini-batches in random order."""

    can_update = True

    def __init__(
        self,
        options: available.Autoencoder,
        n_features: int,
        seeds: Seeds,
        contamination: float,
        device: str = "auto",
    ) -> None:
        self.options = options
        self.device = devices.choose(device)
        self.notes: list[str] = []
        self._n_features = n_features
        self._seeds = seeds
        self._contamination = contamination
        self._begin()

    def _begin(self) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seeds.init)
            self.network = self._build().to(self.device)
        self.optimiser = Adam(self.network, self.options.lr, weight_decay=0.0)
        self.generator = torch.Generator().manual_seed(sub_seed(self._seeds.learner, "detector"))
        self.scale = RunningScale(self._n_features)
        self.threshold = np.inf

    def _build(self) -> CodedNetwork:
        options = self.options
        beta = options.beta if isinstance(options, available.Variational) else None
        codes = 1 if beta is None else 2
        if options.encoder is not None or options.network is not None:
            return own_network(options, self._n_features)
        if isinstance(options, available.SequenceAutoencoder):
            widths = options.hidden or (32, 8)
            coders = sequential(options.layers, self._n_features, options.window, widths, codes)
        else:
            widths = options.hidden or (64, max(1, self._n_features // 4))
            coders = dense(self._n_features, widths, codes)
        if beta is not None:
            return VariationalNetwork(*coders, widths[-1], beta)
        return AutoencoderNetwork(*coders, widths[-1])

    @property
    def stored_bytes(self) -> int:
        """Bytes of the weights."""
        return sum(weight.numel() * weight.element_size() for weight in self.network.parameters())

    def fit(self, x: Array) -> None:
        """A new network, trained."""
        self._begin()
        self.update(x)

    def update(self, x: Array, extra: Extra | None = None, step: Callable[[Tensor], None] | None = None) -> None:
        """Train the network that there is, on the loss and what a strategy adds to it; `step` steps in its own way."""
        if self.options.standardise:
            self.scale.add(x)
        inputs, step = self.inputs(x), step or self.optimiser.step
        for _ in range(self.options.epochs):
            order = torch.randperm(len(x), generator=self.generator).to(self.device)
            for start in range(0, len(x), self.options.batch):
                some = inputs[order[start : start + self.options.batch]]
                losses, outputs = self.network.losses(some, self.noise(len(some)))
                loss = losses.mean()
                step(loss if extra is None else loss + extra(some, outputs))
        self.threshold = threshold(self.score(x), self._contamination)

    def score(self, x: Array) -> Floats:
        """The loss of each sample."""
        scores = np.empty(len(x))
        with torch.inference_mode():
            for start in range(0, len(x), PIECE):
                part = self.inputs(x[start : start + PIECE])
                scores[start : start + len(part)] = self.network.losses(part)[0].cpu().numpy()
        return scores

    def inputs(self, x: Array) -> Tensor:
        """What the network takes: float32, scaled if asked."""
        scaled = self.scale(x) if self.options.standardise else x
        return torch.from_numpy(np.ascontiguousarray(scaled, np.float32)).to(self.device)

    def reconstructed(self, x: Array) -> Array:
        """What the network makes of samples, in their own units."""
        made = np.empty(x.shape)
        with torch.inference_mode():
            for start in range(0, len(x), PIECE):
                part = self.inputs(x[start : start + PIECE])
                made[start : start + len(part)] = self.network.losses(part)[1].cpu().numpy()
        return made * self.scale.deviation + self.scale.mean if self.options.standardise else made

    def noise(self, count: int) -> Tensor | None:
        """Noise for the codes of so many samples, where codes are random."""
        if self.network.codes == 1:
            return None
        return torch.randn(count, self.network.width, generator=self.generator).to(self.device)

    def state(self) -> State:
        """Weights, optimiser, generator, scale, threshold."""
        return {
            "network": devices.weights(self.network),
            "optimiser": self.optimiser.state(),
            "generator": devices.to_array(self.generator.get_state()),
            "scale": self.scale.state(),
            "threshold": self.threshold,
        }

    def restore(self, state: State) -> None:
        """Become the detector whose state this is."""
        self._begin()
        if state:
            devices.set_weights(self.network, state["network"])
            self.optimiser.restore(state["optimiser"])
            self.generator.set_state(torch.from_numpy(np.array(state["generator"])))
            self.scale.restore(state["scale"])
            self.threshold = float(state["threshold"])


class OwnNetwork(AutoencoderNetwork):
    """A network of the user's: what it gives for a sample is its reconstruction.

    One that has `losses(x)` gives the loss of each sample, and outputs, by itself.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__(network, nn.Identity(), 0)

    def losses(self, x: Tensor, noise: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The loss of each sample, and the outputs."""
        own: Any = getattr(self.encoder, "losses", None)
        if callable(own):
            losses, outputs = own(x)
        else:
            outputs = self.encoder(x)
            if outputs.shape != x.shape:
                raise UsageError(
                    f"A network that is a detector gives back samples of {tuple(x.shape[1:])} numbers; got"
                    f" {tuple(outputs.shape[1:])}. Give it a method losses(x) if its score is another."
                )
            losses = (outputs - x).square().mean(1)
        if losses.shape != (len(x),):
            raise UsageError(f"losses(x) gives one number per sample, here {len(x)}; got {tuple(losses.shape)}.")
        return losses, outputs


def own_network(options: available.Autoencoder, n_features: int) -> CodedNetwork:
    """The network, or the encoder and decoder, of the user's."""
    if type(options) is not available.Autoencoder:
        raise UsageError("encoder, decoder and network are options of the detector 'autoencoder' alone.")
    if options.network is not None:
        if options.encoder is not None or options.decoder is not None:
            raise UsageError("Give a network, or an encoder and a decoder; got both.")
        return OwnNetwork(_module(options.network, n_features, "network"))
    if options.decoder is None:
        raise UsageError("An encoder comes with a decoder: give both.")
    given = {"encoder": options.encoder, "decoder": options.decoder}
    return OwnNetwork(nn.Sequential(*(_module(part, n_features, what) for what, part in given.items())))


def _module(given: Any, n_features: int, what: str) -> nn.Module:
    """A module as it is, copied; or what a class or function makes of the number of features."""
    if isinstance(given, nn.Module):
        return copy.deepcopy(given)
    maker = import_path(given, what) if isinstance(given, str) else given
    try:
        made = maker(n_features)
    except TypeError as error:
        raise UsageError(
            f"The {what} is made by calling it with the number of features, {n_features}: {error}."
        ) from None
    if not isinstance(made, nn.Module):
        raise UsageError(f"The {what} is a torch module; {given} gave {type(made).__name__}.")
    return made


def make_network(spec: Spec, n_features: int, seeds: Seeds, contamination: float, device: str) -> NetworkDetector:
    """The network of this name, with its parameters."""
    chosen = read(available.DETECTORS[spec.name], spec.name, spec.parameters, what="detector")
    return NetworkDetector(chosen, n_features, seeds, contamination, device)
