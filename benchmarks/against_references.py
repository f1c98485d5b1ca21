"""Every learner against another implementation of it: the same samples, network, weights, optimiser, memory.

Why: a learner with a mistake in it still gives a plausible number. Split MNIST, 5 tasks of 2 classes,
class-incremental, one pass in batches of 10, 500 training images a class and all test images; MLP
784-100-100-10; SGD. For each seed both sides meet the same class order and the same samples and start from the same
weights. Where the other implementation keeps the order of the samples and draws nothing, the two must agree
to rounding; elsewhere the mean over seeds must. The table says where an algorithm differs by design.

Compared is the average accuracy after the last task, among all classes and (more telling for learners without memory,
which all fall to the newest task) among each task's own two. Differences are paired by seed, with a 95 % t interval.

    pip install torch==2.13.0 torchvision==0.28.0 avalanche-lib==0.6.0    # in an environment of its own
    python benchmarks/against_references.py --env DIR --data DIR --survey DIR --mammoth DIR

`--survey` is a checkout of RaptorMai/online-continual-learning, `--mammoth` one of aimagelab/mammoth; both run in that
environment. Only results are kept: no code of theirs is in this repository. Half an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

import recollect
from recollect.learners import Setting, make_learner
from recollect.protocol import iter_protocol
from recollect.runs.run import Plan
from recollect.runs.seeds import derive
from recollect.stats import Estimate, estimate
from recollect.streams import Stream, make_stream

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "against_references.md"
FIGURES = RESULTS.with_suffix(".json")
SEEDS = {"Avalanche": 5, "survey": 10, "Mammoth": 10, "exact": 10}  # Avalanche takes several times as long
TASKS, BATCH, SUBSET, HIDDEN, RATE = 5, 10, 500, (100, 100), 0.1
REPLAY = {"memory": 200, "memory_batch": 10}
CONTRAST = {"memory": 200, "memory_batch": 100}
DARK = {**REPLAY, "alpha": 0.1, "beta": 0.5}
# A training from scratch: constant rate, no momentum, as the survey's GDumb.
SCRATCH = {"batch": BATCH, "momentum": 0.0, "weight_decay": 0.0, "schedule": "constant"}
SAME = "nothing: the same algorithm in the same order"


@dataclass(frozen=True)
class Comparison:
    """A learner of ours and one of another tool, the options of both, and how they differ by design."""

    learner: str
    method: str
    differs: str
    ours: dict[str, Any] = field(default_factory=dict)
    theirs: dict[str, Any] = field(default_factory=dict)
    new_seeds: int = 0  # a second look at a difference, on seeds that the first did not have

    @property
    def label(self) -> str:
        return f"{self.method}, {self.new_seeds} new seeds" if self.new_seeds else self.method

    @property
    def tool(self) -> str:
        return self.method.split()[0]

    @property
    def seeds(self) -> range:
        first = SEEDS[self.tool]
        return range(first, first + self.new_seeds) if self.new_seeds else range(first)


COMPARISONS = (
    Comparison("finetune", "Avalanche Naive", SAME),
    Comparison("er", "Avalanche Replay", "nothing but the draws", REPLAY, REPLAY),
    Comparison("er", "Mammoth er", "nothing but the draws", REPLAY, REPLAY),
    Comparison(
        "er",
        "survey ER",
        "its reservoir takes samples of the newest batch a little too often; order within a task",
        {**REPLAY, "separate": True},
        REPLAY,
    ),
    Comparison(
        "mir",
        "survey MIR",
        "its reservoir takes samples of the newest batch a little too often; order within a task",
        {**REPLAY, "separate": True, "candidates": 50},
        {**REPLAY, "candidates": 50},
    ),
    Comparison(
        "scr",
        "survey SCR",
        "no augmentation on either side; its reservoir and order within a task as for ER",
        CONTRAST,
        {**CONTRAST, "temperature": 0.07},
    ),
    Comparison(
        "icarl",
        "survey ICARL",
        "its memory is a reservoir, not herded, and holds samples of the present task; order within a task",
        REPLAY,
        REPLAY,
    ),
    Comparison(
        "er_ace",
        "Mammoth er_ace",
        "in its batch loss the classes above the newest compete too",
        REPLAY,
        REPLAY,
    ),
    Comparison(
        "er_ace",
        "Avalanche ER_ACE",
        "memory balanced by class, and it has the batch before the step; it halves the loss, so its rate is doubled",
        REPLAY,
        {**REPLAY, "lr": 2 * RATE},
    ),
    Comparison("derpp", "Mammoth derpp", "nothing but the draws", DARK, DARK),
    Comparison("derpp", "Mammoth derpp", "nothing but the draws", DARK, DARK, new_seeds=20),
    Comparison(
        "derpp",
        "Avalanche DER",
        "memory balanced by class; logits of after the step; one draw for both losses",
        DARK,
        DARK,
    ),
    Comparison(
        "agem",
        "survey AGEM",
        "samples of the present task are in its reference too; order within a task",
        REPLAY,
        REPLAY,
    ),
    Comparison(
        "agem", "Avalanche AGEM", "memory of 40 a task, filled at its end, drawn evenly by task", REPLAY, REPLAY
    ),
    Comparison(
        "ewc",
        "Avalanche EWC",
        "Fisher information by the true label of all samples (ours: the network's own labels of 200); its step on"
        " the penalty is explicit",
        {"strength": 10.0, "samples": 200, "labels": 10},
        {"strength": 10.0},
    ),
    Comparison(
        "mas",
        "Avalanche MAS",
        "its step on the penalty is explicit; its weights set so that importance adds up as ours",
        {"strength": 0.1, "samples": 1000},
        {"strength": 0.1},
    ),
    Comparison("lwf", "Avalanche LwF", SAME + ", its weights set to ours", {}, {"temperature": 2.0}),
    Comparison("lwf", "survey LWF", "its distillation is over all classes, unseen ones too; order within a task"),
    Comparison("ncm", "Avalanche NCM", SAME),
    Comparison(
        "slda",
        "Avalanche StreamingLDA",
        "its covariance starts at ones, and counts the first sample of a class from zero",
        {},
        {"shrinkage": 1e-4},
    ),
    Comparison(
        "gdumb",
        "survey GDUMB",
        "the last samples of an epoch that do not fill a batch are left out",
        {**SCRATCH, "memory": 200, "epochs": 30, "lr": RATE, "clip": 10.0},
        {"memory": 200, "epochs": 30, "clip": 10.0},
    ),
    Comparison(
        "gdumb",
        "Avalanche GDumb",
        "always the same initial weights; memory a reservoir in each class",
        {**SCRATCH, "memory": 200, "epochs": 30, "lr": RATE, "clip": 1e9},
        {"memory": 200, "epochs": 30},
    ),
    Comparison(
        "joint_incremental",
        "Avalanche Cumulative",
        "always the same initial weights",
        {**SCRATCH, "epochs": 4, "lr": RATE, "clip": 1e9},
        {"epochs": 4},
    ),
    Comparison(
        "joint_final",
        "Avalanche JointTraining",
        "nothing but the draws",
        {**SCRATCH, "epochs": 4, "lr": RATE, "clip": 1e9},
        {"epochs": 4},
    ),
    Comparison("random", "exact 1/C", "the expected value: 1/10 among all classes, 1/2 among two"),
)
NO_NETWORK = ("ncm", "slda", "random")


def stream_of(seed: int, data: Path) -> Stream:
    order = derive(seed).class_order
    return make_stream("mnist", data=data, tasks=TASKS, subset=SUBSET, batch=BATCH, class_order_seed=order)


def ours(one: Comparison, stream: Stream, seed: int) -> tuple[float, float]:
    """Average accuracy after the last task, among all classes and among each task's own."""
    options = one.ours if one.learner in NO_NETWORK else {"network": "mlp", "hidden": HIDDEN, **one.ours}
    learner = make_learner(one.learner, options, Setting.of(stream), derive(seed), "cpu")
    *_, last = iter_protocol(learner, stream, seed=derive(seed).stream, plan=Plan(rows=(TASKS - 1,)))
    return float(np.divide(last.correct, last.n).mean()), float(np.divide(last.masked, last.n).mean())


