"""Write the Avalanche fixtures of the tests: real logs of small real runs, and what the tool itself measured.

Runs outside the project, in an environment of its own, so that the importer is tested against what the tool
writes and not against what we believe it writes::

    python -m venv avalanche-env
    avalanche-env/bin/pip install torch==2.13.0 torchvision==0.28.0 avalanche-lib==0.6.0
    avalanche-env/bin/python benchmarks/make_fixtures_avalanche.py tests/runs/fixtures/avalanche

Each folder is one run on scikit-learn's digits: five experiences of two classes, a small perceptron, replay.

class_incremental   evaluated on every experience before training and after each one
task_labels         one task label an experience, evaluated on the experiences seen so far only
eval_in_training    odd or even (domain-incremental), no task labels at all, ``eval_every=1``: the log and the
                    metric dictionary hold evaluations made inside training too
no_accuracy         only the loss is monitored: the CSV file says accuracy 0 that was never measured

``expected.json`` holds R and b as returned by ``strategy.eval()``, checked against the model's own
predictions, never parsed from a file.
"""

# ruff: noqa: E402 (torchvision's operators must be defined before avalanche imports it)

from __future__ import annotations

import argparse
import contextlib
import json
from pathlib import Path

import torch

# The CPU build of torch does not bring the operators that torchvision's CUDA build registers.
for operator in ("nms", "qnms"):
    torch.library.define(f"torchvision::{operator}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import avalanche
from avalanche.benchmarks import benchmark_from_datasets, nc_benchmark
from avalanche.benchmarks.utils import as_classification_dataset
from avalanche.evaluation.metrics import (
    accuracy_metrics,
    bwt_metrics,
    forgetting_metrics,
    forward_transfer_metrics,
    loss_metrics,
)
from avalanche.logging import CSVLogger, InteractiveLogger, TextLogger
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.supervised import Replay
from sklearn.datasets import load_digits
from torch.utils.data import Dataset

EXPERIENCES = 5
CELL = "Top1_Acc_Exp/eval_phase/test_stream{task}/Exp{experience:03d}"


class Digits(Dataset):
    """Every fourth digit image is a test sample; `targets` is what a benchmark splits by."""

    def __init__(self, test: bool, only: tuple[int, ...] = tuple(range(10)), parity: bool = False) -> None:
        digits = load_digits()
        chosen = [i for i, y in enumerate(digits.target) if (i % 4 == 0) == test and y in only]
        self.x = torch.tensor(digits.data[chosen] / 16, dtype=torch.float32)
        self.targets = [int(y) % 2 if parity else int(y) for y in digits.target[chosen]]

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int):
        return self.x[index], self.targets[index]


def classes_in_turn(task_labels: bool):
    """Two new digits an experience."""
    return nc_benchmark(
        Digits(test=False), Digits(test=True), n_experiences=EXPERIENCES, task_labels=task_labels, seed=1
    )


def parity_in_turn():
    """Two new digits an experience, always the same question: odd or even."""

    def part(test: bool, first: int):
        return as_classification_dataset(Digits(test, only=(first, first + 1), parity=True))

    starts = range(0, 10, 2)
    return benchmark_from_datasets(
        train=[part(False, first) for first in starts], test=[part(True, first) for first in starts]
    )


def run(
    folder: Path,
    benchmark,
    *,
    seen_only: bool = False,
    untrained: bool = True,
    eval_every: int = -1,
    accuracy: bool = True,
    interactive: bool = True,
) -> dict[str, object]:
    """One run with its logs in `folder`; returns what the tool measured."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    metrics = [loss_metrics(experience=True)]
    if accuracy:
        metrics += [accuracy_metrics(epoch=True, experience=True, stream=True, trained_experience=True)]
        metrics += [forgetting_metrics(experience=True, stream=True), bwt_metrics(stream=True)]
    if eval_every >= 0:
        metrics += [forward_transfer_metrics(experience=True, stream=True)]

    with contextlib.ExitStack() as files:
        loggers = [CSVLogger(str(folder))]
        files.callback(loggers[0].close)
        loggers.append(TextLogger(files.enter_context((folder / "log.txt").open("w"))))
        if interactive:
            stdout = files.enter_context((folder / "interactive.txt").open("w"))
            files.enter_context(contextlib.redirect_stdout(stdout))
            loggers.append(InteractiveLogger())
        evaluator = EvaluationPlugin(*metrics, loggers=loggers, collect_all=True)
        strategy = Replay(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
            criterion=torch.nn.CrossEntropyLoss(),
            mem_size=60,
            train_mb_size=16,
            train_epochs=2,
            eval_mb_size=64,
            evaluator=evaluator,
            eval_every=eval_every,
        )
        untrained_scores = evaluate(strategy, benchmark.test_stream, accuracy) if untrained else None
        rows, streams = [], {}
        for place, experience in enumerate(benchmark.train_stream):
            during = {"eval_streams": [benchmark.test_stream]} if eval_every >= 0 else {}
            strategy.train(experience, **during)
            tested = benchmark.test_stream[: place + 1] if seen_only else benchmark.test_stream
            rows.append(evaluate(strategy, tested, accuracy))
            streams = {k: v for k, v in evaluator.get_last_metrics().items() if "/Exp" not in k}
        everything = evaluator.get_all_metrics()
    if accuracy:
        # Tuples become lists; every value kept here is a number.
        dumped = {name: [list(x), [float(v) for v in values]] for name, (x, values) in everything.items()}
        (folder / "all_metrics.json").write_text(json.dumps(dumped, indent=0) + "\n")
    (folder / "training_results.csv").unlink()
    return {
        "written_by": f"avalanche-lib {avalanche.__version__}",
        "n_samples": [len(e.dataset) for e in benchmark.test_stream],
        "b": untrained_scores,
        "R": rows if accuracy else None,
        "last_stream_metrics": {k: v for k, v in streams.items() if "train" not in k},
    }


def evaluate(strategy, stream, accuracy: bool) -> list[float | None]:
    """A row of scores from the dictionary `strategy.eval` returns; None where nothing was evaluated."""
    returned = strategy.eval(stream)
    if not accuracy:
        return [None] * EXPERIENCES
    row: list[float | None] = [None] * EXPERIENCES
    for experience in stream:
        place = experience.current_experience
        labelled = getattr(experience, "task_labels", None)
        task = f"/Task{experience.task_label:03d}" if labelled else ""
        row[place] = returned[CELL.format(task=task, experience=place)]
        predicted = own_accuracy(strategy.model, experience.dataset)
        if abs(row[place] - predicted) > 1e-6:
            raise SystemExit(f"experience {place}: the tool says {row[place]}, the model {predicted}")
    return row


def own_accuracy(model: torch.nn.Module, dataset) -> float:
    """The accuracy of the model on a data set, without the tool."""
    with torch.no_grad():
        right = [int(model(sample[0][None]).argmax()) == int(sample[1]) for sample in dataset]
    return sum(right) / len(right)


def main() -> None:
    """Make every run and the file of expected values."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    torch.set_num_threads(1)
    expected = {
        "class_incremental": run(out / "class_incremental", classes_in_turn(task_labels=False)),
        "task_labels": run(out / "task_labels", classes_in_turn(task_labels=True), seen_only=True, untrained=False),
        "eval_in_training": run(out / "eval_in_training", parity_in_turn(), eval_every=1, interactive=False),
        "no_accuracy": run(out / "no_accuracy", classes_in_turn(task_labels=False), accuracy=False, interactive=False),
    }
    (out / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
