"""Is a training step starved by images on disk? A ResNet-18 at 64 x 64 over JPEGs, with and without prefetch.

Images of CIFAR-100, made 64 x 64 and written as JPEGs (quality 90), are read by a stream over their folder; the
learner is Finetune with the reduced ResNet-18, batch 10. Measured per step: how long it takes to get the batch, and to
learn it. Without prefetch the learner decodes by itself; with it, processes decode ahead. All in turn in one process,
on the CPU, with one thread. That the batches are the same to the bit is checked on every one.

    python benchmarks/prefetch.py --data DIR [--images N] [--steps N]

About five minutes on two cores.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
import torch
from PIL import Image

from recollect.learners import Setting, make_learner
from recollect.runs.seeds import derive
from recollect.streams import Stream, make_stream, stream_from_arrays
from recollect.streams.datasets import load_dataset

RESULTS = Path(__file__).parent / "results" / "prefetch.md"
SIDE, CLASSES, WARM, ELSEWHERE = 64, 20, 5, 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=60)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_jpegs(folder, asked.data, asked.images)
        one = sum(f.stat().st_size for f in folder.rglob("*.jpg")) / asked.images
        plain = stream_of(folder, 0)
        ways: dict[str, Stream] = {"array in memory": in_memory(plain), "no prefetch": plain}
        ways |= {f"prefetch: {count}": stream_of(folder, count) for count in (1, 2)}
        timed = {name: measure(stream, asked.steps) for name, stream in ways.items()}
        elsewhere = {name: waits_elsewhere(stream, 4 * asked.steps) for name, stream in ways.items()}
        sums = {name: checksum(stream) for name, stream in ways.items()}
        assert len(set(sums.values())) == 1, sums
        rates = {name: rate(stream) for name, stream in ways.items() if "memory" not in name}
        memory = memory_over(ways["prefetch: 2"])
    rows = []
    for name, (waits, learns) in timed.items():
        wait, learn = statistics.median(waits), statistics.median(learns)
        told = f"{rates[name]:,.0f}" if name in rates else ""
        away = statistics.median(elsewhere[name])
        rows.append(f"| {name} | {1e3 * wait:.2f} | {1e3 * learn:.1f} | {1e3 * away:.2f} | {told} |")
    head = "| samples | get a batch, ms | learn it here, ms | get it, learned elsewhere, ms | images per second |"
    lines = [
        "# Images on disk, and whether a training step waits for them",
        f"`python benchmarks/prefetch.py`. {asked.images:,} JPEGs of {SIDE} x {SIDE} ({one / 1e3:.1f} kB each), made of"
        f" CIFAR-100's; reduced ResNet-18, batch 10, {asked.steps} steps, one thread, CPU; medians of wall time. Other"
        " work ran on both cores meanwhile, many times what they can do: only large differences mean anything. The ways"
        " were measured one after the other in one process.",
        f"{head}\n|---|---|---|---|---|\n" + "\n".join(rows),
        f"Learned elsewhere: a step of {1e3 * ELSEWHERE:.0f} ms that takes no processor time here, as on a GPU; none"
        " was at hand, it is a pause. Images per second: a pass without a learner. The batches of all ways are the same"
        f" to the bit (checksum {sums['no prefetch']:08x} over a pass). Highest memory of this process after a third of"
        f" a pass, two thirds and a whole one: {', '.join(f'{m:.0f}' for m in memory)} MB.",
    ]
    RESULTS.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


def write_jpegs(folder: Path, data: Path | None, count: int) -> None:
    cifar = load_dataset("cifar100", data=data)
    for part, samples, y, each in (
        ("train", cifar.train, cifar.y_train, count // CLASSES),
        ("test", cifar.test, cifar.y_test, 5),
    ):
        for label in range(CLASSES):
            place = folder / part / f"{label:02d}"
            place.mkdir(parents=True)
            for k, pixels in enumerate(samples.take(np.flatnonzero(y == label)[:each])):
                image = Image.fromarray(pixels.transpose(1, 2, 0)).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
                image.save(place / f"{k:04d}.jpg", quality=90)


def stream_of(folder: Path, prefetch: int) -> Stream:
    return make_stream(folder, size=SIDE, tasks=2, prefetch=prefetch)


def in_memory(stream: Stream) -> Stream:
    data = stream.data
    parts = [samples.take(np.arange(len(samples))) for samples in (data.train, data.test)]
    return stream_from_arrays(parts[0], data.y_train, parts[1], data.y_test, tasks=2)


def measure(stream: Stream, steps: int) -> tuple[list[float], list[float]]:
    """Seconds to get each batch, and to learn it."""
    learner = make_learner("finetune", {}, Setting.of(stream), derive(0), "cpu")
    waits, learns = [], []
    batches = stream.batches(0)
    for _ in range(steps + WARM):
        begin = time.perf_counter()
        batch = next(batches)
        got = time.perf_counter()
        learner.learn(batch)
        waits.append(got - begin)
        learns.append(time.perf_counter() - got)
    return waits[WARM:], learns[WARM:]


def waits_elsewhere(stream: Stream, steps: int) -> list[float]:
    """Seconds to get each batch where the learner's work leaves the processor alone."""
    waits, batches = [], stream.batches(0)
    for _ in range(steps + WARM):
        begin = time.perf_counter()
        next(batches)
        waits.append(time.perf_counter() - begin)
        time.sleep(ELSEWHERE)
    return waits[WARM:]


def inputs(stream: Stream) -> Iterator[np.ndarray]:
    return (batch.x for batch in stream.batches(0))


def checksum(stream: Stream) -> int:
    made = 0
    for x in inputs(stream):
        made = crc32(np.ascontiguousarray(x).data, made)
    return made


def rate(stream: Stream) -> float:
    """Images per second of a pass without a learner."""
    begin = time.perf_counter()
    count = sum(len(x) for x in inputs(stream))
    return count / (time.perf_counter() - begin)


def memory_over(stream: Stream) -> list[float]:
    """The highest memory in MB after each third of a pass."""
    peaks = []
    for batch in stream.batches(0):
        if (batch.number + 1) % (stream.n_batches // 3) == 0:
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return peaks[:3]


if __name__ == "__main__":
    main()
