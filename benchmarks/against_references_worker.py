"""Other tools' learners in their own environment: trains each on the samples it is given, and says what it gets right.

Started by `benchmarks/against_references.py`, once for each tool, with a folder that holds `work.json` (what to run)
and an .npz file of samples for each seed, in the order of the stream. The network is this project's, by the path of its
source, from the weights that ours starts with. A line of JSON goes out for each run: the share of right answers
on each task after the last one, among all classes and among the task's own.

Each function below drives one learner of the other tool through the tasks and gives its scores at the end.
"""

from __future__ import annotations

import json
import random
import sys
import types
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

# Deprecated calls warn at every step, past any filter.
warnings.warn = lambda *_, **__: None  # type: ignore[assignment]
# torchvision without its compiled part lacks two operators that its import names.
for operator in ("nms", "qnms"):
    torch.library.define(f"torchvision::{operator}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

Scores = Callable[[Tensor], Tensor]


class Task(NamedTuple):
    """The training samples of a task, in order; raw are as stored."""

    x: Tensor
    y: Tensor
    raw: np.ndarray


class Given(NamedTuple):
    """What a learner gets: the tasks, a new network, how to make another, and its options."""

    tasks: list[Task]
    network: nn.Module
    another: Callable[[], nn.Module]
    options: Namespace


def sgd(given: Given, network: nn.Module | None = None) -> torch.optim.Optimizer:
    return torch.optim.SGD((network or given.network).parameters(), lr=given.options.lr)


def batches(given: Given) -> Iterator[tuple[int, Tensor, Tensor]]:
    """The stream batch by batch, with the task's number."""
    for number, task in enumerate(given.tasks):
        for low in range(0, len(task.y), given.options.batch):
            yield number, task.x[low : low + given.options.batch], task.y[low : low + given.options.batch]


def stream_of(given: Given) -> Any:
    """The tasks as Avalanche takes them."""
    from avalanche.benchmarks import benchmark_from_datasets
    from avalanche.benchmarks.utils import _make_taskaware_tensor_classification_dataset

    return benchmark_from_datasets(
        train=[_make_taskaware_tensor_classification_dataset(task.x, task.y, task_labels=0) for task in given.tasks]
    ).train_stream


def online(given: Given) -> Any:
    """The stream cut into experiences of one batch."""
    from avalanche.benchmarks.scenarios.online import split_online_stream

    return split_online_stream(stream_of(given), given.options.batch, shuffle=False)


def common(given: Given, **more: Any) -> dict[str, Any]:
    from avalanche.training.plugins import EvaluationPlugin

    plain = {"model": given.network, "optimizer": sgd(given), "criterion": nn.CrossEntropyLoss()}
    return {**plain, "train_mb_size": given.options.batch, "evaluator": EvaluationPlugin(), **more}


def naive(
    given: Given,
    *plugins: Any,
    stream: Any = None,
    shuffle: bool = False,
    before: Callable[[int], None] = lambda t: None,
    rate: Callable[[int], float] | None = None,
    **more: Any,
) -> Scores:
    """Naive with plugins; `before` is called with the number of each experience, `rate` gives its learning rate."""
    from avalanche.training.supervised import Naive

    strategy = Naive(**common(given, plugins=list(plugins), **more))
    for t, experience in enumerate(stream or stream_of(given)):
        before(t)
        if rate is not None:
            strategy.optimizer.param_groups[0]["lr"] = rate(t)
        strategy.train(experience, shuffle=shuffle)
    return strategy.model.eval()


def replay(given: Given) -> Scores:
    from avalanche.training.plugins import ReplayPlugin
    from avalanche.training.storage_policy import ReservoirSamplingBuffer

    o = given.options
    kept = ReservoirSamplingBuffer(o.memory)
    sizes = {"mem_size": o.memory, "batch_size": o.batch, "batch_size_mem": o.memory_batch}
    # Without shuffling it would take the same samples of the memory every time.
    return naive(given, ReplayPlugin(**sizes, storage_policy=kept), stream=online(given), shuffle=True)


def er_ace(given: Given) -> Scores:
    from avalanche.training.supervised import ER_ACE

    strategy = ER_ACE(**common(given), mem_size=given.options.memory, batch_size_mem=given.options.memory_batch)
    for experience in online(given):
        strategy.train(experience, shuffle=False)
    return strategy.model.eval()


def der(given: Given) -> Scores:
    from avalanche.training.supervised import DER

    o = given.options
    weights = {"alpha": o.alpha, "beta": o.beta}
    strategy = DER(**common(given), mem_size=o.memory, batch_size_mem=o.memory_batch, **weights)
    for experience in online(given):
        strategy.train(experience, shuffle=False)
    return strategy.model.eval()


def agem(given: Given) -> Scores:
    from avalanche.training.plugins import AGEMPlugin

    return naive(given, AGEMPlugin(given.options.memory // len(given.tasks), given.options.memory_batch))


def ewc(given: Given) -> Scores:
    from avalanche.training.plugins import EWCPlugin

    class OneByOne(EWCPlugin):
        """Squares the gradient of each sample, not that of a batch's mean."""

        def compute_importances(self, *args: Any, **kwargs: Any) -> Any:
            return super().compute_importances(*args[:5], 1, **kwargs)

    return naive(given, OneByOne(given.options.strength / 2, mode="online", decay_factor=1.0))


def mas(given: Given) -> Scores:
    from avalanche.training.plugins import MASPlugin

    class OneByOne(MASPlugin):
        """Takes the gradient of each sample, not that of a batch's mean."""

        def _get_importance(self, strategy: Any) -> Any:
            strategy.train_mb_size, kept = 1, strategy.train_mb_size
            try:
                return super()._get_importance(strategy)
            finally:
                strategy.train_mb_size = kept

    # Its importance is a moving mean; with these shares and weights, after t tasks, it is the sum that ours is.
    plugin = OneByOne()

    def set_weights(t: int) -> None:
        plugin._lambda, plugin.alpha = t * given.options.strength / 2, t / (t + 1)

    return naive(given, plugin, before=set_weights)


def lwf(given: Given) -> Scores:
    from avalanche.training.plugins import LwFPlugin

    o = given.options
    # Its loss is CE + alpha KL; ours, after t tasks, (CE + t heat^2 KL) / (t + 1), whose divisor goes into the rate.
    weights = [t * o.temperature**2 for t in range(len(given.tasks))]
    plugin = LwFPlugin(alpha=weights, temperature=o.temperature)
    return naive(given, plugin, rate=lambda t: o.lr / (t + 1))


def ncm(given: Given) -> Scores:
    from avalanche.models import NCMClassifier

    classifier = NCMClassifier(normalize=False)
    for task in given.tasks:
        means = {int(label): task.x[task.y == label].flatten(1).mean(0) for label in task.y.unique()}
        classifier.update_class_means_dict(means)
    return lambda x: classifier(x.flatten(1))


def slda(given: Given) -> Scores:
    from avalanche.training.supervised import StreamingLDA

    features = given.tasks[0].x[0].numel()
    # A batch is a task: samples are fitted one by one, and each batch costs an inverse.
    settings = common(given, slda_model=nn.Flatten(), train_mb_size=len(given.tasks[0].y))
    del settings["model"], settings["optimizer"]
    strategy = StreamingLDA(
        **settings, input_size=features, num_classes=given.options.n_classes, shrinkage_param=given.options.shrinkage
    )
    for experience in stream_of(given):
        strategy.train(experience, shuffle=False)
    return lambda x: strategy.predict(x.flatten(1))


def gdumb(given: Given) -> Scores:
    from avalanche.training.plugins import GDumbPlugin

    return naive(given, GDumbPlugin(given.options.memory), shuffle=True, train_epochs=given.options.epochs)


def cumulative(given: Given) -> Scores:
    from avalanche.training.plugins import FromScratchTrainingPlugin
    from avalanche.training.supervised import Cumulative

    plugins = [FromScratchTrainingPlugin()]
    strategy = Cumulative(**common(given, plugins=plugins, train_epochs=given.options.epochs))
    for experience in stream_of(given):
        strategy.train(experience)
    return strategy.model.eval()


def joint(given: Given) -> Scores:
    from avalanche.training.supervised import JointTraining

    strategy = JointTraining(**common(given, train_epochs=given.options.epochs))
    strategy.train(list(stream_of(given)))
    return strategy.model.eval()


def survey(name: str, given: Given) -> Scores:
    """An agent of the survey's code, told of a data set of this shape; its loader shuffles each task anew."""
    sys.meta_path.insert(0, Missing("kornia", "skimage"))
    from torchvision import transforms
    from utils import setup_elements

    shape = tuple(given.tasks[0].x.shape[1:])
    setup_elements.input_size_match["given"] = shape
    setup_elements.transforms_match["given"] = transforms.Compose([transforms.ToTensor()])
    setup_elements.n_classes["given"] = given.options.n_classes
    from agents import gdumb as survey_gdumb
    from utils.name_match import agents

    survey_gdumb.setup_architecture = lambda _: given.another()
    o = given.options
    tricks = ("kd_trick", "kd_trick_star", "labels_trick", "separated_softmax", "review_trick", "ncm_trick")
    params = Namespace(
        agent="ER" if name == "MIR" else name, data="given", cuda=False, epoch=1, batch=o.batch, verbose=False,
        trick=dict.fromkeys(tricks, False), mem_size=getattr(o, "memory", 0),
        eps_mem_batch=getattr(o, "memory_batch", 0), mem_iters=1, update="random",
        retrieve="MIR" if name == "MIR" else "random", buffer_tracker=False,
        optimizer="SGD", learning_rate=o.lr, weight_decay=0.0, mem_epoch=getattr(o, "epochs", 0),
        clip=getattr(o, "clip", 0.0), subsample=getattr(o, "candidates", 0), temp=getattr(o, "temperature", 0.0),
    )  # fmt: skip
    network = Projected(given.network) if name == "SCR" else given.network
    for augmentation in ("RandomResizedCrop", "RandomHorizontalFlip", "ColorJitter", "RandomGrayscale"):
        setattr(import_module("agents.scr"), augmentation, lambda *_, **__: nn.Identity())
    agent = agents[params.agent](network, sgd(given, network), params)
    for task in given.tasks:
        agent.train_learner(task.raw.transpose(0, 2, 3, 1), task.y.numpy())  # images with channels last
    return nearest_mean(agent) if name in ("SCR", "ICARL") else agent.model.eval()


class Projected(nn.Module):
    """The network as SCR takes it: its features, and their projection at length 1."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        width = network.head.in_features
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(inplace=True), nn.Linear(width, 128))

    def features(self, x: Tensor) -> Tensor:
        return self.network.features(x)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.normalize(self.head(self.features(x)), dim=1)


def nearest_mean(agent: Any) -> Scores:
    """What the survey's code does in `evaluate`, as scores: minus the squared distance to the means of its memory."""
    model, held = agent.model.eval(), agent.buffer.current_index
    x, y = agent.buffer.buffer_img[:held], agent.buffer.buffer_label[:held]

    def unit(some: Tensor) -> Tensor:
        return nn.functional.normalize(model.features(some), dim=1)

    with torch.no_grad():
        found = {int(label): nn.functional.normalize(unit(x[y == label]).mean(0), dim=0) for label in y.unique()}
    classes = max(agent.old_labels) + 1
    means = torch.stack(
        [found.get(label, torch.full_like(next(iter(found.values())), 9.0)) for label in range(classes)]
    )
    return lambda some: -((unit(some)[:, None] - means) ** 2).sum(2)


def mammoth(name: str, given: Given) -> Scores:
    """A model of Mammoth, which takes the stream batch by batch as it comes."""
    sys.meta_path.insert(0, Missing("kornia", "datasets", "backbone"))
    o = given.options
    args = Namespace(
        buffer_size=o.memory, minibatch_size=o.memory_batch, alpha=getattr(o, "alpha", 0), beta=getattr(o, "beta", 0),
        lr=o.lr, optimizer="sgd", optim_wd=0.0, optim_mom=0.0, optim_nesterov=0, label_perc=1, task_free=True,
        use_custom_classifier=False, device="cpu", distributed="no",
    )  # fmt: skip
    sizes = {"N_CLASSES": o.n_classes, "N_TASKS": len(given.tasks), "SETTING": "class-il"}
    dataset = Namespace(**sizes, N_CLASSES_PER_TASK=o.n_classes // len(given.tasks))
    module = import_module(f"models.{name}")
    found = next(value for value in vars(module).values() if getattr(value, "NAME", None) == name)
    model = found(given.network, nn.CrossEntropyLoss(), args, None, dataset=dataset)
    model.to(torch.device("cpu"))
    for number, x, y in batches(given):
        model._current_task = number
        model.observe(x, y, x)
    return model.net.eval()


class Hollow(type):
    """A class without content, and with every attribute one could ask for."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Hollow(name, (), {})


class Anything(types.ModuleType):
    """A module that is imported and never used."""

    __path__: list[str] = []  # noqa: RUF012 - import reads it from the module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Hollow(name, (), {})


class Missing(MetaPathFinder, Loader):
    """Stands in for packages that a tool imports and this work does not touch."""

    def __init__(self, *packages: str) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self.packages else None

    def create_module(self, spec: ModuleSpec) -> Anything:
        return Anything(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing in it."""


SURVEY = ("ER", "MIR", "SCR", "ICARL", "AGEM", "LWF", "GDUMB")
METHODS: dict[str, Callable[[Given], Scores]] = {
    "Avalanche Naive": naive,
    "Avalanche Replay": replay,
    "Avalanche ER_ACE": er_ace,
    "Avalanche DER": der,
    "Avalanche AGEM": agem,
    "Avalanche EWC": ewc,
    "Avalanche MAS": mas,
    "Avalanche LwF": lwf,
    "Avalanche NCM": ncm,
    "Avalanche StreamingLDA": slda,
    "Avalanche GDumb": gdumb,
    "Avalanche Cumulative": cumulative,
    "Avalanche JointTraining": joint,
    **{f"survey {name}": lambda given, name=name: survey(name, given) for name in SURVEY},
    **{f"Mammoth {name}": lambda given, name=name: mammoth(name, given) for name in ("er", "er_ace", "derpp")},
}


def right(scores: Tensor, y: np.ndarray, task: np.ndarray, tasks: list[Task]) -> tuple[list[float], list[float]]:
    """The share of right answers on each task: among all classes, and among the task's own."""
    among_all, among_own = [], []
    for number, each in enumerate(tasks):
        mine, own = scores.numpy()[task == number], np.unique(each.y.numpy())
        among_all.append(float((mine.argmax(1) == y[task == number]).mean()))
        among_own.append(float((own[mine[:, own].argmax(1)] == y[task == number]).mean()))
    return among_all, among_own


def run(method: str, options: dict[str, Any], seed: int, init: int, file: Path) -> dict[str, Any]:
    from recollect.learners.base import Setting
    from recollect.learners.networks import build
    from recollect.learners.options import Network

    data = np.load(file)
    x = torch.from_numpy(data["x"]).to(torch.float32).div_(255)
    y = torch.from_numpy(data["y"])
    cuts = zip([0, *data["ends"][:-1].tolist()], data["ends"].tolist(), strict=True)
    tasks = [Task(x[low:high], y[low:high], data["x"][low:high]) for low, high in cuts]
    setting = Setting(tuple(x.shape[1:]), options["n_classes"], (tuple(range(options["n_classes"])),))

    def network(seed: int) -> nn.Module:
        return build(Network(network="mlp", hidden=tuple(options["hidden"])), setting, seed)

    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what these tools draw from
    random.seed(seed)
    given = Given(tasks, network(init), lambda: network(int(torch.randint(2**31, ()))), Namespace(**options))
    scores = METHODS[method](given)
    with torch.no_grad():
        found = scores(torch.from_numpy(data["x_test"]).to(torch.float32).div_(255))
    return dict(zip(("all", "own"), right(found, data["y_test"], data["task_test"], tasks), strict=True))


def main(folder: str, source: str, tool: str) -> None:
    torch.set_num_threads(1)
    answers, sys.stdout = sys.stdout, sys.stderr  # nothing that a library prints is an answer
    sys.path.insert(0, source)
    if tool:
        sys.path.insert(0, tool)
    for job in json.loads((Path(folder) / "work.json").read_text(encoding="utf-8")):
        found = run(job["method"], job["options"], job["seed"], job["init"], Path(folder) / job["file"])
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
