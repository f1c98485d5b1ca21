"""The protocol of continual anomaly detection beside pyCLAD: the same matrix R, and not slower.

Why: a second tool is only worth having if its numbers can be trusted to be the same where they mean the same. Both
run the five NSL-KDD concepts of pyCLAD's own example with the same PyOD detectors under the same strategies, in the
three scenarios; batches of the concept-agnostic one do not divide the concepts, and are cut as pyCLAD cuts them
(`cut: visits`). Compared are all cells of R under three scores (ROC-AUC, average precision, F1), pyCLAD's three metrics
with ours under the ids that its code has, and CPU time with three scores and with one in pyCLAD: one thread each, in
turns, a warm-up round left out, a ratio is the median over rounds.

pyCLAD's experts answer 0 for every sample of a concept they have not seen, a ROC-AUC of 0.5 that nobody measured;
ours is NaN there, and those cells are counted apart.

Exits with 1 if a cell or a metric differs by more than 1e-9, if ours takes longer over all jobs, or if pyCLAD with
three scores takes less than 1.3 times our time over all jobs of HBOS, or of ECOD.

    python benchmarks/against_pyclad.py --env DIR --data DIR    # pyCLAD's environment, the folder of the data sets
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

import recollect as rc
from recollect.learners import Setting, make_learner
from recollect.protocol import run_protocol
from recollect.runs.run import Plan, Run
from recollect.runs.seeds import derive
from recollect.streams import Stream, make_stream
from training import table

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "against_pyclad.md"
NAME = "pyclad-nsl-kdd"
DETECTORS: dict[str, dict[str, Any]] = {
    "COPOD": {},
    "ECOD": {},
    "HBOS": {},
    "IForest": {"random_state": 0},
    "LOF": {"novelty": True},
    "OCSVM": {},
}
BATCH = 170
SCORES = ("roc_auc", "average_precision", "f1")
FASTER = {"HBOS": 1.3, "ECOD": 1.3}
JOBS = (
    ("concept-incremental", "naive"),
    ("concept-incremental", "cumulative"),
    ("concept-aware", "naive"),
    ("concept-aware", "experts"),
    ("concept-agnostic", "naive"),
    ("concept-agnostic", "cumulative"),
)
# What pyCLAD prints, and the id of the definition that its code has.
METRICS = {
    "ContinualAverage": "acc.continual_average",
    "BackwardTransfer": "bwt.pyclad_code",
    "ForwardTransfer": "fwt.diazrodriguez2018",
}
TOLERANCE = 1e-9


class Peer:
    """A process in the other tool's environment: one job a line, one answer a line."""

    def __init__(self, python: Path, file: Path, worker: str = "against_pyclad_worker.py") -> None:
        command = [str(python), str(HERE / worker), str(file)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions = self._answer()

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        print(json.dumps(job), file=self.process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"The other tool's process ended with {self.process.wait()}; is --env the right folder?")
        answer: dict[str, Any] = json.loads(line)
        return answer


def ours(stream: Stream, job: dict[str, Any], folder: Path) -> tuple[Run, float]:
    """One run with its record on disk, and the CPU time that it took."""
    started = time.process_time()
    options = {"detector": {job["detector"]: job["parameters"]}}
    learner = make_learner(job["strategy"], options, Setting.of(stream), derive(0))
    # pyCLAD evaluates after each concept: where our rows are batches, those that end one.
    plan = Plan(rows=stream.learned_at)
    run = run_protocol(learner, stream, folder, name=job["strategy"], plan=plan)
    seconds = time.process_time() - started
    return run, seconds


def compare(theirs: dict[str, Any], run: Run, job: dict[str, Any]) -> dict[str, Any]:
    """The largest difference of a cell under any score and of a metric, and the cells that only pyCLAD has."""
    cells = 0.0
    for name, found in zip(SCORES, theirs["R"], strict=True):
        matrix = run.with_metric(name).matrix
        mine, there = matrix.R[np.asarray(matrix.learned_at)], np.array(found)
        # pyCLAD fits one object again and again, and COPOD and ECOD of PyOD then set their threshold with rows of the
        # fit before: of their alarms the first row alone is that of the detector, and in batches none is.
        fits = 0 if job["scenario"] == "concept-agnostic" else 1
        rows = slice(fits) if name == "f1" and job["detector"] in ("COPOD", "ECOD") else slice(None)
        differences = np.abs(mine - there)[rows]
        cells = max(cells, float(differences[~np.isnan(differences)].max(initial=0.0)))
    R: NDArray[np.float64] = run.matrix.R[np.asarray(run.matrix.learned_at)]
    other = np.array(theirs["R"][0])
    undefined = np.isnan(R)
    invented = int(np.count_nonzero(other[undefined] == 0.5))
    if invented != int(undefined.sum()):
        raise SystemExit("a cell is NaN here and a measurement there")
    metrics = 0.0
    for name, identifier in METRICS.items():
        value = float(rc.score(rc.ScoreMatrix(np.where(undefined, other, R)), identifier))
        metrics = max(metrics, abs(value - theirs["metrics"][name]))
    return {"cells": cells, "metrics": metrics, "invented": invented}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, required=True, help="folder of the environment with pyclad 0.3.0")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--rounds", type=int, default=4, help="the first is a warm-up (default 4)")
    parser.add_argument("--detectors", nargs="+", choices=list(DETECTORS), default=list(DETECTORS))
    chosen = parser.parse_args()
    load = os.getloadavg()[0]
    file = next(chosen.data.rglob("nsl-kdd_random_anomalies_5_concepts_1000_per_cluster_plain.npz"))
    peer = Peer(chosen.env / "bin" / "python", file)
    lines, worst = [], 0.0
    totals = {
        detector: np.zeros(3) for detector in chosen.detectors
    }  # seconds: theirs with three scores, with one, ours
    with tempfile.TemporaryDirectory() as place:
        for scenario, strategy in JOBS:
            options: dict[str, Any] = {"scenario": scenario}
            if scenario == "concept-agnostic":
                options |= {"batch": BATCH, "cut": "visits"}
            stream = make_stream(NAME, data=chosen.data, **options)
            for detector, parameters in ((name, DETECTORS[name]) for name in chosen.detectors):
                job = {
                    "scenario": scenario,
                    "strategy": strategy,
                    "detector": detector,
                    "parameters": parameters,
                    "batch": BATCH,
                }
                times: list[tuple[float, float, float]] = []
                for number in range(chosen.rounds):
                    theirs = peer.run({**job, "scores": 3})
                    alone = peer.run({**job, "scores": 1})
                    run, seconds = ours(stream, job, Path(place) / f"{scenario}-{strategy}-{detector}-{number}")
                    times.append((theirs["seconds"], alone["seconds"], seconds))
                found = compare(theirs, run, job)
                worst = max(worst, found["cells"], found["metrics"])
                totals[detector] += np.median(times[1:], axis=0)
                lines.append(
                    (
                        scenario.removeprefix("concept-"),
                        strategy,
                        detector,
                        f"{found['cells']:.1e}",
                        f"{found['metrics']:.1e}",
                        str(found["invented"] or ""),
                        f"{median(t / o for t, _, o in times[1:]):.2f}",
                        f"{median(t / o for _, t, o in times[1:]):.2f}",
                    )
                )
                print(*lines[-1], flush=True)
    theirs_three, theirs_one, own = sum(totals.values(), np.zeros(3))
    ratio = theirs_three / own
    by_detector = {name: (times[0] / times[2], times[1] / times[2]) for name, times in totals.items()}
    broken = []
    if not worst <= TOLERANCE:
        broken.append(f"a difference of {worst:.1e}, above {TOLERANCE:g}")
    if ratio < 1:
        broken.append(f"pyCLAD / ours is {ratio:.2f}, below 1")
    for name, wanted in FASTER.items():
        if name in by_detector and by_detector[name][0] < wanted:
            broken.append(f"pyCLAD / ours of {name} is {by_detector[name][0]:.2f}, below {wanted}")
    versions = ", ".join(f"{name} {version}" for name, version in peer.versions.items())
    head = (
        "scenario",
        "strategy",
        "detector",
        "largest difference, R",
        "CA, BWT, FWT",
        "NaN here, 0.5 there",
        "pyCLAD, three scores / ours",
        "pyCLAD, one score / ours",
    )
    text = "\n\n".join(
        [
            "# Continual anomaly detection beside pyCLAD",
            f"`python benchmarks/against_pyclad.py --env DIR --data DIR --rounds {chosen.rounds} --detectors"
            f" {' '.join(chosen.detectors)}`; theirs: {versions};"
            f" Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.0f} at the start.",
            f"Five NSL-KDD concepts of pyCLAD's example, ROC-AUC, average precision and F1, {len(lines)} jobs;"
            f" concept-agnostic batches of {BATCH}, which divide no concept. CPU time of whole runs, one thread, taking"
            " turns; ours always with the record on disk and six scores a cell. pyCLAD fits one object again and again,"
            " and PyOD's COPOD and ECOD then set the threshold of alarms with rows of the fit before: of their F1 the"
            " first row is compared, and none where a concept comes in several batches.",
            table(lines, *head),
            f"Largest difference {worst:.1e}. Over all jobs pyCLAD takes {ratio:.2f} times our CPU time with three"
            f" scores, {theirs_one / own:.2f} times with one. By detector: "
            + ", ".join(f"{name} {three:.2f} and {one:.2f}" for name, (three, one) in by_detector.items())
            + ".",
            "\n".join(f"- BROKEN: {fault}" for fault in broken) or "No bound is broken.",
        ]
    )
    print(text)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    if broken:
        sys.exit(1)


if __name__ == "__main__":
    main()
