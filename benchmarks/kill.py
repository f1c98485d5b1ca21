"""Kill runs with -9 at random moments, run them again, and compare with runs that nobody disturbed.

Why: "a killed run ends bit for bit as if nothing had happened" is a claim about weights, buffers, every
random generator and the record, at any moment. Each run below is killed up to ten times: zero to two rows
after it went on, and a random time later, which may be in training, in evaluation, or between a row and its
checkpoint. Then it is left to finish. Its rows.jsonl, which holds every count and the digest of the learner's
whole state after each row, must equal the undisturbed run's byte for byte.

The undisturbed runs are made in fresh interpreters with another hash seed; the killed ones are forks of this
process, which has imported torch and run nothing.

Command: python benchmarks/kill.py --kills 100
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

LEARNERS: dict[str, dict[str, Any]] = {
    "finetune": {},
    "er": {"memory": 100},
    "er_ace": {"memory": 100},
    "derpp": {"memory": 100},
    "agem": {"memory": 100},
    "ewc": {},
    "lwf": {},
    "slda": {},
    "gdumb": {"memory": 50, "epochs": 4},
    "joint_incremental": {"epochs": 1},
}
# On a graph that grows, test nodes hidden: what is seen is no part of a checkpoint, and is the same again.
ON_GRAPHS: dict[str, dict[str, Any]] = {
    "finetune": {"lr": 0.01, "optimizer": "adam"},
    "joint_incremental": {"epochs": 20, "batch": 1000, "optimizer": "adam", "lr": 0.01, "schedule": "constant"},
    "lwf": {"lr": 0.01, "optimizer": "adam"},
    "ewc": {"lr": 0.01, "optimizer": "adam", "samples": 20},
    "mas": {"lr": 0.01, "optimizer": "adam", "samples": 20},
    "er": {"lr": 0.01, "optimizer": "adam", "memory": 30},
    "gem": {"lr": 0.01, "optimizer": "adam", "memory_per_task": 20},
    "er_gnn": {"lr": 0.01, "optimizer": "adam", "budget": 5},
    "twp": {"lr": 0.01, "optimizer": "adam"},
    "agem": {"lr": 0.01, "optimizer": "adam", "memory": 30},
}
RESULTS = Path(__file__).parent / "results" / "kill.md"
GRAPHS = "RECOLLECT_KILL_ON_GRAPHS"


@cache
def the_stream() -> Any:
    from recollect.experiments.grid import build_stream

    if GRAPHS in os.environ:
        grows = {"visibility": "seen", "test_nodes": "hidden"}
        return build_stream("sbm:1000:8", {"tasks": 4, "passes": 30, **grows}, 0, None)
    return build_stream("digits", {"tasks": 5, "batch": 10}, 0, None)


def options_of(learner: str) -> dict[str, Any]:
    """The options of a learner here."""
    return (ON_GRAPHS if GRAPHS in os.environ else LEARNERS)[learner]


def run(learner: str, folder: Path) -> None:
    """The run itself, as a worker of an experiment does it."""
    import torch

    from recollect.learners import Setting, make_learner
    from recollect.protocol import run_protocol
    from recollect.runs.run import Plan
    from recollect.runs.seeds import derive

    torch.set_num_threads(1)
    stream = the_stream()
    made = make_learner(learner, options_of(learner), Setting.of(stream), derive(0))
    run_protocol(made, stream, folder, name=learner, config=options_of(learner), plan=Plan(every=300))


def undisturbed(learner: str, folder: Path) -> float:
    """Run in a fresh interpreter; give the seconds that the run itself took there."""
    code = f"import sys, time; sys.path.insert(0, {str(Path(__file__).parent)!r}); import kill; import torch;"
    code += f" from pathlib import Path; t = time.time(); kill.run({learner!r}, Path({str(folder)!r}));"
    code += " print(time.time() - t)"
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    return float(answer.stdout.split()[-1])


def start(learner: str, folder: Path) -> int:
    """Run in a fork; give its process id."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run(learner, folder)
            code = 0
        finally:
            os._exit(code)
    return child


