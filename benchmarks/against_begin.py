"""Continual learning on Cora beside BeGin: the same matrix R from the same weights, and at most half the CPU time.

Why: BeGin's users change only to a tool whose numbers they can trace to BeGin's. Both sides have the public split, the
natural class order with the last class dropped, the whole graph, BeGin's own network (GCN layers without a bias, batch
norms, a linear layer), the same start weights, Adam and epochs. Three things are compared:

- weights: those with which BeGin is tested after each task (its choice by validation loss) are copied into our copy of
  the network and asked by our protocol. R, AP and AF must agree to 1e-6.
- training: both train from BeGin's start weights, the last epoch's are tested. BeGin's loss is among the classes seen
  so far, and so it is here; our finetune's is among all classes of the stream, and its AP stands beside. Sums are
  rounded in another order, so that R is near, not equal.
- time: CPU seconds of whole runs of one thread, in turns, a warm-up round left out, per task. BeGin also passes the
  graph for the validation loss in every epoch; ours writes the record to disk.

Exits with 1 if a cell differs by more than 1e-6 with the same weights, or ours takes more than half the time.

    python benchmarks/against_begin.py --env DIR --checkout DIR --data DIR   # BeGin's environment and code, the graphs
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import recollect as rc
from against_pyclad import Peer
from recollect.learners import Setting
from recollect.learners.base import Array
from recollect.learners.finetune import Finetune
from recollect.learners.graphs.inputs import Seen
from recollect.learners.graphs.networks import linear
from recollect.learners.graphs.products import Surroundings
from recollect.learners.options import Train
from recollect.protocol import run_protocol
from recollect.runs.seeds import derive
from recollect.streams import Batch, Stream, make_stream
from recollect.streams.graphs.graph import with_row_sums_of_one
from recollect.streams.graphs.named import load_graph
from training import table

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "against_begin.md"
TASKS, CLASSES, HIDDEN, LAYERS, RATE, DECAY = 3, 7, 64, 2, 0.01, 5e-4
TOLERANCE = 1e-6
GOAL = 0.5
Weights = dict[str, NDArray[Any]]


class Normed(nn.Module):
    """BeGin's network for nodes: GCN layers without a bias, each with a batch norm and a rectifier; a linear layer."""

    def __init__(self, n_features: int, n_outputs: int, weights: Weights) -> None:
        super().__init__()
        widths = [n_features] + [HIDDEN] * LAYERS
        self.convs = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm1d(HIDDEN) for _ in range(LAYERS))
        self.head = nn.Linear(HIDDEN, n_outputs)
        self.take(weights)

    def take(self, weights: Weights) -> None:
        """Become BeGin's network with these weights, less the outputs of dropped classes."""
        own = {}
        for name, value in weights.items():
            tensor = torch.from_numpy(np.asarray(value))
            if name.startswith("convs"):
                tensor = tensor.t()
            elif name.startswith("classifier"):
                name, tensor = name.replace("classifier.lin", "head"), tensor[: self.head.out_features]
            own[name] = tensor
        self.load_state_dict(own)

    def features(self, graph: Surroundings) -> Tensor:
        """What the last layer sees, of every node."""
        x: Any = graph.features
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = torch.relu(norm(graph.normalised @ linear(x, conv.weight)))
        return x

    def encode(self, graph: Surroundings) -> Tensor:
        """The outputs of every node."""
        out: Tensor = self.head(self.features(graph))
        return out

    def decode(self, table: Tensor, places: Tensor) -> Tensor:
        """The outputs of the samples."""
        return table[places]

    def forward(self, seen: Seen) -> Tensor:
        """The outputs of the samples."""
        return self.decode(self.encode(seen.graph), seen.places)


