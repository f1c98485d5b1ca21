"""The demo is an experiment like any other."""

from __future__ import annotations

from pathlib import Path

from recollect.experiments.demo import experiment
from recollect.experiments.grid import grid


def test_the_demo_has_five_learners_and_five_seeds(tmp_path: Path) -> None:
    jobs = grid(experiment(), tmp_path)
    assert len(jobs) == 25
    assert len({job.folder for job in jobs}) == 25
    assert {job.learner for job in jobs} >= {"finetune", "er", "gdumb", "joint_incremental"}
