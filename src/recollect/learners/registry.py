"""The learners by name, and `make_learner`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any, cast

from recollect.errors import MissingExtra, UsageError
from recollect.learners import options
from recollect.learners.base import Learner, LearnerCard, Setting
from recollect.learners.detection.cards import CARDS as DETECTION
from recollect.nearest import nearest
from recollect.paths import import_path, refuse_call
from recollect.runs.seeds import Seeds

# What learners with a network take: where samples are ids in a graph, a network over graphs sees it.
_ANY = ("arrays", "nodes", "links", "graphs")
# What a network can be trained for.
NETWORKS = ("classification", "properties", "regression", "links")

_CARDS = (
    LearnerCard(
        name="finetune",
        problems=NETWORKS,
        summary="Trains on the stream and does nothing against forgetting.",
        source="the lower bound of every paper",
        maker="recollect.learners.finetune:Finetune",
        options=options.Train,
        stores="nothing",
        costs="one forward and backward pass of the stream batch",
        samples=_ANY,
    ),
    LearnerCard(
        name="er",
        problems=NETWORKS,
        summary="Trains on each stream batch together with a batch drawn from a reservoir of past samples.",
        source="Rolnick et al. 2019; Chaudhry et al. 2019",
        maker="recollect.learners.replay:ExperienceReplay",
        options=options.Replay,
        stores="`memory` samples and labels",
        costs="one forward and backward pass of the stream and memory batch",
        samples=_ANY,
    ),
    LearnerCard(
        name="mir",
        problems=NETWORKS,
        summary="Replay of those samples of memory whose loss a step on the newest batch would raise most.",
        source="Aljundi et al. 2019",
        maker="recollect.learners.mir:MIR",
        options=options.Interfered,
        stores="`memory` samples and labels",
        costs="that of er, a pass of the stream batch and two forward passes of `candidates` samples",
        samples=_ANY,
    ),
    LearnerCard(
        name="scr",
        summary="Supervised contrastive replay, answered by the nearest class mean of the memory.",
        source="Mai et al. 2021",
        maker="recollect.learners.scr:SCR",
        options=options.Contrastive,
        stores="`memory` samples and labels",
        costs="two forward and backward passes of the stream and memory batch; a forward pass of the memory for every"
        " test batch",
    ),
    LearnerCard(
        name="icarl",
        summary="iCaRL: exemplars by herding, distillation, and answers by the nearest mean of exemplars.",
        source="Rebuffi et al. 2017",
        maker="recollect.learners.icarl:ICaRL",
        options=options.Exemplary,
        stores="`memory` samples, those of the present task until it ends, and the network once more, as the teacher",
        costs="one pass of the stream and exemplar batch and a forward pass of the teacher; a forward pass of the"
        " exemplars for every test batch",
        needs_boundaries=True,
    ),
    LearnerCard(
        name="er_ace",
        summary="Replay in which new classes compete among themselves, and memory among all.",
        source="Caccia et al. 2022",
        maker="recollect.learners.replay_variants:ERACE",
        options=options.TwoPassReplay,
        stores="`memory` samples and labels",
        costs="a forward and backward pass of the stream batch and one of the memory batch",
        samples=_ANY,
    ),
    LearnerCard(
        name="derpp",
        problems=NETWORKS,
        summary="DER++: replay of labels, and of the logits that samples had when they were stored.",
        source="Buzzega et al. 2020",
        maker="recollect.learners.replay_variants:DERPlusPlus",
        options=options.DarkReplay,
        stores="`memory` samples, labels and logits",
        costs="a forward and backward pass of the stream batch and two of memory batches",
        samples=_ANY,
    ),
    LearnerCard(
        name="agem",
        problems=NETWORKS,
        summary="A-GEM: a gradient that would raise the loss on memory of earlier tasks is projected.",
        source="Chaudhry et al. 2019",
        maker="recollect.learners.replay_variants:AGEM",
        options=options.TwoPassReplay,
        stores="`memory` samples and labels",
        costs="a forward and backward pass of the stream batch and one of the memory batch",
        samples=_ANY,
    ),
    LearnerCard(
        name="gem",
        summary="GEM: a step that would raise the loss on memory of any earlier task is turned until it does not.",
        source="Lopez-Paz and Ranzato 2017",
        maker="recollect.learners.gem:GEM",
        options=options.GradientMemory,
        stores="`memory_per_task` samples and labels of each task",
        costs="one pass of the stream batch and one of each earlier task's memory",
        needs_boundaries=True,
        samples=_ANY,
        problems=NETWORKS,
    ),
    LearnerCard(
        name="er_gnn",
        summary="Replay of a few nodes of each class, chosen by where they lie among the others.",
        source="Zhou and Cao 2021",
        maker="recollect.learners.graphs.er_gnn:ERGNN",
        options=options.NodeReplay,
        stores="`budget` ids and labels of each class, and those of the present task",
        costs="one forward and backward pass of the graph",
        needs_boundaries=True,
        extra="graphs",
        samples=("nodes",),
    ),
    LearnerCard(
        name="twp",
        summary="Topology-aware weight preserving: EWC's idea, with the attention between neighbours beside the loss.",
        source="Liu et al. 2021",
        maker="recollect.learners.graphs.twp:TWP",
        options=options.Topology,
        stores="the weights twice (anchor, importance), and the ids of the present task",
        costs="one pass of the graph; two more at the end of a task",
        needs_boundaries=True,
        extra="graphs",
        samples=("nodes", "links", "graphs"),
        problems=NETWORKS,
    ),
    LearnerCard(
        name="ewc",
        problems=NETWORKS,
        summary="Online EWC: weights with a large Fisher information stay near their values.",
        source="Kirkpatrick et al. 2017; Schwarz et al. 2018",
        maker="recollect.learners.anchored:EWC",
        options=options.Fisher,
        stores="the weights twice (anchor, importance), and `samples` samples of the present task",
        costs="one pass of the stream batch; `samples` x `labels` single passes at the end of a task",
        needs_boundaries=True,
        samples=_ANY,
    ),
    LearnerCard(
        name="mas",
        problems=NETWORKS,
        summary="Memory aware synapses: weights on which the outputs depend stay near their values.",
        source="Aljundi et al. 2018",
        maker="recollect.learners.anchored:MAS",
        options=options.Anchored,
        stores="the weights twice (anchor, importance), and `samples` samples of the present task",
        costs="one pass of the stream batch; `samples` single passes at the end of a task",
        needs_boundaries=True,
        samples=_ANY,
    ),
    LearnerCard(
        name="lwf",
        summary="Learning without forgetting: the network before the task teaches the one in it.",
        source="Li and Hoiem 2016; Mai et al. 2022 for its online form",
        maker="recollect.learners.distill:LwF",
        options=options.Distill,
        stores="the network once more, as the teacher",
        costs="one pass of the stream batch and one forward pass of the teacher",
        needs_boundaries=True,
        samples=_ANY,
    ),
    LearnerCard(
        name="packnet",
        summary="PackNet: each task keeps a part of the free weights, which no later task changes.",
        source="Mallya and Lazebnik 2018",
        maker="recollect.learners.packnet:PackNet",
        options=options.Packing,
        stores="the owner of each weight; head, biases and norms of each task; the samples of the present task",
        costs="one pass of the stream batch, and `retrain` passes over the task at its end; an evaluation is one"
        " forward pass for each task",
        needs_boundaries=True,
        needs_task=True,
        samples=("arrays", "nodes", "graphs"),
    ),
    LearnerCard(
        name="piggyback",
        summary="Piggyback: the weights stay as they are, and each task learns which of them it takes.",
        source="Mallya et al. 2018",
        maker="recollect.learners.piggyback:Piggyback",
        options=options.Masking,
        stores="the weights twice; for each task a bit for each weight, and its head, biases and norms",
        costs="one pass of the stream batch; an evaluation is one forward pass for each task",
        needs_boundaries=True,
        needs_task=True,
        samples=("arrays", "nodes", "graphs"),
    ),
    LearnerCard(
        name="ncm",
        summary="Nearest class mean, in fixed features or in the samples as they are.",
        source="Mensink et al. 2013",
        maker="recollect.learners.prototypes:NearestClassMean",
        options=options.Prototypes,
        stores="a mean and a count for each class",
        costs="one forward pass of the fixed network, if there is one",
        extra=None,
    ),
    LearnerCard(
        name="slda",
        summary="Streaming LDA: class means and one shared covariance, in fixed features or raw samples.",
        source="Hayes and Kanan 2020",
        maker="recollect.learners.prototypes:StreamingLDA",
        options=options.Shrinkage,
        stores="a mean and a count for each class, and a covariance",
        costs="a d x d product a batch; an inverse before an evaluation",
        extra=None,
    ),
    LearnerCard(
        name="ranpac",
        summary="Ridge regression on random projections of fixed features or raw samples.",
        source="McDonnell et al. 2023",
        maker="recollect.learners.ranpac:RanPAC",
        options=options.Projected,
        stores="the sums of the projections, of their products and of those with the classes",
        costs="a product of `projection` x `projection` for each batch; a solution before an evaluation",
        extra=None,
    ),
    LearnerCard(
        name="gdumb",
        summary="Keeps a class-balanced memory; a new network is trained on it whenever scores are asked.",
        source="Prabhu et al. 2020",
        maker="recollect.learners.gdumb:GDumb",
        options=options.GDumb,
        stores="`memory` samples and labels",
        costs="nothing while learning; `epochs` passes over the memory before each evaluation",
        samples=_ANY,
    ),
    LearnerCard(
        name="random",
        role="floor",
        summary="Guesses uniformly among the classes: the reference of difficulty.",
        source="Michel et al. 2023, section 3.2",
        maker="recollect.learners.guess:RandomGuess",
        options=options.NoOptions,
        stores="nothing",
        costs="nothing",
        extra=None,
        samples=_ANY,
    ),
    LearnerCard(
        name="joint_incremental",
        problems=NETWORKS,
        role="joint",
        summary="A new network trained on everything seen so far, whenever scores are asked after new data.",
        source="the joint learner of intransigence (Chaudhry et al. 2018)",
        maker="recollect.learners.joint:JointIncremental",
        options=options.Joint,
        stores="every sample and label of the stream",
        costs="`epochs` passes over all data seen, before each evaluation",
        samples=_ANY,
    ),
    LearnerCard(
        name="joint_final",
        problems=NETWORKS,
        role="reference",
        summary="One network trained once on the whole stream, after its last task.",
        source="the offline upper bound of most tables",
        maker="recollect.learners.joint:JointFinal",
        options=options.Joint,
        stores="every sample and label of the stream",
        costs="`epochs` passes over the whole stream, once",
        needs_boundaries=True,
        evaluated="end",
        samples=_ANY,
    ),
)

LEARNERS: dict[str, LearnerCard] = {card.name: card for card in (*_CARDS, *DETECTION)}


def make_learner(
    name: str,
    config: Mapping[str, Any] | None,
    setting: Setting,
    seeds: Seeds,
    device: str = "auto",
) -> Learner:
    """The learner of this name, new, with these options.

    A name with a colon, such as "my_package.learners:MyLearner", is imported and called as
    `MyLearner(setting=..., seeds=..., **config)`; a class with `Options`, a dataclass, such as a subclass of a learner
    of ours, as `MyLearner(options, setting, seeds, device)`; an estimator, "sklearn.naive_bayes:GaussianNB", is called
    with its options alone.

    >>> from recollect.runs.seeds import derive
    >>> setting = Setting(input_shape=(4,), n_classes=2, tasks=((0,), (1,)))
    >>> make_learner("random", {}, setting, derive(0)).stored_samples
    0
    >>> make_learner("gdump", {}, setting, derive(0))
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: There is no learner named 'gdump'; the nearest is 'gdumb'. ...
    """
    if ":" in name:
        return _foreign(name, dict(config or {}), setting, seeds, device)
    card = LEARNERS.get(name)
    if card is None:
        raise UsageError(
            f"There is no learner named {name!r}; the nearest is {nearest(name, LEARNERS)!r}. There are:"
            f" {', '.join(LEARNERS)}; one of your own is named 'package.module:Class'."
        )
    refuse_misfit(
        card,
        setting.problem,
        gives_boundaries=setting.gives_boundaries,
        gives_task=setting.gives_task,
        samples=setting.samples,
    )
    if card.extra is not None and find_spec("torch") is None:
        raise MissingExtra.of("torch", card.extra)
    chosen = options.read(card.options, name, config or {})
    module, _, attribute = card.maker.partition(":")
    learner: Learner = getattr(import_module(module), attribute)(chosen, setting, seeds, device)
    return learner


def role_of(learner: object) -> str:
    """What a learner is for in a comparison: as its card says, a contestant if it has none."""
    maker = f"{type(learner).__module__}:{type(learner).__qualname__}"
    return next((card.role for card in LEARNERS.values() if card.maker == maker), "contestant")


def refuse_misfit(
    card: LearnerCard, problem: str, *, gives_boundaries: bool, gives_task: bool, samples: str = "arrays"
) -> None:
    """Raise UsageError if a stream of this problem, of these samples or without told boundaries is not for it."""
    if samples not in card.samples:
        fitting = [other.name for other in LEARNERS.values() if samples in other.samples]
        raise UsageError(
            f"The learner {card.name!r} takes {' and '.join(card.samples)}, and the samples of this stream are"
            f" {samples}. {_or_none(fitting, 'these')}"
        )
    if problem not in card.problems:
        fitting = [other.name for other in LEARNERS.values() if problem in other.problems]
        raise UsageError(
            f"The learner {card.name!r} is for {' and '.join(card.problems)}, and the stream asks for {problem}."
            f" {_or_none(fitting, 'that')}"
        )
    if card.needs_boundaries and not gives_boundaries:
        raise UsageError(
            f"The learner {card.name!r} does its work at the end of a task, and this scenario tells no boundaries."
            " Use one that needs none (such as 'er'), or a scenario with boundaries."
        )
    if card.needs_task and not gives_task:
        raise UsageError(
            f"The learner {card.name!r} answers each sample by the weights of its task, and this scenario does not tell"
            " the task. Use scenario: task-incremental, or a learner that needs no task (such as 'ewc')."
        )


def _or_none(names: list[str], what: str) -> str:
    return f"For {what} there are: {', '.join(names)}." if names else f"No learner here is for {what}: give your own."


def _foreign(path: str, config: dict[str, Any], setting: Setting, seeds: Seeds, device: str) -> Learner:
    from recollect.learners.wrap import wrap, wrap_sklearn

    maker = import_path(path, "learner")
    if isinstance(maker, type) and hasattr(maker, "get_params") and not hasattr(maker, "learn"):
        refuse_call(maker, path, "estimator", config)
        return wrap_sklearn(maker(**_numbers(maker, config)), setting, seeds)
    if isinstance(maker, type) and is_dataclass(own := getattr(maker, "Options", None)):
        chosen: Any = options.read(cast("type[Any]", own), path, config)
        return wrap(maker(chosen, setting, seeds, device), setting, seeds)
    refuse_call(maker, path, "learner", {"setting": setting, "seeds": seeds, **config})
    return wrap(maker(setting=setting, seeds=seeds, **config), setting, seeds)


def _numbers(estimator: type, config: dict[str, Any]) -> dict[str, Any]:
    """The parameters, texts that are numbers made numbers where the default is one."""
    takes = signature(estimator).parameters
    numbers = {
        name: options.number_in(value)
        for name, value in config.items()
        if isinstance(value, str) and name in takes and isinstance(takes[name].default, float)
    }
    return {**config, **numbers}
