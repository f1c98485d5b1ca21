"""One epoch of a two-layer GCN, forward, backward and Adam: PyG on the list of edges, on a sparse matrix, and ours.

Why: a toolkit that is slower than the loop that people have is not used. CPU seconds of one thread, the best of some
repeats, each form in a process of its own; the highest memory of that process beside it. "ours" is a learner fed by
the protocol: one batch of the stream, as `recollect run` feeds it.

Command: python benchmarks/graphs_speed.py --streams cora sbm:169343:40 --data DIR
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
FORMS = {"edges": "PyG on edge_index", "matrix": "PyG's layers on a torch CSR matrix", "ours": "ours, by the protocol"}
RESULTS = Path(__file__).parent / "results" / "graphs_speed.md"
HIDDEN = 64


def epoch_of(form: str, stream: Any) -> Callable[[], Any]:
    """What one epoch of this form is."""
    import torch

    torch.set_num_threads(1)
    if form == "ours":
        from recollect.learners import Setting, make_learner
        from recollect.runs.seeds import derive

        options = {"lr": 0.01, "optimizer": "adam", "hidden": [HIDDEN]}
        learner = make_learner("finetune", options, Setting.of(stream), derive(0), "cpu")
        learner.see(stream.views.training(0))  # type: ignore[attr-defined]
        batch = next(stream.batches(0))
        return lambda: learner.learn(batch)
    from torch_geometric.nn import GCNConv

    from recollect.learners.graphs.products import Surroundings

    view = stream.views.training(0)
    graph = Surroundings.of(view, torch.device("cpu"))
    x, batch = graph.dense_features, next(stream.batches(0))
    edges = graph.edge_index if form == "edges" else graph.normalised.matrix
    kept = {"normalize": form == "edges", "cached": form == "edges"}
    layers = torch.nn.ModuleList([GCNConv(x.shape[1], HIDDEN, **kept), GCNConv(HIDDEN, stream.n_classes, **kept)])
    optimiser = torch.optim.Adam(layers.parameters(), lr=0.01)
    places, y = torch.from_numpy(view.places(batch.x)), torch.from_numpy(batch.y)

    def epoch() -> None:
        optimiser.zero_grad()
        out = layers[1](torch.relu(layers[0](x, edges)), edges)
        torch.nn.functional.cross_entropy(out[places], y).backward()
        optimiser.step()

    return epoch


def measure(form: str, name: str, data: str | None, repeats: int) -> None:
    """Print CPU seconds of one epoch and the highest memory in megabytes."""
    warnings.simplefilter("ignore")
    from recollect.streams import make_stream

    epoch = epoch_of(form, make_stream(name, data=data, tasks=2))
    epoch()
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        epoch()
        best = min(best, time.process_time() - began)
    print(best, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", nargs="+", default=["sbm:169343:40"])
    parser.add_argument("--data")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs=2, metavar=("FORM", "STREAM"))
    chosen = parser.parse_args()
    if chosen.only:
        measure(*chosen.only, chosen.data, chosen.repeats)
        return
    command = (
        f"python benchmarks/graphs_speed.py --streams {' '.join(chosen.streams)}{' --data DIR' * bool(chosen.data)}"
    )
    lines = [
        "# One epoch of a two-layer GCN",
        "",
        f"`{command}`; CPU seconds of one thread, best of {chosen.repeats}.",
        "",
    ]
    lines += ["| graph | form | seconds | over PyG's | MB |", "|---|---|---|---|---|"]
    for name in chosen.streams:
        first = None
        for form, words in FORMS.items():
            call = [sys.executable, __file__, "--only", form, name, "--repeats", str(chosen.repeats)]
            call += ["--data", chosen.data] if chosen.data else []
            seconds, memory = subprocess.run(call, check=True, capture_output=True, text=True).stdout.split()[-2:]
            first = first or float(seconds)
            lines.append(f"| {name} | {words} | {float(seconds):.4f} | {float(seconds) / first:.2f} | {memory} |")
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
