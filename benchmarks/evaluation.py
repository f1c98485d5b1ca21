"""What an evaluation costs beside the forward pass: all tasks, restricted, masked and error counts from one pass.

Why: a matrix with everything needed to split forgetting should cost no more than its plain diagonal. Compared
in one process at one thread, interleaved, by processor time, the best of several rounds each:

- *evaluation*: `recollect.problems.counting.evaluate` on all test samples;
- *forward*: the same learner's scores of the same images in the same batches, and nothing else;
- *counting*: the evaluation of scores that are there already, that is all of it but the forward pass;
- *plain*: the network in evaluation mode under `torch.inference_mode` on float tensors made beforehand, nothing
  of ours, at the best of several batch sizes. Evaluation is to cost at most 1.05 of it.

Command: python benchmarks/evaluation.py
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

RESULTS = Path(__file__).parent / "results" / "evaluation.md"
BATCHES = (64, 128, 256, 512, 1024)


def cases(samples: int) -> dict[str, tuple[Any, str]]:
    """Streams of random images (the time does not depend on what is in them) and the network for each."""
    from recollect.streams import stream_from_arrays

    rng = np.random.default_rng(0)

    def stream(shape: tuple[int, ...], n_classes: int, tasks: int, count: int) -> Any:
        y = np.arange(count) % n_classes
        x = rng.integers(0, 256, (count, *shape), dtype=np.uint8)
        return stream_from_arrays(x, y, x, y, name="images", tasks=tasks)

    return {
        "reduced ResNet-18, 10 tasks of 10": (stream((3, 32, 32), 100, 10, samples), "reduced_resnet18"),
        "reduced ResNet-18, 100 tasks of 2": (stream((3, 32, 32), 200, 100, samples), "reduced_resnet18"),
        "MLP 784-400-400-10, 5 tasks of 2": (stream((1, 28, 28), 10, 5, 10 * samples), "mlp"),
        "MLP 64-100-100-10, 5 tasks of 2": (stream((1, 8, 8), 10, 5, 10 * samples), "mlp"),
    }


def measure(stream: Any, network: str, rounds: int) -> dict[str, float]:
    """Processor seconds of each way, the best of the rounds."""
    import torch

    from recollect.learners import Setting, make_learner
    from recollect.problems.counting import batch_size, evaluate, question_of
    from recollect.runs.seeds import derive

    learner: Any = make_learner("finetune", {"network": network}, Setting.of(stream), derive(0), "cpu")
    question = question_of(stream)
    size_of_ours = batch_size(stream.data.test, stream.n_classes)
    x = np.concatenate([batch.x for batch in stream.test_batches()])
    ready = learner.inputs.tensor(x)
    model = learner.network

    def forward() -> None:
        for batch in stream.test_batches(size_of_ours):
            learner.score(batch.x)

    class Ready:
        """Gives the scores that the learner gave, in the same order."""

        def __init__(self) -> None:
            self.scores = [learner.score(batch.x) for batch in stream.test_batches(size_of_ours)]
            self.turn = 0

        def score(self, x: Any) -> Any:
            self.turn = (self.turn + 1) % len(self.scores)
            return self.scores[self.turn - 1]

    def plain(size: int) -> Callable[[], None]:
        def go() -> None:
            model.eval()
            with torch.inference_mode():
                for low in range(0, len(ready), size):
                    model(ready[low : low + size])
            model.train()

        return go

    ways: dict[str, Callable[[], Any]] = {
        "evaluation": lambda: evaluate(learner, stream, question, current=len(stream.tasks) // 2),
        "counting": partial(evaluate, Ready(), stream, question, current=len(stream.tasks) // 2),  # type: ignore[arg-type]
        "forward": forward,
        **{f"plain {size}": plain(size) for size in BATCHES},
    }
    best = dict.fromkeys(ways, float("inf"))
    names = list(ways)
    for number in range(rounds):
        # Each way follows another one each time: what one leaves in the caches must not always hit the same.
        random.Random(number).shuffle(names)
        for way in names:
            go = ways[way]
            began = time.process_time()
            go()
            best[way] = min(best[way], time.process_time() - began)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    import torch

    from recollect.runs.environment import versions

    torch.set_num_threads(1)
    used = ", ".join(f"{k} {v}" for k, v in versions(("recollect", "numpy", "torch")).items())
    lines = [
        "# Evaluation of all tasks against the bare forward pass",
        "",
        f"`python benchmarks/evaluation.py --samples {chosen.samples} --rounds {chosen.rounds}`; {used};"
        " one thread, processor time, best round.",
        "",
        "Evaluation gives all columns, the restricted counts of every m, the masked counts and where errors went.",
        "Plain is the network itself on float tensors made beforehand, at its best batch size: evaluation is to cost",
        "at most 1.05 of it. Forward is the learner's scores alone, from the bytes of the images (batch norm folded,",
        "channels last; an MLP with a sample a column), in evaluation's own batches.",
        "",
        "| network and stream | evaluation / plain | plain batch | evaluation / forward | 1 + counting / forward |"
        " µs a sample |",
        "|---|---|---|---|---|---|",
    ]
    for name, (stream, network) in cases(chosen.samples).items():
        # Small networks take milliseconds: more rounds, for the same trust in the best.
        best = measure(stream, network, chosen.rounds * (10 if network == "mlp" else 1))
        size = min(BATCHES, key=lambda b: best[f"plain {b}"])
        count = sum(len(task.test) for task in stream.tasks)
        lines.append(
            f"| {name} | {best['evaluation'] / best[f'plain {size}']:.3f} | {size} |"
            f" {best['evaluation'] / best['forward']:.3f} | {1 + best['counting'] / best['forward']:.4f} |"
            f" {best['evaluation'] / count * 1e6:.1f} |"
        )
        print(lines[-1], flush=True)
    chosen.results.parent.mkdir(exist_ok=True)
    chosen.results.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
