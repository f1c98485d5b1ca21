"""Forgetting split in three, on real runs: do the parts add up, and is a random classifier only confused?

`split.within + split.older + split.newer` must be `forgetting.chaudhry2018` on every run, at every task. Checked twice:
the metrics as printed (floats), and the record's counts as exact fractions, by a loop of its own.

Random guesses are right once among as many classes as are asked, whatever was learned. So from learning on nothing is
lost within a task (W = 1 / own classes), nothing changes among older classes, and 1/C_j - 1/C_k goes to newer ones:

- from learning: the parts measured from the row after the task was learned. Nothing is chosen by looking at the scores;
  the standard errors are those of binomial counts.
- from the peak, as the metrics have it. The best of several noisy rows is a little too good, the more the fewer test
  samples there are. Expected value and deviation are those of random counts, drawn 4,000 times.
- pair by pair: confusion with newer tasks given (C_j, C_k), pooled over tasks and seeds, is one binomial draw.

Exits with 1 if a sum is off by more than 1e-15 as floats or at all as fractions, or if an |z| is above 4.

    python benchmarks/split.py --data DIR    # the folder of MNIST; about ten minutes
    python benchmarks/split.py --quick       # digits, two seeds, prints only
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from numpy.typing import NDArray

import recollect as rc
from recollect.experiments.grid import build_stream
from recollect.learners import Setting, make_learner
from recollect.protocol import describe, iter_protocol
from recollect.runs.environment import versions
from recollect.runs.run import Run
from recollect.runs.seeds import derive

RESULTS = Path(__file__).parent / "results" / "split.md"
PARTS = ("within", "older", "newer")
IDS = (*(f"split.{part}" for part in PARTS), "forgetting.chaudhry2018")
DRAWS = 4000
LARGEST_Z = 4.0
TOLERANCE = 1e-15

# Joint, final has one row: it forgets nothing that could be split.
LEARNERS: dict[str, dict[str, Any]] = {
    "finetune": {},
    "er": {"memory": 200},
    "er_ace": {"memory": 200},
    "derpp": {"memory": 200},
    "agem": {"memory": 200},
    "ewc": {},
    "mas": {},
    "lwf": {},
    "ncm": {},
    "slda": {},
    "gdumb": {"memory": 200, "epochs": 64},
    "joint_incremental": {"epochs": 8},
    "random": {},
}
FAST = ("ncm", "random")
SUBSET = 500


@dataclass(frozen=True)
class Sums:
    """How well the parts add up in one run, the worst task; `final` are the parts and AF after the last one."""

    learner: str
    rows: int
    final: tuple[float, ...]
    off_as_floats: float
    off_from_counts: float
    exact: bool


@dataclass(frozen=True)
class Check:
    """A mean over seeds, what is expected of it, and its standard error."""

    what: str
    observed: float
    expected: float
    error: float

    @property
    def z(self) -> float:
        return (self.observed - self.expected) / self.error


def run(learner: str, name: str, stream_options: Mapping[str, Any], seed: int, data: Path | None) -> Run:
    """A whole run in memory."""
    options = LEARNERS[learner]
    stream = build_stream(name, stream_options, seed, data)
    made = make_learner(learner, options, Setting.of(stream), derive(seed), "cpu")
    rows = tuple(iter_protocol(made, stream, seed=derive(seed).stream))
    return replace(describe(stream, name=learner, seed=seed, config=options), rows=rows, status="finished")


def sums(one: Run) -> Sums:
    """The metrics, and the same from the counts."""
    printed = np.array([rc.score(one.matrix, id, curve=True) for id in IDS])
    counted = exact_parts(one)
    off = max(
        abs(float(Fraction(float(given)) - wanted))
        for k, parts in enumerate(counted, start=1)
        for given, wanted in zip(printed[:, k], parts, strict=True)
    )
    return Sums(
        learner=one.learner,
        rows=len(counted),
        final=tuple(printed[:, -1].tolist()),
        off_as_floats=float(np.abs(printed[:3].sum(0) - printed[3])[1:].max()),
        off_from_counts=off,
        exact=all(sum(parts[:3]) == parts[3] for parts in counted),
    )


def exact_parts(one: Run) -> list[tuple[Fraction, ...]]:
    """Within, older, newer and forgetting after the second task, the third, ..., from the counts alone."""
    found = []
    for k in range(1, one.T):
        totals = [Fraction(0)] * 4
        for j in range(k):
            p = max(range(j, k), key=lambda row: (counts(one, row, j)[2], -row))
            n = one.tasks[j].n_samples
            (W_p, A_p, R_p), (W_k, A_k, R_k) = counts(one, p, j), counts(one, k, j)
            parts = (W_p - W_k, (W_k - A_k) - (W_p - A_p), (A_k - R_k) - (A_p - R_p), R_p - R_k)
            totals = [total + Fraction(part, n) for total, part in zip(totals, parts, strict=True)]
        found.append(tuple(total / k for total in totals))
    return found


def counts(one: Run, k: int, j: int) -> tuple[int, int, int]:
    """Right answers on task j after task k among its own classes, those of tasks up to j, all seen."""
    row = one.rows[k + 1]  # the untrained row comes before
    return row.masked[j], row.restricted[j][j], row.correct[j]


def classes(one: Run) -> list[int]:
    """How many classes there are after each task."""
    return np.cumsum([task.n_classes for task in one.tasks]).tolist()


def random_checks(runs: list[Run]) -> Iterator[Check]:
    """The parts of the random learner after the last task: mean over runs, expected, standard error."""
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for seed, one in enumerate(runs):
        k, C, own = one.T - 1, classes(one), [task.n_classes for task in one.tasks]
        sizes = [task.n_samples for task in one.tasks]
        seen, mean, variance = np.zeros(3), np.zeros(3), np.zeros(3)
        for j in range(k):
            (W, A, _), (W_k, A_k, R_k), n = counts(one, j, j), counts(one, k, j), sizes[j]
            seen += np.array([W - W_k, (W_k - A_k) - (W - A), A_k - R_k]) / n
            inside, older, newer = 1 / own[j], 1 / own[j] - 1 / C[j], 1 / C[j] - 1 / C[k]
            mean += (0, 0, newer)
            variance += np.array([2 * inside * (1 - inside), 2 * older * (1 - older), newer * (1 - newer)]) / n
        drawn = random_parts(np.array(sizes), np.array(own), np.array(C), np.random.default_rng(seed))
        printed = [float(rc.score(one.matrix, id)) for id in IDS[:3]]
        for place, part in enumerate(PARTS):
            found[f"{part}, from learning"].append((seen[place] / k, mean[place] / k, variance[place] / k**2))
            found[IDS[place]].append((printed[place], drawn[:, place].mean(), drawn[:, place].var()))
    for name, values in found.items():
        value, expected, variance = np.transpose(values)
        yield Check(name, value.mean(), expected.mean(), math.sqrt(variance.sum()) / len(runs))


def random_parts(n: NDArray, own: NDArray, C: NDArray, rng: np.random.Generator) -> NDArray:
    """The parts, from the peak and after the last task, of random counts: (DRAWS, 3).

    What is right among all is right among fewer, so the counts of a row are binomial one within the other.
    """
    k = len(n) - 1
    totals = np.zeros((DRAWS, 3))
    for j in range(k):
        W = rng.binomial(n[j], 1 / own[j], (DRAWS, k + 1 - j))
        A = rng.binomial(W, own[j] / C[j])
        R = rng.binomial(A, C[j] / C[j : k + 1])
        p = R[:, :-1].argmax(1)  # the earliest of the best
        then = [counted[np.arange(DRAWS), p] for counted in (W, W - A, A - R)]
        now = [counted[:, -1] for counted in (W, W - A, A - R)]
        totals += np.stack([then[0] - now[0], now[1] - then[1], now[2] - then[2]], axis=1) / n[j]
    return totals / k


def pair_checks(runs: list[Run]) -> Iterator[Check]:
    """What the random learner loses to newer classes at every row, by the classes at learning and now."""
    found: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for one in runs:
        C = classes(one)
        for k in range(1, one.T):
            for j in range(k):
                _, A, R = counts(one, k, j)
                found[C[j], C[k]][0] += A - R
                found[C[j], C[k]][1] += one.tasks[j].n_samples
    for (then, now), (gone, n) in sorted(found.items()):
        expected = 1 / then - 1 / now
        yield Check(f"1/{then} - 1/{now}", gone / n, expected, math.sqrt(expected * (1 - expected) / n))


def table(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    rule = ("---", *["---:"] * (len(head) - 1))
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines))


def check_lines(checks: list[Check]) -> list[tuple[str, ...]]:
    return [(c.what, f"{c.observed:.5f}", f"{c.expected:.5f}", f"{c.error:.5f}", f"{c.z:+.2f}") for c in checks]


def part(name: str, data: Path | None, seeds: int, random_seeds: int) -> tuple[str, list[Sums], list[Check]]:
    """All runs on one stream, and what they show."""
    found, guesses = [], []
    for learner in LEARNERS:
        whole = name == "digits" or learner in FAST
        stream_options = {"tasks": 5} if whole else {"tasks": 5, "subset": SUBSET}
        start = time.monotonic()
        for seed in range(random_seeds if learner == "random" else seeds):
            one = run(learner, name, stream_options, seed, data)
            found.append(sums(one))
            if learner == "random":
                guesses.append(one)
        print(f"{name}: {learner}, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    lines = []
    for learner in LEARNERS:
        mine = [s for s in found if s.learner == learner]
        within, older, newer, forgetting = np.mean([s.final for s in mine], axis=0)
        lines.append(
            (
                learner,
                str(len(mine)),
                f"{forgetting:.4f}",
                f"{within:.4f}",
                f"{older:.4f}",
                f"{newer:.4f}",
                f"{max(s.off_as_floats for s in mine):.1e}",
                f"{sum(s.exact for s in mine)} of {len(mine)}",
            )
        )
    checks, pairs = list(random_checks(guesses)), list(pair_checks(guesses))
    head = ("Random", "observed", "expected", "standard error", "z")
    text = "\n\n".join(
        [
            f"## {name}",
            table(
                ("learner", "runs", "AF", *PARTS, "largest difference of the sum", "exact in counts"),
                lines,
            ),
            f"Random after the last task, mean of {random_seeds} seeds:",
            table(head, check_lines(checks)),
            "Random's confusion with newer tasks at every row, by the classes at learning and now (1/C_j - 1/C_k):",
            table(head, check_lines(pairs)),
        ]
    )
    return text, found, checks + pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="digits, two seeds; prints only")
    chosen = parser.parse_args()
    if not (chosen.quick or chosen.data):
        parser.error("give --data DIR, or --quick")
    torch.set_num_threads(1)
    plan = [("digits", 2, 5)] if chosen.quick else [("digits", 5, 50), ("mnist", 3, 50)]
    texts, found, checks = [], [], []
    for name, seeds, random_seeds in plan:
        text, some, more = part(name, chosen.data, seeds, random_seeds)
        texts.append(text)
        found += some
        checks += more
    worst, counted = (max(getattr(s, field) for s in found) for field in ("off_as_floats", "off_from_counts"))
    exact = sum(s.exact for s in found)
    largest = max(checks, key=lambda check: abs(check.z))
    broken = worst > TOLERANCE or counted > TOLERANCE or exact < len(found) or abs(largest.z) > LARGEST_Z
    used = ", ".join(f"{package} {version}" for package, version in versions(("recollect", "numpy", "torch")).items())
    text = "\n\n".join(
        [
            "# Forgetting split in three, on real runs",
            f"`python benchmarks/split.py --data DIR`; {used}. 5 tasks of 2 classes, class-incremental, one pass, batch"
            f" 10, class order from the seed; all test images, all training images of digits, {SUBSET} a class of the"
            f" others but for {', '.join(FAST)}. Learners as by default, but for"
            f" {'; '.join(f'{name} {options}' for name, options in LEARNERS.items() if options)}.".replace("'", ""),
            f"**{len(found)} runs, {sum(s.rows for s in found)} rows with forgetting: within + older + newer = AF"
            f" exactly in {exact} of {len(found)} (the record's counts as fractions); as floats the largest difference"
            f" is {worst:.1e}, and no printed value is farther than {counted:.1e} from its fraction.**",
            f"**Random: {len(checks)} checks against random counts, largest |z| {abs(largest.z):.2f} ({largest.what});"
            f" {sum(abs(c.z) < 1.96 for c in checks)} of {len(checks)} within 1.96.** From learning: measured from"
            " the row after each task. The metrics measure from the best row, which is chosen by looking; expected is"
            " what that choice alone gives a learner whose answers are random. The streams share their seeds, and so"
            " Random's numbers: their checks are not independent of each other.",
            *texts,
            "A CHECK FAILED." if broken else "No check failed.",
        ]
    )
    print(text)
    if not chosen.quick:
        RESULTS.write_text(text + "\n", encoding="utf-8")
    if broken:
        sys.exit(1)


if __name__ == "__main__":
    main()
