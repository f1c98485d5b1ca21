"""From samples as they are stored to what a network takes: floats, normalised, augmented."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from recollect.errors import UsageError
from recollect.learners.augment import Augmentation, Mixed
from recollect.learners.base import Array, Setting, State
from recollect.learners.devices import to_array, to_tensor
from recollect.learners.inference import PIECE_OF_FEATURES, PIECE_OF_IMAGES, Folded, fold
from recollect.learners.networks import MLP

CONSTANTS = {
    "mnist": ([0.1307], [0.3081]),
    "fashion-mnist": ([0.2860], [0.3530]),
    "cifar10": ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]),
    "cifar100": ([0.5071, 0.4865, 0.4409], [0.2673, 0.2564, 0.2762]),
    "tiny-imagenet": ([0.4802, 0.4481, 0.3975], [0.2770, 0.2691, 0.2821]),
}


class Adapter(Protocol):
    """Makes of samples what a network takes, whatever the samples are."""

    def tensor(self, x: Array) -> Any:
        """What the network takes."""

    def training(self, x: Array) -> Any:
        """The same for training, augmented if that was asked for."""

    @property
    def mixes(self) -> bool:
        """Whether training samples are mixed, and their labels with them."""

    def mix(self, images: Any) -> Mixed:
        """The samples of a training batch, mixed."""

    def example(self) -> Any:
        """Two samples to try a network on."""

    def fold(self, network: nn.Module) -> Folded | None:
        """A faster forward pass where there is one; it holds for the weights of this moment."""

    def piece(self, network: nn.Module) -> int:
        """How many samples are scored at once."""

    def see(self, view: Any) -> None:
        """Take what may be seen from now on."""

    def reseed(self, seed: int) -> None:
        """Start what is drawn anew."""

    def state(self) -> State:
        """What is drawn next."""

    def restore(self, state: State) -> None:
        """Go on from there."""


class ArrayInputs:
    """Turns batches of uint8 images (or float features) into float tensors on the device.

    Images become values in 0 .. 1, then are normalised if asked; features are taken as they are. Crops and
    flips are drawn from a generator of its own.
    """

    def __init__(
        self,
        normalise: Any,
        augment: Any,
        setting: Setting,
        seed: int,
        device: torch.device,
        *,
        channels_last: bool,
    ) -> None:
        self._device = device
        self._shape = setting.input_shape
        self._format = torch.channels_last if channels_last else torch.contiguous_format
        self._constants = _constants(normalise, setting, device)
        self._augmentation = Augmentation(augment)
        if self._augmentation.names and len(setting.input_shape) != 3:
            raise UsageError(
                f"augment: {augment} is for images (channels, height, width); the stream has samples of shape"
                f" {setting.input_shape}. Leave it out."
            )
        self._generator = torch.Generator().manual_seed(seed)

    def tensor(self, x: Array) -> Tensor:
        """What the network takes."""
        return self._floats(to_tensor(x, self._device))

    def training(self, x: Array) -> Tensor:
        """The same, augmented."""
        return self._floats(self._augmentation.raw(to_tensor(x, self._device), self._generator), self._augmentation)

    @property
    def mixes(self) -> bool:
        """Whether training images are mixed, and their labels with them."""
        return self._augmentation.mixes

    def mix(self, images: Tensor) -> Mixed:
        """The images of a training batch, mixed."""
        return self._augmentation.mix(images, self._generator)

    def example(self) -> Tensor:
        """Two empty samples, to try a network on."""
        return self.tensor(np.zeros((2, *self._shape), np.uint8))

    def fold(self, network: nn.Module) -> Folded | None:
        """A faster forward pass where there is one; it holds for the weights of this moment."""
        return fold(network)

    def piece(self, network: nn.Module) -> int:
        """How many samples are scored at once: what is fastest."""
        return PIECE_OF_FEATURES if isinstance(network, MLP) else PIECE_OF_IMAGES

    def see(self, view: Any) -> None:
        """A sample is all there is to see."""

    def _floats(self, raw: Tensor, augmentation: Augmentation | None = None) -> Tensor:
        if raw.dtype == torch.uint8:
            floats = raw.to(torch.float32, memory_format=self._format).div_(255)
        else:
            floats = raw.to(torch.float32, memory_format=self._format)
        if augmentation is not None:
            floats = augmentation.floats(floats, self._generator)
        if self._constants is not None:
            mean, deviation = self._constants
            floats = (floats - mean) / deviation
        return floats

    def reseed(self, seed: int) -> None:
        """Start the generator anew."""
        self._generator.manual_seed(seed)

    def state(self) -> State:
        """Where the generator is."""
        return {"generator": to_array(self._generator.get_state())}

    def restore(self, state: State) -> None:
        """Put the generator back."""
        self._generator.set_state(torch.from_numpy(np.array(state["generator"])))


def _constants(normalise: Any, setting: Setting, device: torch.device) -> tuple[Tensor, Tensor] | None:
    if normalise is None:
        return None
    if isinstance(normalise, str):
        if normalise not in CONSTANTS:
            raise UsageError(
                f"normalise: {normalise} is not known; there are {', '.join(CONSTANTS)}, or give"
                " [means, deviations], a number for each channel."
            )
        normalise = CONSTANTS[normalise]
    channels = setting.input_shape[0]
    shape = (1, -1) + (1,) * (len(setting.input_shape) - 1)
    pair = [torch.tensor(part, dtype=torch.float32, device=device) for part in normalise]
    if any(len(part) not in (1, channels) for part in pair) or bool((pair[1] <= 0).any()):
        raise UsageError(
            f"normalise takes a mean and a deviation above 0 for each of {channels} channels; got {normalise}."
        )
    return pair[0].reshape(shape), pair[1].reshape(shape)
