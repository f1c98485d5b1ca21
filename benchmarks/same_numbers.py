"""Does every committed run still give the same numbers? All metrics of all runs in `results/`, before and after.

For each run: every registered metric (its value, its curve, the reason where it has none) on the scores, on the answers
among a task's own classes where the record has them, on each further target that the record has, and once more with
the joint learner's run attached. Beside them the fingerprint of the stream, its family, the role and the problem.

    python benchmarks/same_numbers.py before.json                             # write the numbers
    python benchmarks/same_numbers.py after.json --compare before.json        # say what differs by more than 1e-12

Exits with 1 if anything differs. A metric that is new is named and is no difference.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from recollect.errors import RecollectError
from recollect.matrix import ScoreMatrix
from recollect.metrics import evaluate, registry
from recollect.runs import Run, attach_joint, load

ROOT = Path(__file__).parent.parent / "results"
TOLERANCE = 1e-12
TARGETS = ("roc_auc", "average_precision", "f1")
Facts = dict[str, dict[str, Any]]


def matrices(run: Run) -> Iterator[tuple[str, ScoreMatrix]]:
    """The matrices of a run by what they hold."""
    yield run.metric, run.matrix
    if any(row.masked for row in run.rows):
        yield "masked", run.masked_matrix
    for target in TARGETS:
        try:
            other = run.with_metric(target)
        except RecollectError:
            continue
        if other is not run:
            yield target, other.matrix


def numbers(matrix: ScoreMatrix) -> Facts:
    """Value, curve and reason of every metric on a matrix."""
    found = {}
    for id in registry.all_ids():
        outcome = evaluate(matrix, registry.get(id), curve=True)
        curve = [] if outcome.curve is None else np.asarray(outcome.curve).ravel().tolist()
        found[id] = {"value": float(outcome.value), "curve": curve, "reason": outcome.reason}
    return found


def gather(root: Path) -> dict[str, Any]:
    """The numbers of all runs below the folder."""
    found: dict[str, Any] = {}
    for experiment in sorted({header.relative_to(root).parts[0] for header in root.rglob("run.json")}):
        runs = load(root / experiment)
        for run in runs:
            name = f"{experiment}/{run.path.name if run.path else run.name}"
            facts = {"fingerprint": run.fingerprint, "family": run.family, "role": run.role, "problem": run.problem}
            found[name] = {"facts": facts, **{what: numbers(matrix) for what, matrix in matrices(run)}}
        for run in attach_joint(runs):
            if run.joint_run is not None:
                name = f"{experiment}/{run.path.name if run.path else run.name}"
                found[name]["with joint"] = numbers(run.matrix)
    return found


def differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Where two trees of numbers differ, in words."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() & after.keys():
            yield from differences(before[key], after[key], f"{place} > {key}" if place else key)
        for key in before.keys() ^ after.keys():
            if key not in registry.all_ids():
                yield f"{place} > {key}: only {'before' if key in before else 'after'}"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for k, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{place}[{k}]")
    elif isinstance(before, float) and isinstance(after, float):
        same = (math.isnan(before) and math.isnan(after)) or abs(before - after) <= TOLERANCE
        if not same:
            yield f"{place}: {before!r} before, {after!r} after"
    elif before != after:
        yield f"{place}: {before!r} before, {after!r} after"


def metric_ids(tree: dict[str, Any]) -> set[str]:
    """The metrics that occur in a file."""
    return {id for run in tree.values() for what, held in run.items() if what != "facts" for id in held}


def main() -> None:
    """Write the numbers, and compare them if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--compare", type=Path, metavar="OLD.json")
    parser.add_argument("--root", type=Path, default=ROOT)
    given = parser.parse_args()
    after = gather(given.root)
    given.out.write_text(json.dumps(after, separators=(",", ":")))
    count = sum(len(held) for run in after.values() for what, held in run.items() if what != "facts")
    print(f"{len(after)} runs, {count} values and curves, in {given.out}")
    if given.compare is None:
        return
    before = json.loads(given.compare.read_text())
    if names := metric_ids(after) - metric_ids(before):
        print(f"new metrics: {', '.join(sorted(names))}")
    found = list(differences(before, after))
    print("\n".join(sorted(found)[:200]))
    print(f"{len(found)} differences above {TOLERANCE:g}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
