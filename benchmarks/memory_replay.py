"""Does replay's memory stay flat while the stream grows? Up to a million rows, mapped from a file.

Why: a stream that fits in memory needs no reservoir. A table of 20 float64 features is written to a .npy file and
mapped; its four concepts come one after the other in concept-agnostic batches of 1,000 rows; `replay` (a reservoir
of 1,000) is evaluated at five planned rows, whatever the length. `cumulative`, which keeps all, is there for
contrast, up to 100,000 rows.

Measured in a process of its own for each line: anonymous memory (RssAnon of /proc/self/status; pages of the mapped
file, which the system drops when it likes, are not in it), read every two milliseconds, with an allocator that gives
back at once what is freed. `stream` is what the stream itself holds when it has been made (labels and places: some
bytes a row, whatever the strategy), `above` the peak of the run above that. A run of 10,000 rows comes first in each
process and is left out: it loads libraries and fills caches.

Exits with 1 if the peak of replay at any length is more than 1.5 times, and 4 MB above, that of the shortest stream.

    python benchmarks/memory_replay.py            # three lengths, writes benchmarks/results/memory_replay.md
    python benchmarks/memory_replay.py --quick    # up to 100,000 rows, prints only
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from recollect.learners import Setting, make_learner
from recollect.protocol import iter_protocol, spread
from recollect.runs.run import Plan
from recollect.runs.seeds import derive
from recollect.streams import Stream
from recollect.streams.concepts import concept_stream, concepts_from_arrays
from training import table

RESULTS = Path(__file__).parent / "results" / "memory_replay.md"
FEATURES, CONCEPTS, BATCH, MEMORY, ROWS = 20, 4, 1000, 1000, 5
MB = 2**20
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_ARENA_MAX": "1"}


def write_table(path: Path, rows: int) -> None:
    """Normal rows, a blob a concept, written a piece at a time."""
    rng = np.random.default_rng(0)
    held = np.lib.format.open_memmap(path, "w+", np.float64, (rows, FEATURES))
    for start in range(0, rows, BATCH):
        centre = 3.0 * (start * CONCEPTS // rows)
        held[start : start + BATCH] = rng.normal(centre, 1, (min(BATCH, rows - start), FEATURES))
    held.flush()


def mapped_stream(path: Path) -> Stream:
    """The concept-agnostic stream over the mapped table; its test rows are 500 a concept, a tenth of them odd."""
    x = np.load(path, mmap_mode="r")
    rng = np.random.default_rng(1)
    concept = np.repeat(np.arange(CONCEPTS), 500)
    odd = (np.arange(len(concept)) % 10 == 0).astype(np.int64)
    x_test = rng.normal(3.0 * concept[:, None] + 4 * odd[:, None] * rng.choice([-1, 1], (len(concept), FEATURES)), 1)
    which = (np.arange(len(x)) * CONCEPTS // len(x)).astype(np.uint8)
    concepts = concepts_from_arrays(x, which, x_test, odd, concept, name="blobs")
    return concept_stream(concepts, scenario="concept-agnostic", batch=BATCH)


class Peak:
    """The highest anonymous memory while entered, read every two milliseconds."""

    def __enter__(self) -> Peak:
        self.highest, self._over = now(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._over.wait(0.002):
            self.highest = max(self.highest, now())

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def now() -> int:
    """Bytes of anonymous memory."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise SystemExit("This system does not tell anonymous memory; the benchmark needs Linux.")
    return int(found[1]) * 1024


def run(stream: Stream, strategy: str, detector: str) -> tuple[list[float | None], int, int]:
    """The last row of scores, and what the learner stores, in samples and bytes."""
    options = {"detector": detector} | ({"memory": MEMORY} if strategy == "replay" else {})
    learner = make_learner(strategy, options, Setting.of(stream), derive(0), "cpu")
    scores: list[float | None] = []
    for row in iter_protocol(learner, stream, seed=0, plan=Plan(rows=spread(ROWS, stream.n_sections))):
        scores = list(row.score or ())
    return scores, learner.stored_samples, learner.stored_bytes


