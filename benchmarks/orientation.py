"""How often a right-way matrix is doubted, and how often a transposed one is noticed.

    python benchmarks/orientation.py [--runs results] > benchmarks/results/orientation.md

Simulated matrices of eleven kinds, and the square matrices of every committed run, each the right way and transposed.
A right-way matrix that is doubted is a false warning; the script ends with 1 if there is any.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from recollect.orientation import why_empty, why_transposed
from recollect.runs import Run, load

Array = np.ndarray
Maker = Callable[[np.random.Generator, int], Array]
TASKS, EACH = (3, 5, 10, 20), 1000


def _grid(T: int) -> tuple[Array, Array]:
    i, j = np.indices((T, T))
    return i - j, j


def _own(rng: np.random.Generator, T: int) -> Array:
    return rng.uniform(0.75, 0.98) + rng.normal(0, 0.03, T)


def _noisy(rng: np.random.Generator, R: Array, sd: float = 0.03) -> Array:
    return np.clip(R + rng.normal(0, sd, R.shape), 0, 1)


def domains(rng: np.random.Generator, T: int) -> Array:
    lag, j = _grid(T)
    R = np.where(lag >= 0, _own(rng, T)[j] - rng.uniform(0.02, 0.15) * lag, rng.uniform(0.1, 0.3))
    return _noisy(rng, R)


def catastrophic(rng: np.random.Generator, T: int) -> Array:
    lag, j = _grid(T)
    chance = rng.uniform(0.05, 0.2)
    kept = chance + (_own(rng, T)[j] - chance) * 0.4 ** np.maximum(lag, 0)
    return _noisy(rng, np.where(lag >= 0, kept, chance))


def classes(rng: np.random.Generator, T: int) -> Array:
    lag, j = _grid(T)
    R = np.where(lag >= 0, _own(rng, T)[j] * rng.uniform(0.3, 0.8) ** np.maximum(lag, 0), 0)
    return np.where(lag >= 0, _noisy(rng, R, 0.02), 0)


def all_forgotten(rng: np.random.Generator, T: int) -> Array:
    return np.diag(_own(rng, T))


def forward_transfer(rng: np.random.Generator, T: int) -> Array:
    lag, j = _grid(T)
    own = _own(rng, T)[j]
    return _noisy(rng, np.where(lag >= 0, own - 0.05 * lag * rng.uniform(0, 1), own - rng.uniform(0.02, 0.2)))


def detectors(rng: np.random.Generator, T: int) -> Array:
    return np.clip(0.7 + rng.normal(0, 0.2, T) + rng.normal(0, 0.15, (T, T)), 0, 1)


def similar_concepts(rng: np.random.Generator, T: int) -> Array:
    places = rng.normal(size=(T, 2))
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    return _noisy(rng, 0.95 * np.exp(-apart / rng.uniform(1, 4)))


def collapse(rng: np.random.Generator, T: int) -> Array:
    level = np.where(np.arange(T) >= T // 2, 0.4, 0.9)
    return _noisy(rng, level[:, None] + rng.normal(0, 0.1, T))


def easier(rng: np.random.Generator, T: int) -> Array:
    return _noisy(rng, np.broadcast_to(np.linspace(0.2, 0.9, T), (T, T)) + 0.05 * np.eye(T))


def rotated(rng: np.random.Generator, T: int) -> Array:
    lag, j = _grid(T)
    return _noisy(rng, _own(rng, T)[j] * np.exp(-np.abs(lag) / rng.uniform(1, 5)))


def plasticity_lost(rng: np.random.Generator, T: int) -> Array:
    lag, j = _grid(T)
    return _noisy(rng, np.where(lag >= 0, _own(rng, T)[j] * 0.9**j - 0.02 * lag, 0.2))


KINDS: dict[str, Maker] = {
    "domains, some forgetting": domains,
    "domains, catastrophic forgetting": catastrophic,
    "class-incremental, future at 0": classes,
    "class-incremental, all forgotten": all_forgotten,
    "strong forward transfer": forward_transfer,
    "detectors without an effect of learning": detectors,
    "detectors, symmetric similarity": similar_concepts,
    "a learner that collapses": collapse,
    "tasks that become easier": easier,
    "rotations (decay with distance both ways)": rotated,
    "plasticity is lost": plasticity_lost,
}


def doubted(R: Array, higher_is_better: bool = True) -> bool:
    return why_empty(R) is not None or why_transposed(R, higher_is_better) is not None


def committed(folder: Path) -> list[tuple[Array, bool]]:
    found = []
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        for run in load(place):
            others = run.rows[0].extra.get("scores") or {}
            found += [_square(one) for one in (run, *(run.with_metric(name) for name in others))]
    return [one for one in found if one is not None]


def _square(run: Run) -> tuple[Array, bool] | None:
    return (run.matrix.R, run.higher_is_better) if run.matrix.is_square else None


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=Path, default=Path("results"))
    runs = parser.parse_args().runs
    print("# Matrices that are the wrong way round\n")
    print("`python benchmarks/orientation.py`. A warning on a right-way matrix is false; one on a transposed matrix is")
    print(f"right. {EACH:,} matrices of each kind and size, seed 0.\n")
    print("| kind | tasks | false warnings | transposed noticed |\n|---|---|---|---|")
    rng = np.random.default_rng(0)
    false = 0
    for kind, make in KINDS.items():
        for T in TASKS:
            made = [make(rng, T) for _ in range(EACH)]
            wrong = sum(map(doubted, made))
            false += wrong
            print(f"| {kind} | {T} | {wrong} | {sum(doubted(R.T) for R in made) / EACH:.1%} |")
    measured = committed(runs)
    wrong = sum(doubted(R, up) for R, up in measured)
    noticed = sum(doubted(R.T, up) for R, up in measured)
    print(f"| {len(measured)} matrices of committed runs | | {wrong} | {noticed / len(measured):.1%} |")
    print("\nWhere a matrix is nearly the same read either way (everything forgotten, detectors, rotations, strong")
    print("forward transfer) nothing can be noticed, and a note says that rows were taken for time.")
    return int(false + wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
