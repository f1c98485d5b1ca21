"""A million synthetic runs through the index: what entering, looking up, grouping and adding one cost.

No records are written: the entries are made of runs in memory and put into an index with made-up stamps, and what is
measured is the index itself, in a process of its own per size. Reading a record that is not in it, and looking whether
its files changed, come on top (benchmarks/results/many_runs.md).

    python benchmarks/index_million.py [--counts 10000 100000 1000000]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from reading import make_runs
from recollect.runs import Run, group
from recollect.runs.codec import header_to_json
from recollect.runs.index import FILE, _Index
from recollect.runs.indexed import Entry, entry_of

RESULTS = Path(__file__).parent / "results/index_million.md"
LEARNERS = 20


def entries(count: int) -> list[tuple[bytes, bytes | None, Entry]]:
    """Entries of so many runs, from the thousand of reading.py under other seeds."""
    some = []
    for run in make_runs(5, restricted=False, counts=True)[:50]:
        made = Run(**{**vars(run), "learner": "er", "seeds": None})
        header = {**header_to_json(made), "rows": {"count": 6, "seal": "0" * 32}}
        some.append((made, header))
    kinds = []
    for run, header in some:
        entry = entry_of(run, header)
        if entry is None:
            raise SystemExit("a plain run has no entry")
        kinds.append((entry, json.loads(entry.rest)))
    made = []
    for k in range(count):
        entry, rest = kinds[k % len(kinds)]
        rest["learner"] = f"learner{k % LEARNERS}"
        own = json.loads(entry.own)
        own[0] = k // LEARNERS
        texts = (json.dumps(part, separators=(",", ":")).encode() for part in (rest, own))
        shared, alone = texts
        made.append(
            (b"run%d" % k, bytes(64), Entry(entry.stream, shared, entry.layout, alone, entry.later, entry.data))
        )
    return made


def one(count: int, folder: str) -> dict[str, float]:
    """What a step costs in processor seconds, and the memory of the process when it reads."""
    index = _Index(folder)
    found: dict[str, float] = {"runs": count}

    def timed(name: str, start: float) -> None:
        found[name] = time.process_time() - start

    if not os.path.exists(f"{folder}/{FILE}"):
        for first in range(0, count, 50_000):
            some = entries(count)[first : first + 50_000] if count <= 50_000 else entries_of(first, 50_000)
            start = time.process_time()
            index._write(some, [])
            found["enter"] = found.get("enter", 0.0) + time.process_time() - start
        return found
    more = entries(1)[0][2]
    start = time.process_time()
    index._write([(b"one more", bytes(64), more)], [])
    timed("add one", start)
    index._write([], [b"one more"])
    start = time.process_time()
    places = [f"{folder}/run{k}" for k in range(count)]
    runs = [run for _, run in index.ready(places).values()]
    timed("look up", start)
    start = time.process_time()
    groups = group(runs)
    timed("group", start)
    start = time.process_time()
    total = sum(float(made.matrix.R.mean()) for made in groups)
    timed("matrices", start)
    if len(runs) != count or not 0 < total < LEARNERS:
        raise SystemExit(f"{len(runs)} runs, means that sum to {total}")
    found["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["file MB"] = os.path.getsize(f"{folder}/{FILE}") / 1e6
    return found


def entries_of(first: int, count: int) -> list[tuple[bytes, bytes | None, Entry]]:
    """Entries from a place on, under the names and seeds of their places."""
    made = []
    for k, (_, stamp, entry) in enumerate(entries(count), first):
        own = json.loads(entry.own)
        own[0] = k // LEARNERS
        alone = json.dumps(own, separators=(",", ":")).encode()
        made.append((b"run%d" % k, stamp, replace(entry, own=alone)))
    return made


def exponent(many: dict[str, float], few: dict[str, float]) -> float:
    """How looking up grows with the number of runs."""
    return float(np.log(many["look up"] / few["look up"]) / np.log(many["runs"] / few["runs"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--one", nargs=2, metavar=("COUNT", "FOLDER"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(one(int(chosen.one[0]), chosen.one[1])))
        return
    lines, last = [], None
    for count in chosen.counts:
        found: dict[str, float] = {}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                asked = [sys.executable, __file__, "--one", str(count), folder]
                found |= json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
        grown = "" if last is None else f"{exponent(found, last):.2f}"
        lines.append(
            f"| {count:,} | {found['file MB']:.0f} | {found['enter']:.2f} | {found['look up']:.2f}"
            f" | {found['group']:.2f}"
            f" | {found['matrices']:.2f} | {1000 * found['add one']:.1f} | {found['MB']:,.0f} | {grown} |"
        )
        last = found
        print(lines[-1], flush=True)
        RESULTS.write_text(
            f"""# Synthetic runs through the index

Made by `python benchmarks/index_million.py --counts {" ".join(map(str, chosen.counts))}`,
Python {platform.python_version()}, numpy {np.__version__}; T = 5 with counts, {LEARNERS} learners. Processor seconds
of each step, on a machine that others used at the same time; MB is the highest memory of the process that looks up.
*growth* is the exponent of looking up from the line above.

| runs | index, MB | enter, s | look up all, s | group, s | matrices, s | add one run, ms | MB | growth |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""
            + "\n".join(lines)
            + "\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
