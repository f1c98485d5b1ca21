"""The experiments of the paper as experiment files, and what is said about finished runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.experiments.file import read as read_experiment
from recollect.experiments.grid import grid
from recollect.report.gather import gather
from recollect.reproduce import experiment
from recollect.runs import save
from tests.reproduce.samples import make_run, paper_like, saturating


def test_the_experiments_are_those_of_the_paper() -> None:
    cifar, tiny = experiment.experiments()
    for one in (cifar, tiny):
        assert [learner.name for learner in one.learners] == ["finetune", "er", "gdumb"]
        assert all(learner.options.get("memory", 2000) == 2000 for learner in one.learners)
    assert {learner.plan for learner in cifar.learners} == {None}  # all after every task
    plan = tiny.learners[-1].plan
    assert plan is not None
    assert plan.rows == 25


def test_the_examples_are_the_experiments_of_the_reproduction() -> None:
    examples = Path(__file__).parents[2] / "examples"
    for one in experiment.experiments():
        assert read_experiment(examples / f"{one.name}.yaml") == one


def test_the_quick_one_runs_on_digits(tmp_path: Path) -> None:
    (quick,) = experiment.experiments(quick=True)
    jobs = grid(quick, tmp_path)
    assert {(job.learner, job.stream) for job in jobs} == {(n, "digits") for n in ("finetune", "er", "gdumb")}


def test_the_small_network_fits_tiny_imagenet() -> None:
    import torch

    from recollect.reproduce.network import small_network

    assert small_network()(torch.zeros(2, 3, 32, 32)).shape == (2, 200)


def test_unfinished_runs_are_left_out_and_named(tmp_path: Path) -> None:
    runs = paper_like(seeds=2)
    runs[0] = replace(runs[0], status="imported")
    runs[-1] = replace(runs[-1], status="running", rows=runs[-1].rows[:3])
    save(runs, tmp_path)
    groups, unfinished = experiment.read(tmp_path)
    assert [one.learner for one in groups] == ["finetune", "er", "gdumb"]
    assert [len(one.runs) for one in groups] == [2, 2, 1]
    assert len(unfinished) == 1
    assert "gdumb" in unfinished[0]


def test_a_folder_without_a_finished_run(tmp_path: Path) -> None:
    save([replace(paper_like(seeds=1)[0], status="running")], tmp_path)
    with pytest.raises(UsageError, match="none is finished"):
        experiment.read(tmp_path)


def test_captions_say_what_was_cut(tmp_path: Path) -> None:
    config = {"network": "package.module:small", "memory": 200, "epochs": 32}
    run = replace(
        make_run("gdumb", 0, saturating, rows=[4, 9]), learner_config=config, notes=("partial: 2 of 9 images",)
    )
    save([run], tmp_path)
    groups, _ = experiment.read(tmp_path)
    text = "\n".join(experiment.captions(gather(groups), groups))
    for words in ("small, M = 200 (the paper: 2000)", "32 epochs (its authors: 256)", "after 2 of 10 tasks", "1 seed."):
        assert words in text
    assert "partial: 2 of 9 images" in text
