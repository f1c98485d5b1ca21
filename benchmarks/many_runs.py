"""Whole commands over many runs: `score`, `compare`, `report`, before and after, and how they grow.

Records of 20 learners with as many seeds as are needed, T = 5 tasks with counts, are written once. Each command is
started as a user starts it, and what counts is the processor time of the process (user and system), so that a busy
machine slows neither side; contenders take turns. `--before REF` takes the code of that commit from git and runs the
same commands with it, on the same records.

    python benchmarks/many_runs.py --before 4d90126
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


def seconds(arguments: list[str], source: Path) -> tuple[float, float]:
    """Processor seconds of a command, and its largest memory in MB."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def exponent(few: float, many: float, ratio: float) -> float:
    """How the time grows: 1 is in proportion."""
    return float(np.log(many / few) / np.log(ratio))


def measure(counts: list[int], sources: dict[str, Path], turns: int, place: Path) -> list[str]:
    """One line per command and number of runs."""
    lines = []
    before_last: dict[str, float] = {}
    for count in counts:
        runs = place / f"runs{count}"
        runs.mkdir()
        records(count, runs)
        for name, most in AT_MOST.items():
            taken: dict[str, list[tuple[float, float]]] = {label: [] for label in sources}
            for turn in range(turns + 1):
                for label, source in sources.items():
                    found = seconds(command(name, runs, place / "page.html"), source)
                    if turn or turns == 1:  # the first turn fills the cache of the system
                        taken[label].append(found)
                if turns == 1:
                    break
            medians = {label: statistics.median(s for s, _ in found) for label, found in taken.items()}
            now, old = medians["now"], medians.get("before")
            fewer = counts[counts.index(count) - 1]
            grown = exponent(before_last[name], now, count / fewer) if name in before_last else None
            before_last[name] = now
            lines.append(
                f"| `{name}` | {count:,} | {'' if old is None else f'{old:.2f}'} | {now:.2f}"
                f" | {'' if old is None else f'{old / now:.1f}'} | {most if count == 10_000 else ''}"
                f" | {max(mb for _, mb in taken['now']):.0f} | {'' if grown is None else f'{grown:.2f}'} |"
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", help="a commit whose code is measured beside")
    parser.add_argument("--counts", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sources = {"now": ROOT / "src"}
        if chosen.before:
            sources = {"before": code_of(chosen.before, place / "before"), **sources}
        lines = measure([500, 1000] if chosen.quick else chosen.counts, sources, chosen.turns, place)
    against = f" `before` is the code of {chosen.before}." if chosen.before else ""
    asked = f" --before {chosen.before}" if chosen.before else ""
    head = f"""# Commands over many runs

`python benchmarks/many_runs.py{asked}` · Python {platform.python_version()}, numpy {np.__version__}.
Processor seconds of the whole command, median of {chosen.turns} turns; {LEARNERS} learners, T = 5 with counts.{against}
*growth* is the exponent from the number of runs above: 1 is in proportion.

| command | runs | before, s | now, s | times faster | at most, s | MB now | growth |
|---|---:|---:|---:|---:|---:|---:|---:|
"""
    text = head + "\n".join(lines) + "\n"
    print(text)
    if not chosen.quick:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
