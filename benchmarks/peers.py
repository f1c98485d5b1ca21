"""Who prints what: every peer's own metric code, and which of our ids gives the same number.

The same name stands for different formulas in different tools, and documentation and code of one tool differ.
So nothing is believed: each peer computes its numbers itself, in its own environment, on thousands of random
matrices, and a number is ours when it agrees to 1e-12 on every one of them. Peers that are packages are
installed, others are checkouts of which one file is imported::

    python benchmarks/peers.py \
        --env pyclad=ENV --env avalanche=ENV --env continuum=ENV --env capymoa=ENV \
        --checkout pyclad_main=DIR --checkout continuum_main=DIR --checkout gem=DIR --checkout agem=DIR \
        --checkout raptormai=DIR --checkout mammoth=DIR --checkout pycil=DIR --checkout renate=DIR \
        --checkout delange=DIR

ENV is a virtual environment: ``pip install torch==2.13.0 torchvision==0.28.0`` and then ``pyclad==0.3.0``,
``avalanche-lib==0.6.0``, ``continuum==1.2.7 six``, ``capymoa==0.15.1`` (with a Java runtime). A checkout that
needs torch runs in the Avalanche environment. A peer that is not named is left out, and the table says so.

Writes ``benchmarks/results/peers.md`` and ``peers.json`` (the documentation is made from the latter).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import recollect as rc
from peers_notes import NOTES, READ
from peers_report import markdown
from peers_worker import EVALUATIONS_PER_TASK, Problem
from recollect.metrics import registry

HERE = Path(__file__).parent
TOLERANCE = 1e-12
TASKS = range(1, 9)
Problems = dict[int, list[Problem]]


@dataclass(frozen=True)
class Asked:
    """A peer as the table names it: the environment it runs in, and whether it is given rows inside tasks.

    `takes_matrix`: its functions take the matrix itself, so that their time can be compared with ours.
    """

    title: str
    env: str | None = None
    rows_inside: bool = False
    takes_matrix: bool = True


PEERS = {
    "pyclad": Asked("pyCLAD", "pyclad"),
    "pyclad_main": Asked("pyCLAD, main branch", "pyclad"),
    "avalanche": Asked("Avalanche", "avalanche", takes_matrix=False),
    "continuum": Asked("Continuum", "continuum", takes_matrix=False),
    "continuum_main": Asked("Continuum, main branch", "continuum", takes_matrix=False),
    "capymoa": Asked("CapyMOA", "capymoa", rows_inside=True, takes_matrix=False),
    "gem": Asked("GEM", "avalanche"),
    "agem": Asked("A-GEM"),
    "raptormai": Asked("online-continual-learning"),
    "mammoth": Asked("Mammoth"),
    "pycil": Asked("PyCIL", "avalanche", takes_matrix=False),
    "renate": Asked("Renate"),
    "delange": Asked("ContinualEvaluation", "avalanche", rows_inside=True, takes_matrix=False),
}


@dataclass
class Finding:
    """What one function of a peer turned out to compute.

    `equal`: our ids that agree on every matrix, `difference` how far at most. `curve`: it also gives a value
    after every task, and the curves agree where ours is defined. `instead`: what it gives where ours is
    undefined. `note`: a remark, and `note_difference` how far its formula is from the peer's number at most.
    """

    peer: str
    title: str
    version: str
    function: str
    equal: list[str]
    difference: float | None
    matrices: int
    has_curve: bool
    curve: list[str]
    instead: str | None
    note: str | None = None
    note_difference: float | None = None
    times_ours: float | None = None


@dataclass(frozen=True)
class Values:
    """Our ids on the same matrices: final values and curves, by id and T; `seconds` for the last T."""

    final: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)
    curve: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def random_matrices(per_size: int, seed: int) -> dict[str, np.ndarray]:
    """Matrices with test sets of unequal size; every score is a count over its test set's size."""
    rng = np.random.default_rng(seed)
    given: dict[str, np.ndarray] = {}
    for T in TASKS:
        n = rng.integers(4, 30, T)
        given[f"n_{T}"] = n
        given[f"b_{T}"] = rng.integers(0, n + 1, (per_size, T)) / n
        given[f"rows_{T}"] = rng.integers(0, n + 1, (per_size, EVALUATIONS_PER_TASK * T, T)) / n
    return given


def ours(given: dict[str, np.ndarray], rows_inside: bool) -> Values:
    """Every id that can be computed from rows, untrained scores and test-set sizes.

    Anytime ids are left out where all rows are task ends: there they are other ids under another name.
    """
    values = Values()
    for T in TASKS[1:]:
        rows, last = given[f"rows_{T}"], EVALUATIONS_PER_TASK - 1
        kept: dict[str, Any] = {"R": rows[:, last::EVALUATIONS_PER_TASK]}
        if rows_inside:
            ends = np.arange(last, rows.shape[1], EVALUATIONS_PER_TASK)
            kept = {"R": rows, "learned_at": ends, "steps": np.arange(1, rows.shape[1] + 1)}
        kept |= {"b": given[f"b_{T}"], "n_samples": given[f"n_{T}"], "unit": "fraction"}
        matrix = rc.ScoreMatrix(**kept)
        for id in registry.all_ids():
            needs = set(registry.get(id).card.needs)
            if not needs <= {"b", "n_samples", "steps"} or (id.startswith("anytime.") and not rows_inside):
                continue
            values.final.setdefault(id, {})[T] = np.asarray(rc.score(matrix, id))
            values.curve.setdefault(id, {})[T] = rc.score(matrix, id, curve=True)
    for id in values.final:
        values.seconds[id] = statistics.median(seconds(kept, id) for _ in range(9))
    return values


