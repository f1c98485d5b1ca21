"""How peers that are not packages are asked: one file of a checkout is imported, with stand-ins for the rest.

The metric code runs as it is in the checkout. A stand-in replaces what the file imports and the metrics do
not use (tensorflow, model zoos), or the counting of right answers, which the matrix already gives. Nothing of
these projects is part of this one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Generic, TypeVar

import numpy as np

from peers_worker import EVALUATIONS_PER_TASK, Answer, Peer, Problem

Calls = Iterator[tuple[str, Callable[[], Answer]]]
Result = TypeVar("Result")


def commit(checkout: Path) -> str:
    """The short hash of what is checked out."""
    asked = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "--short=7", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    )
    return asked.stdout.strip()


def file_of(checkout: Path, path: str) -> Any:
    """Import one file of a checkout as a module."""
    spec = importlib.util.spec_from_file_location("peer_" + Path(path).stem, checkout / path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not a Python file of {checkout}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stand_in(name: str, **members: Any) -> None:
    """Put a module with these members where an import of `name` finds it, and its parents."""
    parts = name.split(".")
    for depth in range(1, len(parts)):
        sys.modules.setdefault(".".join(parts[:depth]), ModuleType(parts[depth - 1]))
    module = ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    if len(parts) > 1:
        setattr(sys.modules[".".join(parts[:-1])], parts[-1], module)


def pyclad_main(checkout: Path) -> Peer:
    """The main branch of pyCLAD: its forgetting measure, a curve, is not in the release."""
    sys.path.insert(0, str(checkout / "src"))
    from pyclad.metrics.continual.forgetting_measure import ForgettingMeasure

    def ask(problem: Problem) -> Calls:
        cells = problem.R.tolist()
        yield "ForgettingMeasure", lambda: ForgettingMeasure().compute(cells)

    return Peer(commit(checkout), ask)


def continuum_main(checkout: Path) -> Peer:
    """Continuum's main branch, whose loops are not those of the release."""
    sys.path.insert(0, str(checkout))
    import peers_installed

    return Peer(commit(checkout), peers_installed.continuum().ask)


def gem(checkout: Path) -> Peer:
    """Lopez-Paz & Ranzato's code: the first logged row is the baseline."""
    import torch

    torch.set_default_dtype(torch.float64)
    module = file_of(checkout, "metrics/metrics.py")

    def ask(problem: Problem) -> Calls:
        tasks = torch.tensor([0, *range(problem.T)])
        scores = torch.tensor(np.vstack([problem.b, problem.R]))
        for place, name in enumerate(("Final Accuracy", "Backward", "Forward")):
            yield name, lambda place=place: float(module.confusion_matrix(tasks, scores)[place])

    return Peer(commit(checkout), ask)


def agem(checkout: Path) -> Peer:
    """Chaudhry et al.'s A-GEM code."""
    stand_in("tensorflow")
    module = file_of(checkout, "utils/utils.py")

    def ask(problem: Problem) -> Calls:
        yield "compute_fgt", lambda: module.compute_fgt(problem.R)
        yield (
            "average_acc_stats_across_runs",
            lambda: module.average_acc_stats_across_runs(problem.R[None], "")[0] / 100,
        )

    return Peer(commit(checkout), ask)


def raptormai(checkout: Path) -> Peer:
    """RaptorMai's online-continual-learning: five numbers at once, for one run."""
    module = file_of(checkout, "experiment/metrics.py")
    names = ("avg_end_acc", "avg_end_fgt", "avg_acc", "avg_bwtp", "avg_fwt")

    def ask(problem: Problem) -> Calls:
        for place, name in enumerate(names):
            yield name, lambda place=place: module.compute_performance(problem.R[None])[place][0]
        yield "single_run_avg_end_fgt", lambda: module.single_run_avg_end_fgt(problem.R)

    return Peer(commit(checkout), ask)


def mammoth(checkout: Path) -> Peer:
    """Mammoth: the functions on seen tasks, and then as its training loop calls them."""
    module = file_of(checkout, "utils/metrics.py")

    def ask(problem: Problem) -> Calls:
        R, T = problem.R, problem.T
        seen = lambda extra=0: [R[i, : i + 1 + extra].tolist() for i in range(T)]  # noqa: E731
        yield "backward_transfer", lambda: module.backward_transfer(seen())
        yield "forgetting", lambda: module.forgetting(seen())
        yield "forward_transfer", lambda: module.forward_transfer(R.tolist(), problem.b[:, None].tolist())
        # The loop adds the score on the next task to each row, and measures the "random" score just before
        # a task is trained, which is on the model trained so far.
        before = [[problem.b[0]], *([R[i - 1, i]] for i in range(1, T))]
        yield "forgetting, as the loop calls it", lambda: module.forgetting(seen(extra=1))
        yield "forward_transfer, as the loop calls it", lambda: module.forward_transfer(seen(extra=1), before)

    return Peer(commit(checkout), ask)


