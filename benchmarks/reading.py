"""How much reading a thousand run folders costs, over the bare parsing of their JSON.

Somebody who scores an experiment of a thousand runs waits for the files to be found, read, parsed and
checked. Parsing is what no reader of the record can do without, so it is the yardstick: open each of the
same files, whose paths are known, read it and parse it with `json.loads`, line by line for `rows.jsonl`.
Beside it stands `recollect.load` on the folder, which finds the folders itself, checks every row and gives
`Run`s. Both are measured in CPU time, in turns, so that a busy machine slows both; the median of the ratios
counts. Required: at most 3.

The score matrices are made when first asked for; what that costs is the last column.

Command: python benchmarks/reading.py
"""

from __future__ import annotations

import gc
import json
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy

from recollect.runs import Plan, Row, Run, Task, derive, load
from recollect.runs.store import sealed_header, sealed_rows

RUNS = 1_000
REPEATS = 9
RESULTS = Path(__file__).parent / "results" / "reading.md"


def make_runs(T: int, restricted: bool, counts: bool) -> list[Run]:
    """A thousand runs as the protocol records them: 20 learners, 50 seeds, an untrained row, T rows."""
    draw = random.Random(0)
    tasks = tuple(Task(f"task {j}", 2, 100, (2 * j, 2 * j + 1), (50, 50)) for j in range(T))

    def row(after: int) -> Row:
        values = tuple(draw.randint(0, 100) for _ in range(T))
        # Among fewer classes no fewer answers are right; among those seen so far the restricted count is the count.
        triangle = tuple(tuple(min(100, value + max(0, after - m)) for m in range(T)) for value in values)
        if not counts:
            return Row(after, scores={"accuracy": tuple(value / 101 for value in values)})
        return Row(
            after,
            step=(after + 1) * 1000,
            correct=values,
            n=(100,) * T,
            restricted=triangle if restricted and after >= 0 else None,
            masked=(100,) * T,
        )

    return [
        Run(
            learner=f"learner{k // 50}",
            learner_config={"memory": 200, "lr": 0.1},
            stream="toy",
            scenario="class-incremental",
            tasks=tasks,
            rows=tuple(row(after) for after in range(-1, T)),
            seed=k % 50,
            seeds=derive(k % 50),
            plan=Plan(),
            status="finished",
            data_hash="00" * 32,
            versions={"python": "3.11", "numpy": "2", "recollect": "0.1"},
            timings={"train": 12.5, "evaluate": 3.25},
        )
        for k in range(RUNS)
    ]


def write(run: Run, folder: Path) -> tuple[str, str]:
    """The two files of a run folder, without the waits for the disk that `save` makes."""
    folder.mkdir()
    header, rows = folder / "run.json", folder / "rows.jsonl"
    lines, seal = sealed_rows(run.rows)
    rows.write_bytes(lines)
    header.write_bytes(sealed_header(run, seal))
    return os.fspath(header), os.fspath(rows)


def bare(files: list[tuple[str, str]]) -> None:
    """The yardstick: the same files, opened, read and parsed."""
    for header, rows in files:
        with open(header, "rb") as file:
            json.loads(file.read())
        with open(rows, "rb") as file:
            for line in file:
                json.loads(line)


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(name: str, runs: list[Run]) -> str:
    with tempfile.TemporaryDirectory() as place:
        files = [write(run, Path(place) / f"run{k}") for k, run in enumerate(runs)]
        size = sum(os.path.getsize(path) for pair in files for path in pair)
        bare(files), load(place)  # the files are in the cache from here on
        pairs = [(seconds(lambda: bare(files)), seconds(lambda: load(place))) for _ in range(REPEATS)]
        ratios = sorted(ours / theirs for theirs, ours in pairs)
        loaded = load(place)
        built = seconds(lambda: [run.matrix for run in loaded])
    yardstick = statistics.median(theirs for theirs, _ in pairs)
    median = statistics.median(ratios)
    return (
        f"| {name} | {size / 1e6:.1f} | **{median:.2f}** | {ratios[0]:.2f} to {ratios[-1]:.2f}"
        f" | {yardstick * 1e3:.0f} | {built / yardstick:.2f} |"
    )


def main() -> None:
    cases = [
        ("T = 5, scores", make_runs(5, restricted=False, counts=False)),
        ("T = 5, counts, masked and restricted counts", make_runs(5, restricted=True, counts=True)),
        ("T = 20, scores", make_runs(20, restricted=False, counts=False)),
        ("T = 10, counts, masked and restricted counts", make_runs(10, restricted=True, counts=True)),
        ("T = 20, counts, masked and restricted counts", make_runs(20, restricted=True, counts=True)),
    ]
    lines = [measure(name, runs) for name, runs in cases]
    RESULTS.write_text(
        f"""# Reading {RUNS:,} run folders

`python benchmarks/reading.py` · Python {platform.python_version()}, numpy {numpy.__version__}.
CPU time, files in the cache of the system, {REPEATS} turns each. Ratio: `recollect.load(folder)` over
opening, reading and `json.loads` of the same files; required: at most 3.

| {RUNS:,} runs of | MB | ratio (median) | smallest to largest | bare, ms | matrices, over bare |
|---|---:|---:|---:|---:|---:|
"""
        + "\n".join(lines)
        + "\n"
    )
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
