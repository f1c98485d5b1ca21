"""Augmentations of training images, on the device that the images are on; all draws come from one generator.

A list such as [crop, flip, {colour: {hue: 0.1}}, mixup] is applied in its order. `mixup` and `cutmix` mix images of a
batch, and their labels with them, after all others.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from recollect.errors import UsageError
from recollect.nearest import nearest

PADDING = 4
Draw = torch.Generator


def random_crop(images: Tensor, generator: Draw, padding: int = PADDING) -> Tensor:
    """Each image shifted by up to `padding` pixels each way, black where nothing was.

    >>> ones = torch.ones(2, 1, 8, 8, dtype=torch.uint8)
    >>> random_crop(ones, torch.Generator().manual_seed(0)).shape
    torch.Size([2, 1, 8, 8])
    """
    count, channels, height, width = images.shape
    padded = F.pad(images, (padding,) * 4)
    shift = torch.randint(0, 2 * padding + 1, (2, count), generator=generator).to(images.device)
    rows = shift[0, :, None] + torch.arange(height, device=images.device)
    columns = shift[1, :, None] + torch.arange(width, device=images.device)
    which = torch.arange(count, device=images.device)[:, None, None, None]
    channel = torch.arange(channels, device=images.device)[None, :, None, None]
    return padded[which, channel, rows[:, None, :, None], columns[:, None, None, :]]


def random_flip(images: Tensor, generator: Draw) -> Tensor:
    """Each image mirrored left to right, or not, at even odds."""
    mirrored = torch.rand(len(images), generator=generator).to(images.device) < 0.5
    return torch.where(mirrored[:, None, None, None], images.flip(-1), images)


def resized_crop(images: Tensor, generator: Draw, smallest: float = 0.2) -> Tensor:
    """A square piece of each image, of at least this share of its area, brought to the whole size."""
    side = _uniform(len(images), smallest, 1.0, generator).sqrt()
    where = _uniform(2 * len(images), -1.0, 1.0, generator).reshape(2, -1) * (1 - side)
    zero = torch.zeros_like(side)
    return _moved(images, torch.stack((side, zero, where[0], zero, side, where[1]), 1))


def colour(
    images: Tensor,
    generator: Draw,
    brightness: float = 0.4,
    contrast: float = 0.4,
    saturation: float = 0.4,
    hue: float = 0.1,
) -> Tensor:
    """Brightness, contrast, saturation and, of three channels, hue changed by random factors, in this order."""
    count = len(images)
    images = _bright(images, _uniform(count, max(0.0, 1 - brightness), 1 + brightness, generator))
    images = _contrasted(images, _uniform(count, max(0.0, 1 - contrast), 1 + contrast, generator))
    images = _saturated(images, _uniform(count, max(0.0, 1 - saturation), 1 + saturation, generator))
    return _turned_hue(images, _uniform(count, -hue, hue, generator)) if hue and images.shape[1] == 3 else images


def grey(images: Tensor, generator: Draw, probability: float = 0.2) -> Tensor:
    """Some of the images without their colours."""
    chosen = (torch.rand(len(images), generator=generator) < probability).to(images.device)
    return torch.where(chosen[:, None, None, None], _grey(images).expand_as(images), images)


def randaugment(images: Tensor, generator: Draw, operations: int = 2, magnitude: float = 9.0) -> Tensor:
    """For each image `operations` changes drawn at random, of a strength from 0 to 30 (Cubuk et al. 2020).

    Of the paper's fourteen, without equalising and sharpening: identity, autocontrast, rotate, posterise, solarise,
    saturation, contrast, brightness, shear and translation in both directions.
    """
    strength = magnitude / 30
    for _ in range(operations):
        which = torch.randint(0, len(_CHANGES), (len(images),), generator=generator)
        signs = (torch.randint(0, 2, (len(images),), generator=generator) * 2 - 1).to(images.dtype)
        made = images.clone()
        for number, change in enumerate(_CHANGES):
            mine = torch.nonzero(which == number)[:, 0]
            if len(mine):
                made[mine.to(images.device)] = change(images[mine.to(images.device)], signs[mine] * strength)
        images = made
    return images


@dataclass(frozen=True)
class Mixed:
    """Images of which each is mixed with another: `partner` says with which, `kept` how much of it is left."""

    images: Tensor
    partner: Tensor
    kept: float


def mixup(images: Tensor, generator: Draw, alpha: float = 0.2) -> Mixed:
    """Each image added to another, by a share drawn from Beta(alpha, alpha) (Zhang et al. 2018)."""
    pair = torch._standard_gamma(torch.full((2,), alpha, dtype=torch.float64), generator=generator)
    kept = float(pair[0] / pair.sum()) if float(pair.sum()) > 0 else 1.0
    partner = torch.randperm(len(images), generator=generator).to(images.device)
    return Mixed(kept * images + (1 - kept) * images[partner], partner, kept)


def cutmix(images: Tensor, generator: Draw) -> Mixed:
    """Each image with a rectangle of another, of a share of the area that is drawn evenly (Yun et al. 2019)."""
    height, width = images.shape[-2:]
    share, row, column = torch.rand(3, generator=generator).tolist()
    partner = torch.randperm(len(images), generator=generator).to(images.device)
    return paste(images, partner, share, int(row * height), int(column * width))


def paste(images: Tensor, partner: Tensor, share: float, row: int, column: int) -> Mixed:
    """A rectangle around this place, of 1 - `share` of the area before the border cuts it, from the partner."""
    height, width = images.shape[-2:]
    side = math.sqrt(1 - share)
    half_height, half_width = int(height * side) // 2, int(width * side) // 2
    top, bottom = max(0, row - half_height), min(height, row + half_height)
    left, right = max(0, column - half_width), min(width, column + half_width)
    mixed = images.clone()
    mixed[:, :, top:bottom, left:right] = images[partner, :, top:bottom, left:right]
    return Mixed(mixed, partner, 1 - (bottom - top) * (right - left) / (height * width))


_RAW = {"crop": random_crop, "flip": random_flip}
_FLOAT: dict[str, Callable[..., Tensor]] = {
    "resized_crop": resized_crop,
    "colour": colour,
    "grey": grey,
    "randaugment": randaugment,
}
_MIXING: dict[str, Callable[..., Mixed]] = {"mixup": mixup, "cutmix": cutmix}
_KNOWN: dict[str, Callable[..., Any]] = {**_RAW, **_FLOAT, **_MIXING}


class Augmentation:
    """What is done to training images, in order.

    >>> Augmentation(["crop", {"colour": {"hue": 0.0}}, "mixup"]).names
    ('crop', 'colour', 'mixup')
    """

    def __init__(self, asked: Any) -> None:
        steps = [_step(one) for one in _listed(asked)]
        self.names = tuple(name for name, _ in steps)
        self._raw = [(name, options) for name, options in steps if name in _RAW]
        self._float = [(name, options) for name, options in steps if name in _FLOAT]
        self._mixing = [(name, options) for name, options in steps if name in _MIXING]
        if len(self._mixing) > 1:
            raise UsageError("augment mixes images by one of mixup and cutmix, not by both.")

    @property
    def mixes(self) -> bool:
        """Whether images of a batch are mixed, and their labels with them."""
        return bool(self._mixing)

    def raw(self, images: Tensor, generator: Draw) -> Tensor:
        """Move pixels of images as they are stored."""
        for name, options in self._raw:
            images = _RAW[name](images, generator, **options)
        return images

    def floats(self, images: Tensor, generator: Draw) -> Tensor:
        """Change values from 0 to 1, before they are normalised."""
        for name, options in self._float:
            images = _FLOAT[name](images, generator, **options)
        return images

    def mix(self, images: Tensor, generator: Draw) -> Mixed:
        """Mix the images of a batch."""
        name, options = self._mixing[0]
        return _MIXING[name](images, generator, **options)


def _listed(asked: Any) -> list[Any]:
    """The steps: a list, a name, or names with + between."""
    if isinstance(asked, str):
        return [] if asked == "none" else asked.split("+")
    return list(asked) if isinstance(asked, list | tuple) else [asked]


def _step(one: Any) -> tuple[str, dict[str, Any]]:
    name, options = (one, {}) if isinstance(one, str) else next(iter(one.items())) if _is_one(one) else (None, None)
    if not isinstance(name, str) or not isinstance(options, Mapping | None):
        raise UsageError(f"An augmentation is a name, or a name with options, {{colour: {{hue: 0.1}}}}; got {one!r}.")
    if name not in _KNOWN:
        raise UsageError(
            f"There is no augmentation {name!r}; the nearest is {nearest(name, _KNOWN)!r}. There are:"
            f" {', '.join(_KNOWN)}."
        )
    takes = list(inspect.signature(_KNOWN[name]).parameters)[2:]
    for key, value in (options or {}).items():
        if key not in takes:
            raise UsageError(f"The augmentation {name} has no option {key!r}; it has {', '.join(takes) or 'none'}.")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
            raise UsageError(f"The option {key} of the augmentation {name} is a number from 0 on; got {value!r}.")
    return name, dict(options or {})


def _is_one(one: Any) -> bool:
    return isinstance(one, Mapping) and len(one) == 1


def _uniform(count: int, low: float, high: float, generator: Draw) -> Tensor:
    return low + (high - low) * torch.rand(count, generator=generator)


def _each(factors: Tensor, images: Tensor) -> Tensor:
    return factors.to(images.device, images.dtype)[:, None, None, None]


def _grey(images: Tensor) -> Tensor:
    if images.shape[1] != 3:
        return images.mean(1, keepdim=True)
    weights = torch.tensor([0.299, 0.587, 0.114], device=images.device, dtype=images.dtype)[None, :, None, None]
    return (images * weights).sum(1, keepdim=True)


def _bright(images: Tensor, factors: Tensor) -> Tensor:
    return (images * _each(factors, images)).clamp_(0, 1)


def _contrasted(images: Tensor, factors: Tensor) -> Tensor:
    mean = _grey(images).mean((1, 2, 3), keepdim=True)
    return (mean + (images - mean) * _each(factors, images)).clamp_(0, 1)


def _saturated(images: Tensor, factors: Tensor) -> Tensor:
    plain = _grey(images)
    return (plain + (images - plain) * _each(factors, images)).clamp_(0, 1)


def _turned_hue(images: Tensor, turns: Tensor) -> Tensor:
    """Colours turned about the axis of greys, by shares of a full turn."""
    angle = 2 * math.pi * turns.to(images.device, images.dtype)
    cosine, sine = torch.cos(angle)[:, None, None], torch.sin(angle)[:, None, None]
    third = torch.full((3, 3), 1 / 3, device=images.device, dtype=images.dtype)
    cross = torch.tensor([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]], device=images.device, dtype=images.dtype) / math.sqrt(
        3
    )
    turn = cosine * torch.eye(3, device=images.device, dtype=images.dtype) + (1 - cosine) * third + sine * cross
    return torch.einsum("nij,njhw->nihw", turn, images).clamp_(0, 1)


def _moved(images: Tensor, matrices: Tensor) -> Tensor:
    """Each image through a map of its plane, (n, 6) numbers; black where nothing was."""
    matrices = matrices.to(images.device, images.dtype).reshape(-1, 2, 3)
    grid = F.affine_grid(matrices, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def _affine(images: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor, e: Tensor, f: Tensor) -> Tensor:
    return _moved(images, torch.stack((a, b, c, d, e, f), 1))


def _rotated(images: Tensor, s: Tensor) -> Tensor:
    angle, zero = s * math.pi / 6, torch.zeros_like(s)
    return _affine(images, angle.cos(), -angle.sin(), zero, angle.sin(), angle.cos(), zero)


def _sheared(images: Tensor, s: Tensor, *, down: bool) -> Tensor:
    one, zero, much = torch.ones_like(s), torch.zeros_like(s), 0.3 * s
    return _affine(images, one, zero if down else much, zero, much if down else zero, one, zero)


def _shifted(images: Tensor, s: Tensor, *, down: bool) -> Tensor:
    one, zero, much = torch.ones_like(s), torch.zeros_like(s), 0.9 * s
    return _affine(images, one, zero, zero if down else much, zero, one, much if down else zero)


def _autocontrast(images: Tensor, s: Tensor) -> Tensor:
    low, high = images.amin((2, 3), keepdim=True), images.amax((2, 3), keepdim=True)
    return torch.where(high > low, (images - low) / (high - low).clamp_min(1e-6), images)


def _posterised(images: Tensor, s: Tensor) -> Tensor:
    steps = 2.0 ** (8 - torch.round(4 * s.abs()))
    return torch.floor(images * 255 / (256 / _each(steps, images))) * (256 / _each(steps, images)) / 255


def _solarised(images: Tensor, s: Tensor) -> Tensor:
    return torch.where(images >= 1 - _each(s.abs(), images), 1 - images, images)


_CHANGES: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    lambda images, s: images,
    _autocontrast,
    _rotated,
    _posterised,
    _solarised,
    lambda images, s: _saturated(images, 1 + 0.9 * s),
    lambda images, s: _contrasted(images, 1 + 0.9 * s),
    lambda images, s: _bright(images, 1 + 0.9 * s),
    lambda images, s: _sheared(images, s, down=False),
    lambda images, s: _sheared(images, s, down=True),
    lambda images, s: _shifted(images, s / 2, down=False),
    lambda images, s: _shifted(images, s / 2, down=True),
)
