"""How far R moves on Cora when nothing changes but rounding: why against_begin.py's trained cells differ.

Its task-incremental run has the same R as BeGin's until the last row, where one cell differs by .091. Here one run is
made again with each start weight moved by one part in ten million at random, which is what another order of sums does,
and in a plain loop of torch (products over the list of edges, torch's own Adam), from the same start. Where the spread
of a cell is as wide as that difference, the difference says nothing of either tool.

Command: python benchmarks/begin_drift.py DIR   (DIR holds planetoid_raw; needs recollect[graphs])
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from against_begin import CLASSES, DECAY, HIDDEN, RATE, TASKS, AmongSeen, Normed, Weights, stream_of, trained
from recollect.learners.finetune import Finetune
from recollect.streams import Stream
from training import table

RESULTS = Path(__file__).parent / "results" / "begin_drift.md"
EPOCHS, STARTS, TIMES, PART = 100, 3, 8, 1e-7
SEEN = np.tril_indices(TASKS)


def start_of(seed: int, n_features: int) -> Weights:
    """Start weights as BeGin draws them: normal for the layers, torch's own for the last."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        widths = [n_features, HIDDEN, HIDDEN]
        made: Weights = {}
        for k in range(2):
            made[f"convs.{k}.weight"] = torch.nn.init.xavier_uniform_(torch.empty(widths[k], widths[k + 1])).numpy()
            norm = torch.nn.BatchNorm1d(HIDDEN)
            made |= {f"norms.{k}.{name}": value.numpy() for name, value in norm.state_dict().items()}
        last = torch.nn.Linear(HIDDEN, CLASSES)
        return made | {f"classifier.lin.{name}": value.numpy() for name, value in last.state_dict().items()}


def moved(start: Weights, seed: int) -> Weights:
    """The same weights, each by one part in ten million larger or smaller."""
    rng = np.random.default_rng(seed)
    chosen = {name: value for name, value in start.items() if value.dtype.kind == "f" and "running" not in name}
    signs = {name: rng.choice([-1, 1], value.shape) for name, value in chosen.items()}
    return start | {name: (value * (1 + PART * signs[name])).astype(np.float32) for name, value in chosen.items()}


def plain(stream: Stream, start: Weights, is_task: bool) -> np.ndarray:
    """R of a loop in torch alone: sums over the list of edges, torch's Adam, no code of ours but the split."""
    view = stream.views.training(0)
    looped = (view.adjacency + np.eye(view.adjacency.shape[0], dtype=np.float32)).astype(np.float32)
    source, target = (torch.from_numpy(side) for side in np.nonzero(looped))
    root = torch.from_numpy(1 / np.sqrt(looped.sum(1)))
    weight = (root[source] * root[target])[:, None]
    x = torch.from_numpy(np.asarray(view.features.todense()))
    network = Normed(x.shape[1], stream.n_classes, start)

    def outputs() -> Tensor:
        h = x
        for conv, norm in zip(network.convs, network.norms, strict=True):
            h = h @ conv.weight.t()
            h = torch.relu(norm(torch.zeros_like(h).index_add(0, target, weight * h[source])))
        found: Tensor = network.head(h)
        return found

    R = np.full((TASKS, TASKS), np.nan)
    for k, task in enumerate(stream.tasks):
        optimiser = torch.optim.Adam(network.parameters(), lr=RATE, weight_decay=DECAY)
        ids = torch.from_numpy(stream.data.x_train[task.train])
        y = torch.from_numpy(stream.labels[stream.data.y_train[task.train]])
        low = task.classes[0] if is_task else 0
        for _ in range(EPOCHS):
            loss = F.cross_entropy(outputs()[ids][:, low : task.classes[-1] + 1], y - low)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        network.eval()
        with torch.no_grad():
            table_ = outputs()
        network.train()
        for j, asked in enumerate(stream.tasks):
            test = torch.from_numpy(stream.data.x_test[asked.test])
            truth = torch.from_numpy(stream.labels[stream.data.y_test[asked.test]])
            classes = list(asked.classes) if is_task else list(range(task.classes[-1] + 1))
            R[k, j] = (torch.tensor(classes)[table_[test][:, classes].argmax(1)] == truth).double().mean()
    return R


def _write(lines: list[tuple[str, ...]]) -> None:
    head = ("Cora", "start", "spread of a cell, largest in row 1, 2, 3", "AP", "plain loop - ours, largest cell")
    text = [
        "# What rounding does to R on Cora",
        "`python benchmarks/begin_drift.py DIR`",
        f"BeGin's network and settings as in `against_begin.md`; {TIMES + 1} runs from each of {STARTS} starts, equal"
        " but for one part in ten million of each start weight; and a plain loop of torch from the same start.",
        table(lines, *head),
    ]
    RESULTS.write_text("\n\n".join(text) + "\n", encoding="utf-8")


def main(data: Path) -> None:
    """Measure and write the table."""
    torch.set_num_threads(1)
    lines = []
    for scenario in ("task", "class"):
        stream = stream_of(scenario, data, EPOCHS)
        kind = AmongSeen if scenario == "class" else Finetune
        for seed in range(STARTS):
            start = start_of(seed, stream.input_shape[0])
            with tempfile.TemporaryDirectory() as place:
                runs = [start, *(moved(start, k) for k in range(TIMES))]
                found = [trained(kind, stream, one, Path(place) / str(k))[0].R for k, one in enumerate(runs)]
            R = np.array(found)
            spread = np.ptp(R, axis=0)
            by_plain = np.abs(plain(stream, start, scenario == "task") - R[0])
            ap = R[:, -1].mean(1)
            each = ", ".join(f"{spread[k][: k + 1].max():.3f}" for k in range(TASKS))
            lines.append(
                (scenario, str(seed), each, f"{ap.min():.3f} to {ap.max():.3f}", f"{by_plain[SEEN].max():.3f}")
            )
            print(*lines[-1], flush=True)
            _write(lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
