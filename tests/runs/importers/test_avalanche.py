"""The fixtures were written by avalanche-lib itself; expected.json holds the accuracies it counted."""

from __future__ import annotations

import json

import pytest

from recollect.errors import UsageError
from recollect.runs.importers import avalanche

NAMES = ("class_incremental", "task_labels", "eval_in_training")


@pytest.mark.parametrize(
    ("name", "file"),
    [(n, f) for n in NAMES for f in ("eval_results.csv", "log.txt", "all_metrics.json")]
    + [("class_incremental", "interactive.txt"), ("task_labels", "interactive.txt")],
)
def test_every_file_of_a_run_gives_the_matrix_that_was_counted(fixtures, same, name, file):
    path = fixtures / "avalanche" / name / file
    expected = json.loads((fixtures / "avalanche" / "expected.json").read_text())[name]
    (run,) = avalanche.read(path)
    tolerance = 1e-12 if file.endswith(".json") else 5.1e-5
    ends = run.matrix.R[run.matrix.learned_at]
    same(ends, expected["R"], tolerance)
    if expected["b"] is None:
        assert run.matrix.b is None
    else:
        same(run.matrix.b, expected["b"], tolerance)
    assert run.unit == "fraction"


def test_a_measured_zero_stays_and_an_unmonitored_metric_does_not(tmp_path, same):
    path = tmp_path / "eval_results.csv"
    path.write_text(
        "eval_exp,training_exp,eval_accuracy,eval_loss,forgetting\n"
        "0,0,0.9000,0.1,0\n1,0,0,2.0,0\n0,1,0.0000,0.5,0\n1,1,0.8000,0.2,0\n"
    )
    (run,) = avalanche.read(path)
    same(run.matrix.R, [[0.9, None], [0.0, 0.8]])
    assert any("not monitored" in note for note in run.notes)


def test_a_run_without_accuracy_is_refused_with_the_remedy(fixtures):
    with pytest.raises(UsageError, match="accuracy_metrics"):
        avalanche.read(fixtures / "avalanche" / "no_accuracy" / "eval_results.csv")
    with pytest.raises(UsageError, match="no Top1_Acc_Exp"):
        avalanche.read(fixtures / "avalanche" / "no_accuracy" / "log.txt")


def test_experiences_learned_out_of_order_become_columns_in_the_order_of_learning(tmp_path, same):
    path = tmp_path / "eval_results.csv"
    path.write_text(
        "eval_exp,training_exp,eval_accuracy,eval_loss,forgetting\n"
        "0,1,0.1000,0,0\n1,1,0.9000,0,0\n0,0,0.8000,0,0\n1,0,0.5000,0,0\n"
    )
    (run,) = avalanche.read(path)
    assert [task.name for task in run.tasks] == ["experience 1", "experience 0"]
    same(run.matrix.R, [[0.9, 0.1], [0.5, 0.8]])


def test_a_tensor_printed_on_a_line_of_its_own(tmp_path, same):
    path = tmp_path / "eval_results.csv"
    path.write_text(
        "eval_exp,training_exp,eval_accuracy,eval_loss,forgetting\n"
        "0,0,\ntensor(0.7500, device='cuda:0'),\ntensor(0.1),0\n"
    )
    same(avalanche.read(path)[0].matrix.R, [[0.75]])


def test_evaluations_inside_training_are_rows_but_no_task_ends(fixtures):
    (run,) = avalanche.read(fixtures / "avalanche" / "eval_in_training" / "all_metrics.json")
    assert [row.after for row in run.rows] == [-1, -1, 0, 0, 1, 1, 2, 2, 3, 3, 4]
    assert [row.notes["iteration"] for row in run.rows if row.task_end] == [0, 34, 70, 104, 138, 172]


def test_iterations_that_do_not_tell_the_ends_are_refused(tmp_path):
    series = {f"Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp00{j}": [[5, 9, 12], [0.1, 0.2, 0.3]] for j in (0, 1)}
    path = tmp_path / "metrics.json"
    path.write_text(json.dumps(series))
    with pytest.raises(UsageError, match="cannot be told from iterations"):
        avalanche.read(path)


def test_another_stream_is_read_when_asked_for(tmp_path, same):
    log = "-- >> Start of training phase << --\n-- Starting training on experience 0 from train stream --\n"
    log += "-- >> End of training phase << --\n"
    for stream, score in (("train", 0.9), ("test", 0.7)):
        log += f"\tTop1_Acc_Exp/eval_phase/{stream}_stream/Exp000 = {score}\n-- >> End of eval phase << --\n"
    path = tmp_path / "log.txt"
    path.write_text(log)
    same(avalanche.read(path)[0].matrix.R, [[0.7]])
    same(avalanche.read(path, eval_stream="train")[0].matrix.R, [[0.9]])
    with pytest.raises(UsageError, match="it has evaluations of: test, train"):
        avalanche.read(path, eval_stream="valid")


def test_a_cut_line_is_named(tmp_path):
    path = tmp_path / "eval_results.csv"
    path.write_text("eval_exp,training_exp,eval_accuracy,eval_loss,forgetting\n0,0,0.9000,0.1,0\n1,0,0.")
    with pytest.raises(UsageError, match="line 3"):
        avalanche.read(path)


def test_nothing_learned_is_said(fixtures, tmp_path):
    first = (fixtures / "avalanche" / "class_incremental" / "eval_results.csv").read_text().split("\n")[:3]
    path = tmp_path / "eval_results.csv"
    path.write_text("\n".join(first))
    with pytest.raises(UsageError, match="no experience was ever learned"):
        avalanche.read(path)
