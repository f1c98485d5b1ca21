"""Hugging Face's Trainer: stages of O-LoRA's layout, sets of one Trainer, and what is no count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.metrics import score
from recollect.runs import Run, load
from recollect.runs.arrange import Choices
from tests.runs.importers.versions.writing import stage


def _stages(folder: Path) -> Path:
    outputs = folder / "my_lora" / "outputs"
    stage(outputs / "1-b_task", {"b_task": 90.0, "TC": 90.0}, samples=100)
    stage(outputs / "2-a", {"b_task": 80.0, "a": 70.0, "TC": 77.0}, samples=150)
    stage(outputs / "10-c", {"b_task": 60.0, "a": 70.0, "c": 50.0, "TC": 62.0}, samples=160)
    return folder


def test_stages_are_rows_by_number_and_folders_name_the_tasks(tmp_path: Path) -> None:
    (run,) = load(_stages(tmp_path))
    assert run.learner == "my_lora"
    assert [t.name for t in run.tasks] == ["b_task", "a", "c"]
    assert run.matrix.R[-1].tolist() == [0.6, 0.7, 0.5]
    assert run.plan.columns == "seen"
    assert [t.n_samples for t in run.tasks] == [100, 50, 10]
    assert score(run.matrix, "forgetting.chaudhry2018") == pytest.approx((0.3 + 0) / 2)
    assert "averages over categories, left out" in " ".join(run.notes)


def test_a_category_is_a_task_if_the_user_says_so(tmp_path: Path) -> None:
    (run,) = load(_stages(tmp_path), choices=Choices(held_out=("TC",)))
    assert [(t.name, t.held_out) for t in run.tasks][-1] == ("TC", True)


def test_a_stage_without_scores_is_a_missing_row_and_a_base_folder_the_base(tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    stage(outputs / "0-base", {"a": 10.0, "b": 20.0, "c": 30.0})
    stage(outputs / "1-a", {"a": 90.0, "b": 20.0, "c": 30.0}, samples=60)
    stage(outputs / "2-b", {})
    stage(outputs / "3-c", {"a": 70.0, "b": 60.0, "c": 80.0}, samples=60)
    (run,) = load(tmp_path)
    assert [row.name for row in run.rows] == ["0-base", "1-a", "2-b", "3-c"]
    assert run.matrix.b is not None
    assert run.matrix.b.tolist() == [0.1, 0.2, 0.3]
    assert str(run.matrix.R[1].tolist()) == "[nan, nan, nan]"
    # The same total in every row counts all tasks together: no task's size follows.
    assert [t.n_samples for t in run.tasks] == [None, None, None]


def test_counts_that_no_score_can_come_from_are_not_taken(tmp_path: Path) -> None:
    stage(tmp_path / "1-a", {"a": 33.3333}, samples=100)
    stage(tmp_path / "2-b", {"a": 30.0, "b": 50.0}, samples=140)
    (run,) = load(tmp_path)
    assert [t.n_samples for t in run.tasks] == [None, 40]


def test_sets_of_one_trainer_have_names_with_underscores(tmp_path: Path) -> None:
    for step, value in ((500, 0.5), (1000, 0.75)):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        data = {
            "eval_math_qa_accuracy": value,
            "eval_math_qa_samples": 80,
            "eval_math_qa_runtime": 1.5,
            "eval_math_qa_samples_per_second": 53.0,
            "eval_math_accuracy": 0.25,
            "eval_math_runtime": 1.0,
            "eval_math_samples_per_second": 80.0,
            "eval_math_loss": 2.0,
            "epoch": 1.0,
        }
        (folder / "eval_results.json").write_text(json.dumps(data))
    accuracy = next(run for run in load(tmp_path) if run.metric == "accuracy")
    assert [(t.name, t.n_samples) for t in accuracy.tasks] == [("math", None), ("math_qa", 80)]
    assert [row.name for row in accuracy.rows] == ["checkpoint-500", "checkpoint-1000"]
    assert [row.scores[accuracy.metric] for row in accuracy.rows] == [(0.25, 0.5), (0.25, 0.75)]


def test_a_stage_that_holds_text_is_refused_in_one_paragraph(tmp_path: Path) -> None:
    (tmp_path / "all_results.json").write_text('{"eval_accuracy": 1')
    with pytest.raises(UsageError, match="it is not JSON"):
        load(tmp_path, "hf-trainer")


def test_o_lora_as_published(public_files: Path) -> None:
    runs: dict[str, Run] = {run.learner: run for run in load(public_files / "olora")}
    assert round(100 * score(runs["order1_olora"].matrix, "acc.average"), 2) == 78.37
    assert round(score(runs["long_olora"].matrix, "forgetting.chaudhry2018"), 4) == 0.0174
    assert round(score(runs["long_seqlora"].matrix, "forgetting.chaudhry2018"), 4) == 0.4895
    assert sum(t.n_samples or 0 for t in runs["long_olora"].tasks) == 70861
