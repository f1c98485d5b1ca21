"""What public result files of others say: O-LoRA's and Pythia's, from their converted records beside this script.

    python results/public.py FOLDER     # convert the published files again: FOLDER/olora, FOLDER/pythia
    python results/public.py --page     # draw docs/images/olora.png and docs/pages/olora.html

The tables stand in docs/public-results.md between their marks; `make_tables.py` writes and checks them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from recollect.metrics import score
from recollect.runs import Run, load
from recollect.runs.arrange import Choices, arrange_any
from recollect.stats import holm, null_forgetting, over_items

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
AF = "forgetting.chaudhry2018"
BETWEEN = ("step53000", "step143000")


def olora() -> str:
    """Average accuracy and forgetting of every published run, beside what test noise alone would show."""
    lines = [
        "| run | tasks | test items | AA | AF [95 %, over items] | AF of noise alone [95 %] |",
        "|---|---|---|---|---|---|",
    ]
    for run in load(HERE / "olora"):
        items = sum(task.n_samples or 0 for task in run.tasks)
        accuracy = 100 * score(run.matrix, "acc.average")
        forgotten, null = "not computable: a stage was never evaluated", ""
        if not np.isnan(score(run.matrix, AF)):
            made, noise = over_items(run.matrix, AF), null_forgetting(run.matrix)
            forgotten = f"{made.value:.4f} [{made.low:.4f}, {made.high:.4f}]"
            null = f"{noise.value:.4f} [{noise.low:.4f}, {noise.high:.4f}]"
        lines.append(f"| {run.learner} | {run.T} | {items:,} | {accuracy:.2f} | {forgotten} | {null} |")
    return "\n".join(lines)


def order1() -> str:
    """The matrices of order 1, in per cent."""
    runs = [run for run in load(HERE / "olora") if run.T == 4]
    names = [task.name for task in runs[0].tasks]
    lines = [f"| run | after | {' | '.join(names)} |", "|---|---|" + "---|" * len(names)]
    for run in runs:
        for name, row in zip(names, 100 * run.matrix.R, strict=True):
            cells = " | ".join("" if np.isnan(value) else f"{value:.2f}" for value in row)
            lines.append(f"| {run.learner} | {name} | {cells} |")
    return "\n".join(lines)


def pythia() -> str:
    """How much of the mean peak minus the last score is the maximum over noise."""
    lines = [
        "| model | tasks | checkpoints | mean peak minus last | noise alone [95 %] | from step 13,000"
        " | noise alone [95 %] |",
        "|---|---|---|---|---|---|---|",
    ]
    for run in _pythia():
        known = arrange_any(run, Choices(trained=tuple((task.name, 0) for task in run.tasks)))
        parts = []
        for part in (known, _late(known)):
            null = null_around_last(part)
            low, high = np.quantile(null, (0.025, 0.975))
            parts += [f"{score(part.matrix, AF):.4f}", f"{null.mean():.4f} [{low:.4f}, {high:.4f}]"]
        lines.append(f"| {run.learner} | {run.T} | {len(run.rows)} | {' | '.join(parts)} |")
    return "\n".join(lines)


def between() -> str:
    """What each size lost and gained from one checkpoint to the last, with intervals over test items."""
    lines = [
        "| model | mean change [95 %] | lambada_openai [95 %] | fallen beyond noise | risen beyond noise |",
        "|---|---|---|---|---|",
    ]
    for run in _pythia():
        before, after = ({row.name: row for row in run.rows}[name] for name in BETWEEN)
        change = np.subtract(*(np.array(row.scores[run.metric], float) for row in (after, before)))
        error = np.hypot(*(np.array(row.standard_error, float) for row in (after, before)))
        sure = holm(_p(change, error)) < 0.05
        names = [task.name for task in run.tasks]
        lambada = names.index("lambada_openai")
        mean = _with_interval(float(change.mean()), float(np.sqrt((error**2).sum()) / len(names)))
        fallen, risen = (
            ", ".join(f"{names[j]} {change[j]:+.4f}" for j in np.flatnonzero(sure & (side * change > 0))) or "none"
            for side in (-1, 1)
        )
        one = _with_interval(float(change[lambada]), float(error[lambada]))
        lines.append(f"| {run.learner} | {mean} | {one} | {fallen} | {risen} |")
    return "\n".join(lines)


TABLES = {"olora": olora, "O-LoRA order 1": order1, "pythia": pythia, "Pythia between": between}


def _pythia() -> list[Run]:
    return sorted(load(HERE / "pythia"), key=lambda run: int(run.learner.rpartition("-")[2].rstrip("m")))


def null_around_last(run: Run, draws: int = 1000) -> np.ndarray:
    """Mean peak minus last where every checkpoint is as good as the last one, and only the items vary."""
    rng = np.random.default_rng(0)
    matrix = run.matrix
    n, last = np.asarray(matrix.n_samples), matrix.R[-1]
    drawn = rng.binomial(n, last, size=(draws, matrix.S, matrix.T)) / n
    result: np.ndarray = (drawn[:, :-1].max(1) - drawn[:, -1]).mean(1)
    return result


def _late(run: Run) -> Run:
    rows = [row for row in run.timeline.rows if row is not None and int((row.name or "step0")[4:]) >= 13_000]
    return replace(run, rows=tuple(rows), learned_at=dict.fromkeys(range(run.T), 0))


def _p(change: np.ndarray, error: np.ndarray) -> list[float]:
    from scipy.special import ndtr

    return [float(p) for p in 2 * ndtr(-np.abs(change) / error)]


def _with_interval(value: float, error: float) -> str:
    return f"{value:+.4f} [{value - 1.96 * error:+.4f}, {value + 1.96 * error:+.4f}]"


def convert(folder: Path) -> None:
    """The records, made again from the published files."""
    for name, tool in (("olora", "hf-trainer"), ("pythia", "lm-eval")):
        shutil.rmtree(HERE / name, ignore_errors=True)
        command = [sys.executable, "-m", "recollect", "import", tool, name, "-o", str(HERE / name)]
        subprocess.run(command, cwd=folder, check=True)


def draw() -> None:
    """The picture and the page of O-LoRA's results."""
    command, records = [sys.executable, "-m", "recollect"], "../results/olora"
    picture = ["figure", "matrix", records, "--stream", "olora, 15 tasks", "-o", "images/olora.png"]
    (DOCS / "pages").mkdir(exist_ok=True)
    for words in (picture, ["report", records, "-o", "pages/olora.html"]):
        subprocess.run([*command, *words], cwd=DOCS, check=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--page"]:
        draw()
    elif len(sys.argv) == 2 and Path(sys.argv[1]).is_dir():
        convert(Path(sys.argv[1]))
    else:
        sys.exit("python results/public.py FOLDER, with olora/ and pythia/ as published, or --page")