def renate(checkout: Path) -> Peer:
    """Renate: every function at every task, a curve."""
    module = file_of(checkout, "src/renate/evaluation/metrics/classification.py")
    accuracies = ("average_accuracy", "micro_average_accuracy")
    names = (*accuracies, "forgetting", "backward_transfer", "forward_transfer")

    def ask(problem: Problem) -> Calls:
        results = {"accuracy": problem.R.tolist(), "accuracy_init": [problem.b.tolist()]}
        sizes = problem.n.tolist()
        for name in names:
            function = getattr(module, name)
            yield name, lambda function=function: [function(results, k, sizes) for k in range(problem.T)]

    return Peer(commit(checkout), ask)


def pycil(checkout: Path) -> Peer:
    """PyCIL's training loop with a model that answers from the matrix; its log lines are the answer."""
    learner: dict[str, Any] = {}
    stand_in("utils.factory", get_model=lambda name, args: learner["model"])
    stand_in("utils.data_manager", DataManager=lambda *args: SimpleNamespace(nb_tasks=learner["T"]))
    stand_in("utils.toolkit", count_parameters=lambda *args: 0)
    trainer = file_of(checkout, "trainer.py")
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    os.chdir(tempfile.mkdtemp())
    names = ("model_name", "dataset", "prefix", "seed", "convnet_type", "shuffle", "init_cls", "increment")
    arguments = dict.fromkeys(names, 0) | {"device": ["0"]}

    def run(problem: Problem) -> dict[str, float]:
        rows = iter(range(problem.T))

        def scores() -> tuple[dict[str, Any], None]:
            i = next(rows)
            grouped = {f"{j:02d}-{j:02d}": problem.R[i, j] for j in range(i + 1)}
            pooled = problem.R[i, : i + 1] @ problem.n[: i + 1] / problem.n[: i + 1].sum()
            return {"grouped": grouped, "top1": pooled, "top5": pooled}, None

        nothing = lambda *args: None  # noqa: E731
        learner["T"] = problem.T
        learner["model"] = SimpleNamespace(
            _network=None, incremental_train=nothing, after_task=nothing, eval_task=scores
        )
        lines.clear()
        with contextlib.redirect_stdout(io.StringIO()):
            trainer._train(dict(arguments))
        return {line.split(": ")[0]: float(line.split(": ")[1]) for line in lines if "(CNN): " in line}

    def ask(problem: Problem) -> Calls:
        for name in ("Forgetting (CNN)", "Average Accuracy (CNN)"):
            yield name, lambda name=name: run(problem)[name]

    return Peer(commit(checkout), ask)


def delange(checkout: Path) -> Peer:
    """De Lange et al.'s continual evaluation: every row of a task and of the tasks before it is tracked."""
    import torch

    torch.set_default_dtype(torch.float64)
    stand_in("avalanche.evaluation", PluginMetric=AnyMetric)
    stand_in("avalanche.evaluation.metrics.loss", Loss=object)
    stand_in("avalanche.evaluation.metrics.accuracy", Accuracy=GivenAccuracy)
    stand_in("avalanche.evaluation.metric_results", MetricValue=object, MetricResult=object)
    stand_in("avalanche.evaluation.metric_utils", get_metric_name=str)
    stand_in("src.utils", get_grad_normL2=None)
    module = file_of(checkout, "src/eval/continual_eval_metrics.py")

    def track(problem: Problem) -> dict[str, list[float]]:
        minimum = module.TaskTrackingMINAccuracyPluginMetric()
        plugins = {
            "min-ACC": minimum,
            "WC-ACC": module.WCACCPluginMetric(minimum),
            "WF10": module.WindowedForgettingPluginMetric(10),
            "WP10": module.WindowedPlasticityPluginMetric(10),
        }
        averaged = {name: module.TaskAveragingPluginMetric(plugin) for name, plugin in plugins.items()}
        averaged["WC-ACC"] = plugins["WC-ACC"]
        curves: dict[str, list[float]] = {name: [] for name in plugins}
        collector, clock = SimpleNamespace(y=None), SimpleNamespace()
        strategy = SimpleNamespace(tracking_collector=collector, clock=clock)
        for row, scores in enumerate(problem.rows.tolist()):
            clock.train_exp_counter = row // EVALUATIONS_PER_TASK
            for plugin in plugins.values():
                plugin.before_tracking(strategy)
            for task in range(clock.train_exp_counter + 1):
                collector.current_tracking_task, collector.preds_batch = task, scores[task]
                for plugin in plugins.values():
                    plugin.after_tracking_batch(strategy)
                for plugin in plugins.values():
                    plugin.after_tracking_step(strategy)
            if (row + 1) % EVALUATIONS_PER_TASK == 0:
                for name, curve in curves.items():
                    result = averaged[name].result()
                    curve.append(result[0] if result else np.nan)
        return curves

    def ask(problem: Problem) -> Calls:
        curves = track(problem)
        for name, curve in curves.items():
            yield name, lambda curve=curve: curve

    return Peer(commit(checkout), ask)


class AnyMetric(Generic[Result]):
    """Stands in for the old Avalanche's base class of metrics."""


class GivenAccuracy:
    """Stands in for the old Avalanche's accuracy by task: the score is given, not counted."""

    def __init__(self) -> None:
        self.scores: dict[int, float] = {}

    def update(self, score: float, _: None, task_labels: int) -> None:
        self.scores[task_labels] = score

    def result(self, task_label: int | None = None) -> dict[int, float]:
        return dict(self.scores)

    def reset(self) -> None:
        self.scores.clear()
