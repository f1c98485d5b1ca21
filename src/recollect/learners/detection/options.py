"""The options of the strategies, and those of the networks among the detectors."""

# `option` returns a dataclass field, which is what a default may be.
# ruff: noqa: RUF009

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from recollect.errors import UsageError
from recollect.learners.detection.names import LAYERS, NETWORKS, Spec, parse
from recollect.learners.options import option

PYOD = "PyOD"
PYCLAD = "pyCLAD"
KEEPS = ("reservoir", "balanced")
MONITORS = ("ADWIN", "KSWIN", "PageHinkley")

_DETECTOR = (
    "a PyOD, scikit-learn or river model by its class name, autoencoder, vae (for windows gru_, lstm_ or tcn_ before"
    " either),"
    " {name: parameters}, 'package.module:Class',"
    " or (in Python) an object or class with fit and decision_function, or learn_one and score_one"
)


@dataclass(frozen=True)
class Detection:
    """Options of every strategy."""

    detector: Any = option("IForest", _DETECTOR, kind="detector")
    contamination: float = option(
        0.1, "share of the training scores that lies above the threshold of an alarm, up to 0.5", whose=PYOD, low=0
    )

    quantile: float | None = option(
        None,
        "the quantile of the training scores that is the threshold: 1 - contamination, in other words",
        kind="float",
    )
    held_back: float = option(
        0.0, "part of each unit that is not learned, evenly spaced, and whose scores alone set the threshold", low=0
    )

    def __post_init__(self) -> None:
        parse(self.detector)
        if self.quantile is not None and not (0.5 <= self.quantile < 1 and self.contamination == 0.1):
            raise UsageError(
                "The option 'quantile' is a number from 0.5 to below 1, given in the place of contamination; got"
                f" {self.quantile!r}{'' if self.contamination == 0.1 else ' beside contamination'}."
            )
        if not 0 <= self.held_back < 1:
            raise UsageError(f"The option 'held_back' is a part of a unit, from 0 to below 1; got {self.held_back!r}.")
        if not 0 < self.contamination <= 0.5:
            raise UsageError(
                "The option 'contamination' is a number above 0 and up to 0.5, the share of the training scores that"
                f" lies above the threshold; got {self.contamination!r}."
            )

    @property
    def spec(self) -> Spec:
        """The detector that was asked for."""
        return parse(self.detector)

    @property
    def share(self) -> float:
        """The share of scores above the threshold."""
        return self.contamination if self.quantile is None else 1 - self.quantile


@dataclass(frozen=True)
class Experts(Detection):
    """Options of one detector a concept."""

    unknown: str = option(
        "nan",
        "scores of a concept that has no expert yet: nan (undefined), constant (0 for all, as pyCLAD has it), newest"
        " (those of the expert learned last)",
        choices=("nan", "constant", "newest"),
    )


def check_keep(keep: Any) -> None:
    """Raise UsageError unless this says what a memory keeps."""
    if not (keep in KEEPS or callable(keep) or (isinstance(keep, str) and ":" in keep)):
        raise UsageError(
            f"The option 'keep' is {' or '.join(KEEPS)}, or a function (in a file 'package.module:function'); got"
            f" {keep!r}."
        )


@dataclass(frozen=True)
class ReplayDetection(Detection):
    """Options of replay."""

    memory: int = option(1000, "samples that the memory holds", low=1)
    keep: Any = option(
        "reservoir",
        "reservoir: every sample seen is held with equal probability; balanced: every concept has an equal share"
        " (every unit, where the concept is not told); or 'package.module:function' of rows, units, memory and a"
        " generator, which gives the places of the rows to keep",
        kind="detector",
    )
    only: bool = option(False, "the detector learns the memory alone, which has been offered the unit, not the unit")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_keep(self.keep)


@dataclass(frozen=True)
class DriftDetection(Detection):
    """Options of retraining on drift."""

    monitor: Any = option(
        "ADWIN",
        f"what says that scores have changed: river's {', '.join(MONITORS)}, {{name: parameters}}, or"
        " 'package.module:Class' with update(x) and drift_detected",
        kind="detector",
    )
    recent: int = option(500, "samples since a drift on which the detector is fitted", low=1)
    settling: int = option(
        100, "scores after a fit whose mean and deviation the monitor's inputs are measured by", low=2
    )


