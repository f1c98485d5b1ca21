"""Tuning without cheating: options chosen on held-back training samples, compared with the defaults on other seeds.

ER on digits, 5 tasks, memory 100. The settings are tried on training samples that are held back, on three seeds: a
grid, half of it kept after each seed, and as many draws of TPE from ranges, stopped early by ASHA. The chosen ones and
the defaults are then run on ten seeds that the searches did not have, on the test set.

    python benchmarks/tuning.py [--out DIR]

Needs Optuna. Two minutes of CPU.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import recollect as rc
from recollect.experiments.file import Experiment
from recollect.experiments.running import run_experiment
from recollect.experiments.tuning import Search, Tuned, tune
from recollect.runs import group, load
from recollect.stats import estimate

RESULTS = Path(__file__).parent / "results" / "tuning.md"
STREAMS = [{"name": "digits", "tasks": 5}]
OWN = {"memory": 100}
GRID = {"over": {"er": {"lr": [0.03, 0.1, 0.3], "memory_batch": [10, 50], "iterations": [1, 3]}}, "keep": 0.5}
RANGES = {
    "lr": {"low": 0.01, "high": 1.0, "log": True},
    "memory_batch": {"low": 5, "high": 100},
    "iterations": {"low": 1, "high": 3},
}
DRAWN = {"over": {"er": RANGES}, "search": "tpe", "trials": 12, "asha": 3}
SEARCHES = {"grid": GRID, "tpe": DRAWN}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "recollect-tuning")
    out = parser.parse_args().out
    plain = Experiment.model_validate({"name": "digits", "streams": STREAMS, "learners": [{"er": OWN}], "seeds": 10})
    made = {
        name: tune(plain, Search(**how, validation=0.2, seeds=3), out / name, workers=1)
        for name, how in SEARCHES.items()
    }
    learners = [{"er": OWN, "label": "defaults"}]
    for name, tuned in made.items():
        learners.append({"er": {**OWN, **tuned.chosen["er"].options}, "label": f"tuned ({name})"})
    both = Experiment.model_validate({"name": "both", "streams": STREAMS, "learners": learners, "seeds": 10})
    folder = run_experiment(both, out, workers=1).folder
    found = {one.learner: rc.score(one.matrix, "acc.average") for one in group(load(folder))}
    lines = [
        "# Tuned on training samples, compared on other seeds",
        "`python benchmarks/tuning.py`. ER on digits, 5 tasks of 2 classes, memory 100.",
        *(part for tuned in made.values() for part in table_of(tuned)),
        "Average accuracy after the last task on the test set, seeds 0 to 9, mean and 95 % t interval; the difference"
        " is paired by seed:",
        "| | accuracy, % |\n|---|---|\n"
        + "\n".join(f"| {name} | {said(values)} |" for name, values in found.items())
        + "".join(
            f"\n| {name} less defaults | {said(found[name] - found['defaults'])} |"
            for name in found
            if name != "defaults"
        ),
    ]
    RESULTS.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


def table_of(tuned: Tuned) -> list[str]:
    """What was tried, in words and as a table."""
    rows = [
        f"| {t.label} | {t.state} | {t.seeds} | {float(t.value.value):.3f} |"
        for t in tuned.trials
        if t.value is not None
    ]
    head = "| settings tried | | seeds begun | validation accuracy so far |\n|---|---|---|---|\n"
    return [f"{tuned.said['er']}.", head + "\n".join(rows)]


def said(values: object) -> str:
    one = estimate(values)
    return f"{100 * one.value:.2f} [{100 * one.low:.2f}, {100 * one.high:.2f}]"


if __name__ == "__main__":
    main()
