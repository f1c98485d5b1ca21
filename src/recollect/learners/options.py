"""The options of every learner: frozen dataclasses, with what each means and whose default it is.

No torch here: a list of learners, or the check of an experiment file, costs no import of it.
"""

# `option` returns a dataclass field, which is what a default may be.
# ruff: noqa: RUF009

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from recollect.options import number_in, option, read

__all__ = ["NoOptions", "number_in", "option", "read"]

SURVEY = "Mai et al. 2022"
GDUMB = "Prabhu et al. 2020"
DER = "Buzzega et al. 2020"

NETWORKS = ("auto", "mlp", "reduced_resnet18", "resnet18", "gcn", "gat", "sage", "gin")

_OPTIMISER = (
    "sgd, adam, or any of torch.optim: its name, or its name with options, such as {name: AdamW, betas: [0.9, 0.99]};"
    " `lr`, `momentum` and `weight_decay` hold for it too, where it has them and says nothing else"
)


@dataclass(frozen=True)
class NoOptions:
    """A learner without options."""


@dataclass(frozen=True)
class Network:
    """Options of every learner with a network."""

    network: Any = option(
        "auto",
        "auto, mlp, reduced_resnet18, resnet18, gcn, gat, sage, gin, a torch module, a function that makes one,"
        " 'package.module:function', 'timm:NAME' or 'transformers:NAME';"
        " auto is reduced_resnet18 for colour images, gcn for graphs and mlp else",
        choices=NETWORKS,
        kind="network",
    )
    hidden: Any = option(
        None,
        "hidden widths; of the mlp by default 100, 100 up to 64 inputs and 400, 400 above, of networks over graphs 64",
        kind="widths",
    )
    neighbours: Any = option(
        None,
        "of networks over nodes and links: how many neighbours of a node are drawn in training, one number for each"
        " layer, such as [10, 10]; all if it is not given. Answers are given from all of them",
        whose="Hamilton et al. 2017",
        kind="counts",
    )
    drawn_by: str = option(
        "own",
        "who draws them: own (the same draws on every machine), or pyg-lib, where it is installed",
        choices=("own", "pyg-lib"),
        later=True,
    )
    normalise: Any = option(
        None,
        "a data set's name (cifar100, ...) or [means, deviations] per channel, of values in 0 .. 1",
        whose=SURVEY,
        kind="normalise",
    )
    augment: Any = option(
        "none",
        "what is done to training images, on the device: none, crop (after padding by 4), flip, crop+flip, or a list of"
        " crop, flip, resized_crop, colour, grey, randaugment and one of mixup and cutmix, each a name or a name with"
        " options, such as [crop, {colour: {hue: 0.1}}, mixup]",
        whose=SURVEY,
        kind="augment",
    )
    head: str = option(
        "linear",
        "linear, or cosine: logits by the angle between features and class weights",
        choices=("linear", "cosine"),
        later=True,
    )
    weights: str | None = option(
        None,
        "a file with the weights to begin with, as torch.save(network.state_dict()) writes it; of networks of timm and"
        " transformers also `pretrained`",
        kind="str",
        later=True,
    )
    freeze: bool = option(False, "whether only the head is trained", later=True)
    resize: int | None = option(
        None, "side that images are brought to for a network of timm or transformers", kind="int", low=1, later=True
    )
    precision: str = option(
        "float32",
        "numbers of a training step; with bfloat16 torch decides which operations take it",
        choices=("float32", "bfloat16"),
        later=True,
    )
    compile: bool = option(False, "whether torch.compile is used on the network", later=True)
    deterministic: bool = option(
        True,
        "whether torch takes its deterministic algorithms away from the CPU; without them a step may be faster, and a"
        " run that is resumed need not end like one that was not",
        later=True,
    )


@dataclass(frozen=True)
class Train(Network):
    """Options of a network that is trained on the stream, batch by batch."""

    elsewhere: ClassVar[Mapping[str, str]] = {
        "epochs": "passes over a task are an option of the stream, `passes` (streams: [{name: digits, passes: 5}]).",
        "batch": "the size of a batch is an option of the stream, `batch` (streams: [{name: digits, batch: 10}]).",
        "batch_size": "the size of a batch is an option of the stream, `batch` (streams: [{name: digits, batch: 10}]).",
        "optimiser": "it is called `optimizer`.",
        "learning_rate": "it is called `lr`.",
    }

    lr: float = option(0.1, "learning rate", whose=SURVEY, low=0)
    optimizer: Any = option("sgd", _OPTIMISER, whose=SURVEY, kind="named")
    scheduler: Any = option(
        None,
        "a schedule of torch.optim.lr_scheduler with its options, such as {name: OneCycleLR, max_lr: 0.1,"
        " total_steps: 500}; it goes on after every gradient step",
        kind="named",
    )
    clip: float | None = option(
        None, "largest norm of the gradient; longer ones are shortened to it", kind="float", low=0
    )
    label_smoothing: float = option(
        0.0, "share of the target that is spread over all classes", low=0, high=1, later=True
    )
    momentum: float = option(0.0, "momentum of sgd", whose=SURVEY, low=0)
    weight_decay: float = option(0.0, "weight decay", whose=SURVEY, low=0)
    iterations: int = option(1, "gradient steps for each stream batch", whose=SURVEY, low=1)
    fresh: bool = option(False, "whether the optimiser starts anew with each task, as in BeGin")
    select: str | None = option(
        None,
        "valid: after each pass over a task the weights are scored on its validation samples, and those that were best"
        " are taken when it ends; only where a stream has such samples (nodes of a graph)",
        choices=("valid",),
    )


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
class Interfered(Replay):
    """Options of MIR."""

    candidates: int = option(
        50,
        "samples drawn from memory, of which those that suffer most are replayed",
        whose="Aljundi et al. 2019",
        low=1,
    )


