"""One epoch of a two-layer GCN, forward, backward and Adam: PyG's two ways, the best plain loop, and the protocol.

Why: a toolkit that is slower than the loop that people have is not used. CPU seconds of one thread, the best of some
repeats, each form in a process of its own; the highest memory of that process beside it. The best plain loop has the
adjacency as a CSR matrix with a backward pass of its own, and sparse features where under 10 % are not zero. Ours is
what `recollect run` does: two runs of the protocol of different length, the difference of their times over that of
their epochs. Memory of whole runs: graphs_memory.py.

Exits with 1 if an epoch of the protocol takes more than 1.1 times the best plain loop.

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
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
FORMS = {
    "edges": "PyG on edge_index",
    "matrix": "PyG's layers on a torch CSR matrix",
    "best": "the best plain loop",
    "ours": "ours, by the protocol",
}
RESULTS = Path(__file__).parent / "results" / "graphs_speed.md"
HIDDEN = 64
GOAL = 1.1
MORE_EPOCHS = 4
SMALL = 10_000


def plain_epoch(stream: Any) -> Callable[[], Any]:
    """The loop without a library: scipy normalises, torch multiplies."""
    import numpy as np
    import torch
    from scipy import sparse

    def tensor(matrix: Any) -> Any:
        parts = (torch.from_numpy(part.astype(np.int32)) for part in (matrix.indptr, matrix.indices))
        return torch.sparse_csr_tensor(*parts, torch.from_numpy(matrix.data.astype(np.float32)), matrix.shape)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, there: Any, back: Any, x: Any) -> Any:
            ctx.back = back
            return there @ x

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return None, None, ctx.back @ gradient

    view, batch = stream.views.training(0), next(stream.batches(0))
    loops = (view.adjacency + sparse.eye_array(len(view.nodes), format="csr")).tocsr()
    root = sparse.diags_array(1 / np.sqrt(loops.sum(1)))
    edges = tensor((root @ loops @ root).tocsr())
    table = view.features
    if sparse.issparse(table):
        there, back = tensor(table), tensor(table.T.tocsr())
        first = lambda weight: Product.apply(there, back, weight)  # noqa: E731
    else:
        dense = torch.from_numpy(table)
        first = lambda weight: dense @ weight  # noqa: E731
    sizes = (table.shape[1], HIDDEN, stream.n_classes)
    weights = [torch.nn.init.xavier_uniform_(torch.empty(a, b)).requires_grad_() for a, b in pairwise(sizes)]
    biases = [torch.zeros(n, requires_grad=True) for n in sizes[1:]]
    optimiser = torch.optim.Adam([*weights, *biases], lr=0.01)
    places, y = torch.from_numpy(view.places(batch.x)), torch.from_numpy(batch.y)

    def epoch() -> None:
        optimiser.zero_grad()
        hidden = torch.relu(Product.apply(edges, edges, first(weights[0])) + biases[0])
        out = Product.apply(edges, edges, hidden @ weights[1]) + biases[1]
        torch.nn.functional.cross_entropy(out[places], y).backward()
        optimiser.step()

    return epoch


def pyg_epoch(form: str, stream: Any) -> Callable[[], Any]:
    """PyG's layers, on the list of edges or on a CSR matrix that is normalised once."""
    import torch
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


def by_protocol(name: str, data: str | None, epochs: int) -> float:
    """CPU seconds of two tasks with every evaluation, the stream made before."""
    from recollect.learners import Setting, make_learner
    from recollect.protocol import iter_protocol
    from recollect.runs.seeds import derive
    from recollect.streams import make_stream

    stream = make_stream(name, data=data, tasks=2, passes=epochs)
    options = {"lr": 0.01, "optimizer": "adam", "hidden": [HIDDEN]}
    learner = make_learner("finetune", options, Setting.of(stream), derive(0), "cpu")
    began = time.process_time()
    for _ in iter_protocol(learner, stream, seed=0):
        pass
    return time.process_time() - began


def epoch_seconds(form: str, name: str, data: str | None, repeats: int) -> float:
    """The best of some repeats, each the mean over epochs."""
    from recollect.streams import make_stream

    stream = make_stream(name, data=data, tasks=2)
    epochs = MORE_EPOCHS if len(stream.views.training(0).nodes) > SMALL else 25 * MORE_EPOCHS
    if form == "ours":
        few, many = (min(by_protocol(name, data, n) for _ in range(repeats)) for n in (1, 1 + epochs))
        return (many - few) / (2 * epochs)
    epoch = plain_epoch(stream) if form == "best" else pyg_epoch(form, stream)
    epoch()
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        for _ in range(epochs):
            epoch()
        best = min(best, (time.process_time() - began) / epochs)
    return best


def measure(form: str, name: str, data: str | None, repeats: int) -> None:
    """Print CPU seconds of one epoch, and the highest memory in megabytes."""
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(epoch_seconds(form, name, data, repeats), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def apart(form: str, name: str, chosen: argparse.Namespace) -> tuple[float, int]:
    """The same in a process of its own."""
    call = [sys.executable, __file__, "--only", form, name, "--repeats", str(chosen.repeats)]
    call += ["--data", chosen.data] if chosen.data else []
    seconds, memory = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-2:]
    return float(seconds), int(memory)


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
    lines = ["| graph | form | seconds | over PyG's | over the best plain loop | MB |", "|---|---|---|---|---|---|"]
    broken = []
    for name in chosen.streams:
        found = {form: apart(form, name, chosen) for form in FORMS}
        for form, (seconds, memory) in found.items():
            first, best = (seconds / found[other][0] for other in ("edges", "best"))
            lines.append(f"| {name} | {FORMS[form]} | {seconds:.4f} | {first:.2f} | {best:.2f} | {memory} |")
            print(lines[-1], flush=True)
        if best > GOAL:
            broken.append(f"- BROKEN: {name}: {best:.2f} times the best plain loop, above {GOAL}")
    said = f"--streams {' '.join(chosen.streams)}{' --data DIR' * bool(chosen.data)} --repeats {chosen.repeats}"
    text = f"# One epoch of a two-layer GCN\n\n`python benchmarks/graphs_speed.py {said}`; CPU seconds of one thread."
    text += "\n\n" + "\n".join(lines) + "\n\n"
    RESULTS.write_text(text + ("\n".join(broken) or "No bound is broken.") + "\n", encoding="utf-8")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
