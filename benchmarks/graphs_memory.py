"""Memory of a run on a generated graph of 170,000 nodes and 2.4 million edges, full batch and sampled.

Why: a graph of the size of ogbn-arxiv must fit beside everything else on a laptop, and more tasks must not take more
memory. 128 features and 256 hidden units, as its published baselines have. Each run is a process of its own; its memory
is read from the kernel every 20 ms while it learns and is evaluated after every task.

Command: python benchmarks/graphs_memory.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
RESULTS = Path(__file__).parent / "results" / "graphs_memory.md"
NODES, CLASSES, HIDDEN, STEPS = 170_000, 16, 256, 2
CASES = [
    (mode, tasks, visibility)
    for mode, tasks, visibility in (
        ("full batch", 2, "whole"),
        ("full batch", 8, "whole"),
        ("full batch", 16, "whole"),
        ("full batch", 8, "seen"),
        ("sampled, 10 and 10", 2, "whole"),
        ("sampled, 10 and 10", 8, "whole"),
        ("sampled, 10 and 10", 16, "whole"),
        ("sampled, 10 and 10", 8, "seen"),
    )
]
GOALS = {"full batch": 2.0, "sampled, 10 and 10": 1.5}


class Highest:
    """The highest memory of this process since it was made, in GB."""

    def __init__(self) -> None:
        self.value, self._page = 0.0, os.sysconf("SC_PAGE_SIZE") / 2**30
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            resident = int(Path("/proc/self/statm").read_text().split()[1])
            self.value = max(self.value, resident * self._page)
            time.sleep(0.02)


def one(mode: str, tasks: int, visibility: str) -> dict[str, float]:
    """Memory and time of one run."""
    import numpy as np
    import torch

    from recollect.learners import Setting, make_learner
    from recollect.protocol import iter_protocol
    from recollect.runs.seeds import derive
    from recollect.streams import Spec
    from recollect.streams.graphs.blocks import block_graph
    from recollect.streams.graphs.graph import checked
    from recollect.streams.graphs.nodes import node_stream
    from recollect.streams.graphs.spec import GraphSpec

    torch.set_num_threads(1)
    highest = Highest()
    raw = block_graph(f"sbm:{NODES}:{CLASSES}")
    graph = checked(replace(raw, features=np.tile(raw.features, 4)))
    del raw
    is_full = mode == "full batch"
    spec = {"tasks": tasks, "class_order": "natural", "passes": STEPS if is_full else 1, "batch": 1024}
    stream = node_stream(graph, Spec.of(spec), GraphSpec(visibility=visibility), whole_batches=is_full)
    options = {"lr": 0.01, "optimizer": "adam", "hidden": [HIDDEN], "neighbours": None if is_full else (10, 10)}
    learner = make_learner("finetune", options, Setting.of(stream), derive(0), "cpu")
    began = time.process_time()
    for _ in iter_protocol(learner, stream, seed=0):
        pass
    return {"GB": highest.value, "seconds": time.process_time() - began, "edges": graph.adjacency.nnz}


def main() -> None:
    """Every case in a process of its own, and the table."""
    if len(sys.argv) == 4:
        print(json.dumps(one(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
        return
    lines = [
        "# Memory on a graph of 170,000 nodes",
        "",
        "`python benchmarks/graphs_memory.py`; a 2-layer GCN, 128 features, 256 hidden units, 2.4 million edges.",
        "The highest memory of the whole process (Python and torch alone: about 0.4 GB), evaluations included.",
        "",
        "| training | tasks | visibility | highest memory, GB | goal | CPU seconds |",
        "|---|---|---|---|---|---|",
    ]
    for mode, tasks, visibility in CASES:
        made = subprocess.run(
            [sys.executable, __file__, mode, str(tasks), visibility], capture_output=True, text=True, check=True
        )
        found = json.loads(made.stdout.splitlines()[-1])
        lines.append(
            f"| {mode} | {tasks} | {visibility} | {found['GB']:.2f} | {GOALS[mode]} | {found['seconds']:.0f} |"
        )
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