def save(stream: Stream, seed: int, path: Path) -> None:
    """The training samples in the order of the stream, where tasks end, and the test samples."""
    batches, tests = list(stream.batches(derive(seed).stream)), list(stream.test_batches())
    np.savez(
        path,
        x=np.concatenate([batch.x for batch in batches]),
        y=np.concatenate([batch.y for batch in batches]),
        ends=[batch.samples_seen for batch in batches if batch.ends is not None],
        x_test=np.concatenate([test.x for test in tests]),
        y_test=np.concatenate([test.y for test in tests]),
        task_test=np.concatenate([test.task for test in tests]),
    )


def theirs(some: Sequence[Comparison], folder: Path, python: Path, tool: str) -> list[dict[str, Any]]:
    """What the other tool gets, comparison by comparison and seed by seed."""
    plain = {"n_classes": 10, "hidden": HIDDEN, "lr": RATE, "batch": BATCH}
    jobs = [
        {
            "method": one.method,
            "options": {**plain, **one.theirs},
            "seed": seed,
            "init": derive(seed).init,
            "file": f"{seed}.npz",
        }
        for one in some
        for seed in one.seeds
    ]
    (folder / "work.json").write_text(json.dumps(jobs), encoding="utf-8")
    command = [python, HERE / "against_references_worker.py", folder, Path(recollect.__file__).parents[1], tool]
    answers = []
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for job, line in zip(jobs, process.stdout, strict=False):
            answers.append(json.loads(line))
            print(job["method"], job["seed"], f"{np.mean(answers[-1]['all']):.4f}", file=sys.stderr, flush=True)
    if len(answers) < len(jobs):
        raise SystemExit(f"{jobs[len(answers)]['method']} ended with {process.returncode} after {len(answers)} runs")
    return answers


