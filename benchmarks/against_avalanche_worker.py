"""Avalanche's online replay in its own environment: trains block after block when asked, and says what it cost.

Started by `benchmarks/against_avalanche.py`, which also gives it the samples (an .npz file, in the order of the stream)
and the network (this project's, by the path of its source). A number of steps comes in on standard input, the
CPU seconds that they took go out.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

# Its deprecated calls warn at every step, past any filter; printing that is not what is measured.
warnings.warn = lambda *_, **__: None  # type: ignore[assignment]
# torchvision without its compiled part lacks two operators that its import names.
for operator in ("nms", "qnms"):
    torch.library.define(f"torchvision::{operator}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def main(file: str, source: str, options: str) -> None:
    """Answer numbers of steps with CPU seconds until the input ends."""
    torch.set_num_threads(1)
    given = json.loads(options)
    answers, sys.stdout = sys.stdout, sys.stderr  # nothing that a library prints is an answer
    sys.path.insert(0, source)
    strategy, experiences = prepare(np.load(file), given)
    from avalanche import __version__

    print(json.dumps({"avalanche": __version__, "torch": torch.__version__}), file=answers, flush=True)
    steps = 0
    for line in sys.stdin:
        start = time.process_time()
        for _ in range(int(line)):
            strategy.train(next(experiences))
        seconds = time.process_time() - start
        steps += int(line)
        if strategy.clock.train_iterations != steps:
            raise SystemExit(f"Avalanche took {strategy.clock.train_iterations} steps instead of {steps}")
        print(json.dumps(seconds), file=answers, flush=True)


def prepare(data: Any, given: dict[str, Any]) -> tuple[Any, Iterator[Any]]:
    """The strategy, and the experiences of the online stream."""
    from avalanche.benchmarks import benchmark_from_datasets
    from avalanche.benchmarks.scenarios.online import split_online_stream
    from avalanche.benchmarks.utils import as_classification_dataset, make_avalanche_dataset
    from avalanche.benchmarks.utils.data_attribute import TensorDataAttribute
    from avalanche.training.plugins import EvaluationPlugin, ReplayPlugin
    from avalanche.training.storage_policy import ReservoirSamplingBuffer
    from avalanche.training.supervised import Naive

    from recollect.learners.base import Setting
    from recollect.learners.networks import build
    from recollect.learners.options import Network

    # Floats once, before the clock runs: its own transforms would do it again for every sample it draws.
    x = torch.from_numpy(data["x"]).to(torch.float32).div_(255)
    y = torch.from_numpy(data["y"])
    tasks = []
    for low, high in zip([0, *data["ends"][:-1]], data["ends"], strict=True):
        samples = torch.utils.data.TensorDataset(x[low:high], y[low:high])
        labels = TensorDataAttribute(y[low:high].tolist(), name="targets")
        kept = make_avalanche_dataset(samples, data_attributes=[labels])
        tasks.append(as_classification_dataset(kept))
    stream = benchmark_from_datasets(train=tasks).train_stream

    n_classes = int(given["n_classes"])
    setting = Setting(tuple(x.shape[1:]), n_classes, (tuple(range(n_classes)),))
    network = build(Network(network=given["network"]), setting, 0)
    replay = ReplayPlugin(
        mem_size=given["memory"],
        batch_size=given["batch"],
        batch_size_mem=given["batch"],
        storage_policy=ReservoirSamplingBuffer(given["memory"]),
    )
    strategy = Naive(
        model=network,
        optimizer=torch.optim.SGD(network.parameters(), lr=0.1),
        train_mb_size=given["batch"],
        plugins=[replay],
        evaluator=EvaluationPlugin(),
        train_epochs=1,
    )
    return strategy, iter(split_online_stream(stream, given["batch"], shuffle=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
