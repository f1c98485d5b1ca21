"""The protocol with experience replay, against a plain torch loop and against Avalanche's online replay.

Why: a toolkit that measures learners must not make them slow. All three do the same work: the same samples of
split MNIST or split CIFAR-100 in the same order, one pass, batches of 10 with 10 from a memory of 500, the same
network from the same weights, SGD with rate 0.1. Evaluation is left out on all sides.

- ours: the whole loop of `iter_protocol`: stream, learner, memory, the engine's bookkeeping. The learner's `score`
  gives zeros, and the plan asks for one test sample a task, so that rows mark the blocks and cost next to nothing.
- plain: `plain_er` of benchmarks/training.py, in as few operations as torch and numpy allow.
- Avalanche: `split_online_stream` and Naive with ReplayPlugin and a reservoir, no metrics, loggers or
  warnings, samples turned to floats beforehand; in a process and an environment of its own
  (`pip install torch==2.13.0 torchvision==0.28.0 avalanche-lib==0.6.0`).

Blocks of steps take turns, one thread each; CPU time is compared. A ratio is the median over blocks of the quotient
of neighbours. Exits with 1 if a bound is broken.

    python benchmarks/against_avalanche.py --env DIR --data DIR    # the environment's folder, the data sets' folder
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any, NamedTuple, Self

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from recollect.learners import Setting, make_learner
from recollect.protocol import iter_protocol
from recollect.runs.run import Plan
from recollect.runs.seeds import derive
from recollect.streams import Stream, make_stream
from training import plain_er, table

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "against_avalanche.md"
BATCH, MEMORY, SEED = 10, 500, 0
Block = Callable[[int], float]  # takes a number of steps, gives the CPU seconds they cost


@dataclass(frozen=True)
class Work:
    """What all three do, and the bounds: ours / plain at most, Avalanche / ours at least."""

    title: str
    stream: str
    options: dict[str, Any]
    network: str
    steps: int  # a block
    blocks: int
    most: float
    least: float


WORKS = (
    Work("MLP 784-400-400-10, split MNIST", "mnist", {"tasks": 5, "subset": 2000}, "mlp", 50, 40, 1.15, 4.0),
    Work(
        "reduced ResNet-18, split CIFAR-100",
        "cifar100",
        {"tasks": 10, "subset": 20},
        "reduced_resnet18",
        4,
        26,
        1.05,
        0.0,
    ),
)


class Pair(NamedTuple):
    """A batch with nothing around it."""

    x: np.ndarray
    y: np.ndarray


def timed(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def ours(work: Work, stream: Stream, setting: Setting) -> Block:
    """The protocol; a block ends with a row."""
    options = {"memory": MEMORY, "memory_batch": BATCH, "network": work.network, "lr": 0.1}
    learner = make_learner("er", options, setting, derive(SEED), "cpu")
    learner.score = lambda x, task=None: np.zeros((len(x), setting.n_classes), np.float32)
    rows = iter_protocol(learner, stream, seed=SEED, plan=Plan(every=work.steps * BATCH, subsample=1))
    reached = next(rows).step

    def block(steps: int) -> float:
        nonlocal reached
        before = reached

        def until_row() -> None:
            nonlocal reached
            reached = next(rows).step

        seconds = timed(until_row)
        if reached - before != steps * BATCH:
            raise SystemExit(f"a row came after {reached - before} samples instead of {steps * BATCH}")
        return seconds

    return block


def plain(work: Work, stream: Stream, setting: Setting) -> Block:
    """The tightest loop; samples are taken from the data set in the order of the stream."""
    step = plain_er(work.network, setting, MEMORY, BATCH)
    x, y, order = stream.data.x_train, stream.labels[stream.data.y_train], order_of(stream)
    place = 0

    def block(steps: int) -> float:
        nonlocal place

        def loop() -> None:
            nonlocal place
            for low in range(place, place + steps * BATCH, BATCH):
                index = order[low : low + BATCH]
                step(Pair(x.take(index, axis=0), y.take(index)))
            place += steps * BATCH

        return timed(loop)

    return block


class Avalanche:
    """A process in Avalanche's environment that trains when asked."""

    def __init__(self, work: Work, samples: Path, python: Path, n_classes: int) -> None:
        options = {
            "network": work.network,
            "n_classes": n_classes,
            "memory": MEMORY,
            "batch": BATCH,
        }
        command = [python, HERE / "against_avalanche_worker.py", samples, HERE.parent / "src", json.dumps(options)]
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.versions: dict[str, str] = self._answer()

    def __call__(self, steps: int) -> float:
        assert self.process.stdin is not None
        print(steps, file=self.process.stdin, flush=True)
        return float(self._answer())

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"Avalanche's process ended with {self.process.wait()}; is --env the right folder?")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()


