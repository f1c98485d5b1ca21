"""Do the sentences of the terminal and of the page hold against the values that stand beside them?

    OMP_NUM_THREADS=1 python benchmarks/sentences.py [--experiments 300] [--seed 0]

Experiments of known truth are drawn (equal learners, level and bent curves, collapsing seeds, one seed, identical
seeds, 2 to 12 learners, 2 to 100 tasks, missing rows, other plans, lower-is-better scores, held-out columns, unequal
tasks, references, columns of counts). Every sentence is read as a stranger reads it, by its words, and each claim is
worked out again from the runs with numpy and scipy alone: a lead needs its simultaneous interval, a rise, a fall, a
part of forgetting theirs. Then the page, `compare` and `check` must agree. Exits with 1 if a sentence does not hold.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from recollect.cli.compare import _lead, _phrase
from recollect.metrics import evaluate, registry
from recollect.report.comparison import StreamComparison, compare
from recollect.report.gates import Bound, judge
from recollect.report.gather import gather
from recollect.report.results import StreamResult
from recollect.report.sentences import answers
from recollect.runs import Group, Plan, Row, Run, Task, derive, group
from recollect.runs.class_scores import count_right

Array = NDArray[np.float64]
OUT = Path(__file__).parent / "results" / "sentences.md"
NEVER = ("never", "stops learning", "loses ground", "surely", "no forgetting", "knowledge", "best method", "proves")
NUMBER = r"−?\d+(?:\.\d+)?"


@dataclass(frozen=True)
class Drawn:
    """One experiment: its runs, and what kind it is."""

    kind: str
    runs: tuple[Run, ...]


def run_of(name: str, seed: int, R: Array, sizes: list[int] | None = None, n: int = 200, **fields: object) -> Run:
    """A run with these scores: counts of n items, or scores as they are where n is 0."""
    T = R.shape[1]
    sizes = sizes or [2] * T
    tasks = tuple(Task(f"task {j}", sizes[j], n or None) for j in range(T))
    rows = []
    for i, row in enumerate(R):
        if np.isnan(row).all():
            continue
        if n:
            counts = tuple(None if np.isnan(v) else round(float(np.clip(v, 0, 1)) * n) for v in row)
            rows.append(Row(i, correct=counts, n=(n,) * T))
        else:
            rows.append(Row(i, scores={"accuracy": tuple(None if np.isnan(v) else float(v) for v in row)}))
    made = Run(
        learner=name,
        stream="made",
        tasks=tasks,
        rows=tuple(rows),
        seed=seed,
        seeds=derive(seed),
        status="finished",
        data_hash="a" * 64,
    )
    return replace(made, scenario="class-incremental", **fields)  # type: ignore[arg-type]


def matrix(rng: np.random.Generator, T: int, level: float = 0.9, keep: float = 0.9, noise: float = 0.02) -> Array:
    age = np.arange(T)[:, None] - np.arange(T)
    R = np.where(age >= 0, level * keep ** np.clip(age, 0, None), 0.1)
    return np.asarray(np.clip(R + noise * rng.normal(size=(T, T)), 0, 1))


def aa_of(R: Array, curve: Array) -> Array:
    """The same matrix with these averages after each task."""
    made = np.array(R)
    for k, value in enumerate(curve):
        made[k, : k + 1] = value
    return made


def draw(rng: np.random.Generator) -> Drawn:
    kind = str(rng.choice(list(KINDS)))
    return Drawn(kind, tuple(KINDS[kind](rng)))


def equal(rng: np.random.Generator, learners: int = 0, seeds: int = 0, T: int = 0, **fields: object) -> Iterator[Run]:
    learners, seeds = learners or int(rng.integers(2, 7)), seeds or int(rng.integers(2, 7))
    T = T or int(rng.choice([2, 3, 5, 8]))
    for name in range(learners):
        for seed in range(seeds):
            yield run_of(f"l{name}", seed, matrix(rng, T), **fields)  # type: ignore[arg-type]


def apart(rng: np.random.Generator, T: int = 0) -> Iterator[Run]:
    T, seeds = T or int(rng.choice([3, 5, 8])), int(rng.integers(3, 7))
    for name, keep in enumerate(rng.choice([0.98, 0.9, 0.8, 0.6], size=4)):
        for seed in range(seeds):
            yield run_of(f"l{name}", seed, matrix(rng, T, keep=float(keep)))


def bent(rng: np.random.Generator) -> Iterator[Run]:
    """RAA (AA times C_k / C_T) that rises, is level, falls, bends at task 2 or in the middle."""
    T, seeds, noise = int(rng.choice([5, 12, 30])), int(rng.integers(1, 6)), float(rng.choice([0.0, 0.005, 0.05]))
    t = np.arange(T)
    shapes = [t / T, np.full(T, 0.5), 1 - t / T, np.minimum(t, 1) / 2, np.minimum(t, T // 2) / T, np.sqrt(t / T)]
    for name, shape in enumerate(shapes):
        for seed in range(seeds):
            raa = 0.05 + 0.5 * shape + noise * rng.normal(size=T)
            yield run_of(f"l{name}", seed, aa_of(matrix(rng, T), np.clip(raa * T / (t + 1), 0, 1)), n=0)


def three_seeds(rng: np.random.Generator) -> Iterator[Run]:
    """Seeds that end at .61, .75 and .16."""
    T = int(rng.choice([5, 10]))
    for name in ("a", "b"):
        for seed, end in enumerate((0.61, 0.75, 0.16)):
            raa = np.linspace(0.1, end, T) + 0.01 * rng.normal(size=T)
            yield run_of(name, seed, aa_of(matrix(rng, T), np.clip(raa * T / np.arange(1, T + 1), 0, 1)), n=0)


def collapsing(rng: np.random.Generator) -> Iterator[Run]:
    for name in range(3):
        for seed in range(int(rng.integers(5, 9))):
            level = 0.3 if rng.random() < 0.1 else 0.8
            yield run_of(f"l{name}", seed, matrix(rng, 5, level=level, noise=0.01))


def identical(rng: np.random.Generator) -> Iterator[Run]:
    for name in range(3):
        R = matrix(rng, 4)
        for seed in range(4):
            yield run_of(f"l{name}", seed, R)


def missing(rng: np.random.Generator) -> Iterator[Run]:
    for run in equal(rng, T=5):
        drop = int(rng.integers(5))
        yield run if rng.random() < 0.7 else replace(run, rows=tuple(row for row in run.rows if row.after != drop))


def plans(rng: np.random.Generator) -> Iterator[Run]:
    rows = {"l0": range(6), "l1": (1, 3, 5), "l2": (2, 5), "l3": (0, 2, 4)}
    for run in equal(rng, learners=int(rng.integers(2, 5)), T=6):
        kept = tuple(rows[run.learner])
        yield replace(run, rows=tuple(row for row in run.rows if row.after in kept), plan=Plan(rows=kept))


def lower(rng: np.random.Generator) -> Iterator[Run]:
    for run in equal(rng, T=4, n=0):
        turned = tuple(
            replace(row, scores={"rmse": tuple(2 * (1 - v) for v in row.scores["accuracy"])})  # type: ignore[operator]
            for row in run.rows
        )
        yield replace(run, rows=turned, metric="rmse", unit="raw", higher_is_better=False, problem="regression")


def references(rng: np.random.Generator) -> Iterator[Run]:
    yield from apart(rng, T=5)
    for seed in range(4):
        yield run_of("all data", seed, matrix(rng, 5, keep=1.0), role="joint")
        yield run_of("guess", seed, matrix(rng, 5, level=0.3), role="floor")


def class_scores(rng: np.random.Generator) -> Iterator[Run]:
    """Learners that answer by evidence and a bonus for newer classes; their counts are those of `log_scores`."""
    T, n, seeds = 4, 60, int(rng.integers(2, 6))
    tasks = tuple(Task(f"task {j}", 2, n, (2 * j, 2 * j + 1)) for j in range(T))
    labels = [np.repeat([2 * j, 2 * j + 1], n // 2) for j in range(T)]
    for name, (bonus, fades) in enumerate(((0.0, 0.0), (0.5, 0.0), (1.0, 0.3))):
        for seed in range(seeds):
            evidence = [rng.normal(size=(n, 2 * T)) + 3 * np.eye(2 * T)[labels[j]] for j in range(T)]
            rows = []
            for k in range(T):
                lift = bonus * np.repeat(np.arange(T), 2) * (np.arange(2 * T) < 2 * k + 2)
                told = []
                for j in range(T):
                    lost = fades * max(k - j, 0) * 3 * np.eye(2 * T)[labels[j]]
                    told.append(count_right(evidence[j] - lost + lift, labels[j], j, k, tasks))
                fewer = {"masked": tuple(one.masked for one in told), "restricted": tuple(o.restricted for o in told)}
                rows.append(Row(k, correct=tuple(one.correct for one in told), n=(n,) * T, **fewer))  # type: ignore[arg-type]
            yield Run(
                learner=f"l{name}",
                stream="made",
                tasks=tasks,
                rows=tuple(rows),
                seed=seed,
                seeds=derive(seed),
                status="finished",
                data_hash="a" * 64,
                scenario="class-incremental",
            )


def held_out(rng: np.random.Generator) -> Iterator[Run]:
    """The last two columns are never trained on."""
    for run in equal(rng, T=5):
        kept = tuple(row for row in run.rows if row.after < 3)
        base = replace(kept[0], after=-1, correct=tuple(20 for _ in run.tasks))
        yield replace(run, rows=(base, *kept), learned_at={0: 0, 1: 1, 2: 2}, scenario=None)


def unequal(rng: np.random.Generator) -> Iterator[Run]:
    yield from equal(rng, T=5, sizes=[50, 10, 10, 5, 1])


KINDS: dict[str, Callable[[np.random.Generator], Iterator[Run]]] = {
    "equal learners": equal,
    "learners far apart": apart,
    "curves of known shape": bent,
    "three seeds that rise to .61, .75, .16": three_seeds,
    "collapsing seeds": collapsing,
    "one seed": lambda rng: equal(rng, seeds=1),
    "identical seeds": identical,
    "two learners": lambda rng: equal(rng, learners=2),
    "twelve learners": lambda rng: equal(rng, learners=12, T=3),
    "a hundred tasks": lambda rng: equal(rng, learners=2, seeds=3, T=100),
    "two tasks": lambda rng: equal(rng, T=2),
    "missing rows": missing,
    "other plans": plans,
    "lower is better": lower,
    "references": references,
    "unequal tasks": unequal,
    "scores of classes": class_scores,
    "held-out columns": held_out,
}


# --- the claims, worked out again ---------------------------------------------------------------------------------


def t_interval(values: Array, level: float = 0.95) -> tuple[float, float]:
    n = len(values)
    if n < 2 or np.ptp(values) <= 1e-12:
        return float("nan"), float("nan")
    half = float(stdtrit(n - 1, (1 + level) / 2)) * values.std(ddof=1) / np.sqrt(n)
    return float(values.mean() - half), float(values.mean() + half)


def values_of(one: Group, id: str) -> dict[object, float]:
    return dict(zip(one.keys, map(float, evaluate(one.matrix, registry.get(id)).value), strict=True))


def leads(groups: dict[str, Group], best: str, other: str, headline: str, contestants: int, higher: bool) -> bool:
    a, b = values_of(groups[best], headline), values_of(groups[other], headline)
    away = np.array([a[key] - b[key] for key in a if key in b and np.isfinite(a[key] - b[key])])
    low, high = t_interval(away, 0.95 ** (2 / (contestants * (contestants - 1))))
    return low > 0 if higher else high < 0


def wrong(stream: StreamResult, groups: dict[str, Group]) -> Iterator[str]:
    """What is claimed and does not hold."""
    said = {one.key: [str(s) for s in (*one.said, *one.more)] for one in answers(stream)}
    for text in (s for of in said.values() for s in of):
        for word in NEVER:
            if word in text.lower():
                yield f"says {word!r}: {text}"
        for found in re.finditer(rf"({NUMBER}) \[({NUMBER}), ({NUMBER})\]", text):
            value, low, high = (float(part.replace("−", "-")) for part in found.groups())
            if not low <= value <= high:
                yield f"an interval without its value: {text}"
    labels = sorted(groups, key=len, reverse=True)
    names = "|".join(map(re.escape, labels))
    yield from _wrong_lead(said["ahead"][0], stream, groups, names)
    for text in (one.replace(" (accuracy rescaled by that of guessing)", "") for one in said.get("learning", [])):
        yield from _wrong_curve(text, groups, names)
    for text in said.get("forgotten", []):
        yield from _wrong_forgetting(text, groups, names)


def _wrong_lead(text: str, stream: StreamResult, groups: dict[str, Group], names: str) -> Iterator[str]:
    headline, higher = stream.focus.headline, stream.higher_is_better
    contest = [one.label for one in stream.contestants if one.numbers[headline].is_known]
    means = {label: float(np.nanmean(list(values_of(groups[label], headline).values()))) for label in contest}
    if (top := re.search(rf"({names}) has the (highest|lowest)", text)) is None or "rows that all have" in text:
        return
    best, word = top.groups()
    if (word == "highest") != higher or abs(means[best] - (max if higher else min)(means.values())) > 1e-12:
        yield f"{best} is not {word}: {text}"
    if len(means) < len(stream.learners) and len(means) > 1 and not text.startswith(f"Of the {len(means)} "):
        yield f"not said among whom: {text}"
    ahead = text.partition(" is ahead of ")[2].partition(";")[0] if " is ahead of " in text else ""
    if re.match(r"(both|all) others", ahead):
        named = [label for label in contest if label != best]
    else:
        named = re.findall(names, ahead.partition("cannot be told")[0].partition(", by ")[0])
    for other in named:
        if not leads(groups, best, other, headline, len(contest), higher):
            yield f"{best} is not ahead of {other}: {text}"
    for other in set(contest) - {best} - set(named):
        if leads(groups, best, other, headline, len(contest), higher) and " more" not in text:
            yield f"{best} is ahead of {other}, which is not said: {text}"


def raa(one: Group) -> Array:
    curve = evaluate(one.matrix, registry.get("raa.michel2023"), curve=True).curve
    assert curve is not None
    return np.atleast_2d(np.asarray(curve) * (1 if one.matrix.higher_is_better else -1))


def line_of(one: Group) -> tuple[float, float]:
    """The interval over seeds of the slope of the straight line through the RAA curve."""
    curves = raa(one)
    there = np.isfinite(curves).all(axis=0)
    slopes = np.array([np.polyfit(np.flatnonzero(there), curve[there], 1)[0] for curve in curves])
    if np.ptp(slopes) <= 1e-12:
        return float(slopes.mean()), float(slopes.mean())
    return t_interval(slopes)


def _wrong_curve(text: str, groups: dict[str, Group], names: str) -> Iterator[str]:
    # Of a rise to the end, or a fall over all, the line through the whole curve must show it, too.
    if rises := re.match(rf"RAA still rises for (.*), by {NUMBER}", text):
        for label in re.findall(names, rises[1]):
            if not line_of(groups[label])[0] > 0:
                yield f"no rise of {label} is shown: {text}"
    if falls := re.match(r"RAA falls for (.*) from the first", text):
        for label in re.findall(names, falls[1]):
            if not line_of(groups[label])[1] < 0:
                yield f"no fall of {label} is shown: {text}"
    none = re.match(rf"Of ({names}) no rise in RAA is shown", text)
    if none and line_of(groups[none[1]])[0] > 1e-9:
        yield f"a rise of {none[1]} is shown: {text}"
    place = re.match(rf"({names})'s RAA (?:levels off at|rises up to) task (\d+) \[(\d+), (\d+)\]", text)
    if place:
        at, low, high = map(int, place.groups()[1:])
        curve = raa(groups[place[1]]).mean(axis=0)
        known = np.flatnonzero(np.isfinite(curve))
        before, after = known[known < at], known[known >= at - 1]
        if not low <= at <= high or len(groups[place[1]].runs) < 2:
            yield f"a place outside of its interval, or of one seed: {text}"
        elif len(before) > 1 and len(after) > 1:
            first, then = (np.polyfit(part, curve[part], 1)[0] for part in (known[known <= at - 1], after))
            if not (first > 0 and then < first / 2):
                yield f"the mean curve does not bend there ({first:.4f}, {then:.4f}): {text}"


def _wrong_forgetting(text: str, groups: dict[str, Group], names: str) -> Iterator[str]:
    who = re.match(rf"({names})", text)
    if who is None:
        return
    values = np.array(list(values_of(groups[who[1]], "forgetting.chaudhry2018").values()))
    values = values[np.isfinite(values)]
    low, high = t_interval(values)
    shown = re.search(rf"(?:by|AF) ({NUMBER})", text)
    if shown and abs(float(shown[1].replace("−", "-")) - values.mean()) > 6e-4:
        yield f"AF is {values.mean():.4f}: {text}"
    if "has fallen" in text or "has risen" in text:
        noise = re.search(rf"would show {NUMBER} \[{NUMBER}, ({NUMBER})\]", text)
        by_items = noise is not None and values.mean() > float(noise[1].replace("−", "-")) - 6e-4
        if not (
            low > 0 or (np.isnan(low) and values.mean() > 0 and ("in this run" in text or "alike" in text or by_items))
        ):
            yield f"AF [{low:.4f}, {high:.4f}] is not shown: {text}"
        for part, words in PARTS.items():
            yield from _wrong_part(text, part, words, groups[who[1]])
        if len(values) == 1 and "in this run" not in text and "[" not in text:
            yield f"one run is not said: {text}"
    if "gains" in text and not high < 0:
        yield f"no gain is shown: {text}"


PARTS = {"split.within": "within the task", "split.older": "older tasks", "split.newer": "newer tasks"}


def _wrong_part(text: str, id: str, words: str, one: Group) -> Iterator[str]:
    """A part before the semicolon is claimed, one after it is not; with one run both are what was measured."""
    claimed, _, rest = text.partition("from its best")[2].partition(";")
    if "cannot be told from none" in claimed:
        claimed, rest = "", claimed
    value = float(np.mean(list(values_of(one, id).values())))
    low, high = t_interval(np.array(list(values_of(one, id).values())))
    if words not in claimed and words not in rest:
        if not np.isnan(value) and len(one.runs) > 1 and ":" in text.partition("from its best")[2]:
            yield f"nothing is said of {id} = {value:.4f}: {text}"
    elif words in claimed and len(one.runs) > 1 and "alike" not in text and not (low > 0 or high < 0):
        yield f"{id} [{low:.4f}, {high:.4f}] is not shown: {text}"


def disagreements(stream: StreamResult, other: StreamComparison) -> Iterator[str]:
    """Where the page and the terminal say different things of one stream."""
    table = stream.headline
    mine = None if table is None else table.lead
    theirs = other.compared.lead
    key = [
        (lead.best, sorted(r.label for r in lead.rivals if r.is_behind)) if lead else None for lead in (mine, theirs)
    ]
    if key[0] != key[1] and stream.focus.headline == other.compared.id:
        yield f"page {key[0]}, compare {key[1]}"
    for label, plateau in zip(other.labels, other.plateaus, strict=True):
        own = stream.learner(label).plateau
        if (own and own.kind) != (plateau and plateau.kind):
            yield f"page and compare judge {label}'s curve differently"
        if (
            plateau is not None
            and plateau.found
            and "level" not in _phrase(plateau)
            and "falls" not in _phrase(plateau)
        ):
            yield f"compare says {_phrase(plateau)!r} of a plateau"
    for note in _lead(other):
        found = re.match(r"(.+?) is ahead of (.+) \(", note)
        behind = sorted(r.label for r in theirs.rivals if r.is_behind) if theirs else []
        if found and sorted(found[2].split(", ")) != behind:
            yield f"the note is not the lead: {note}"


def wrong_gates(groups: list[Group], rng: np.random.Generator) -> Iterator[str]:
    """`check --sure` passes only where the interval keeps the bound, and never of one or of identical seeds."""
    for one in groups:
        values = np.array(list(values_of(one, "acc.average").values()))
        bound = float(np.nanmean(values)) + float(rng.choice([-0.2, -0.02, 0.0, 0.02]))
        higher = one.matrix.higher_is_better
        side, sign = ("min", 1) if higher else ("max", -1)
        (verdict,) = judge([one], [Bound(registry.get("acc.average"), side, bound)], sure=True, method="seeds")  # type: ignore[arg-type]
        low, high = t_interval(values) if np.isfinite(values).all() else (float("nan"),) * 2
        end = low if higher else high
        if verdict.holds and not sign * (end - bound) >= -0.02:
            yield f"passes with [{low:.4f}, {high:.4f}] at {bound:.4f}: {verdict.sentence}"
        if verdict.holds and (len(values) < 2 or np.ptp(values) <= 1e-12):
            yield f"passes with one observation: {verdict.sentence}"
        if verdict.holds and "97.5" not in verdict.sentence:
            yield f"does not say its level: {verdict.sentence}"


def examine(drawn: Drawn, rng: np.random.Generator) -> tuple[list[str], int]:
    """What does not hold in one experiment, and how many sentences were read."""
    groups = list(group(drawn.runs))
    contents = gather(groups)
    found, count = [], 0
    for stream in contents.streams:
        named = {one.label: next(g for g in groups if g.learner == one.name) for one in stream.learners}
        found += wrong(stream, named)
        count += sum(len(one.said) + len(one.more) for one in answers(stream))
        try:
            made = compare(groups, registry.get(stream.focus.headline), method="t")
        except Exception as why:  # a refusal is one paragraph; it is no sentence about learners
            if stream.comparisons:
                found.append(f"the page compares what `compare` refuses: {why}")
            continue
        for one in made.streams:
            found += disagreements(stream, one)
            count += len(_lead(one))
    found += wrong_gates(groups, rng)
    return [f"{drawn.kind}: {one}" for one in found], count + len(groups)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--experiments", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sentences: Counter[str] = Counter()
    times: Counter[str] = Counter()
    failed: list[str] = []
    for i in range(given.experiments):
        rng = np.random.default_rng([given.seed, i])
        drawn = draw(rng)
        found, count = examine(drawn, rng)
        failed += found
        sentences[drawn.kind] += count
        times[drawn.kind] += 1
    lines = [f"| {kind} | {times[kind]} | {sentences[kind]:,} |" for kind in KINDS]
    text = "\n\n".join(
        [
            "# Sentences against the values",
            f"`OMP_NUM_THREADS=1 python benchmarks/sentences.py --experiments {given.experiments} --seed {given.seed}`."
            " Every sentence of the page's answers, of `compare` and of `check --sure` on experiments of known truth,"
            " each claim worked out again from the runs.",
            "\n".join(["| experiments | how many | sentences |", "|---|---:|---:|", *lines]),
            "\n".join(failed) if failed else f"All {sum(sentences.values()):,} sentences hold.",
        ]
    )
    print(text)
    OUT.write_text(text + "\n", encoding="utf-8")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