class AmongSeen(Finetune):
    """The loss of a class-incremental stream among the classes seen so far: those of rising labels."""

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Outputs of later classes have no part in it."""
        return super().loss(outputs[:, : int(y.max()) + 1], y)


class Copied(Finetune):
    """Learns nothing; after each task it takes the weights that it was given for it."""

    weights: list[Weights]

    def train_on(self, batch: Batch) -> None:
        """Nothing."""

    def end_task(self) -> None:
        """The next weights."""
        super().end_task()
        self.network.take(self.weights.pop(0))  # type: ignore[operator]


def written(data: Path, place: Path) -> str:
    """Cora for the peer, in one file, the features as DGL has them."""
    graph = with_row_sums_of_one(load_graph("cora", data)[0])
    found = graph.adjacency.tocoo()
    masks = {f"{part.replace('valid', 'val')}_mask": np.zeros(graph.n_nodes, bool) for part in graph.split}
    for part, nodes in graph.split.items():
        masks[f"{part.replace('valid', 'val')}_mask"][nodes] = True
    features: Array = graph.features.toarray()  # type: ignore[union-attr]
    edges = {"source": found.row.astype(np.int64), "target": found.col.astype(np.int64)}
    np.savez(place / "cora.npz", feat=features, label=graph.labels, **edges, **masks)
    return str(place / "cora.npz")


def weights_in(file: str) -> list[Weights]:
    """The weights that the peer kept: at the start, and after each task. Counts of batches are no weights."""
    with np.load(file) as held:
        return [
            {name.partition(" ")[2]: held[name] for name in held.files if name.startswith(f"{k} ")}
            for k in range(TASKS + 1)
        ]


def stream_of(scenario: str, data: Path, epochs: int) -> Stream:
    """The same stream here."""
    return make_stream(
        "cora",
        data=data,
        scenario=f"{scenario}-incremental",
        tasks=TASKS,
        class_order="natural",
        features="rows",
        passes=epochs,
    )


def trained(kind: type[Finetune], stream: Stream, start: Weights, folder: Path) -> tuple[rc.ScoreMatrix, float]:
    """R of our own training from these weights, and its CPU time."""
    setting = Setting.of(stream)
    network = Normed(setting.n_features, setting.n_outputs, start)
    began = time.process_time()
    options = Train(network=network, lr=RATE, optimizer="adam", weight_decay=DECAY, fresh=True)
    run = run_protocol(kind(options, setting, derive(0), "cpu"), stream, folder, name="finetune")
    return run.matrix, time.process_time() - began


def copied(stream: Stream, weights: list[Weights], folder: Path) -> rc.ScoreMatrix:
    """R of the peer's weights, asked by our protocol."""
    setting = Setting.of(stream)
    network = Normed(setting.n_features, setting.n_outputs, weights[0])
    learner = Copied(Train(network=network), setting, derive(0), "cpu")
    learner.weights = weights[1:]
    return run_protocol(learner, stream, folder, name="copied").matrix