def measure(path: Path, warm: Path, strategy: str, detector: str) -> dict[str, object]:
    """One line of the table, in this process."""
    run(mapped_stream(warm), strategy, detector)
    gc.collect()
    empty = now()
    stream = mapped_stream(path)
    for batch in stream.batches(0):  # whatever the stream makes when it is first walked is its own
        if batch.number == 3:
            break
    gc.collect()
    made = now()
    with Peak() as peak:
        scores, samples, size = run(stream, strategy, detector)
    return {
        "rows": stream.n_train,
        "stream": made - empty,
        "above": peak.highest - made,
        "samples": samples,
        "bytes": size,
        "auc": float(np.mean([score for score in scores if score is not None])),
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        path, warm, strategy, detector = chosen.one
        print(json.dumps(measure(Path(path), Path(warm), strategy, detector)))
        return
    lengths = (10_000, 100_000) if chosen.quick else (10_000, 100_000, 1_000_000)
    lines, peaks = [], {}
    with tempfile.TemporaryDirectory() as folder:
        paths = {rows: Path(folder) / f"{rows}.npy" for rows in lengths}
        for rows, path in paths.items():
            write_table(path, rows)
        for strategy, detector in (("replay", "IForest"), ("replay", "ECOD"), ("cumulative", "ECOD")):
            for rows, path in paths.items():
                if strategy == "cumulative" and rows > 100_000:
                    continue  # two gigabytes
                command = [sys.executable, __file__, "--one", str(path), str(paths[lengths[0]]), strategy, detector]
                made = subprocess.run(
                    command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | ALLOCATOR
                )
                found = json.loads(made.stdout)
                peaks[strategy, detector, rows] = found["above"]
                lines.append(
                    (
                        f"{strategy}, {detector}",
                        f"{found['rows']:,}",
                        f"{path.stat().st_size / MB:.1f}",
                        f"{found['stream'] / MB:.1f}",
                        f"{found['above'] / MB:.1f}",
                        f"{found['samples']:,}",
                        f"{found['bytes'] / MB:.2f}",
                        f"{found['auc']:.3f}",
                    )
                )
                print(" | ".join(lines[-1]), flush=True)
    grown = [
        f"{strategy}, {detector}: {peak / MB:.1f} MB at {rows:,} rows"
        for (strategy, detector, rows), peak in peaks.items()
        if strategy == "replay" and peak > max(1.5 * (few := peaks[strategy, detector, lengths[0]]), few + 4 * MB)
    ]
    if not chosen.quick:
        RESULTS.write_text(page(lines, grown), encoding="utf-8")
    if grown:
        raise SystemExit(f"Memory grew with the stream: {'; '.join(grown)}.")


def page(lines: list[tuple[str, ...]], grown: list[str]) -> str:
    """The table, and how it was made."""
    head = (
        "learner",
        "rows",
        "file, MB",
        "stream, MB",
        "peak above, MB",
        "samples stored",
        "stored, MB",
        "mean ROC-AUC",
    )
    verdict = f"BROKEN: replay grew with the stream: {'; '.join(grown)}." if grown else "Replay: no bound is broken."
    return (
        "# Memory of replay, up to a million rows of a mapped file\n\n"
        f"`python benchmarks/memory_replay.py`; one process per line, anonymous memory. numpy {np.__version__}, pyod"
        f" {version('pyod')}, scikit-learn {version('scikit-learn')}, Python {platform.python_version()}.\n\n"
        f"{FEATURES} float64 features, {CONCEPTS} concepts, concept-agnostic batches of {BATCH:,}, a reservoir of"
        f" {MEMORY:,}, {ROWS} planned rows. `stream`: what the stream holds (labels and places of its"
        " rows); `peak above`: the most that a run needs beside that, evaluations in it.\n\n"
        f"{table(lines, *head)}\n\n"
        f"{verdict} Cumulative keeps every row.\n"
    )


if __name__ == "__main__":
    main()