def order_of(stream: Stream) -> np.ndarray:
    """The places of the stream's samples in the data set, in order."""
    return np.concatenate([stream._order(SEED, k, 0) for k in range(len(stream.tasks))])


def save(stream: Stream, path: Path) -> None:
    """The samples in order, and where tasks end."""
    batches = list(stream.batches(SEED))
    np.savez(
        path,
        x=np.concatenate([batch.x for batch in batches]),
        y=np.concatenate([batch.y for batch in batches]),
        ends=[batch.samples_seen for batch in batches if batch.ends is not None],
    )


def measure(work: Work, data: Path, env: Path) -> tuple[dict[str, list[float]], str]:
    """CPU seconds of every block of every side, the first (warm-up) left out; and Avalanche's versions."""
    stream = make_stream(work.stream, data=data, batch=BATCH, **work.options)
    setting = Setting.of(stream)
    with tempfile.TemporaryDirectory() as place:
        samples = Path(place) / "samples.npz"
        save(stream, samples)
        python = env / "bin" / "python"
        sides: dict[str, Block] = {"ours": ours(work, stream, setting), "plain": plain(work, stream, setting)}
        with Avalanche(work, samples, python, stream.n_classes) as peer:
            sides["avalanche"] = peer
            seconds = dict(zip(sides, zip(*turns(sides, work), strict=True), strict=True))
    versions = ", ".join(f"{name} {version}" for name, version in peer.versions.items())
    return {name: list(values[1:]) for name, values in seconds.items()}, versions


def turns(sides: dict[str, Block], work: Work) -> Iterator[list[float]]:
    """A block of every side, in an order that goes forth and back."""
    for number in range(work.blocks):
        names = list(sides) if number % 2 else list(sides)[::-1]
        spent = {name: sides[name](work.steps) for name in names}
        yield [spent[name] for name in sides]


def ratio(one: list[float], other: list[float]) -> float:
    """The median over blocks of the quotient."""
    return median(a / b for a, b in zip(one, other, strict=True))


def judged(work: Work, seconds: dict[str, list[float]]) -> tuple[tuple[str, ...], list[str]]:
    """A line of the table, and the bounds that are broken."""
    ours, plain, avalanche = (seconds[side] for side in ("ours", "plain", "avalanche"))
    against_plain, against_peer = ratio(ours, plain), ratio(avalanche, ours)
    broken = []
    if against_plain > work.most:
        broken.append(f"{work.title}: ours / plain is {against_plain:.3f}, above {work.most}")
    if against_peer < work.least:
        broken.append(f"{work.title}: Avalanche / ours is {against_peer:.2f}, below {work.least}")
    line = (
        work.title,
        f"{against_plain:.3f} (at most {work.most})",
        f"{against_peer:.2f}" + (f" (at least {work.least:g})" if work.least else ""),
        f"{ratio(avalanche, plain):.2f}",
        *(f"{median(side) / work.steps * 1e3:.2f} ms" for side in (plain, ours, avalanche)),
    )
    return line, broken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, required=True, help="folder of the environment with avalanche-lib")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    lines, broken, versions = [], [], ""
    for work in WORKS:
        seconds, versions = measure(work, chosen.data, chosen.env)
        line, faults = judged(work, seconds)
        lines.append(line)
        broken += faults
    blocks = " and ".join(f"{work.blocks - 1} x {work.steps} steps" for work in WORKS)
    head = (
        "work",
        "ours / plain",
        "Avalanche / ours",
        "Avalanche / plain",
        "plain, a step",
        "ours, a step",
        "Avalanche, a step",
    )
    text = "\n\n".join(
        [
            "# The protocol with ER, against plain torch and Avalanche",
            "`python benchmarks/against_avalanche.py --env DIR --data DIR`; ours and plain:"
            f" torch {torch.__version__}, numpy {np.__version__}, Python {platform.python_version()};"
            f" theirs: {versions}. {os.cpu_count()} cores, load {load:.0f} at the start.",
            f"Batch 10 + 10 from a memory of {MEMORY}, SGD 0.1, one pass; CPU time, one thread, blocks taking turns"
            f" ({blocks}), ratios are medians over blocks. Evaluation is excluded on all sides; ours is the whole"
            " loop of `iter_protocol`. Avalanche runs in its online mode: the stream is cut into experiences of one"
            " batch (`split_online_stream`), a `Naive` strategy with `ReplayPlugin`, one `train` call per batch. Per"
            " task, with one `train` call for each task, it does other work (no memory update between batches) and is"
            " not measured here.",
            table(lines, *head),
            "\n".join(f"- BROKEN: {fault}" for fault in broken) or "No bound is broken.",
        ]
    )
    print(text)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    if broken:
        sys.exit(1)


if __name__ == "__main__":
    main()
