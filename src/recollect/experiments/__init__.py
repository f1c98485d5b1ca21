"""Experiments: learners x streams x seeds, each a run folder of its own, on local worker processes or on Ray."""

from recollect.experiments.file import Experiment, LearnerEntry, StreamEntry, parse, read
from recollect.experiments.grid import Job, grid
from recollect.experiments.running import Outcome, run_experiment

__all__ = [
    "Experiment",
    "Job",
    "LearnerEntry",
    "Outcome",
    "StreamEntry",
    "grid",
    "parse",
    "read",
    "run_experiment",
]
