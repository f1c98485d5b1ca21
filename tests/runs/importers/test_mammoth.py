from __future__ import annotations

import pytest

from recollect.errors import UsageError
from recollect.runs.importers import mammoth

CLASS_IL = "mammoth/results/class-il/seq-cifar10/er/logs.pyd"


def test_a_run_a_line(fixtures, same):
    first, second = mammoth.read(fixtures / CLASS_IL)
    same(first.matrix.R, [[0.975, None, None], [0.801, 0.88, None], [0.0, 0.85, 0.95]])
    same(second.matrix.R, [[0.96, None, None], [0.7, 0.9, None], [None, 0.5, 0.995]])
    assert (first.seed, second.seed) == (0, 1)
    assert first.learner == "er"
    assert first.scenario == "class-incremental"
    assert first.learner_config["buffer_size"] == 500


def test_a_results_folder_keeps_the_task_il_twin_apart(fixtures, same):
    runs = mammoth.read(fixtures / "mammoth" / "results")
    assert [(run.stream, run.seed) for run in runs] == [
        ("seq-cifar10 (class-il)", 0),
        ("seq-cifar10 (class-il)", 1),
        ("seq-cifar10 (task-il)", 0),
        ("seq-cifar10 (task-il)", 1),
    ]
    same(runs[2].matrix.R[2], [0.915, 0.85, 0.95])


def test_domain_il_has_no_cells_and_says_where_they_are(fixtures):
    with pytest.raises(UsageError, match="stderr"):
        mammoth.read(fixtures / "mammoth" / "domain_means_only" / "logs.pyd")


def test_domain_il_from_stderr_without_epochs_and_future(fixtures, same):
    (run,) = mammoth.read(fixtures / "mammoth" / "domain_il_stderr.txt")
    same(run.matrix.R, [[0.905, None, None], [0.7, 0.9, None], [0.5, 0.7225, 0.8775]])
    assert run.scenario == "domain-incremental"
    assert any("2 evaluations" in note for note in run.notes)


def test_class_il_from_stderr_gives_both_twins(fixtures, same):
    class_il, task_il = mammoth.read(fixtures / "mammoth" / "class_il_stderr.txt")
    same(class_il.matrix.R, [[0.9, None], [0.3, 0.9]])
    same(task_il.matrix.R, [[0.95, None], [0.9, 0.95]])
    assert task_il.scenario == "task-incremental"


def test_two_runs_in_one_stderr(fixtures, tmp_path):
    text = (fixtures / "mammoth" / "domain_il_stderr.txt").read_text()
    path = tmp_path / "err.txt"
    path.write_text(text + text.replace("90.5", "91.5"))
    assert len(mammoth.read(path)) == 2


def test_the_folder_of_a_stderr_may_name_the_seed_of_its_one_run(fixtures, tmp_path):
    text = (fixtures / "mammoth" / "domain_il_stderr.txt").read_text()
    path = tmp_path / "er" / "3" / "err.txt"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (run,) = mammoth.read(path)
    assert (run.learner, run.seed) == ("er", 3)
    assert any("taken for the seed" in note for note in run.notes)
    path.write_text(text + text.replace("90.5", "91.5"))
    assert [(run.learner, run.seed) for run in mammoth.read(path)] == [("3", None)] * 2


def test_evaluations_of_epochs_are_rows_inside_tasks(tmp_path, same):
    path = tmp_path / "logs.pyd"
    path.write_text(
        "{'seed': 0, 'accmean_task1': 50.0, 'accuracy_1_task1': 50.0, 'accuracy_1_task2': 90.0,"
        " 'accuracy_1_task3': 70.0, 'accuracy_2_task3': 60.0, 'accuracy_1_task4': 60.0,"
        " 'accuracy_2_task4': 80.0}\n"
    )
    (run,) = mammoth.read(path)
    assert [(row.after, row.task_end) for row in run.rows] == [(-1, False), (0, True), (0, False), (1, True)]
    same(run.matrix.R[run.matrix.learned_at], [[0.9, None], [0.6, 0.8]])


def test_rows_that_are_not_one_task_longer_each_are_refused(tmp_path):
    path = tmp_path / "logs.pyd"
    path.write_text(
        "{'accmean_task1': 50.0, 'accuracy_1_task1': 50.0, 'accuracy_2_task1': 50.0, 'accuracy_1_task2': 9.0}"
    )
    with pytest.raises(UsageError, match="eval_future"):
        mammoth.read(path)


def test_a_joint_run_is_one_row_after_all_tasks(tmp_path, same):
    path = tmp_path / "logs.pyd"
    path.write_text("{'joint': 1, 'accmean_task1': 85.0, 'accuracy_1_task1': 80.0, 'accuracy_2_task1': 90.0}\n")
    (run,) = mammoth.read(path)
    assert [row.after for row in run.rows] == [1]
    same(run.matrix.R[-1], [0.8, 0.9])


def test_code_in_a_line_is_not_run(tmp_path):
    sentinel = tmp_path / "ran"
    path = tmp_path / "logs.pyd"
    path.write_text(f"{{'accmean_task1': 1, 'accuracy_1_task1': __import__('pathlib').Path('{sentinel}').touch()}}\n")
    with pytest.raises(UsageError):
        mammoth.read(path)
    assert not sentinel.exists()


def test_a_folder_with_logs_of_means_says_what_was_left_out(fixtures):
    runs = mammoth.read(fixtures / "mammoth")
    assert len(runs) == 4
    assert all("1 logs in the folder hold mean accuracies only" in run.notes[-1] for run in runs)
