"""Forgetting split in two, on real runs: do the parts add up, and does a random classifier lose nothing?

`split.lost + split.confusion` must be `forgetting.chaudhry2018` on every run, at every task. Checked twice: the
metrics as printed (floats), and the record's counts as exact fractions, by a loop of its own. What the counts must
hold for this is that asking among the classes of tasks up to the present one gives the score itself.

Random guesses among C classes are right once in C, whatever was learned. So of its forgetting nothing is lost and
1/C_p - 1/C_k is confusion, p being the task of the peak. From the counts:

- from learning: the same two parts measured from the row after the task was learned. Nothing is chosen by looking at
  the scores, so lost is 0 in expectation and confusion 1/C_j - 1/C_k.
- from the peak, as the metrics have it. The best of several noisy rows is a little too good, the more the fewer test
  samples there are. Its expected value and deviation are exact sums over the binomial distributions of the rows.
- pair by pair: confusion given (C_p, C_k), pooled over tasks and seeds, is one binomial draw.

Standard errors come from the binomial counts, none is estimated from the seeds. Exits with 1 if a sum is off by more
than 1e-15 as floats or at all as fractions, or if an |z| is above 4.

    python benchmarks/split.py --data DIR    # the folder of MNIST and Fashion-MNIST; about ten minutes
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

import recollect as rc
from recollect.experiments.grid import build_stream
from recollect.learners import Setting, make_learner
from recollect.protocol import describe, iter_protocol
from recollect.runs.environment import versions
from recollect.runs.run import Run
from recollect.runs.seeds import derive

RESULTS = Path(__file__).parent / "results" / "split.md"
IDS = ("split.lost", "split.confusion", "forgetting.chaudhry2018")
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
    """How well the parts add up in one run, the worst task."""

    learner: str
    rows: int
    final: tuple[float, float, float]
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
    lost, confusion, forgetting = (np.asarray(rc.score(one.matrix, id, curve=True)) for id in IDS)
    counted = exact_parts(one)
    exact = all(a + b == c for a, b, c in counted)
    off = max(
        abs(float(Fraction(float(given)) - wanted))
        for k, parts in enumerate(counted, start=1)
        for given, wanted in zip((lost[k], confusion[k], forgetting[k]), parts, strict=True)
    )
    return Sums(
        learner=one.learner,
        rows=len(counted),
        final=(float(lost[-1]), float(confusion[-1]), float(forgetting[-1])),
        off_as_floats=float(np.abs(lost + confusion - forgetting)[1:].max()),
        off_from_counts=off,
        exact=exact,
    )


def exact_parts(one: Run) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Lost, confusion and forgetting after the second task, the third, ..., from the counts alone.

    The first two come from the restricted counts, the third from the counts of right answers.
    """
    parts = []
    for k in range(1, one.T):
        lost = confusion = forgetting = Fraction(0)
        for j in range(k):
            n, p = one.tasks[j].n_samples, peak(one, j, k)
            then, now = restricted(one, p, j, p), restricted(one, k, j, p)
            lost += Fraction(then - now, n)
            confusion += Fraction(now - restricted(one, k, j, k), n)
            forgetting += Fraction(correct(one, p, j) - correct(one, k, j), n)
        parts.append((lost / k, confusion / k, forgetting / k))
    return parts


def peak(one: Run, j: int, k: int) -> int:
    """The earliest of the best rows of task j before row k."""
    return max(range(j, k), key=lambda row: (correct(one, row, j), -row))


def correct(one: Run, k: int, j: int) -> int:
    """Right answers on task j after task k; the untrained row comes before."""
    return one.rows[k + 1].correct[j]


def restricted(one: Run, k: int, j: int, m: int) -> int:
    """The same, among the classes of tasks up to m."""
    return one.rows[k + 1].restricted[j][m]


def classes(one: Run) -> list[int]:
    """How many classes there are after each task."""
    return np.cumsum([task.n_classes for task in one.tasks]).tolist()