def measure(some: Sequence[Comparison], chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Both sides of every comparison, a value for each seed."""
    found: dict[str, list[tuple[float, float]]] = {"exact 1/C": [(0.1, 0.5)] * SEEDS["exact"]}
    tools = {"Avalanche": "", "survey": chosen.survey, "Mammoth": chosen.mammoth}
    with tempfile.TemporaryDirectory() as place:
        streams = {seed: stream_of(seed, chosen.data) for seed in {seed for one in some for seed in one.seeds}}
        for seed, stream in streams.items():
            save(stream, seed, Path(place) / f"{seed}.npz")
        for tool, folder in tools.items():
            mine = [one for one in some if one.tool == tool and folder is not None]
            answers = iter(theirs(mine, Path(place), chosen.env / "bin" / "python", str(folder)) if mine else ())
            for one in mine:
                both = [next(answers) for _ in one.seeds]
                found[one.label] = [(float(np.mean(b["all"])), float(np.mean(b["own"]))) for b in both]
    figures = []
    for one in some:
        if one.label in found:
            mine = [ours(one, streams[seed], seed) for seed in one.seeds]
            print(one.learner, one.label, np.mean(mine, axis=0), file=sys.stderr, flush=True)
            figures.append(figure(one, mine, found[one.label]))
    return figures


def figure(one: Comparison, mine: list[tuple[float, float]], other: list[tuple[float, float]]) -> dict[str, Any]:
    """What is kept of a comparison; `_own` is among the classes of each task."""
    return {
        "learner": one.learner,
        "reference": one.label,
        "differs": one.differs,
        "options": one.ours,
        "their_options": one.theirs,
        "seeds": list(one.seeds),
        "ours": [a for a, _ in mine],
        "theirs": [a for a, _ in other],
        "ours_own": [b for _, b in mine],
        "theirs_own": [b for _, b in other],
    }


def merged(new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The new figures, and those of the file that were not measured again, in the order of the comparisons."""
    old = json.loads(FIGURES.read_text(encoding="utf-8"))["figures"] if FIGURES.exists() else []
    known = {(f["learner"], f["reference"]): f for f in [*old, *new]}
    return [known[key] for one in COMPARISONS if (key := (one.learner, one.label)) in known]


def percent(one: Estimate, sign: str = "") -> str:
    """A share with its interval, in percent."""
    return f"{100 * one.value:{sign}.2f} [{100 * one.low:{sign}.2f}, {100 * one.high:{sign}.2f}]"


def cells(figure: dict[str, Any], which: str = "") -> tuple[str, str, str]:
    """Ours, theirs and the paired difference; `which` is "" or "_own"."""
    a, b = (np.array(figure[side + which]) for side in ("ours", "theirs"))
    gap = estimate(a - b)
    mark = "**" if gap.low > 0 or gap.high < 0 else ""
    theirs = f"{100 * b[0]:g} exactly" if np.ptp(b) == 0 and "exact" in figure["reference"] else percent(estimate(b))
    return percent(estimate(a)), theirs, f"{mark}{percent(gap, '+')}{mark}"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *lines))


