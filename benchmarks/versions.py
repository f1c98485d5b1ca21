"""What public evaluations of model versions say: O-LoRA's and Pythia's own files, with intervals over test items.

    python benchmarks/versions.py FOLDER

FOLDER holds `olora/` and `lmeval/pythia/` as their owners published them. Writes benchmarks/results/versions.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from recollect.metrics import score
from recollect.runs import Run, load
from recollect.runs.arrange import Choices
from recollect.stats import null_forgetting, over_items

OUT = Path(__file__).parent / "results" / "versions.md"
AF = "forgetting.chaudhry2018"


def olora(folder: Path) -> list[str]:
    """Average accuracy and forgetting of every published run, beside what test noise alone would show."""
    lines = [
        "## O-LoRA's published results",
        "",
        "| run | tasks | test items | AA | AF [95 %, over items] | AF of noise alone [95 %] |",
        "|---|---|---|---|---|---|",
    ]
    for run in load(folder):
        items = sum(task.n_samples or 0 for task in run.tasks)
        accuracy = 100 * score(run.matrix, "acc.average")
        forgotten, null = "not computable: a stage was never evaluated", ""
        if not np.isnan(score(run.matrix, AF)):
            made, noise = over_items(run.matrix, AF), null_forgetting(run.matrix)
            forgotten = f"{made.value:.4f} [{made.low:.4f}, {made.high:.4f}]"
            null = f"{noise.value:.4f} [{noise.low:.4f}, {noise.high:.4f}]"
        lines.append(f"| {run.learner} | {run.T} | {items:,} | {accuracy:.2f} | {forgotten} | {null} |")
    return lines


def pythia(folder: Path) -> list[str]:
    """What each size lost between checkpoints, and how much of the peak is the maximum over noise."""
    first = load(folder)
    everything = tuple((task.name, 0) for task in first[0].tasks)
    lines = [
        "## Pythia's published checkpoints",
        "",
        "Every task counts as known from the first checkpoint on (`--trained <task>=0`): forgetting is the mean over"
        " tasks of the best earlier checkpoint minus the last.",
        "",
        "| model | tasks | checkpoints | mean peak minus last | noise alone [95 %] | from step 13,000 | noise alone |",
        "|---|---|---|---|---|---|---|",
    ]
    runs = load(folder, choices=Choices(trained=everything))
    for run in runs:
        null, late = null_around_last(run), _late(run)
        after = null_around_last(late)
        lines.append(
            f"| {run.learner} | {run.T} | {len(run.timeline.rows)} | {score(run.matrix, AF):.4f} |"
            f" {null.mean():.4f} [{np.quantile(null, 0.025):.4f}, {np.quantile(null, 0.975):.4f}] |"
            f" {score(late.matrix, AF):.4f} | {after.mean():.4f} |"
        )
    lines += ["", *_lambada(next(run for run in runs if run.learner.endswith("-70m")))]
    return lines


def null_around_last(run: Run, draws: int = 1000) -> np.ndarray:
    """Mean peak minus last where every checkpoint is as good as the last one, and only the items vary."""
    rng = np.random.default_rng(0)
    matrix = run.matrix
    n, last = np.asarray(matrix.n_samples), matrix.R[-1]
    drawn = rng.binomial(n, last, size=(draws, matrix.S, matrix.T)) / n
    result: np.ndarray = (drawn[:, :-1].max(1) - drawn[:, -1]).mean(1)
    return result


def _late(run: Run) -> Run:
    from dataclasses import replace

    rows = [row for row in run.timeline.rows if row is not None and int((row.name or "step0")[4:]) >= 13_000]
    return replace(run, rows=tuple(rows), learned_at=dict.fromkeys(range(run.T), 0))


def _lambada(run: Run) -> list[str]:
    column = [task.name for task in run.tasks].index("lambada_openai")
    rows = {row.name: row for row in run.timeline.rows if row is not None}
    before, after = rows["step53000"], rows["step143000"]
    values = [
        (row.scores[run.metric][column] or 0.0, (row.standard_error or ())[column] or 0.0) for row in (before, after)
    ]
    drop, error = values[0][0] - values[1][0], float(np.hypot(values[0][1], values[1][1]))
    return [
        f"lambada_openai of {run.learner} falls by {drop:.4f} between step 53,000 and 143,000, with a standard error of"
        f" {error:.4f} (95 %: +- {1.96 * error:.4f}), if the items of the two checkpoints were drawn apart."
    ]


def reading(folder: Path, files: int = 1000, turns: int = 9) -> list[str]:
    """Reading many result files, beside parsing their JSON and nothing else."""
    source = [json.loads(file.read_text()) for file in sorted(folder.rglob("*.json"))]
    lines = [
        "## Reading",
        "",
        f"{files:,} files of lm-eval with 87 tasks each; processor time, files in the cache of the system, {turns}"
        " turns of both, one after the other. Ratio: `recollect.load(folder)` over opening, reading and `json.loads`"
        " of the same files; required: at most 3.",
        "",
        "| files | MB | ratio (median) | smallest to largest | bare, ms |",
        "|---|---|---|---|---|",
    ]
    for name, form in (("old keys, as published", dict), ("the same with the keys of lm-eval 0.4", _with_new_keys)):
        with tempfile.TemporaryDirectory() as made:
            for place in range(files):
                data = form(source[place % len(source)])
                data["config"] = data["config"] | {"model_args": f"pretrained=org/model,revision=step{place}"}
                (Path(made) / f"step{place}.json").write_text(json.dumps(data, indent=2))
            size = sum(file.stat().st_size for file in Path(made).iterdir()) / 1e6
            load(made)
            bare, ours = zip(*(_turn(Path(made)) for _ in range(turns)), strict=True)
        ratios = np.array(ours) / np.array(bare)
        lines.append(
            f"| {name} | {size:.0f} | {np.median(ratios):.2f} | {ratios.min():.2f} to {ratios.max():.2f} |"
            f" {1000 * min(bare):.0f} |"
        )
    return lines


def _turn(folder: Path) -> tuple[float, float]:
    begun = time.process_time()
    for file in folder.iterdir():
        json.loads(file.read_bytes())
    parsed = time.process_time()
    load(folder)
    return parsed - begun, time.process_time() - parsed


def _with_new_keys(old: dict[str, Any]) -> dict[str, Any]:
    """What lm-eval 0.4 writes for the same scores: filters in the keys, counts, directions, groups."""
    tasks = list(old["results"])
    return {
        "results": {
            task: {"alias": task, **{f"{key},none": value for key, value in values.items()}}
            for task, values in old["results"].items()
        },
        "group_subtasks": {task: [] for task in tasks},
        "versions": dict.fromkeys(tasks, 1.0),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {
            task: {key: "ppl" not in key for key in values if "stderr" not in key}
            for task, values in old["results"].items()
        },
        "n-samples": {task: {"original": 1000, "effective": 1000} for task in tasks},
        "config": old["config"],
        "task_hashes": {},
        "date": 1.0,
    }


def main() -> None:
    """Write the page."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("python benchmarks/versions.py FOLDER, the unpacked public files")
    folder = Path(sys.argv[1])
    parts = [olora(folder / "olora"), pythia(folder / "lmeval" / "pythia"), reading(folder / "lmeval" / "pythia")]
    text = "# Versions of a model\n\nMade by `python benchmarks/versions.py FOLDER`.\n\n"
    OUT.write_text(text + "\n\n".join("\n".join(part) for part in parts) + "\n")
    print(OUT.read_text())


if __name__ == "__main__":
    main()
