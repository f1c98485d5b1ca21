"""The options of every learner: frozen dataclasses, with what each means and whose default it is.

No torch here: a list of learners, or the check of an experiment file, costs no import of it.
"""

# `option` returns a dataclass field, which is what a default may be.
# ruff: noqa: RUF009

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, TypeVar

from recollect.errors import UsageError

SURVEY = "Mai et al. 2022"
GDUMB = "Prabhu et al. 2020"
DER = "Buzzega et al. 2020"

NETWORKS = ("auto", "mlp", "reduced_resnet18", "resnet18")

Chosen = TypeVar("Chosen")


def option(
    default: Any,
    meaning: str,
    *,
    whose: str = "ours",
    low: float = -math.inf,
    high: float = math.inf,
    choices: tuple[str, ...] = (),
    kind: str | None = None,
) -> Any:
    """A field with its meaning, and what `read` checks: a kind, a lowest and a highest value, or a list of choices."""
    kind = kind or ("choice" if choices else type(default).__name__)
    return field(
        default=default,
        metadata={"meaning": meaning, "whose": whose, "low": low, "high": high, "choices": choices, "kind": kind},
    )


@dataclass(frozen=True)
class NoOptions:
    """A learner without options."""


@dataclass(frozen=True)
class Network:
    """Options of every learner with a network."""

    network: Any = option(
        "auto",
        "auto, mlp, reduced_resnet18, resnet18, a torch module, a function that makes one,"
        " or 'package.module:function'; auto is reduced_resnet18 for colour images and mlp else",
        choices=NETWORKS,
        kind="network",
    )
    hidden: Any = option(
        None,
        "hidden widths of the mlp; by default 100, 100 up to 64 inputs and 400, 400 above",
        kind="widths",
    )
    normalise: Any = option(
        None,
        "a data set's name (cifar100, ...) or [means, deviations] per channel, of values in 0 .. 1",
        whose=SURVEY,
        kind="normalise",
    )
    augment: str = option(
        "none",
        "random crop after padding by 4, and horizontal flip, of training images",
        whose=SURVEY,
        choices=("none", "crop", "flip", "crop+flip"),
    )


@dataclass(frozen=True)
class Train(Network):
    """Options of a network that is trained on the stream, batch by batch."""

    lr: float = option(0.1, "learning rate", whose=SURVEY, low=0)
    optimizer: str = option("sgd", "the optimiser", whose=SURVEY, choices=("sgd", "adam"))
    momentum: float = option(0.0, "momentum of sgd", whose=SURVEY, low=0)
    weight_decay: float = option(0.0, "weight decay", whose=SURVEY, low=0)
    iterations: int = option(1, "gradient steps for each stream batch", whose=SURVEY, low=1)


@dataclass(frozen=True)
class TwoPassReplay(Train):
    """Options of learners with a reservoir that take the memory batch by itself."""

    memory: int = option(2000, "samples that the memory holds", whose="Michel et al. 2023", low=1)
    memory_batch: int = option(10, "samples drawn from memory for each step", whose=SURVEY, low=1)


@dataclass(frozen=True)
class Replay(TwoPassReplay):
    """Options of experience replay."""

    separate: bool = option(
        False, "two forward passes whose mean losses are added, as the survey's code does, instead of one"
    )


@dataclass(frozen=True)
class DarkReplay(TwoPassReplay):
    """Options of DER++."""

    alpha: float = option(0.1, "weight of the stored logits", whose=DER, low=0)
    beta: float = option(0.5, "weight of the stored labels", whose=DER, low=0)


@dataclass(frozen=True)
class Anchored(Train):
    """Options of MAS, and of EWC but for the strength."""

    strength: float = option(1.0, "weight of the penalty", low=0)
    decay: float = option(1.0, "share of the importance that is kept when a task is added", low=0)
    samples: int = option(200, "samples of a task, drawn at random, from which importance is taken", low=1)


@dataclass(frozen=True)
class Fisher(Anchored):
    """Options of EWC."""

    strength: float = option(100.0, "weight of the penalty", low=0)
    labels: int = option(3, "the likeliest labels, over which the Fisher information of a sample is taken", low=1)


@dataclass(frozen=True)
class Distill(Train):
    """Options of LwF."""

    temperature: float = option(2.0, "temperature of the distillation", whose=SURVEY, low=0.01)


@dataclass(frozen=True)
class Prototypes(Network):
    """Options of nearest class mean."""

    network: Any = option(
        "raw",
        "raw: the samples as they are; else a network whose features stay fixed, as for the other learners",
        choices=("raw", *NETWORKS),
        kind="network",
    )


@dataclass(frozen=True)
class Shrinkage(Prototypes):
    """Options of streaming LDA."""

    shrinkage: float = option(
        1e-4, "share of the identity in the covariance", whose="Hayes and Kanan 2020", low=0, high=1
    )


