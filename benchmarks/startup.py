"""What starting costs: ``import recollect``, the help, the version and ``recollect score FILE``, by ``import numpy``.

    python benchmarks/startup.py

A library that is slow to import is not imported, and a command that is slow to start is not put into a loop. The
programs are started in turn, many times; the ratio is of the medians of their processor time (user and
system), which on an idle machine is the time a user waits. Bounds: importing, the
help and the version at most 1.5 times numpy, scoring a file at most 2.5 times. The script leaves with 1 if one is
broken, and lists the slowest imports of the command.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import recollect as rc

ROOT = Path(__file__).resolve().parent.parent
AT_MOST = {
    "import recollect": 1.5,
    "recollect --help": 1.5,
    "recollect --version": 1.5,
    "recollect score FILE": 2.5,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks/results/startup.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        matrix = Path(folder) / "matrix.csv"
        matrix.write_text("0.8,0.1,0.2\n0.6,0.9,0.3\n0.5,0.7,0.9\n", encoding="utf-8")
        programs = {
            "import numpy": ["-c", "import numpy"],
            "import recollect": ["-c", "import recollect"],
            "recollect --help": ["-m", "recollect", "--help"],
            "recollect --version": ["-m", "recollect", "--version"],
            "recollect score FILE": ["-m", "recollect", "score", str(matrix)],
        }
        environment = with_bytecode(Path(folder))
        seconds = measure(programs, options.repeats, environment)
        imports = slowest_imports(programs["recollect score FILE"], environment)
    options.output.write_text(report(seconds, imports, options.repeats), encoding="utf-8")
    print(options.output.read_text(encoding="utf-8"))
    return int(any(seconds[name] > most * seconds["import numpy"] for name, most in AT_MOST.items()))


def with_bytecode(folder: Path) -> dict[str, str]:
    """An environment in which modules are compiled once, as they are for an installed package."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return environment | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "OMP_NUM_THREADS": "1"}


def measure(programs: dict[str, list[str]], repeats: int, environment: dict[str, str]) -> dict[str, float]:
    """Median processor seconds of each program, started in turn."""
    taken: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(repeats + 1):
        for name, arguments in programs.items():
            before = os.times()
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
            after = os.times()
            # The first turn fills the disk cache and writes the bytecode.
            if turn:
                used = after.children_user + after.children_system
                taken[name].append(used - before.children_user - before.children_system)
    return {name: statistics.median(values) for name, values in taken.items()}


def slowest_imports(
    arguments: list[str], environment: dict[str, str], starts: int = 7, most: int = 8
) -> list[tuple[float, str]]:
    """The packages with the largest import time of their own, in milliseconds: the least of several starts."""
    least: dict[str, float] = {}
    for _ in range(starts):
        command = [sys.executable, "-X", "importtime", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        by_package: dict[str, float] = {}
        for microseconds, module in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", done.stderr):
            package = module.partition(".")[0]
            by_package[package] = by_package.get(package, 0) + int(microseconds) / 1000
        least = {name: min(ms, least.get(name, ms)) for name, ms in by_package.items()}
    return sorted(((ms, package) for package, ms in least.items()), reverse=True)[:most]


def report(seconds: dict[str, float], imports: list[tuple[float, str]], repeats: int) -> str:
    numpy = seconds["import numpy"]
    rows = [
        f"| `{name}` | {taken / numpy:.2f} | {AT_MOST.get(name, '')} | {1000 * taken:.0f} |"
        for name, taken in seconds.items()
    ]
    where = [f"| `{package}` | {ms:.0f} |" for ms, package in imports]
    return "\n".join(
        [
            "# Starting",
            "",
            f"Made by `python benchmarks/startup.py` with recollect {rc.__version__}, numpy {np.__version__}, Python"
            f" {platform.python_version()}:",
            f"medians of {repeats} starts in turn, processor time.",
            "",
            "| program | times `import numpy` | at most | milliseconds |",
            "|---|---|---|---|",
            *rows,
            "",
            "Where `recollect score FILE` spends its imports (`python -X importtime`, by package):",
            "",
            "| package | milliseconds |",
            "|---|---|",
            *where,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
