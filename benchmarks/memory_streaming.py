"""Memory over a million samples with river's detectors: flat, with every batch scored before it is learned.

Why: a streaming run must not keep what it has seen. Normal samples of eight features in ten concepts, one in a hundred
an anomaly, are made in memory before the run; each of ten rows has the highest memory of the process in its training.

Exits with 1 if the last row's memory is more than 5 % above that of the first.

    python benchmarks/memory_streaming.py [--rows 1000000]
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from recollect.learners import Setting, make_learner
from recollect.protocol import run_protocol, spread
from recollect.runs.run import Plan
from recollect.runs.seeds import derive
from recollect.streams import Stream
from recollect.streams.concepts.build import build
from recollect.streams.concepts.concepts import Concepts
from recollect.streams.concepts.spec import ConceptSpec
from training import table

RESULTS = Path(__file__).parent / "results" / "memory_streaming.md"
DETECTORS: dict[str, dict[str, Any]] = {"river:OneClassSVM": {}, "HalfSpaceTrees": {"n_trees": 2, "height": 5}}
CONCEPTS, TESTED, MOST = 10, 500, 1.05


def make_stream(rows: int) -> Stream:
    """Ten concepts one after the other, in memory as a whole."""
    rng = np.random.default_rng(0)
    each = rows // CONCEPTS
    y = (rng.random(each * CONCEPTS) < 0.01).astype(np.int64)
    x = rng.random((each * CONCEPTS, 8))
    x += 0.05 * np.repeat(np.arange(CONCEPTS), each)[:, None] + 0.5 * y[:, None]
    starts = np.arange(CONCEPTS) * each
    concepts = Concepts(
        name="made",
        names=tuple(f"concept {k}" for k in range(CONCEPTS)),
        x_train=x,
        y_train=y,
        x_test=x,
        y_test=y,
        train=tuple(np.arange(start, start + each) for start in starts),
        test=tuple(np.arange(start, start + TESTED) for start in starts),
    )
    return build(concepts, ConceptSpec(scenario="concept-agnostic", batch=1000))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    chosen = parser.parse_args()
    stream = make_stream(chosen.rows)
    lines, worst = [], 0.0
    with tempfile.TemporaryDirectory() as place:
        for name, parameters in DETECTORS.items():
            learner = make_learner("naive", {"detector": {name: parameters}}, Setting.of(stream), derive(0))
            plan = Plan(rows=spread(10, stream.n_sections), online=10_000)
            run = run_protocol(learner, stream, Path(place) / name.replace(":", "-"), name=name, plan=plan)
            peaks = [cost["train_peak_bytes"] / 1e6 for cost in run.row_costs[1:]]
            worst = max(worst, peaks[-1] / peaks[0])
            seconds = sum(run.timings.get(f"{phase}_cpu_seconds", 0.0) for phase in ("train", "online"))
            lines.append((name, *(f"{peaks[row]:.0f}" for row in (0, 4, 9)), f"{stream.n_samples / seconds:,.0f}"))
            print(*lines[-1], flush=True)
    broken = f"BROKEN: the last row has {worst:.3f} times the memory of the first." if worst > MOST else ""
    text = "\n\n".join(
        [
            "# Memory over a stream with river's detectors",
            f"`python benchmarks/memory_streaming.py --rows {chosen.rows}`; river {version('river')}, Python"
            f" {platform.python_version()}.",
            f"{stream.n_samples:,} samples of 8 features in batches of 1,000, each scored before it is learned (window"
            " 10,000); highest memory of the process in the training that led to each of ten rows, the samples"
            " themselves included.",
            table(lines, "detector", "row 1, MB", "row 5, MB", "row 10, MB", "samples a CPU second"),
            broken or "No bound is broken.",
        ]
    )
    print(text)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    if broken:
        sys.exit(1)


if __name__ == "__main__":
    main()
