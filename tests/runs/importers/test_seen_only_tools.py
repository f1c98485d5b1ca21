"""FACIL, LibContinual and CLArena: tools that evaluate the tasks seen so far, and write 0 or nothing for the others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.runs import load

R = np.array([[0.9, 0, 0], [0.7, 0.8, 0], [0.5, 0.0, 0.75]])
EMPTY = [[0.9, None, None], [0.7, 0.8, None], [0.5, 0.0, 0.75]]


def facil(folder: Path, kind: str = "taw", scores: np.ndarray = R, average: float | None = None) -> Path:
    results = folder / "ewc_seed3" / "results"
    results.mkdir(parents=True, exist_ok=True)
    path = results / f"acc_{kind}-2024-01-02-03-04.txt"
    np.savetxt(path, scores, "%.6f", delimiter="\t")
    means = scores.sum(1) / np.arange(1, len(scores) + 1)
    if average is not None:
        means[-1] = average
    np.savetxt(results / f"avg_accs_{kind}-2024-01-02-03-04.txt", means, "%.6f", delimiter="\t")
    forgetting = np.zeros_like(scores)
    for t in range(1, len(scores)):
        forgetting[t, :t] = scores[:t, :t].max(0) - scores[t, :t]
    np.savetxt(results / f"forg_{kind}-2024-01-02-03-04.txt", forgetting, "%.6f", delimiter="\t")
    arguments = {"approach": "ewc", "seed": 3, "datasets": ["cifar100"], "lr": 0.1, "gpu": 0}
    (results.parent / "args-2024-01-02-03-04.txt").write_text(json.dumps(arguments))
    return path


def test_facil_zeros_above_the_diagonal_were_not_evaluated(tmp_path, same):
    path = facil(tmp_path)
    (run,) = load(path)
    same(run.matrix.R, EMPTY)
    assert (run.learner, run.seed, run.stream, run.scenario) == ("ewc", 3, "cifar100 (taw)", "task-incremental")
    assert run.learner_config == {"lr": 0.1}
    assert "the file says avg_accs_taw 0.4167 = acc.average" in run.notes
    assert any("forg_taw" in note and note.endswith("= forgetting.chaudhry2018") for note in run.notes)


def test_facil_experiment_folder_has_both(tmp_path):
    facil(tmp_path)
    path = facil(tmp_path, "tag", R / 2)
    runs = load(path.parent.parent)
    assert {run.scenario for run in runs} == {"class-incremental", "task-incremental"}


def test_facil_contradictions(tmp_path):
    (run,) = load(facil(tmp_path, average=0.9))
    assert any(note.startswith("warning: the file says avg_accs_taw 0.9000") for note in run.notes)
    full = R.copy()
    full[0, 2] = 0.3
    with pytest.raises(UsageError, match="above the diagonal"):
        load(facil(tmp_path, scores=full))


def test_facil_that_was_stopped(tmp_path, same):
    stopped = R.copy()
    stopped[2] = 0
    (run,) = load(facil(tmp_path, scores=stopped))
    same(run.matrix.R, [EMPTY[0], EMPTY[1], [None] * 3])
    assert any("2 of 3 tasks" in note for note in run.notes)


LIBCONTINUAL = """
================Task 0 Training!================
================Result of Task 0 Testing!================
 * [Batch] Last Average Acc: 90.00
 * Per-Task Acc: [90.0, 0.0]
================Result of Task 1 Testing!================
 * [Batch] Last Average Acc: 65.00
 * [Batch] Per-Task Acc: [50.0, 80.0]
"""


def test_libcontinual(tmp_path, same):
    path = tmp_path / "ewc" / "run.log"
    path.parent.mkdir()
    path.write_text(LIBCONTINUAL)
    (run,) = load(path)
    same(run.matrix.R, [[0.9, None], [0.5, 0.8]])
    assert run.learner == "ewc"
    assert "the file says Last Average Acc 0.6500 = acc.average" in run.notes
    path.write_text(LIBCONTINUAL + LIBCONTINUAL)
    with pytest.raises(UsageError, match="two runs in one log"):
        load(path)
    path.write_text(LIBCONTINUAL.replace("[90.0, 0.0]", "[90.0, 1_0]"))
    with pytest.raises(UsageError, match="not a number"):
        load(path)


def test_clarena(tmp_path, same):
    path = tmp_path / "finetuning" / "results" / "acc.csv"
    path.parent.mkdir(parents=True)
    header = "after_training_task,average_accuracy,test_on_task_1,test_on_task_2\n"
    path.write_text(header + "1,0.9,0.9\n2,0.65,0.5,0.8\n")
    (run,) = load(path)
    same(run.matrix.R, [[0.9, None], [0.5, 0.8]])
    assert run.learner == "finetuning"
    assert "the file says average_accuracy 0.6500 = acc.average" in run.notes
    path.write_text(header + "2,0.65,0.5,0.8\n")
    with pytest.raises(UsageError, match="expected task 1"):
        load(path)