def report(made: dict[str, Any]) -> str:
    """The page, from the figures alone."""
    figures = made["figures"]
    parts = []
    for which, what in (("", "among all ten classes"), ("_own", "among the two classes of each task")):
        lines = [(f["learner"], f["reference"], *cells(f, which)) for f in figures]
        head = ("learner", "reference", "ours, %", "reference, %", "difference (paired)")
        parts += [f"## Average accuracy after the last task, {what}", table(head, lines)]
    differs = table(
        ("learner", "reference", "differs by design", "options, ours", "options, theirs"),
        [(f["learner"], f["reference"], f["differs"], said(f["options"]), said(f["their_options"])) for f in figures],
    )
    bold = sum(cells(f, w)[2].startswith("**") for f in figures for w in ("", "_own"))
    return "\n\n".join(
        [
            "# Every learner against another implementation of it",
            f"`{made['command']}`; {made['versions']}.",
            made["setting"],
            f"{len(figures)} comparisons; {said(SEEDS)} seeds; means with 95 % t intervals. Bold: the interval of the"
            f" difference does not hold 0 ({bold} of {2 * len(figures)}; about one in twenty would by chance, as no"
            " correction is made). The last table says what differs by design, and where nothing does.",
            "The strengths of EWC and MAS were chosen so that Avalanche's explicit step on the penalty is stable: MAS"
            " on the first seed; EWC after a run at strength 100, in which Avalanche's fell to chance among a task's"
            " own classes in one of five seeds. Ours takes that step implicitly. A difference that nothing explains is"
            " looked at again on new seeds.",
            *parts,
            "## What differs",
            differs,
        ]
    )


def said(options: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items()) or "-"


def revision(folder: Path | None) -> str:
    if folder is None:
        return "left out"
    command = ["git", "-C", str(folder), "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, required=True, help="folder of the environment with avalanche-lib")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--survey", type=Path, help="checkout of RaptorMai/online-continual-learning")
    parser.add_argument("--mammoth", type=Path, help="checkout of aimagelab/mammoth")
    parser.add_argument("--only", nargs="*", help="learners, tools or references; the figures of the others stay")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    some = [one for one in COMPARISONS if not chosen.only or {one.learner, one.tool, one.label} & {*chosen.only}]
    made = {
        "command": "python benchmarks/against_references.py --env DIR --data DIR --survey DIR --mammoth DIR",
        "versions": f"recollect {recollect.__version__}, torch {torch.__version__}, numpy {np.__version__},"
        f" Python {platform.python_version()}; theirs: Avalanche 0.6.0, RaptorMai/online-continual-learning at"
        f" {revision(chosen.survey)}, Mammoth at {revision(chosen.mammoth)}",
        "setting": f"Split MNIST, {TASKS} tasks of 2 classes, class-incremental, class order from the seed; {SUBSET}"
        f" training images a class, all 10,000 test images; one pass, batch {BATCH}; MLP"
        f" 784-{'-'.join(map(str, HIDDEN))}-10; SGD, rate {RATE}, no momentum. Both"
        " sides have the samples, the network and, where it is not made anew, its initial weights in common.",
        "figures": merged(measure(some, chosen)),
    }
    text = report(made)
    print(text)
    FIGURES.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