def seconds(kept: dict[str, Any], id: str) -> float:
    """The time of one id on all matrices, with a matrix of its own: no other id has filled its cache."""
    start = time.perf_counter()
    rc.score(rc.ScoreMatrix(**kept), id)
    return time.perf_counter() - start


def ask(name: str, envs: dict[str, Path], checkout: Path | None, matrices: Path) -> Any:
    """Start the worker in the peer's environment; None when that environment was not given."""
    peer = PEERS[name]
    if peer.env is not None and peer.env not in envs:
        return None
    python = str(envs[peer.env] / "bin" / "python") if peer.env else sys.executable
    out = matrices.with_name(f"{name}.npz")
    command = [python, str(HERE / "peers_worker.py"), name, str(matrices), str(out)]
    command += [str(checkout.resolve())] if checkout else []
    done = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed in its environment:\n{done.stderr}")
    return np.load(out)


def largest(a: np.ndarray, b: np.ndarray) -> float:
    """The largest absolute difference; infinite where one is undefined and the other is not."""
    with np.errstate(invalid="ignore"):
        gap = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b))
    return float(np.where(np.isnan(gap), np.inf, gap).max())


def find(name: str, answer: Any, values: Values, problems: Problems) -> list[Finding]:
    """Match every function of one peer with our ids."""
    about = json.loads(str(answer["about"]))
    functions = dict.fromkeys(key.rsplit("|", 1)[0] for key in answer.files if key != "about")
    return [match(name, function, answer, about, values, problems) for function in functions]


def match(name: str, function: str, answer: Any, about: dict[str, Any], values: Values, problems: Problems) -> Finding:
    """Find the ids that equal one function on every matrix."""
    peer = PEERS[name]
    given = {T: answer[f"{function}|{T}"] for T in TASKS[1:]}
    has_curve = given[TASKS[-1]].ndim == 2
    final = {T: v[:, -1] if has_curve else v for T, v in given.items()}
    gaps = {id: max(largest(final[T], v[T]) for T in final) for id, v in values.final.items()}
    equal = [id for id, gap in gaps.items() if gap <= TOLERANCE]
    finding = Finding(
        peer=name,
        title=peer.title,
        version=about["version"],
        function=function,
        equal=equal,
        difference=max((gaps[id] for id in equal), default=None),
        matrices=sum(len(v) for v in final.values()),
        has_curve=has_curve,
        curve=[id for id in equal if has_curve and same_curve(given, values.curve[id])],
        instead=None,
    )
    if note := NOTES.get((name, function)):
        finding.note = note.text
        if note.formula is not None:
            expected = {T: np.array([note.formula(p) for p in problems[T]]) for T in final}
            finding.note_difference = max(largest(final[T], expected[T]) for T in final)
    if equal and np.isnan(rc.score(rc.ScoreMatrix([[0.5]], b=[0.5], n_samples=[4]), equal[0])):
        finding.instead = about["one_task"][function]
    if equal and peer.takes_matrix:
        finding.times_ours = about["seconds"][str(TASKS[-1])][function] / values.seconds[equal[-1]]
    return finding


def same_curve(given: dict[int, np.ndarray], mine: dict[int, np.ndarray]) -> bool:
    """Whether the curves agree wherever ours is defined."""
    return all(largest(np.where(np.isnan(mine[T]), np.nan, v), mine[T]) <= TOLERANCE for T, v in given.items())


def main() -> None:
    """Ask every peer that was named, write the table and the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--checkout", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--matrices", type=int, default=600, help="matrices for each number of tasks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=HERE / "results", help="the folder to write to")
    options = parser.parse_args()
    envs = {name: Path(path) for name, path in (one.split("=", 1) for one in options.env)}
    checkouts = {name: Path(path) for name, path in (one.split("=", 1) for one in options.checkout)}
    if unknown := (envs.keys() | checkouts.keys()) - PEERS.keys():
        parser.error(f"unknown peer {', '.join(sorted(unknown))}: choose among {', '.join(PEERS)}")

    given = random_matrices(options.matrices, options.seed)
    task_ends, all_rows = ours(given, rows_inside=False), ours(given, rows_inside=True)
    problems = {
        T: [Problem(*one, given[f"n_{T}"]) for one in zip(given[f"rows_{T}"], given[f"b_{T}"], strict=True)]
        for T in TASKS
    }
    findings, left_out = [], []
    with tempfile.TemporaryDirectory() as folder:
        matrices = Path(folder) / "matrices.npz"
        np.savez(matrices, **given)
        for name, peer in PEERS.items():
            named = name in checkouts or (name in envs and name == peer.env)
            answer = ask(name, envs, checkouts.get(name), matrices) if named else None
            if answer is None:
                left_out.append(peer.title)
                continue
            findings += find(name, answer, all_rows if peer.rows_inside else task_ends, problems)
            print(f"{peer.title}: done", file=sys.stderr)
    result = {
        "command": "python benchmarks/peers.py --env NAME=DIR ... --checkout NAME=DIR ...",
        "recollect": rc.__version__,
        "seed": options.seed,
        "tasks": list(TASKS[1:]),
        "matrices": options.matrices * len(TASKS[1:]),
        "tolerance": TOLERANCE,
        "left_out": left_out,
        "findings": [asdict(f) for f in findings],
        "read": [asdict(one) for one in READ],
    }
    (options.results / "peers.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    (options.results / "peers.md").write_text(markdown(result), "utf-8")


if __name__ == "__main__":
    main()