@dataclass(frozen=True)
class NetworkDetection(Detection):
    """Options of strategies that work on the weights of a network."""

    detector: Any = option(
        "autoencoder",
        "autoencoder, vae (for windows gru_, lstm_ or tcn_ before either), or {name: parameters}: one with weights",
        kind="detector",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spec.family != "network":
            raise UsageError(
                f"EWC, LwF, DER++ and A-GEM train the weights of a network; {self.spec.name} has none. Take the"
                f" detector {' or '.join(NETWORKS)} (one of your own is {{autoencoder: {{network:"
                " 'package.module:Class'}}), or a strategy for any detector: naive, replay, cumulative, experts."
            )


@dataclass(frozen=True)
class AnchoredDetection(NetworkDetection):
    """Options of EWC."""

    strength: float = option(1e6, "weight of the penalty; importance is small where reconstructions are good", low=0)
    decay: float = option(1.0, "share of the importance that is kept when a unit is added", low=0)
    samples: int = option(200, "samples of a unit, drawn at random, from which importance is taken", low=1)


@dataclass(frozen=True)
class DistilledDetection(NetworkDetection):
    """Options of LwF."""

    strength: float = option(0.5, "weight of the distance from the teacher's outputs", whose=PYCLAD, low=0)


@dataclass(frozen=True)
class RehearsedDetection(NetworkDetection):
    """Options of A-GEM."""

    memory: int = option(500, "samples that the memory holds", low=1)
    keep: Any = option("reservoir", "as in replay", kind="detector")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_keep(self.keep)


@dataclass(frozen=True)
class DarkDetection(RehearsedDetection):
    """Options of DER++."""

    alpha: float = option(0.1, "weight of the distance from the stored outputs", whose="Mammoth", low=0)
    beta: float = option(0.5, "weight of the loss of memory samples", whose="Mammoth", low=0)


@dataclass(frozen=True)
class Autoencoder:
    """Parameters of the detector `autoencoder`."""

    hidden: Any = option(
        None,
        "widths of the encoder, the last of which is the code; the decoder mirrors them; by default 64 and a quarter of"
        " the features",
        kind="widths",
    )
    lr: float = option(0.001, "learning rate of Adam", whose=PYOD, low=0)
    epochs: int = option(1, "passes over a unit", low=1)
    batch: int = option(32, "samples a step", whose=PYOD, low=1)
    standardise: bool = option(False, "features in units of their running deviation from their running mean")
    encoder: Any = option(
        None, "'package.module:maker' of your own, called with the number of features", kind="detector"
    )
    decoder: Any = option(None, "the same, from the encoder's outputs back to the features", kind="detector")
    network: Any = option(
        None,
        "a torch module of your own, made the same way: it gives back samples, or has losses(x): (losses, outputs)",
        kind="detector",
    )


@dataclass(frozen=True)
class Variational(Autoencoder):
    """Parameters of the detector `vae`."""

    beta: float = option(1.0, "weight of the divergence of the code from its prior", whose=PYOD, low=0)


@dataclass(frozen=True)
class SequenceAutoencoder(Autoencoder):
    """Parameters of autoencoders of windows."""

    layers: ClassVar[str]
    hidden: Any = option(None, "width of the hidden layer and of the code; by default 32 and 8", kind="widths")
    window: int = option(10, "rows of a sample: the stream's `window`", low=1)


@dataclass(frozen=True)
class SequenceVariational(SequenceAutoencoder, Variational):
    """Parameters of variational autoencoders of windows."""


def _of(layers: str, kind: type[SequenceAutoencoder]) -> type[SequenceAutoencoder]:
    return type(f"{layers.upper()}{kind.__name__}", (kind,), {"layers": layers})


# The networks by name, each with the class of its parameters.
DETECTORS: dict[str, type[Autoencoder]] = {
    "autoencoder": Autoencoder,
    "vae": Variational,
    **{f"{layers}_autoencoder": _of(layers, SequenceAutoencoder) for layers in LAYERS},
    **{f"{layers}_vae": _of(layers, SequenceVariational) for layers in LAYERS},
}