@dataclass(frozen=True)
class Offline(Network):
    """Options of a network that is trained from scratch on stored samples: GDumb's recipe."""

    epochs: int = option(256, "passes over the memory; a power of two ends at the lowest rate", whose=GDUMB, low=1)
    batch: int = option(16, "samples a step", whose=GDUMB, low=1)
    lr: float = option(0.05, "highest learning rate, at the start of each cycle", whose=GDUMB, low=0)
    min_lr: float = option(0.0005, "lowest learning rate, towards the end of a cycle", whose=GDUMB, low=0)
    schedule: str = option(
        "warm_restarts",
        "cosine cycles of 1, 2, 4, ... epochs after one at a tenth of the rate; or constant",
        whose=GDUMB,
        choices=("warm_restarts", "constant"),
    )
    momentum: float = option(0.9, "momentum", whose=GDUMB, low=0)
    weight_decay: float = option(1e-6, "weight decay", whose=GDUMB, low=0)
    clip: float = option(10.0, "largest norm of the gradient", whose=GDUMB, low=0)
    cutmix: float = option(
        0.0, "probability that a batch is mixed by cutmix (the paper: 0.5 on colour images)", low=0, high=1
    )


@dataclass(frozen=True)
class GDumb(Offline):
    """Options of GDumb."""

    memory: int = option(2000, "samples that the memory holds", whose="Michel et al. 2023", low=1)


@dataclass(frozen=True)
class Joint(Offline):
    """Options of the joint learners."""

    epochs: int = option(32, "passes over all data seen; a power of two ends at the lowest rate", low=1)


def read(cls: type[Chosen], learner: str, config: Mapping[str, Any], what: str = "learner") -> Chosen:
    """The options in `config`, checked; an unknown one is an error that names the nearest.

    `what` is what messages call the thing that has the options.

    >>> read(Replay, "er", {"memory": 200}).memory
    200
    >>> read(Replay, "er", {"memmory": 200})
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: The learner 'er' has no option 'memmory'; the nearest is 'memory'. ...
    """
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    values = {}
    for name, value in config.items():
        if name not in known:
            near = get_close_matches(str(name), known, n=1, cutoff=0.0)
            hint = f"; the nearest is {near[0]!r}. It has: {', '.join(known)}." if near else "; it has none."
            raise UsageError(f"The {what} {learner!r} has no option {name!r}{hint}")
        values[name] = _check(f"{what} {learner!r}", name, value, known[name].metadata)
    return cls(**values)


def _check(owner: str, name: str, value: Any, rule: Mapping[str, Any]) -> Any:
    if rule["kind"] == "float" and isinstance(value, str):
        value = number_in(value)
    expected = _expected(value, rule)
    if expected is not None:
        raise UsageError(f"The option {name!r} of the {owner} is {expected}; got {value!r}. It is: {rule['meaning']}.")
    kind = rule["kind"]
    if kind == "float":
        return float(value)
    return tuple(value) if kind == "widths" and value is not None else value


def _expected(value: Any, rule: Mapping[str, Any]) -> str | None:
    """What was expected, in words, where the value is not that."""
    kind, low, high = rule["kind"], rule["low"], rule["high"]
    if kind == "choice" and value not in rule["choices"]:
        return "one of " + ", ".join(rule["choices"])
    if kind == "bool" and not isinstance(value, bool):
        return "true or false"
    if kind == "int" and not (_is_int(value) and low <= value <= high):
        return f"a whole number {_range(low, high)}"
    if kind == "float" and not (_is_number(value) and low <= value <= high):
        return f"a number {_range(low, high)}"
    if kind == "widths" and not (
        value is None or (isinstance(value, list | tuple) and all(_is_int(w) and w > 0 for w in value))
    ):
        return "a list of layer widths, such as [400, 400]"
    if kind == "network" and not (callable(value) or value in rule["choices"] or ":" in str(value)):
        near = get_close_matches(str(value), rule["choices"], n=1, cutoff=0.0)[0]
        return f"a torch module, a function, its path or one of {', '.join(rule['choices'])}; the nearest is {near!r}"
    if kind == "normalise" and not (value is None or isinstance(value, str) or _is_pair(value)):
        return "a data set's name or [means, deviations]"
    return None


def _range(low: float, high: float) -> str:
    return f"of at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"


def number_in(text: str) -> float | str:
    """The number that a text is, else the text: YAML reads 1e-3, without a point, as a text.

    >>> number_in("1e-3"), number_in("fast")
    (0.001, 'fast')
    """
    try:
        return float(text)
    except ValueError:
        return text


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return (_is_int(value) or isinstance(value, float)) and math.isfinite(value)


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(isinstance(part, list | tuple) and part and all(_is_number(v) for v in part) for part in value)
    )
