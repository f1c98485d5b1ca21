"""What a learner's own bookkeeping costs: `learn` and `score` against the tightest plain torch code.

The plain loop does the same work with nothing around it: a numpy reservoir, one concatenated batch, the
forward and backward pass, one fused update. Both take turns, block by block, on one thread; CPU time is
compared, so that what else the machine does hurts both alike. The ratio is what counts, times are in passing.

    python benchmarks/training.py            # everything, writes benchmarks/results/training.md
    python benchmarks/training.py --quick    # a minute, prints only
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
import torch
from torch.nn import functional as F

from recollect.learners import Setting, make_learner
from recollect.learners.networks import build
from recollect.learners.options import Network
from recollect.runs.seeds import derive
from recollect.streams import Batch, stream_from_arrays

RESULTS = Path(__file__).parent / "results" / "training.md"
Step = Callable[[Batch], None]


def batches(shape: tuple[int, ...], n_classes: int, size: int = 10, count: int = 400) -> list[Batch]:
    """Batches of noise: how long a step takes does not depend on what is in it."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (size * count, *shape), dtype=np.uint8)
    y = np.arange(len(x)) % n_classes
    stream = stream_from_arrays(x, y, x[:n_classes], y[:n_classes], name="noise", tasks=1, batch=size)
    return list(stream.batches(0))


def plain_er(network: str, setting: Setting, memory: int, memory_batch: int) -> Step:
    """Experience replay in as few operations as torch and numpy allow."""
    net = build(Network(network=network), setting, 0).train()
    images = network != "mlp"
    layout = torch.channels_last if images else torch.contiguous_format
    if images:
        net = net.to(memory_format=torch.channels_last)
    weights = list(net.parameters())
    held_x = np.zeros((memory, *setting.input_shape), np.uint8)
    held_y = np.zeros(memory, np.int64)
    rng = np.random.default_rng(0)
    seen = 0

    def step(batch: Batch) -> None:
        nonlocal seen
        x, y = batch.x, batch.y
        filled = min(seen, memory)
        if filled:
            places = rng.choice(filled, min(filled, memory_batch), replace=False, shuffle=False)
            x = np.concatenate((x, held_x[places]))
            y = np.concatenate((y, held_y[places]))
        inputs = torch.from_numpy(x).to(torch.float32, memory_format=layout).div_(255)
        gradients = torch.autograd.grad(F.cross_entropy(net(inputs), torch.from_numpy(y)), weights)
        with torch.no_grad():
            torch._foreach_add_(weights, gradients, alpha=-0.1)
        count = len(batch.y)
        if seen + count <= memory:
            held_x[seen : seen + count], held_y[seen : seen + count] = batch.x, batch.y
        else:
            drawn = rng.integers(0, np.arange(seen, seen + count) + 1)
            for index in np.flatnonzero(drawn < memory).tolist():
                held_x[drawn[index]], held_y[drawn[index]] = batch.x[index], batch.y[index]
        seen += count

    return step


def block(step: Step, some: list[Batch]) -> float:
    """CPU seconds of a few steps."""
    start = time.process_time()
    for batch in some:
        step(batch)
    return time.process_time() - start


