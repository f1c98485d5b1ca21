"""How fast every metric with its curve is, against plain loops and against one numpy pass.

    python benchmarks/speed.py

Ten thousand runs of 20 tasks and a hundred runs of 500 tasks go through every id with ``curve=True``, from bare
arrays to curves: building the `ScoreMatrix`, laying it out, all ids. Everything but `restricted` is given (for
10,000 runs it would be 640 MB); `split.lost` and `split.confusion` are measured apart, on 1,000 runs.

**The loops** are tests/metrics/slow.py: each definition as its formula reads, over Python lists, at every k.
They are timed on a few runs, for T = 500 on a few k, and scaled linearly. For RAA and RAF the loops of uRAA and
uRAF are timed, since nobody would compute the normaliser anew at every k.

**The limit** is what reading alone costs: for every id, the scores that the terms of its formula name (a term of
a mean names one, a term of a difference two), times the measured cost a score of one ``np.add.reduce`` down the
lower triangle of the same matrices with runs last. A curve is counted as one pass, which is what running sums
and maxima need. Nothing is added for writing curves, for laying out or for checking.

All is measured in one process on one thread, as processor time, so that other processes do not count: medians of
repeats, ours and the pass in turn, so that both find the caches alike. The script leaves with 1 if a bound is
broken.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import recollect as rc
from recollect.metrics import registry
from recollect.metrics.sweep import Sweep

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.metrics import slow  # noqa: E402

LOOPS_AT_LEAST, LIMIT_AT_MOST = 100, 3
STAND_IN = {"raa.michel2023": "uraa.michel2023", "raf.michel2023": "uraf.michel2023"}
RESTRICTED = [id for id in registry.all_ids() if "restricted" in registry.get(id).card.needs]
OTHERS = [id for id in registry.all_ids() if id not in RESTRICTED]


@dataclass(frozen=True)
class Measured:
    """Seconds of one workload, each the best of several."""

    runs: int
    tasks: int
    ids: int
    ours: float
    build: float
    loops: float
    loops_last_value: float
    limit: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks/results/speed.md")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    found = [
        measure(workload(rng, 10_000, 20), OTHERS, options.repeats, loop_runs=5, loop_rows=range(20)),
        measure(workload(rng, 100, 500), OTHERS, options.repeats, loop_runs=1, loop_rows=range(25, 500, 75)),
        measure(with_restricted(workload(rng, 1_000, 20), rng), RESTRICTED, options.repeats, 20, range(20)),
    ]
    options.output.write_text(report(found), encoding="utf-8")
    print(report(found))
    # Of the restricted tensor two ids read a small part, and it is copied and checked whole: no bound there.
    broken = [m for m in found[:2] if m.loops < LOOPS_AT_LEAST * m.ours or m.ours > LIMIT_AT_MOST * m.limit]
    return 1 if broken else 0


def workload(rng: np.random.Generator, runs: int, T: int) -> dict[str, Any]:
    return {
        "R": rng.random((runs, T, T)),
        "b": rng.random((runs, T)),
        "joint": rng.random((runs, T, T)),
        "n_classes": rng.integers(1, 10, T),
        "n_samples": rng.integers(10, 1000, T),
        "steps": np.cumsum(rng.integers(1, 100, T)),
    }


def with_restricted(inputs: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    runs, T, _ = inputs["R"].shape
    A = rng.random((runs, T, T, T))
    k = np.arange(T)
    A[:, k, :, k] = np.moveaxis(inputs["R"], -2, 0)
    return inputs | {"restricted": A}


def measure(inputs: dict[str, Any], ids: list[str], repeats: int, loop_runs: int, loop_rows: range) -> Measured:
    runs, T, _ = inputs["R"].shape
    build, ours, per_score = [], [], []
    matrix = None
    for _ in range(repeats):
        del matrix
        start = time.process_time()
        matrix = rc.ScoreMatrix(**inputs)
        build.append(time.process_time() - start)
        for id in ids:
            rc.score(matrix, id, curve=True)
        ours.append(time.process_time() - start)
        # Interleaved with ours, so that both see the same machine.
        per_score.append(one_pass(Sweep.of(matrix).R))
        check(matrix, inputs, ids)
    every, last = loops(inputs, ids, loop_runs, loop_rows)
    limit = statistics.median(per_score) * runs * sum(scores_read(id, matrix) for id in ids)
    return Measured(
        runs, T, len(ids), statistics.median(ours), statistics.median(build), every * runs, last * runs, limit
    )


def one_pass(R: Any) -> float:
    """Seconds a score of summing the lower triangle, row by row, runs last; it allocates next to nothing."""
    start = time.process_time()
    for row in range(len(R)):
        np.add.reduce(R[row, : row + 1], axis=0)
    return (time.process_time() - start) / (len(R) * (len(R) + 1) / 2 * R.shape[-1])


COMPARES_ROWS = ("SINCE_LEARNED", "OWN_AND_NOW", "OWN_AND_AFTER", "CONSECUTIVE", "EARLIER_TASKS", "SQUARE")


def scores_read(id: str, matrix: rc.ScoreMatrix) -> int:
    """The scores a run that the formula's terms name, over the whole curve.

    A mean names each cell of its card once. A difference of rows has a term for each cell below the diagonal (for
    the dialects over all tasks, on the diagonal too), and a term has a partner: an earlier score of its column.
    Any other difference has a partner for each cell of its card: the untrained or the joint learner's score.
    """
    card, sweep, T = registry.get(id).card, Sweep.of(matrix), matrix.T
    if card.reads.name in COMPARES_ROWS:
        return 2 * (T * (T - 1) // 2 + (T - 1 if card.reads.name == "SQUARE" else 0))
    cells = int(np.any([card.reads.mask(sweep, r) for r in range(sweep.P)], axis=0).sum())
    return cells * (2 if card.kind == "difference" else 1)


def loops(inputs: dict[str, Any], ids: list[str], runs: int, rows: range) -> tuple[float, float]:
    """Seconds a run of the plain loops: all rows, and the last one alone."""
    T = inputs["R"].shape[-1]
    calls = []
    for run in range(runs):
        own = {k: v[run].tolist() if v.ndim > 1 else v.tolist() for k, v in inputs.items()}
        for id in (STAND_IN.get(id, id) for id in ids):
            given = {k: own[k] for k in registry.get(id).card.needs}
            calls.append((slow.definitions()[id], own["R"], given))
    start = time.process_time()
    for definition, R, given in calls:
        for k in rows:
            definition(R, k, **given)
    every = (time.process_time() - start) * T / len(rows) / runs
    start = time.process_time()
    for definition, R, given in calls:
        definition(R, T - 1, **given)
    return every, (time.process_time() - start) / runs


def check(matrix: rc.ScoreMatrix, inputs: dict[str, Any], ids: list[str]) -> None:
    """What is timed is right: the first run's last value of each id is the loop's."""
    own = {k: v[0].tolist() if v.ndim > 1 else v.tolist() for k, v in inputs.items()}
    for id in ids if matrix.T <= 20 else ["acc.average", "forgetting.chaudhry2018", "bwt.pyclad_code"]:
        given = {k: own[k] for k in registry.get(id).card.needs}
        expected = slow.definitions()[id](own["R"], matrix.T - 1, **given)
        np.testing.assert_allclose(np.asarray(rc.score(matrix, id))[0], expected, rtol=1e-9, atol=1e-12)


def report(found: list[Measured]) -> str:
    *all_ids, split = found
    head = [
        "# Speed",
        "",
        "Made by `python benchmarks/speed.py` (its docstring says what is timed and how the limit is computed)",
        f"with recollect {rc.__version__}, numpy {np.__version__}, Python {platform.python_version()}, one thread.",
        "",
        f"Bounds: at least {LOOPS_AT_LEAST} times the loops, at most {LIMIT_AT_MOST} times the limit. All ids"
        " with curves, from arrays",
        "to curves. *Last value only*: the loops compute the final values, ours the curves.",
        "",
        "| workload | ids | times the loops | last value only | of the limit | seconds | of it building |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = [
        f"| {m.runs:,} runs, T = {m.tasks} | {m.ids} | {m.loops / m.ours:,.0f}"
        f" | {m.loops_last_value / m.ours:,.0f} | {m.ours / m.limit:.2f} | {m.ours:.3f} | {m.build:.3f} |"
        for m in all_ids
    ]
    tail = [
        "",
        f"`split.lost` and `split.confusion`, {split.runs:,} runs, T = {split.tasks}: {split.ours:.3f} s, of which"
        f" {split.build:.3f} s copy and check the restricted",
        f"tensor (T times as large as R); {split.loops / split.ours:,.0f} times the loops in all,"
        f" {split.loops / (split.ours - split.build):,.0f} times once the matrix is built. No bound is set there.",
        "",
        "The peers' own functions are timed against ours by `benchmarks/peers.py`.",
    ]
    return "\n".join([*head, *rows, *tail]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