def difference(theirs: dict[str, Any], ours: rc.ScoreMatrix) -> float:
    """The largest of a cell, of AP and of AF."""
    cells = float(np.abs(np.array(theirs["R"]) - ours.R).max())
    ap, af = (float(rc.score(ours, name)) for name in ("acc.average", "forgetting.first"))
    return max(cells, abs(ap - theirs["AP"]), abs(af - theirs["AF"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, required=True, help="folder of the environment with dgl 1.1.3")
    parser.add_argument("--checkout", type=Path, required=True, help="folder of BeGin's code")
    parser.add_argument("--data", type=Path, required=True, help="folder with planetoid_raw")
    parser.add_argument("--rounds", type=int, default=4, help="the first is a warm-up (default 4)")
    parser.add_argument("--epochs", type=int, default=100)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    peer = Peer(chosen.env / "bin" / "python", chosen.checkout, "against_begin_worker.py")
    lines, broken, details = [], [], []
    with tempfile.TemporaryDirectory() as place:
        base = {"file": written(chosen.data, Path(place)), "tasks": TASKS, "classes": CLASSES, "hidden": HIDDEN}
        base |= {"layers": LAYERS, "lr": RATE, "weight_decay": DECAY, "epochs": chosen.epochs, "seed": 0}
        for scenario in ("class", "task"):
            stream = stream_of(scenario, chosen.data, chosen.epochs)
            job = base | {"scenario": scenario, "weights": f"{place}/weights.npz"}
            theirs = peer.run(job | {"select": True})
            exact = difference(theirs, copied(stream, weights_in(job["weights"]), Path(place) / f"{scenario}-copied"))
            times = []
            for number in range(chosen.rounds):
                last = peer.run(job | {"select": False})
                start = weights_in(job["weights"])[0]
                own = AmongSeen if scenario == "class" else Finetune
                matrix, seconds = trained(own, stream, start, Path(place) / f"{scenario}-{number}")
                times.append((seconds / TASKS, last["seconds"] / TASKS))
            share = median(ours / other for ours, other in times[1:])
            plain, _ = trained(Finetune, stream, start, Path(place) / f"{scenario}-finetune")
            per_task = [median(side) for side in zip(*times[1:], strict=True)]
            lines.append(
                (
                    scenario,
                    f"{exact:.1e}",
                    f"{last['AP']:.4f}",
                    f"{float(rc.score(matrix, 'acc.average')):.4f}",
                    f"{float(rc.score(plain, 'acc.average')):.4f}",
                    f"{np.abs(np.array(last['R']) - matrix.R).max():.3f}",
                    *(f"{seconds:.2f}" for seconds in reversed(per_task)),
                    f"{share:.2f}",
                )
            )
            details.append(f"{scenario}: theirs {_printed(last['R'])}, ours {_printed(matrix.R.tolist())}.")
            print(*lines[-1], flush=True)
            if not exact <= TOLERANCE:
                broken.append(f"{scenario}: a difference of {exact:.1e} with the same weights, above {TOLERANCE:g}")
            if share > GOAL:
                broken.append(f"{scenario}: ours takes {share:.2f} of BeGin's CPU time, above {GOAL:g}")
    _write(chosen, peer, lines, details, broken)
    if broken:
        sys.exit(1)


def _write(
    chosen: argparse.Namespace, peer: Peer, lines: list[tuple[str, ...]], details: list[str], broken: list[str]
) -> None:
    asked = ["git", "-C", str(chosen.checkout), "rev-parse", "--short=7", "HEAD"]
    revision = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "no git revision"
    versions = ", ".join(f"{name} {version}" for name, version in peer.versions.items())
    head = (
        "Cora",
        "same weights: largest difference of R, AP, AF",
        "trained: AP, BeGin",
        "AP, ours with BeGin's loss",
        "AP, our finetune",
        "largest difference of R",
        "s per task, BeGin",
        "s per task, ours",
        "ours / BeGin",
    )
    text = "\n\n".join(
        [
            "# Cora beside BeGin",
            f"`python benchmarks/against_begin.py --env DIR --checkout DIR --data DIR --rounds {chosen.rounds}"
            f" --epochs {chosen.epochs}`; BeGin {revision}, {versions}; Python {platform.python_version()}, torch"
            f" {torch.__version__} here.",
            f"{TASKS} tasks of 2 classes, BeGin's network with {LAYERS} layers of {HIDDEN}, Adam {RATE}, weight decay"
            f" {DECAY}, {chosen.epochs} epochs for each task. CPU seconds of one thread, in turns, medians.",
            table(lines, *head),
            "R after training on both sides, rows = time: " + " ".join(details),
            "\n".join(f"- BROKEN: {fault}" for fault in broken) or "No bound is broken.",
        ]
    )
    print(text)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def _printed(R: list[list[float]]) -> str:
    return "[" + ", ".join("[" + ", ".join(f"{cell:.3f}" for cell in row) + "]" for row in R) + "]"


if __name__ == "__main__":
    main()