def taking_turns(one: Step, other: Step, some: list[Batch], size: int) -> tuple[float, float]:
    """The median CPU seconds of a block of each, block after block in turn; the first is warm-up."""
    times: list[tuple[float, float]] = []
    for start in range(0, len(some) - size + 1, size):
        part = some[start : start + size]
        first, second = (one, other) if (start // size) % 2 else (other, one)
        a, b = block(first, part), block(second, part)
        times.append((a, b) if first is one else (b, a))
    return median(t[0] for t in times[1:]), median(t[1] for t in times[1:])


def learning(quick: bool) -> Iterator[tuple[str, ...]]:
    """ER against the plain loop."""
    for network, shape, n_classes, memory_batch, steps, size in (
        ("mlp", (1, 28, 28), 10, 10, 4000, 100),
        ("reduced_resnet18", (3, 32, 32), 100, 10, 200, 4),
        ("reduced_resnet18", (3, 32, 32), 100, 64, 80, 2),
    ):
        setting = Setting(shape, n_classes, (tuple(range(n_classes)),))
        steps = steps // 8 if quick else steps
        some = batches(shape, n_classes, count=steps)
        options = {"memory": 500, "memory_batch": memory_batch, "network": network}
        learner = make_learner("er", options, setting, derive(0), "cpu")
        ours, plain = taking_turns(learner.learn, plain_er(network, setting, 500, memory_batch), some, size)
        yield (
            f"er, {network}, 10 + {memory_batch} samples",
            f"{ours / plain:.3f}",
            f"{ours / size * 1e3:.2f} ms",
            f"{plain / size * 1e3:.2f} ms",
        )


def scoring(quick: bool) -> Iterator[tuple[str, ...]]:
    """`score` against the bare forward pass of torch, over batch sizes and memory layouts."""
    setting = Setting((3, 32, 32), 100, (tuple(range(100)),))
    learner = make_learner("finetune", {"network": "reduced_resnet18"}, setting, derive(0), "cpu")
    rounds = batches((3, 32, 32), 100, size=512, count=3 if quick else 8)
    for layout, name in ((torch.contiguous_format, "contiguous"), (torch.channels_last, "channels last")):
        net = build(Network(), setting, 0).eval().to(memory_format=layout)
        for size in (64, 128, 256, 512):
            bare = bare_forward(net, size, layout)
            ours, plain = taking_turns(lambda batch: drop(learner.score(batch.x)), bare, rounds, 1)
            yield (
                f"score, reduced_resnet18; bare forward of {size}, {name}",
                f"{ours / plain:.3f}",
                f"{ours / 512 * 1e3:.2f} ms a sample",
                f"{plain / 512 * 1e3:.2f} ms a sample",
            )


def bare_forward(net: torch.nn.Module, size: int, layout: torch.memory_format) -> Step:
    """The forward pass in evaluation mode, and nothing else."""

    def forward(batch: Batch) -> None:
        with torch.inference_mode():
            for start in range(0, len(batch.x), size):
                part = torch.from_numpy(batch.x[start : start + size])
                net(part.to(torch.float32, memory_format=layout).div_(255))

    return forward


def drop(_: object) -> None:
    """Forget a result."""


def costs(quick: bool) -> Iterator[tuple[str, ...]]:
    """CPU seconds of learners on 32 x 32 colour images with the reduced ResNet-18."""
    setting = Setting((3, 32, 32), 100, (tuple(range(100)),))
    steps = 10 if quick else 50
    some = batches((3, 32, 32), 100, count=steps + 5)
    for name, options in (
        ("finetune", {}),
        ("er", {"memory_batch": 10}),
        ("er", {"memory_batch": 64}),
        ("er_ace", {"memory_batch": 10}),
        ("derpp", {"memory_batch": 10}),
        ("agem", {"memory_batch": 10}),
    ):
        learner = make_learner(name, options, setting, derive(0), "cpu")
        # Full memory batches from the first step on: the cost of a stream, not of its start.
        if name != "finetune":
            learner.learn(batches((3, 32, 32), 100, size=70, count=1)[0])
            learner.end_task()
        block(learner.learn, some[:5])
        seconds = block(learner.learn, some[5:]) / (10 * steps) * 1000
        shown = ", ".join([name, *(f"{key} {value}" for key, value in options.items())])
        yield (shown, f"{seconds:.1f} s per 1,000 stream samples", "", "")
    memory = 100 if quick else 400
    gdumb = make_learner("gdumb", {"memory": memory, "epochs": 1}, setting, derive(0), "cpu")
    gdumb.learn(batches((3, 32, 32), 100, size=memory, count=1)[0])
    seconds = block(lambda batch: drop(gdumb.score(batch.x)), some[:1]) / memory * 2000
    yield ("gdumb, memory 2000, batch 16", f"{seconds:.1f} s an epoch of a training", "", "")


def table(rows: list[tuple[str, ...]], *head: str) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rows)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps; print, write nothing")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    parts = [
        "# Training and scoring, against plain torch",
        "`python benchmarks/training.py`; one thread, CPU time, blocks taking turns, median of blocks."
        f" torch {torch.__version__}, numpy {np.__version__}, Python {platform.python_version()}."
        f" {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f} at the start; on a busy machine the times"
        " are long, and the blocks take turns for the sake of the ratios.",
        "## A step of `learn` (ratio: ours / the tightest plain loop)",
        table(list(learning(quick)), "work", "ratio", "ours, a step", "plain, a step"),
        "## `score` (ratio: ours / bare forward; below 1 is faster)",
        "Ours folds batch norm into the convolutions and works in pieces of 128, channels last.",
        table(list(scoring(quick)), "work", "ratio", "ours", "plain"),
        "## What learners cost (reduced ResNet-18, 32 x 32)",
        table([row[:2] for row in costs(quick)], "learner", "CPU time"),
    ]
    text = "\n\n".join(parts) + "\n"
    print(text)
    if not quick:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