def rows_in(folder: Path) -> int:
    file = folder / "rows.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def killed(learner: str, folder: Path, rows: int, delay: float) -> bool:
    """Run until so many rows are on disk, kill it `delay` seconds later; False if it had finished before."""
    child, deadline = start(learner, folder), float("inf")
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if status:
                raise SystemExit(f"a run of {learner} failed by itself (status {status})")
            return False
        if deadline == float("inf") and rows_in(folder) >= rows:
            deadline = time.monotonic() + delay
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def disturb(
    learner: str, folder: Path, kills: int, total: int, seconds: float, rng: random.Random
) -> tuple[int, list[int]]:
    """Kill a run up to `kills` times, then let it finish. Gives the kills and the rows on disk at each."""
    rows: list[int] = []
    while len(rows) < kills:
        wanted = min(rows_in(folder) + rng.randrange(3), total - 1)
        if not killed(learner, folder, wanted, rng.uniform(0, 1.5 * seconds / total)):
            return len(rows), rows
        rows.append(rows_in(folder))
    _, status = os.waitpid(start(learner, folder), 0)
    if status:
        raise SystemExit(f"a run of {learner} failed by itself (status {status})")
    return len(rows), rows


def differences(folder: Path, whole: bytes) -> str:
    """What tells the run from an undisturbed one; nothing is the right answer."""
    lines, wanted = (folder / "rows.jsonl").read_bytes().splitlines(), whole.splitlines()
    other = [k for k in range(max(len(lines), len(wanted))) if lines[k : k + 1] != wanted[k : k + 1]]
    # The lock of a process that was killed after its last write is an empty promise; it holds nothing.
    files = sorted({file.name for file in folder.iterdir()} - {"rows.jsonl", "run.json", ".lock"})
    return "; ".join([*(f"row {k} differs" for k in other), *(f"{name} is left" for name in files)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--graphs", action="store_true", help="on a graph that grows")
    parser.add_argument("--results", type=Path)
    chosen = parser.parse_args()
    chosen.results = chosen.results or RESULTS.with_stem("kill_graphs" if chosen.graphs else "kill")
    if chosen.graphs:
        from recollect.learners.graphs.networks import pyg

        os.environ[GRAPHS] = "1"
        pyg()
    learners = ON_GRAPHS if chosen.graphs else LEARNERS
    import torch  # noqa: F401  (forks share it)

    from recollect.learners.registry import make_learner  # noqa: F401

    the_stream()

    rng = random.Random(chosen.seed)
    place = Path(tempfile.mkdtemp())
    table = []
    each = -(-chosen.kills // len(learners))
    try:
        for learner in learners:
            seconds = undisturbed(learner, place / f"{learner}-whole")
            whole = (place / f"{learner}-whole/rows.jsonl").read_bytes()
            total = whole.count(b"\n")
            kills = runs = same = 0
            moments: set[int] = set()
            while kills < each:
                folder = place / f"{learner}-{runs}"
                made, rows = disturb(learner, folder, min(10, each - kills), total, seconds, rng)
                kills, runs = kills + made, runs + 1
                moments.update(rows)
                wrong = differences(folder, whole)
                if not wrong:
                    same += made
                print(f"{learner}: {kills} kills, {same} resumed to the same record {wrong}", flush=True)
            table.append((learner, kills, runs, same, sorted(moments), total))
    finally:
        shutil.rmtree(place)
    write(table, chosen)
    if any(row[1] != row[3] for row in table):
        raise SystemExit("some runs did not end as undisturbed ones")


def write(table: list[tuple[str, int, int, int, list[int], int]], chosen: argparse.Namespace) -> None:
    from recollect.runs.environment import versions

    kills, same = sum(row[1] for row in table), sum(row[3] for row in table)
    used = ", ".join(f"{k} {v}" for k, v in versions(("recollect", "numpy", "torch")).items())
    lines = [
        f"# Killed with -9: {same} of {kills} kills left a run that ended bit for bit the same",
        "",
        f"`python benchmarks/kill.py{chosen.graphs * ' --graphs'} --kills {chosen.kills} --seed {chosen.seed}`;"
        f" {used}.",
        "",
        "A generated graph of 1,000 nodes that grows, test nodes hidden, 4 tasks; rows after every task and every 300"
        if chosen.graphs
        else "Split digits, 5 tasks, rows after every task and every 300",
        "samples. The same means: rows.jsonl (all",
        "counts, and the digest of weights, optimiser, buffers and random generators after every row) is",
        "equal byte for byte to that of an undisturbed run in another interpreter.",
        "",
        "| learner | kills | runs | the same | rows on disk when killed |",
        "|---|---|---|---|---|",
    ]
    for learner, made, runs, right, moments, total in table:
        places = ", ".join(map(str, moments))
        lines.append(f"| {learner} | {made} | {runs} | {right} | {places} (of {total}) |")
    chosen.results.parent.mkdir(exist_ok=True)
    chosen.results.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
