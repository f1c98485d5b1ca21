"""How often does each kind of sentence say what is not so?

    OMP_NUM_THREADS=1 python benchmarks/false_claims.py

For each family of sentences experiments are made in which it must not be said (its null), and the functions that the
report and the terminal ask are asked. `false_leads.py` has the lead of the headline in more kinds of scores, and
`coverage_hard.py` the gate.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from coverage_tables import percent, table
from recollect import ScoreMatrix, __version__, score
from recollect.report.comparison import compare_scores, plateau_of
from recollect.report.over_items import ItemPair, lead_over_items
from recollect.report.sentences import _is_shown, forgotten
from recollect.report.words import Words, is_positive
from recollect.stats import Estimate, estimate, friedman_nemenyi, holm, mcnemar, noise_of
from recollect.stats.item_noise import difference_over_items
from recollect.stats.peak_noise import peak_noise

Array = NDArray[np.float64]
OUT = Path(__file__).parent / "results" / "false_claims.md"
LEARNERS, SEEDS = (3, 5, 8), (3, 5, 10)
AF, PARTS = "forgetting.chaudhry2018", ("split.within", "split.older", "split.newer")
Row = list[str]


def seeds_of(scores: Array) -> dict[str, dict[int, float]]:
    """Scores (seeds, learners) as the comparer takes them."""
    return {f"l{j}": dict(enumerate(scores[:, j].tolist())) for j in range(scores.shape[1])}


def rate(experiments: int, is_said: Callable[[int], bool]) -> str:
    return percent(float(np.mean([is_said(i) for i in range(experiments)])))


def curves_of_equals(rng: np.random.Generator, n: int, learners: int, T: int = 6, items: int = 500) -> Array:
    """R (learners, seeds, T, T) of learners that forget alike, each seed in its own way, counted on test items."""
    keep = np.clip(0.85 + 0.05 * rng.normal(size=(learners, n, 1, 1)), 0, 1)
    age = np.clip(np.arange(T)[:, None] - np.arange(T), 0, None)
    return np.asarray(rng.binomial(items, np.clip(0.9 * keep**age, 0, 1)) / items)


def leads(experiments: int) -> list[Row]:
    """Leads by other numbers than the headline: AF, the confirmed lead over all (bold), every mark of the forest."""
    rows = []
    for k in LEARNERS:
        for n in SEEDS:
            rng = np.random.default_rng([1, k, n])

            def af(_: int, rng: np.random.Generator = rng, k: int = k, n: int = n) -> Any:
                values = score(ScoreMatrix(curves_of_equals(rng, n, k), orientation="time_rows"), AF)
                return compare_scores(AF, seeds_of(np.asarray(values).T), "lower")

            def two_best(_: int, rng: np.random.Generator = rng, k: int = k, n: int = n) -> Any:
                level = np.where(np.arange(k) < 2, 0.7, 0.3)
                return compare_scores("acc.average", seeds_of(level + 0.03 * rng.normal(size=(n, k))), "higher")

            by_af = [af(i) for i in range(experiments)]
            top = [two_best(i) for i in range(experiments)]
            ahead = np.mean([any(r.is_behind for r in made.lead.rivals) for made in by_af])
            marks = np.mean([any(pair.is_apart for pair in made.pairs) for made in by_af])
            bold = np.mean([made.lead.is_confirmed for made in top])
            columns = 1 - (1 - bold) ** 5
            rows.append([str(k), str(n), *map(percent, (ahead, marks, bold, columns))])
    return rows


def shapes(rng: np.random.Generator, n: int, T: int, noise: float, kind: str) -> Array:
    t = np.arange(T)
    truth = {"level": np.zeros(T), "level after task 4": np.minimum(t, 3) / 3, "straight": t / (T - 1)}[kind]
    seeds = 1 + 0.1 * rng.normal(size=(n, 1))
    white = rng.normal(size=(n, T))
    walk = np.cumsum(rng.normal(size=(n, T)), axis=1) / np.sqrt(T)
    return np.asarray(0.5 * truth * seeds + noise * (white + walk) / np.sqrt(2))


def learning(experiments: int) -> list[Row]:
    """What is said of RAA over tasks: of one curve, and of any of five."""
    rows = []
    for kind in ("level", "level after task 4", "straight"):
        for n in SEEDS:
            kinds = []
            for T, noise in ((10, 0.02), (10, 0.1), (50, 0.02), (50, 0.1)):
                rng = np.random.default_rng([2, n, T, int(100 * noise)])
                made = [plateau_of(shapes(rng, n, T, noise, kind), True) for _ in range(experiments // 2)]
                kinds += [one.kind for one in made if one is not None]
            said = {
                "still rises": np.mean([one in ("rising", "slowing") for one in kinds]) if kind != "straight" else None,
                "falls": np.mean([one in ("falling", "peak") for one in kinds]),
                "levels off": np.mean([one in ("plateau", "peak") for one in kinds])
                if kind != "level after task 4"
                else None,
            }
            cells = ["true" if share is None else percent(float(share)) for share in said.values()]
            any_of = ["true" if s is None else percent(1 - (1 - float(s)) ** 5) for s in said.values()]
            rows.append([kind, str(n), *cells, *any_of])
    return rows


def forgetting(experiments: int) -> list[Row]:
    """Forgetting and its parts where nothing changes but which items were drawn."""
    rows = []
    for items in (50, 200, 2000):
        for n in (1, *SEEDS):
            rng = np.random.default_rng([3, items, n])
            naive = said = parts_naive = parts = 0
            for _ in range(experiments // 2):
                W, A, R = unchanging(rng, n, 6, items)
                matrix = ScoreMatrix(R, masked=W, asked=A, n_samples=[items] * 6, orientation="time_rows")
                values = {id: np.asarray(score(matrix, id)) for id in (AF, *PARTS)}
                numbers = {id: estimate(of) for id, of in values.items()}
                alone = peak_noise(matrix)
                beyond = {id: estimate(of - alone) for id, of in values.items()} if n > 1 else {}
                null = Estimate(float(alone.mean()), np.nan, np.nan, n, "null", np.nan) if n > 1 else None
                learner: Any = SimpleNamespace(label="l", numbers=numbers, null=null, beyond=beyond)
                naive += is_positive(numbers[AF])
                text = str(forgotten(learner, Words()))
                said += "has fallen" in text and "in this run" not in text
                parts_naive += any(numbers[id].low > 0 or numbers[id].high < 0 for id in PARTS)
                parts += "has fallen" in text and n > 1 and any(_is_shown(learner, id, numbers[id]) for id in PARTS)
            half = experiments // 2
            counted = [percent(c / half) for c in (naive, parts_naive)] + [
                f"**{percent(c / half)}**" for c in (said, parts)
            ]
            rows.append([str(items), str(n), *counted])
    return rows


def unchanging(rng: np.random.Generator, n: int, T: int, items: int) -> tuple[Array, Array, Array]:
    """Right answers among own classes, among those of older tasks too, and among all: of constant probability."""
    shape = (n, T, T)
    W = rng.binomial(items, np.clip(0.85 + 0.03 * rng.normal(size=(n, 1, 1)), 0, 1), size=shape)
    A = rng.binomial(W, 0.95)
    R = rng.binomial(A, 0.95)
    return W / items, A / items, R / items


def over_items(experiments: int) -> list[Row]:
    """Single runs over their test items: who is ahead, and which columns changed."""
    rows = []
    for k in LEARNERS:
        for items in (50, 500):
            rng = np.random.default_rng([4, k, items])

            def ahead(_: int, rng: np.random.Generator = rng, k: int = k, items: int = items) -> bool:
                runs = []
                for _learner in range(k):
                    matrix = ScoreMatrix(
                        rng.binomial(items, 0.8, size=(4, 4)) / items, n_samples=[items] * 4, orientation="time_rows"
                    )
                    runs.append((matrix, noise_of(matrix)))
                pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
                made = [difference_over_items(runs[a], runs[b], "acc.average", resamples=200) for a, b in pairs]
                corrected = holm([one.p for one in made])
                found = [
                    ItemPair(f"l{a}", f"l{b}", d, float(p), ())
                    for (a, b), d, p in zip(pairs, made, corrected, strict=True)
                ]
                values = {f"l{j}": float(score(run[0], "acc.average")) for j, run in enumerate(runs)}
                return "is ahead of" in str(lead_over_items(found, values, True))

            def changed(_: int, rng: np.random.Generator = rng, k: int = k, items: int = items) -> bool:
                lost, won = rng.binomial(items // 5, 0.5, size=(2, k))
                p = holm([mcnemar(int(a), int(b)) for a, b in zip(lost, won, strict=True)])
                return bool((p < 0.05).any())

            few = max(40, experiments // 5)
            rows.append([str(k), str(items), rate(few, ahead), rate(experiments, changed)])
    return rows


def ranks(experiments: int) -> list[Row]:
    """Learners that are alike on every stream."""
    rows = []
    for k in LEARNERS:
        for streams in (2, 3, 5, 10):
            rng = np.random.default_rng([5, k, streams])
            made = [friedman_nemenyi(rng.normal(size=(streams, k))) for _ in range(experiments // 4)]
            better = float(np.mean([bool(one.different) for one in made]))
            rows.append(
                [str(k), str(streams), percent(better), percent(float(np.mean([one.p < 0.05 for one in made])))]
            )
    return rows


SECTIONS: dict[str, tuple[str, list[str], Callable[[int], list[Row]]]] = {
    "Leads and marks": (
        "Equal learners: in how many experiments is one called ahead of any other by AF (skewed, for a peak is a\n"
        "maximum), and has the forest of all pairs any filled mark. *bold*: the two best are equal, all others are"
        " far\nbelow, and one of the two is marked as ahead of all. *in five columns*: were five columns independent.",
        ["learners", "seeds", "ahead by AF", "any mark in the forest", "bold", "in five columns"],
        leads,
    ),
    "Who is still learning": (
        "Curves of 10 and 50 tasks, noise of .02 and .1 of the scores (half white, half a random walk), seeds that\n"
        "differ by a tenth. Of one curve, and of any of five (each is judged by itself, and the page says so).",
        ["truth", "seeds", "still rises", "falls", "levels off", "any rises", "any falls", "any levels off"],
        learning,
    ),
    "What was forgotten": (
        "Right answers of constant probability: nothing is forgotten, and no part of it is there; six tasks, seeds\n"
        "that differ by .03. *AF > 0* and *any part* by their own intervals alone, in bold what the report says. What\n"
        "one seed shows is said to be of this run, and is not counted.",
        ["test items", "seeds", "AF > 0", "any part", "**has fallen**", "**by any part**"],
        forgetting,
    ),
    "One run, many items": (
        "Equal learners with one run each, four tasks: one is called ahead (Holm over all pairs). And columns that do\n"
        "not change, as many as there are learners: one is called worse or better (McNemar, Holm).",
        ["learners or columns", "items", "ahead", "changed"],
        over_items,
    ),
    "Ranks over streams": (
        "Learners that are alike on every stream: one is called better than another (Nemenyi), and Friedman's p is\n"
        "below .05.",
        ["learners", "streams", "better than", "p < .05"],
        ranks,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--only", choices=list(SECTIONS))
    given = parser.parse_args()
    parts = [
        "# False claims\n\nWritten by `OMP_NUM_THREADS=1 python benchmarks/false_claims.py`\n"
        f"(recollect {__version__}, numpy {np.__version__}, scipy {scipy.__version__}, Python"
        f" {platform.python_version()}); {given.experiments:,} experiments per row,"
        " half as many of forgetting and per kind of curve (of which\nthere are four), a quarter for ranks,"
        " a fifth for leads over items. Per cent of experiments in which a sentence is said that is\nnot so.\n"
    ]
    for name, (about, head, make) in SECTIONS.items():
        if given.only in (None, name):
            parts.append(f"## {name}\n\n{about}\n\n{table(head, make(given.experiments))}")
            print(parts[-1], flush=True)
    if given.only is None:
        OUT.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
