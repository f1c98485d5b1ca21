"""What a small experiment costs from the command to its end: processor time of the command and its worker.

Why: a first try should take seconds. One seed of finetune on split digits, `recollect run` with one worker, this tree
and another one in turns; user and system time of all its processes, the median of the rounds.

    git worktree add ../before 81144b9
    python benchmarks/tiny_run.py ../before            # writes benchmarks/results/tiny_run.md
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).parent / "results" / "tiny_run.md"
EXPERIMENT = "{name: tiny, streams: [{name: digits, tasks: 5}], learners: [finetune], seeds: 1}"


def seconds(tree: Path, *command: str) -> float:
    """Processor time of a command and all that it started and waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, *command], env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="another tree")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    spent: dict[str, list[float]] = {"before": [], "now": [], "import torch": []}
    for _ in range(chosen.rounds):
        for name, tree in (("before", chosen.before.resolve()), ("now", HERE)):
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "tiny.yaml").write_text(EXPERIMENT)
                words = ("-m", "recollect", "run", f"{folder}/tiny.yaml", "-o", f"{folder}/out", "-w", "1")
                spent[name].append(seconds(tree, *words))
        spent["import torch"].append(seconds(HERE, "-c", "import torch"))
        print({name: [round(one, 2) for one in times] for name, times in spent.items()}, flush=True)
    median = {name: statistics.median(times) for name, times in spent.items()}
    lines = [
        "# One tiny run, from the command to its end",
        "",
        f"`python benchmarks/tiny_run.py ../{chosen.before.name} --rounds {chosen.rounds}`; one seed of finetune on"
        f" split digits, one worker; load {os.getloadavg()[1]:.0f}.",
        "",
        "| what | processor seconds, median |",
        "| --- | --- |",
        f"| before | {median['before']:.2f} |",
        f"| now | {median['now']:.2f} ({median['now'] / median['before']:.2f} of before) |",
        f"| `import torch` alone | {median['import torch']:.2f} |",
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