@dataclass(frozen=True)
class Contrastive(TwoPassReplay):
    """Options of SCR."""

    memory_batch: int = option(100, "samples drawn from memory for each step", whose="Mai et al. 2021", low=1)
    temperature: float = option(0.07, "temperature of the contrastive loss", whose="Mai et al. 2021", low=0.001)
    projection: int = option(128, "width of the projection that is contrasted", whose="Mai et al. 2021", low=1)


@dataclass(frozen=True)
class Exemplary(Train):
    """Options of iCaRL."""

    memory: int = option(2000, "exemplars of all classes together", whose="Rebuffi et al. 2017", low=1)
    memory_batch: int = option(10, "exemplars drawn for each step", whose=SURVEY, low=1)


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
    fisher: str = option(
        "samples",
        "samples: the mean of each sample's squared gradient; batch: the square of the gradient of their mean loss,"
        " with true labels, as in BeGin",
        choices=("samples", "batch"),
    )


@dataclass(frozen=True)
class Topology(Anchored):
    """Options of TWP."""

    strength: float = option(10000.0, "weight of the penalty", low=0)
    samples: int = option(10000, "samples of a task, drawn at random, from which importance is taken", low=1)
    loss: float = option(1.0, "share of the importance for the loss", low=0)
    topology: float = option(1.0, "share of the importance for the attention between neighbours", low=0)


@dataclass(frozen=True)
class GradientMemory(Train):
    """Options of GEM."""

    memory_per_task: int = option(100, "samples that are kept of each task", low=1)
    margin: float = option(0.5, "how far a turned step leans towards the memory", whose="Lopez-Paz 2017", low=0)


@dataclass(frozen=True)
class Packing(Train):
    """Options of PackNet."""

    keep: float | None = option(
        None,
        "share of the free weights of each layer that a task keeps; by default all tasks keep equally many",
        kind="float",
        low=0,
        high=1,
    )
    retrain: int = option(10, "passes over a task with the weights that it keeps, when it ends", low=0)


@dataclass(frozen=True)
class Masking(Train):
    """Options of Piggyback."""

    threshold: float = option(0.005, "above it a weight is taken", whose="Mallya et al. 2018")
    start: float = option(0.01, "the number of each weight when a task begins", whose="Mallya et al. 2018")
    mask_lr: float = option(0.0001, "learning rate of these numbers", whose="Mallya et al. 2018", low=0)


@dataclass(frozen=True)
class NodeReplay(Train):
    """Options of ER-GNN."""

    budget: int = option(10, "nodes that are kept of each class", low=1)
    sampler: str = option(
        "CM",
        "CM: those with the fewest nodes of other classes near; MF: those nearest to the mean of the class; random",
        whose="Zhou and Cao 2021",
        choices=("CM", "MF", "random"),
    )
    by: str = option(
        "hidden", "where nodes lie: in what the last layer sees, or in their features", choices=("hidden", "features")
    )
    distance: float = option(0.5, "of CM: what is near", low=0)
    beta: str = option(
        "paper",
        "weights of the losses on new and kept nodes, of n and m: paper, m / (n + m) and n / (n + m); share, the other"
        " way round, so that a small memory does nothing on a large task; none, 1 and 1",
        whose="Zhou and Cao 2021",
        choices=("paper", "share", "none"),
    )


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
class Projected(Prototypes):
    """Options of RanPAC."""

    projection: int = option(2000, "random features (the paper: 10,000)", low=1)
    ridge: float | None = option(
        None, "of the regression; by default chosen on every fifth sample, from the sums alone", kind="float", low=0
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
    optimizer: Any = option("sgd", _OPTIMISER, whose=GDUMB, kind="named")
    momentum: float = option(0.9, "momentum of sgd", whose=GDUMB, low=0)
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