def random_checks(runs: list[Run]) -> Iterator[Check]:
    """Lost and confusion of the random learner after the last task: mean over runs, expected, standard error."""
    names = ("lost, from learning", "confusion, from learning", "split.lost", "split.confusion")
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for one in runs:
        k, C = one.T - 1, classes(one)
        learning, peaks = np.zeros((2, 2)), np.zeros((2, 2))  # (lost, confusion) x (mean, variance), summed over tasks
        seen = np.zeros(2)
        for j in range(k):
            n = one.tasks[j].n_samples
            then, now = restricted(one, j, j, j), restricted(one, k, j, j)
            seen += (then - now) / n, (now - restricted(one, k, j, k)) / n
            share, gone = 1 / C[j], 1 / C[j] - 1 / C[k]
            learning += [[0, 2 * share * (1 - share) / n], [gone, gone * (1 - gone) / n]]
            peaks += expected_at_peak(n, C[j:k], C[k])
        printed = [float(rc.score(one.matrix, id)) for id in IDS[:2]]
        for name, value, (mean, variance) in zip(names, [*(seen / k), *printed], [*learning, *peaks], strict=True):
            found[name].append((value, mean / k, variance / k**2))
    for name, values in found.items():
        value, mean, variance = np.transpose(values)
        yield Check(name, value.mean(), mean.mean(), math.sqrt(variance.sum()) / len(runs))


def expected_at_peak(n: int, before: list[int], now: int) -> list[list[float]]:
    """Mean and variance of lost, then of confusion, of one task of n test samples.

    Row l has Binomial(n, 1/C_l) right answers, `before` being the C of the rows that compete for the peak.
    """
    from scipy.stats import binom

    count = np.arange(n + 1)
    mass = [binom.pmf(count, n, 1 / C) for C in before]
    lost, square, confusion, confusion_square = 0.0, 0.0, 0.0, 0.0
    for row, C in enumerate(before):
        # This row is the earliest best: less in the rows before, no more in those after.
        joint = mass[row].copy()
        for other, part in enumerate(mass):
            if other != row:
                below = np.cumsum(part)
                joint *= np.concatenate(([0.0], below[:-1])) if other < row else below
        drop = count / n - 1 / C
        lost += joint @ drop
        square += joint @ (drop**2 + (1 - 1 / C) / C / n)
        gone = 1 / C - 1 / now
        confusion += joint.sum() * gone
        confusion_square += joint.sum() * (gone**2 + gone * (1 - gone) / n)
    return [[lost, square - lost**2], [confusion, confusion_square - confusion**2]]


def pair_checks(runs: list[Run]) -> Iterator[Check]:
    """Confusion of the random learner at every row, by the classes at the peak and now."""
    counts: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for one in runs:
        C = classes(one)
        for k in range(1, one.T):
            for j in range(k):
                p = peak(one, j, k)
                cell = counts[C[p], C[k]]
                cell[0] += restricted(one, k, j, p) - restricted(one, k, j, k)
                cell[1] += one.tasks[j].n_samples
    for (then, now), (gone, n) in sorted(counts.items()):
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
        lost, confusion, forgetting = np.mean([s.final for s in mine], axis=0)
        lines.append(
            (
                learner,
                str(len(mine)),
                f"{forgetting:.4f}",
                f"{lost:.4f}",
                f"{confusion:.4f}",
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
                ("learner", "runs", "AF", "lost", "confusion", "largest difference of the sum", "exact in counts"),
                lines,
            ),
            f"Random after the last task, mean of {random_seeds} seeds:",
            table(head, check_lines(checks)),
            "Random's confusion at every task, by the classes at the peak and now (1/C_p - 1/C_k):",
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
    plan = [("digits", 2, 5)] if chosen.quick else [("digits", 5, 50), ("mnist", 3, 50), ("fashion-mnist", 3, 50)]
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
            "# Forgetting split in two, on real runs",
            f"`python benchmarks/split.py --data DIR`; {used}. 5 tasks of 2 classes, class-incremental, one pass, batch"
            f" 10, class order from the seed; all test images, all training images of digits, {SUBSET} a class of the"
            f" others but for {', '.join(FAST)}. Learners as by default, but for"
            f" {'; '.join(f'{name} {options}' for name, options in LEARNERS.items() if options)}.".replace("'", ""),
            f"**{len(found)} runs, {sum(s.rows for s in found)} rows with forgetting: lost + confusion = AF exactly in"
            f" {exact} of {len(found)} (the record's counts as fractions); as floats the largest difference is"
            f" {worst:.1e}, and no printed value is farther than {counted:.1e} from its fraction.**",
            f"**Random: {len(checks)} checks against the binomial, largest |z| {abs(largest.z):.2f} ({largest.what});"
            f" {sum(abs(c.z) < 1.96 for c in checks)} of {len(checks)} within 1.96.** From learning: measured from"
            " the row after each task. split.lost is measured from the best row, which is chosen by looking; expected"
            " is what that choice alone gives a learner that loses nothing. The streams share their seeds, and so"
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
