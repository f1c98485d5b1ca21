"""The part of statistics_coverage.py about plateaus: false alarms, detections, location."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from coverage_tables import percent, table
from recollect.stats import find_plateau

Array = NDArray[np.float64]
SEEDS = (3, 5, 10, 20)


def noise(kind: str, size: float, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Noise along the tasks with standard deviation `size` (for the walk: its average one)."""
    white = rng.normal(size=shape)
    if kind == "white":
        return size * white
    if kind == "random walk":
        return size * white.cumsum(axis=1) / np.sqrt(shape[1] / 2)
    out = white.copy()
    for i in range(1, shape[1]):
        out[:, i] = 0.9 * out[:, i - 1] + np.sqrt(1 - 0.9**2) * white[:, i]
    return size * out


NOISES = ("white", "AR(0.9)", "random walk")
NO_PLATEAU: dict[str, Callable[[Array], Array]] = {
    "straight": lambda t: t,
    "square root": lambda t: np.sqrt(t),
    "rate halves midway": lambda t: (np.minimum(t, 0.5) + 0.5 * np.maximum(t - 0.5, 0)) / 0.75,
    "square": lambda t: t**2,
    "constant": lambda t: np.zeros_like(t),
    "falling": lambda t: -t,
}
PLATEAU: dict[str, tuple[float, Callable[[Array], Array]]] = {
    "bend at 4 %": (0.04, lambda t: np.minimum(t, 0.04) / 0.04),
    "bend at 10 %": (0.1, lambda t: np.minimum(t, 0.1) / 0.1),
    "bend at 30 %": (0.3, lambda t: np.minimum(t, 0.3) / 0.3),
    "bend at 50 %": (0.5, lambda t: np.minimum(t, 0.5) / 0.5),
    "bend at 80 %": (0.8, lambda t: np.minimum(t, 0.8) / 0.8),
    "peak at 50 %": (0.5, lambda t: 1 - 2 * np.abs(t - 0.5)),
}
BETWEEN: dict[str, Callable[[Array], Array]] = {
    "1 - exp(-5 t)": lambda t: 1 - np.exp(-5 * t),
    "1 - exp(-3 t)": lambda t: 1 - np.exp(-3 * t),
    "logarithm": lambda t: np.log1p(t * 49) / np.log(50),
}


def curves(truth: Array, kind: str, size: float, n: int, rng: np.random.Generator) -> Array:
    """Seeds differ by a tenth in height too, not only by noise."""
    gain = 1 + 0.1 * rng.normal(size=(n, 1))
    return gain * truth + noise(kind, size, rng, (n, len(truth)))


CASES = [(kind, size, tasks) for tasks in (20, 50) for kind in NOISES for size in (0.1, 0.3)]


def alarm_rate(name: str, n: int, case: tuple[str, float, int], sets: int, stream: int) -> float:
    """How often a plateau is claimed on a truth without one; `stream` keeps repeated runs independent."""
    kind, size, tasks = case
    rng = np.random.default_rng([stream, n, tasks, NOISES.index(kind), int(10 * size), len(name)])
    truth = NO_PLATEAU[name](np.linspace(0, 1, tasks))
    return sum(find_plateau(curves(truth, kind, size, n, rng)).found for _ in range(sets)) / sets


def false_alarm_table(sets: int, again: int) -> tuple[str, list[str]]:
    """The mean over all cases; the worst of them measured again on fresh curves, as a maximum is biased."""
    rows, broken = [], []
    for name in NO_PLATEAU:
        for n in SEEDS:
            rates = {case: alarm_rate(name, n, case, sets, 0) for case in CASES}
            worst = max(CASES, key=lambda case: rates[case])
            rate = alarm_rate(name, n, worst, again, 1)
            kind, size, tasks = worst
            where = f"{kind}, {size}, {tasks} tasks"
            if rate > 0.05:
                broken.append(f"false alarms on {name}, n = {n}, {where}: {percent(rate)} %")
            rows.append([name, str(n), percent(float(np.mean(list(rates.values())))), percent(rate), where])
    return table(["truth", "n", "false alarms %", "worst case %", "which was"], rows), broken


def detection_table(sets: int, tasks: int = 51) -> tuple[str, list[str]]:
    rows, broken = [], []
    t = np.linspace(0, 1, tasks)
    for name, (bend, shape) in PLATEAU.items():
        place = bend * (tasks - 1)
        for size in (0.03, 0.1, 0.3):
            for n in SEEDS:
                rng = np.random.default_rng([n, int(100 * size), int(100 * bend)])
                results = [find_plateau(curves(shape(t), kind, size, n, rng)) for kind in NOISES for _ in range(sets)]
                hits = [(r.at, r.low, r.high) for r in results if r.found]
                falls = sum(r.kind == "peak" for r in results) / len(results)
                if falls > 0.05 and shape(t)[-1] == 1:
                    broken.append(f"{name}, noise {size}, n = {n}: said to fall in {percent(falls)} %, and it is level")
                line = [name, str(size), str(n), percent(len(hits) / len(results)), percent(falls)]
                if len(hits) >= 20:
                    at, low, high = np.array(hits, dtype=float).T
                    error, width = np.median(np.abs(at - place)), np.median(high - low)
                    inside = ((low <= place) & (place <= high)).mean()
                    line += [f"{error:.1f}", f"{width:.0f}", percent(float(inside))]
                else:
                    line += ["-", "-", "-"]
                rows.append(line)
    header = [
        "truth",
        "noise",
        "n",
        "found %",
        "said to fall %",
        "median error",
        "median width",
        "interval covers %",
    ]
    return table(header, rows), broken


def between_table(sets: int, tasks: int = 50) -> str:
    rows = []
    t = np.linspace(0, 1, tasks)
    for name, shape in BETWEEN.items():
        for size in (0.01, 0.03, 0.1):
            line = [name, str(size)]
            for n in SEEDS:
                rng = np.random.default_rng([n, int(100 * size), len(name)])
                found = [
                    find_plateau(curves(shape(t), kind, size, n, rng)).found for kind in NOISES for _ in range(sets)
                ]
                line.append(percent(float(np.mean(found))))
            rows.append(line)
    return table(["truth", "noise", *(f"n = {n}" for n in SEEDS)], rows)
