"""Run one peer's own metric code on a file of matrices; `peers.py` starts this in the peer's environment.

    PEER_PYTHON benchmarks/peers_worker.py NAME MATRICES.npz ANSWERS.npz [CHECKOUT]

Needs numpy and the peer, nothing of this project. ``MATRICES.npz`` holds for each T the scores of every
evaluation (``rows_T``: matrices, H T rows, T tasks), the untrained scores (``b_T``) and the sizes of the test
sets (``n_T``). All scores are counts over those sizes, so a peer that counts predictions can be fed too.
``ANSWERS.npz`` gets an array per function and T, and ``about``: a JSON text with the peer's version, what a
function gave or raised for a single task, and the seconds it took.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

EVALUATIONS_PER_TASK = 3


@dataclass(frozen=True)
class Problem:
    """One matrix: every evaluation (H T, T), the untrained scores (T,), the test-set sizes (T,)."""

    rows: np.ndarray
    b: np.ndarray
    n: np.ndarray

    @cached_property
    def R(self) -> np.ndarray:
        """The end-of-task rows."""
        return self.rows[EVALUATIONS_PER_TASK - 1 :: EVALUATIONS_PER_TASK]

    @property
    def T(self) -> int:
        return len(self.b)

    def correct(self, scores: np.ndarray) -> np.ndarray:
        """The counts of right answers behind scores."""
        return np.rint(scores * self.n).astype(int)


Answer = float | Sequence[float]
Ask = Callable[[Problem], Iterator[tuple[str, Callable[[], Answer]]]]


@dataclass(frozen=True)
class Peer:
    """A peer that can be asked: its version, and for a problem its functions, each to be called once.

    A function gives a number, or a curve of T numbers.
    """

    version: str
    ask: Ask


def load(name: str, checkout: Path | None) -> Peer:
    """Import the peer and return its driver."""
    if checkout is None:
        import peers_installed as drivers

        return getattr(drivers, name)()
    import peers_checkouts as drivers

    return getattr(drivers, name)(checkout)


def answers(peer: Peer, problems: list[Problem]) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """The values of every function on every problem, and the seconds each function took in all."""
    values: dict[str, list[Answer]] = {}
    seconds: dict[str, float] = {}
    for problem in problems:
        for name, call in peer.ask(problem):
            start = time.perf_counter()
            value = call()
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
            values.setdefault(name, []).append(value)
    return {name: np.asarray(v, dtype=np.float64) for name, v in values.items()}, seconds


def on_one_task(peer: Peer, problem: Problem) -> dict[str, str]:
    """What each function gives for a single task, where differences between tasks are undefined."""
    said = {}
    for name, call in peer.ask(problem):
        try:
            said[name] = repr(float(np.asarray(call(), dtype=np.float64).reshape(-1)[-1]))
        except (ArithmeticError, LookupError, ValueError, TypeError, RuntimeError, AssertionError) as error:
            said[name] = type(error).__name__
    return said


def main(name: str, matrices: str, out: str, checkout: str | None = None) -> None:
    """Ask the peer about every matrix and write what it answered."""
    warnings.simplefilter("ignore")
    peer = load(name, Path(checkout) if checkout else None)
    given = np.load(matrices)
    arrays: dict[str, np.ndarray] = {}
    about: dict[str, object] = {"version": peer.version, "seconds": {}}
    for T in sorted(int(key.removeprefix("rows_")) for key in given.files if key.startswith("rows_")):
        rows, b, n = given[f"rows_{T}"], given[f"b_{T}"], given[f"n_{T}"]
        problems = [Problem(*one, n) for one in zip(rows, b, strict=True)]
        if T == 1:
            about["one_task"] = on_one_task(peer, problems[0])
            continue
        values, seconds = answers(peer, problems)
        arrays |= {f"{function}|{T}": value for function, value in values.items()}
        about["seconds"][str(T)] = seconds
    np.savez(out, about=json.dumps(about), **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
