"""Tuning without cheating: options chosen on held-back training samples, compared with the defaults on other seeds.

ER on digits, 5 tasks, memory 100. The settings are tried on training samples that are held back, on three seeds, half
of them kept after each; the chosen one and the defaults are then run on ten seeds that the search did not have, on the
test set.

    python benchmarks/tuning.py [--out DIR]

Two minutes of CPU.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import recollect as rc
from recollect.experiments.file import Experiment
from recollect.experiments.running import run_experiment
from recollect.experiments.tuning import Search, tune
from recollect.runs import group, load
from recollect.stats import estimate

RESULTS = Path(__file__).parent / "results" / "tuning.md"
STREAMS = [{"name": "digits", "tasks": 5}]
OWN = {"memory": 100}
OVER = {"er": {"lr": [0.03, 0.1, 0.3], "memory_batch": [10, 50], "iterations": [1, 3]}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "recollect-tuning")
    out = parser.parse_args().out
    plain = Experiment.model_validate({"name": "digits", "streams": STREAMS, "learners": [{"er": OWN}], "seeds": 10})
    made = tune(plain, Search(over=OVER, validation=0.2, seeds=3, keep=0.5), out, workers=1)
    best = dict(made.chosen["er"].options)
    learners = [{"er": OWN, "label": "defaults"}, {"er": {**OWN, **best}, "label": "tuned"}]
    both = Experiment.model_validate({"name": "both", "streams": STREAMS, "learners": learners, "seeds": 10})
    folder = run_experiment(both, out, workers=1).folder
    found = {one.learner: rc.score(one.matrix, "acc.average") for one in group(load(folder))}
    lines = [
        "# Tuned on training samples, compared on other seeds",
        "`python benchmarks/tuning.py`. ER on digits, 5 tasks of 2 classes, memory 100.",
        f"{made.said}. Chosen: {best}.",
        "| settings tried | seeds | validation accuracy |\n|---|---|---|\n"
        + "\n".join(
            f"| {t.label} | {t.seeds} | {float(t.value.value):.3f} |" for t in made.trials if t.value is not None
        ),
        "Average accuracy after the last task on the test set, seeds 0 to 9, mean and 95 % t interval; the difference"
        " is paired by seed:",
        "| | accuracy, % |\n|---|---|\n"
        + "\n".join(f"| {name} | {said(values)} |" for name, values in found.items())
        + f"\n| difference | {said(found['tuned'] - found['defaults'])} |",
    ]
    RESULTS.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


def said(values: object) -> str:
    one = estimate(values)
    return f"{100 * one.value:.2f} [{100 * one.low:.2f}, {100 * one.high:.2f}]"


if __name__ == "__main__":
    main()
