"""What evaluation costs as the number of tasks grows: one data set cut into T tasks, evaluated after every one.

Why: rows, samples and classes are what an evaluation is about; the number of tasks should cost nothing by itself. 1,000
classes, one test and two training samples of each, are cut into T tasks; so every row scores the same samples among the
same classes, and the time of a run should grow as T does. Processor time of training and of evaluation as the record
has them, each T in a process of its own, this tree and another one in turns, the best of the rounds; and whether all
rows of both are equal byte for byte.

    git worktree add ../before 81144b9
    python benchmarks/many_tasks.py ../before          # writes benchmarks/results/many_tasks.md
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).parent / "results" / "many_tasks.md"
CLASSES = 1000
TASKS = (125, 250, 500, 1000)


def run(tasks: int, folder: Path) -> dict[str, float | str]:
    """One run in this process; what its record says."""
    import numpy as np

    from recollect.learners import Setting, make_learner
    from recollect.protocol import run_protocol
    from recollect.runs.reading import read_run
    from recollect.runs.seeds import derive
    from recollect.streams import stream_from_arrays

    rng = np.random.default_rng(0)
    y = np.arange(2 * CLASSES) % CLASSES
    x = rng.normal(size=(len(y), 16)).astype(np.float32)
    stream = stream_from_arrays(x, y, x[:CLASSES], y[:CLASSES], name="many", tasks=tasks)
    learner = make_learner("finetune", {"network": "mlp", "hidden": [32]}, Setting.of(stream), derive(0), "cpu")
    run_protocol(learner, stream, folder, name="finetune")
    timings = read_run(folder).timings
    rows = hashlib.sha256((folder / "rows.jsonl").read_bytes()).hexdigest()
    return {"evaluate": timings["evaluate_cpu_seconds"], "train": timings["train_cpu_seconds"], "rows": rows}


def measured(tree: Path, tasks: int) -> dict[str, float | str]:
    """The same in a process that imports the code of this tree."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
        words = [sys.executable, __file__, "--one", str(tasks), str(Path(folder) / "run")]
        told = subprocess.run(words, env=environment, check=True, capture_output=True, text=True, cwd=folder)
        found: dict[str, float | str] = json.loads(told.stdout.splitlines()[-1])
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, nargs="?", help="another tree")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tasks", type=int, nargs="+", default=TASKS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(run(int(chosen.one[0]), Path(chosen.one[1]))))
        return
    trees = [chosen.before.resolve(), HERE]
    best: dict[tuple[int, int], float] = {}
    train: dict[int, float] = {}
    equal = True
    for _ in range(chosen.rounds):
        for tasks in chosen.tasks:
            found = [measured(tree, tasks) for tree in trees]
            equal &= found[0]["rows"] == found[1]["rows"]
            for k, one in enumerate(found):
                best[k, tasks] = min(best.get((k, tasks), math.inf), float(one["evaluate"]))
            train[tasks] = min(train.get(tasks, math.inf), float(found[1]["train"]))
            print(tasks, found, flush=True)
    write(best, train, equal, f"../{chosen.before.name} --tasks {' '.join(map(str, chosen.tasks))}")


def write(best: dict[tuple[int, int], float], train: dict[int, float], equal: bool, words: str) -> None:
    from recollect.runs.environment import versions

    used = ", ".join(f"{k} {v}" for k, v in versions(("recollect", "numpy", "torch")).items())
    first, last = min(train), max(train)
    growth = [math.log(best[k, last] / best[k, first]) / math.log(last / first) for k in (0, 1)]
    lines = [
        "# Evaluation as the number of tasks grows",
        "",
        f"`python benchmarks/many_tasks.py {words}`; {used}; one thread, load {os.getloadavg()[1]:.0f} at the end.",
        "",
        f"{CLASSES:,} classes and {CLASSES:,} test samples cut into T tasks, an MLP, a row after every task. Processor",
        f"seconds of the run, the best of the rounds. Rows of both trees are {'equal' if equal else 'NOT EQUAL'}"
        " byte for byte.",
        "",
        "| T | evaluation, before | evaluation, now | per row, now (ms) | training, now |",
        "| --- | --- | --- | --- | --- |",
    ]
    for tasks in sorted(train):
        before, now = best[0, tasks], best[1, tasks]
        lines.append(f"| {tasks} | {before:.1f} | {now:.1f} | {now / (tasks + 1) * 1000:.1f} | {train[tasks]:.1f} |")
    lines += ["", f"Growth with T: T^{growth[0]:.2f} before, T^{growth[1]:.2f} now."]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
