"""The demo: split digits, five learners, five seeds, about a minute on two cores and without a network."""

from __future__ import annotations

from pathlib import Path

from recollect.experiments.file import Experiment, parse
from recollect.experiments.running import Outcome, run_experiment

# Fewer epochs than the papers' for those that train anew before each evaluation: digits are small.
TEXT = """
name: demo
streams: [{name: digits, tasks: 5}]
learners:
  - finetune
  - er: {memory: 200}
  - gdumb: {memory: 200, epochs: 64}
  - joint_incremental: {epochs: 16}
  - random
seeds: 5
"""


def experiment() -> Experiment:
    """The demo as an experiment.

    >>> [learner.label for learner in experiment().learners]
    ['finetune', 'er', 'gdumb', 'joint_incremental', 'random']
    """
    return parse(TEXT, "the demo")


def demo(out: Path | str = "runs", *, workers: int | None = None, live: bool | None = None) -> Outcome:
    """Run the demo, or what is left of it; the runs are in `out`/demo."""
    return run_experiment(experiment(), out, workers=workers, live=live)
