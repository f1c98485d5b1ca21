"""Whole commands over many runs: `score`, `compare`, `report`, before and after, with and without the index.

Records of 20 learners with as many seeds as are needed, T = 5 tasks with counts, are written once. Each command is
started as a user starts it, and what counts is the processor time of the process (user and system), so that a busy
machine slows no side; contenders take turns. `--before REF` takes the code of that commit from git and runs the
same commands with it, on the same records. The index is made by one command before, whose time is a line of its own.

    python benchmarks/many_runs.py --before 9d12980
    python benchmarks/many_runs.py --counts 100000 --only index --add    # takes what is known of the others as it is
    python benchmarks/many_runs.py --quick     # 500 and 1,000 runs, prints only
"""

from __future__ import annotations

import argparse
import io
import os
import platform
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

from reading import make_runs, write
from recollect.runs import Run

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks/results/many_runs.md"
LEARNERS = 20
AT_MOST = {"score": 2.0, "compare": 6.0, "report": 7.0}


def records(count: int, folder: Path) -> None:
    """As many runs as were asked for, from the thousand of reading.py with other seeds and other scores."""
    draw = random.Random(1)
    some = make_runs(5, restricted=False, counts=True)[:50]
    for k in range(count):
        one = some[draw.randrange(50)]
        made = Run(**{**vars(one), "learner": f"learner{k % LEARNERS}", "seed": k // LEARNERS, "seeds": None})
        write(made, folder / f"run{k}")


def code_of(ref: str, folder: Path) -> Path:
    """The source of a commit, unpacked."""
    archive = subprocess.run(["git", "archive", ref, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder / "src"


def command(name: str, runs: Path, page: Path) -> list[str]:
    """The command as it is typed."""
    return ["-m", "recollect", name, str(runs), *(["-o", str(page)] if name == "report" else [])]


def seconds(arguments: list[str], source: Path, index: bool) -> tuple[float, float]:
    """Processor seconds of a command, and its largest memory in MB."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "RECOLLECT_INDEX": str(int(index))}
    process = subprocess.Popen(
        [sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measure(counts: list[int], sources: dict[str, Path], turns: int, place: Path, kept: Path | None) -> list[str]:
    """One line per command, number of runs and contender."""
    lines = []
    fewer: dict[tuple[str, str], tuple[int, float]] = {}
    for count in counts:
        runs = (kept or place) / f"runs{count}"
        if not runs.exists():
            runs.mkdir()
            records(count, runs)
        if "index" in sources:
            made, mb = seconds(command("score", runs, place / "page.html"), sources["index"], True)
            lines.append(
                f"| `score` that makes the index, or finds it made | {count:,} | index | {made:.2f} | | {mb:.0f} | |"
            )
            print(lines[-1], flush=True)
        for name, most in AT_MOST.items():
            taken: dict[str, list[tuple[float, float]]] = {label: [] for label in sources}
            for _ in range(turns):
                for label, source in sources.items():
                    taken[label].append(seconds(command(name, runs, place / "page.html"), source, label == "index"))
            for label, found in taken.items():
                used = statistics.median(s for s, _ in found)
                before = fewer.get((name, label))
                grown = "" if before is None else f"{np.log(used / before[1]) / np.log(count / before[0]):.2f}"
                fewer[name, label] = (count, used)
                bound = f"{most:g}" if count == 10_000 and label != "before" else ""
                highest = max(mb for _, mb in found)
                lines.append(f"| `{name}` | {count:,} | {label} | {used:.2f} | {bound} | {highest:.0f} | {grown} |")
                print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", help="a commit whose code is measured beside")
    parser.add_argument("--counts", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", choices=("now", "index"), help="measure this contender alone")
    parser.add_argument("--add", action="store_true", help="add the lines to the table that is there")
    parser.add_argument("--records", type=Path, help="a folder where the records are kept for the next time")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        names = (chosen.only,) if chosen.only else ("now", "index")
        sources = dict.fromkeys(names, ROOT / "src")
        if chosen.before:
            sources = {"before": code_of(chosen.before, place / "before"), **sources}
        counts = [500, 1000] if chosen.quick else chosen.counts
        lines = measure(counts, sources, chosen.turns, place, chosen.records)
    against = f"*before* is the code of {chosen.before}; " if chosen.before else ""
    head = f"""# Commands over many runs

Made by `python benchmarks/many_runs.py`, Python {platform.python_version()}, numpy {np.__version__}.
{LEARNERS} learners, T = 5 with counts. Processor seconds of the whole command, median of {chosen.turns} turns, on a
machine that others used at the same time. {against}*now* reads every record
(`--no-index`); *index* answers from the index beside the runs, which the first `score` makes (if it is not there).
*growth* is the exponent from the number of runs above: 1 is in proportion.

| command | runs | what | CPU s | at most | MB | growth |
|---|---:|---|---:|---:|---:|---:|
"""
    old = RESULTS.read_text(encoding="utf-8") if chosen.add else head
    text = old + "\n".join(lines) + "\n"
    print(text)
    if not chosen.quick:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
