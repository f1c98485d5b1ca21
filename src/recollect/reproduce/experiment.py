"""The experiments behind Figures 3 and 4 of Michel et al. 2023: Finetune, ER and GDumb on two streams.

What is smaller here than in the paper is in the files below, and in the captions of the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import MissingExtra, NotComputable, UsageError
from recollect.reproduce.claims import LEARNERS
from recollect.runs import Group, Run, group, load

if TYPE_CHECKING:
    from recollect.experiments import Experiment
    from recollect.report.results import Contents

# GDumb's authors train 256 epochs before each evaluation. 32 end a cosine cycle too, as do 16, and with 100 tasks its
# evaluations are planned: they are all that it costs.
CIFAR100 = """
name: cifar100-convolutions
streams: [{name: split-cifar100, batch: 10}]
learners:
  - finetune: {network: "recollect.reproduce.network:small_network_100"}
  - er: {network: "recollect.reproduce.network:small_network_100", memory: 2000, memory_batch: 10}
  - gdumb: {network: "recollect.reproduce.network:small_network_100", memory: 2000, epochs: 32}
seeds: 5
plan: {columns: seen}
"""
TINY = """
name: tiny-imagenet
streams: [{name: split-tiny-imagenet, batch: 10, size: 32}]
learners:
  - finetune: {network: "recollect.reproduce.network:small_network"}
  - er: {network: "recollect.reproduce.network:small_network", memory: 2000, memory_batch: 10}
  - gdumb: {network: "recollect.reproduce.network:small_network", memory: 2000, epochs: 16}
    plan: {columns: seen, rows: 25}
seeds: 3
plan: {columns: seen}
"""
# What the paper says of its experiments, and what it leaves to the reader.
PAPER = (
    "The paper: CIFAR-100 in 10 tasks of 10 classes and Tiny ImageNet (64 x 64, 100,000 training images) in 100 tasks"
    " of 2, M = 2000. It names neither network, optimiser, batch sizes, GDumb's epochs nor the number of seeds."
)
QUICK = """
name: digits
streams: [{name: digits, tasks: 5}]
learners: [finetune, er: {memory: 200}, gdumb: {memory: 200, epochs: 32}]
seeds: 5
"""


def experiments(quick: bool = False) -> tuple[Experiment, ...]:
    """The experiments of the paper, or the same learners on digits.

    >>> [(one.name, one.plan.rows) for one in experiments()]
    [('cifar100-convolutions', None), ('tiny-imagenet', None)]
    """
    try:
        from recollect.experiments import parse
    except ModuleNotFoundError as missing:
        raise MissingExtra.of(str(missing.name), "run") from None
    texts = (QUICK,) if quick else (CIFAR100, TINY)
    return tuple(parse(text, "the reproduction") for text in texts)


def run(out: Path, *, quick: bool = False, data: Path | None = None, workers: int | None = None) -> tuple[Group, ...]:
    """Run the experiments, or what is left of them; the runs are in folders of `out`."""
    chosen = experiments(quick)
    from recollect.experiments.grid import grid
    from recollect.experiments.running import run_experiment

    for experiment in chosen:
        grid(experiment, out, data)  # a data set that is not there is found out before hours of another one
    runs: list[Run] = []
    for experiment in chosen:
        outcome = run_experiment(experiment, out, data=data, workers=workers)
        if outcome.failures:
            failed = outcome.failures[0]
            raise NotComputable(
                f"{len(outcome.failures)} runs failed, the first was {failed.job.name}: {failed.message}. The same"
                " command goes on with what is left."
            )
        runs += load(outcome.folder)
    return _in_order(runs)


def read(folder: Path) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """The finished runs of a folder, and the names of those that are not finished.

    Groups keep every learner; the claims are about the paper's three.
    """
    runs = load(folder)
    finished = [run for run in runs if run.status in ("finished", "imported")]
    unfinished = tuple(run.name for run in runs if run not in finished)
    if not finished:
        raise UsageError(
            f"{folder} holds {len(runs)} runs and none is finished; expected finished runs of finetune, er and"
            " gdumb. Resume them with the command that began them, or leave --runs out to train."
        )
    return _in_order(finished), unfinished


def captions(contents: Contents, groups: Sequence[Group]) -> tuple[str, ...]:
    """What was run, one sentence per stream and per learner, and what was cut against the paper."""
    made = [PAPER]
    for stream in contents.streams:
        members = [one for one in groups if (one.family, one.stream) == (stream.family, stream.name)]
        first = members[0].runs[0]
        sizes = sorted({task.n_classes for task in first.tasks if task.n_classes is not None})
        of = f" of {' or '.join(map(str, sizes))} classes" if sizes else ""
        tests = "" if stream.n_samples is None else f", {stream.n_samples:,} test samples"
        how = "" if stream.online is None else ", one pass" if stream.online else ", several passes"
        known = any(name in stream.name for name in ("cifar100", "tiny-imagenet"))
        stands = "" if known else "; it stands in for the paper's data sets"
        made.append(f"{stream.key}: {len(first.tasks)} tasks{of}{tests}{how}{stands}.")
        notes = dict.fromkeys(note for member in members for run in member.runs for note in run.notes)
        made += [f"{stream.key}: {note}." for note in notes]
        for learner, member in zip(stream.learners, members, strict=True):
            made.append(f"{stream.key}, {learner.label}: {_described(member)}.")
    return tuple(made)


def _in_order(runs: Sequence[Run]) -> tuple[Group, ...]:
    """Groups in the paper's order of learners; others after them."""
    order = {name: place for place, name in enumerate(LEARNERS)}
    return tuple(sorted(group(runs), key=lambda one: order.get(one.learner, len(order))))


def _described(group: Group) -> str:
    """What a reader must know of a learner's runs: network, memory, epochs, rows, seeds."""
    config = group.learner_config
    parts = []
    network = str(config.get("network", "")).rpartition(":")[2]
    if network:
        parts.append("the default network" if network == "auto" else network)
    if "memory" in config:
        parts.append(f"M = {config['memory']}" + ("" if config["memory"] == 2000 else " (the paper: 2000)"))
    if "memory_batch" in config:
        parts.append(f"{config['memory_batch']} replayed a step")
    if group.learner == "gdumb" and "epochs" in config:
        parts.append(f"{config['epochs']} epochs" + ("" if config["epochs"] == 256 else " (its authors: 256)"))
    rows, T = int(group.matrix.planned.sum()), group.matrix.T
    if rows < T:
        parts.append(f"evaluated after {rows} of {T} tasks")
    return ", ".join([*parts, f"{len(group.runs)} seed{'s' if len(group.runs) > 1 else ''}"])
