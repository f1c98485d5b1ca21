"""Cora by a plain loop of PyG beside the protocol: finetune from the same start weights, and joint training.

Why: a stranger can read a loop of forty lines, and check with it what a toolkit says. Two GCN layers (64 hidden), Adam
.01, weight decay 5e-4, 100 epochs for each task, a new optimiser for each, public split, natural class order, the last
class dropped, features divided by their sum, the whole graph. Finetune starts on both sides from the weights that our
learner has for this seed: R may differ by rounding alone. Joint starts from PyG's own weights; its AP stands beside
that of the committed runs in `results/graphs-cora`.

Exits with 1 if finetune's R differs by more than .03 in a cell, or the mean AP of joint by more than .02.

    python benchmarks/against_pyg.py --data DIR      # DIR holds planetoid_raw
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F
from torch_geometric.nn import GCNConv

from recollect.learners import Setting, make_learner
from recollect.protocol import iter_protocol
from recollect.runs import load
from recollect.runs.seeds import derive
from recollect.streams import make_stream
from recollect.streams.graphs.graph import with_row_sums_of_one
from recollect.streams.graphs.named import load_graph
from training import table

RESULTS = Path(__file__).parent / "results" / "against_pyg.md"
RECORDS = Path(__file__).parent.parent / "results" / "graphs-cora"
TASKS, EPOCHS = 3, 100
CELL, MEAN = 0.03, 0.02


class Plain:
    """The loop that people write: no part of ours but the file reader."""

    def __init__(self, data: Path) -> None:
        graph = with_row_sums_of_one(load_graph("cora", data)[0])
        found = graph.adjacency.tocoo()
        self.edges = torch.from_numpy(np.stack([found.row, found.col]).astype(np.int64))
        self.x = torch.from_numpy(graph.features.toarray())  # type: ignore[union-attr]
        self.y = torch.from_numpy(graph.labels)
        self.parts = {part: torch.from_numpy(nodes) for part, nodes in graph.split.items()}
        self.layers = torch.nn.ModuleList([GCNConv(1433, 64), GCNConv(64, 6)])

    def restart(self, start: dict[str, Any] | None) -> None:
        for layer in self.layers:
            layer.reset_parameters()
        if start is not None:
            self.layers.load_state_dict(start)

    def out(self) -> torch.Tensor:
        first, last = self.layers
        out: torch.Tensor = last(torch.relu(first(self.x, self.edges)), self.edges)
        return out

    def nodes(self, part: str, low: int, high: int) -> torch.Tensor:
        nodes = self.parts[part]
        return nodes[(self.y[nodes] >= low) & (self.y[nodes] < high)]

    def train(self, tasks: list[int], scenario: str) -> None:
        optimiser = torch.optim.Adam(self.layers.parameters(), lr=0.01, weight_decay=5e-4)
        mine = torch.cat([self.nodes("train", 2 * t, 2 * t + 2) for t in tasks])
        for _ in range(EPOCHS):
            optimiser.zero_grad()
            out = self.out()[mine]
            if scenario == "task":  # among the classes of the sample's task
                other = torch.arange(6)[None] // 2 != self.y[mine, None] // 2
                out = out.masked_fill(other, -torch.inf)
            F.cross_entropy(out, self.y[mine]).backward()
            optimiser.step()

    def row(self, after: int, scenario: str) -> list[float]:
        with torch.no_grad():
            out = self.out()
        row = []
        for task in range(TASKS):
            nodes = self.nodes("test", 2 * task, 2 * task + 2)
            low, high = (2 * task, 2 * task + 2) if scenario == "task" else (0, 2 * after + 2)
            row.append(float((out[nodes, low:high].argmax(1) + low == self.y[nodes]).float().mean()))
        return row


def ours(scenario: str, seed: int, data: Path) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """The start weights of our learner, and its R."""
    options = {"scenario": f"{scenario}-incremental", "tasks": TASKS, "class_order": "natural", "features": "rows"}
    stream = make_stream("cora", data=data, passes=EPOCHS, **options)
    learner: Any = make_learner(
        "finetune",
        {"lr": 0.01, "optimizer": "adam", "weight_decay": 5e-4, "fresh": True},
        Setting.of(stream),
        derive(seed),
        "cpu",
    )
    start = {name: value.clone() for name, value in learner.network.layers.state_dict().items()}
    rows = [row for row in iter_protocol(learner, stream, seed=seed) if row.after >= 0]
    return start, np.array([[c / n for c, n in zip(row.correct or (), row.n or (), strict=True)] for row in rows])


def recorded(scenario: str) -> float:
    """Mean AP of joint training in the committed runs."""
    runs = [
        run for run in load(RECORDS) if run.learner == "joint_incremental" and run.stream == f"cora-{scenario}-whole"
    ]
    return float(np.mean([run.matrix.R[-1].mean() for run in runs]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    plain, lines, broken = Plain(chosen.data), [], []
    for scenario in ("class", "task"):
        gaps, ends, joint = [], [], []
        for seed in range(chosen.seeds):
            start, R = ours(scenario, seed, chosen.data)
            plain.restart(start)
            rows = []
            for task in range(TASKS):
                plain.train([task], scenario)
                rows.append(plain.row(task, scenario))
            gaps.append(float(np.abs(np.array(rows) - R).max()))
            ends.append((np.mean(rows[-1]), R[-1].mean()))
            torch.manual_seed(seed)
            plain.restart(None)
            plain.train(list(range(TASKS)), scenario)
            joint.append(np.mean(plain.row(TASKS - 1, scenario)))
        theirs, own = np.mean(ends, 0)
        lines.append((scenario, "finetune", f"{theirs:.4f}", f"{own:.4f}", f"{max(gaps):.4f}"))
        held = recorded(scenario)
        lines.append((scenario, "joint", f"{np.mean(joint):.4f}", f"{held:.4f}", ""))
        print(*lines[-2:], flush=True)
        if max(gaps) > CELL:
            broken.append(f"- BROKEN: {scenario}: finetune's R differs by {max(gaps):.3f}, above {CELL}")
        if abs(held - np.mean(joint)) > MEAN:
            broken.append(f"- BROKEN: {scenario}: joint's AP differs by more than {MEAN}")
    text = "\n\n".join(
        [
            "# Cora by a plain loop of PyG",
            f"`python benchmarks/against_pyg.py --data DIR --seeds {chosen.seeds}`; means over seeds; the whole graph.",
            table(lines, "scenario", "learner", "AP, plain loop", "AP, ours", "largest difference of a cell of R"),
            "\n".join(broken) or "No bound is broken.",
        ]
    )
    RESULTS.write_text(text + "\n", encoding="utf-8")
    print(text)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
