"""What the page of a thousand runs costs, over reading them, and how large it is; and a page of 500 tasks.

Somebody who has run a thousand runs waits for the page after the reading. Reading them (`recollect.load`) is
what cannot be done without, so it is the yardstick: the time to make the page from the runs in memory
(matrices, every metric, intervals, comparisons, the HTML) over the time to read them from disk. Both in CPU
time, in turns, so that a busy machine slows both; the median of the ratios counts. Required: at most 5, and a
page of 1,000 runs of 20 tasks below 10 MB. The runs carry counts, masked and restricted counts. They are 20, 200
and 1,000 learners: what is done a learner and what is done a run are both in it.

The last part builds a page of two learners, three seeds and 500 tasks: its score matrices of 250,000 cells are
drawn by the browser (tests/report/test_browser.py looks at them).

Command: python benchmarks/page.py
"""

from __future__ import annotations

import gc
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from reading import RUNS, make_runs, write
from recollect.report.gather import gather
from recollect.report.page import build_page
from recollect.runs import Row, Run, Task, attach_joint, group, load

REPEATS = 3
RESULTS = Path(__file__).parent / "results" / "page.md"


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def page_of(runs: Sequence[Run]) -> str:
    return build_page(gather(group(attach_joint(runs))))


def thousand(seeds: int) -> str:
    """A line of the table: a thousand runs with so many seeds a learner."""
    runs = [
        replace(run, learner=f"learner{k // seeds}", seed=k % seeds) for k, run in enumerate(make_runs(20, True, True))
    ]
    with tempfile.TemporaryDirectory() as place:
        for k, run in enumerate(runs):
            write(run, Path(place) / f"run{k}")
        load(place)  # the files are in the cache from here on
        ratios, reads, size = [], [], 0
        for _ in range(REPEATS):
            read, loaded = seconds(lambda: load(place))
            built, page = seconds(lambda runs=loaded: page_of(runs))
            reads.append(read)
            ratios.append(built / read)
            size = len(page.encode())
    who = f"{RUNS // seeds:,} learners, {seeds} seed{'s' if seeds > 1 else ''}"
    return (
        f"| {who}, 20 tasks | **{statistics.median(ratios):.1f}**"
        f" | {min(ratios):.1f} to {max(ratios):.1f} | {statistics.median(reads):.1f} | **{size / 1e6:.1f}** |"
    )


def long_stream(T: int = 500) -> str:
    tasks = tuple(Task(f"task {j}", 2, 100) for j in range(T))
    since = np.arange(T)[:, None] - np.arange(T)[None]

    def run(learner: str, keep: float, seed: int) -> Run:
        noise = np.random.default_rng(seed).uniform(0, 0.05, (T, T))
        scores = np.where(since >= 0, 0.9 * keep ** np.abs(since), 0) + noise
        rows = tuple(Row(k, scores={"accuracy": tuple(line)}) for k, line in enumerate(scores.tolist()))
        return Run(learner=learner, stream="long", seed=seed, tasks=tasks, rows=rows, scenario="class-incremental")

    runs = [run(learner, keep, seed) for learner, keep in (("er", 0.998), ("finetune", 0.97)) for seed in range(3)]
    built, page = seconds(lambda: page_of(runs))
    return f"| 2 learners, 3 seeds, {T} tasks | | | | **{len(page.encode()) / 1e6:.1f}** (built in {built:.1f} s) |"


def main() -> None:
    lines = [thousand(50), thousand(5), thousand(1), long_stream()]
    RESULTS.write_text(
        f"""# The page of {RUNS:,} runs

`python benchmarks/page.py` · Python {platform.python_version()}, numpy {np.__version__}.
CPU time, {REPEATS} turns each. Ratio: making the page from the runs over `recollect.load` of them; required: at
most 5. Size of the page; required: below 10 MB.

| runs of | ratio (median) | smallest to largest | reading, s | MB |
|---|---:|---:|---:|---:|
"""
        + "\n".join(lines)
        + "\n"
    )
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
