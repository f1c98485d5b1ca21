"""How the peers that can be installed are asked: pyCLAD, Avalanche, Continuum, CapyMOA.

Each function here imports a peer and returns a `Peer`. The peer's own classes do all the computing; what is
ours is to hand a matrix to them in the form they take: a nested list, or predictions with as many right
answers as the matrix says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np

from peers_worker import EVALUATIONS_PER_TASK, Answer, Peer, Problem

Calls = Iterator[tuple[str, Callable[[], Answer]]]


def pyclad() -> Peer:
    """The release: three summaries of a nested list."""
    from pyclad.metrics.continual.average_continual import ContinualAverage
    from pyclad.metrics.continual.backward_transfer import BackwardTransfer
    from pyclad.metrics.continual.forward_transfer import ForwardTransfer

    def ask(problem: Problem) -> Calls:
        cells = problem.R.tolist()
        for metric in (ContinualAverage(), BackwardTransfer(), ForwardTransfer()):
            yield metric.name(), lambda metric=metric: metric.compute(cells)

    return Peer(version("pyclad"), ask)


def torchvision_operators() -> None:
    """Define what torchvision's compiled operators would register; they are missing with a CPU-only torch."""
    import torch

    for operator in ("nms", "qnms"):
        torch.library.define(f"torchvision::{operator}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def avalanche() -> Peer:
    """The stream plugins, driven through training and evaluation by a stand-in for the strategy."""
    torchvision_operators()
    import torch
    from avalanche.evaluation.metrics.accuracy import StreamAccuracy, TrainedExperienceAccuracy
    from avalanche.evaluation.metrics.forgetting_bwt import StreamBWT, StreamForgetting
    from avalanche.evaluation.metrics.forward_transfer import StreamForwardTransfer

    plugins = (StreamAccuracy, TrainedExperienceAccuracy, StreamForgetting, StreamBWT, StreamForwardTransfer)
    stream = SimpleNamespace(name="test")

    @cache
    def predictions(right: int, size: int) -> torch.Tensor:
        return torch.tensor([0] * right + [1] * (size - right))

    def play(plugin, problem: Problem) -> list[float]:
        strategy = SimpleNamespace(clock=SimpleNamespace(train_iterations=0), eval_every=0, is_eval=True)
        experiences = [
            SimpleNamespace(current_experience=j, task_labels=[0], task_label=0, origin_stream=stream)
            for j in range(problem.T)
        ]

        def evaluate(right: np.ndarray) -> float:
            plugin.before_eval(strategy)
            for experience, count, size in zip(experiences, right, problem.n, strict=True):
                strategy.experience = experience
                strategy.mb_y = predictions(int(size), int(size))
                strategy.mb_output = predictions(int(count), int(size))
                strategy.mb_task_id = torch.zeros(int(size), dtype=torch.int64)
                plugin.before_eval_exp(strategy)
                plugin.after_eval_iteration(strategy)
                plugin.after_eval_exp(strategy)
            (metric,) = plugin.after_eval(strategy)
            return metric.value

        evaluate(problem.correct(problem.b))
        curve = []
        for experience, right in zip(experiences, problem.correct(problem.R), strict=True):
            strategy.experience = experience
            plugin.before_training_exp(strategy)
            plugin.after_training_exp(strategy)
            curve.append(evaluate(right))
        return curve

    def ask(problem: Problem) -> Calls:
        for plugin in plugins:
            yield plugin.__name__, lambda plugin=plugin: play(plugin(), problem)

    return Peer(version("avalanche-lib"), ask)


def continuum() -> Peer:
    """The logger's properties, from predictions logged task by task."""
    torchvision_operators()
    from continuum.metrics import Logger

    transfers = ("backward_transfer", "positive_backward_transfer", "remembering", "forward_transfer")
    on_all = ("accuracy_A", *transfers, "forgetting")
    on_seen = ("accuracy", "average_incremental_accuracy")

    def logged(problem: Problem, seen_only: bool) -> Logger:
        logger = Logger(list_subsets=["test"])
        for i, right in enumerate(problem.correct(problem.R)):
            shown = range(i + 1 if seen_only else problem.T)
            wrong = np.concatenate([np.arange(problem.n[j]) >= right[j] for j in shown])
            tasks = np.repeat(np.array(shown), problem.n[list(shown)])
            if i:
                logger.end_task()
            logger.add([wrong.astype(int), np.zeros(len(wrong), int), tasks], subset="test")
        return logger

    def ask(problem: Problem) -> Calls:
        full, seen = logged(problem, seen_only=False), logged(problem, seen_only=True)
        for name in on_all:
            yield f"Logger.{name}", lambda name=name: getattr(full, name)
        for name in on_seen:
            yield f"Logger.{name}", lambda name=name: getattr(seen, name)

    return Peer(version("continuum"), ask)


def capymoa() -> Peer:
    """The online continual learning metrics, built from confusion counts of every evaluation."""
    torchvision_operators()
    import torch
    from capymoa.ocl.evaluation._evaluator import _OCLEvaluator

    # Their tensors have torch's default type: in float32, as shipped, nothing could agree to 1e-12.
    torch.set_default_dtype(torch.float64)
    no_prequential = SimpleNamespace(windowed=None)
    averages = (
        "accuracy_seen_avg",
        "accuracy_all_avg",
        "anytime_accuracy_seen_avg",
        "anytime_accuracy_all_avg",
    )
    transfers = ("backward_transfer", "forward_transfer")
    numbers = ("accuracy_final", *averages, *transfers, "accuracy_seen", "accuracy_all")

    def ask(problem: Problem) -> Calls:
        T, H = problem.T, EVALUATIONS_PER_TASK
        evaluator = _OCLEvaluator(T, H, 2)
        right = torch.tensor(problem.correct(problem.rows).reshape(T, H, T))
        evaluator.cm[..., 0, 0] = right
        evaluator.cm[..., 0, 1] = torch.tensor(problem.n) - right
        metrics = evaluator.build(no_prequential, torch.zeros(T + 1))
        for name in numbers:
            yield name, lambda name=name: getattr(metrics, name)

    return Peer(version("capymoa"), ask)
