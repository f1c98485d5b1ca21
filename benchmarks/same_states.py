"""Learners before and after a change: the digest of each one's whole state, and its scores, after every row.

    python benchmarks/same_states.py write states.json    # with the tree as it was
    python benchmarks/same_states.py compare states.json  # with the tree as it is

A digest is one of every weight, memory and generator, so two that agree are the same learner bit for bit. Bits differ
between machines and versions of torch: both trees are run on one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from recollect.learners import LEARNERS, Setting, make_learner
from recollect.protocol import checkpoint
from recollect.runs.seeds import derive
from recollect.streams import Stream, make_stream, stream_from_arrays, stream_from_concepts

QUICK = {"epochs": 2, "memory": 60, "samples": 12}
NETWORKS = ("autoencoder", {"vae": {"standardise": True, "epochs": 2}})
STEPS: dict[str, dict[str, Any]] = {
    "plain": {},
    "adam": {"optimizer": "adam", "lr": 0.01, "iterations": 2},
    "momentum": {"momentum": 0.9, "weight_decay": 0.001, "lr": 0.05},
}


def images() -> Stream:
    """Small colour images in two tasks, each seen twice."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 6)
    x = rng.integers(0, 200, (24, 3, 16, 16), dtype=np.uint8)
    return stream_from_arrays(x, y, x, y, name="blobs", tasks=2, passes=2, batch=6)


def sensors() -> Stream:
    """Three concepts, the first of which comes again."""
    rng = np.random.default_rng(0)
    parts = [
        (f"c{k}", rng.normal(3 * k, 1 + k, (60, 4)), rng.normal(3 * k, 2 + k, (20, 4)), [0, 1] * 10) for k in range(3)
    ]
    return stream_from_concepts(parts, scenario="concept-aware", visits=["c0", "c1", "c0", "c2"], batch=32)


def cases() -> dict[str, tuple[str, dict[str, Any], Stream]]:
    """Every learner with a few sets of options, on a stream of its problem."""
    digits = make_stream("digits", tasks=5)
    known = make_stream("digits", tasks=5, scenario="task-incremental")
    coloured = images()
    concepts = sensors()
    found: dict[str, tuple[str, dict[str, Any], Stream]] = {}
    for card in LEARNERS.values():
        if "arrays" not in getattr(card, "samples", ("arrays",)):
            continue
        quick = {key: value for key, value in QUICK.items() if key in card.defaults}
        if "detection" in card.problems:
            for detector in NETWORKS if card.name.endswith("_detector") else ("ECOD", *NETWORKS):
                found[f"{card.name} {detector}"] = card.name, {**quick, "detector": detector}, concepts
            continue
        for label, steps in STEPS.items():
            if all(name in card.defaults for name in steps) and not getattr(card, "needs_task", False):
                found[f"{card.name} {label}"] = card.name, {**quick, **steps}, digits
        found[f"{card.name} task given"] = card.name, quick, known
        if not getattr(card, "needs_task", False):
            found[f"{card.name} images"] = card.name, quick, coloured
    return found


def states(name: str, config: dict[str, Any], stream: Stream) -> list[str]:
    """The digests of state and scores after every section of the stream."""
    learner = make_learner(name, config, Setting.of(stream), derive(3), device="cpu")
    x = stream.data.x_test[::7]
    task = np.zeros(len(x), np.int64)
    found = []
    for batch in stream.batches(1):
        learner.learn(batch)
        if batch.ends is None:
            continue
        if stream.gives_boundaries:
            learner.end_task()
        scores = hashlib.sha256(np.ascontiguousarray(learner.score(x, task)).tobytes()).hexdigest()
        found.append(f"{checkpoint.digest(learner.state())[:16]} {scores[:16]}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    found = {label: states(*case) for label, case in cases().items()}
    if chosen.what == "write":
        chosen.file.write_text(json.dumps(found, indent=1))
        return
    before = json.loads(chosen.file.read_text())
    differ = [label for label in found if label in before and before[label] != found[label]]
    shared = sum(label in before for label in found)
    print(f"{shared} cases in both, {len(found) - shared} new, {len(differ)} differ: {', '.join(differ) or 'none'}")
    raise SystemExit(bool(differ))


if __name__ == "__main__":
    main()
