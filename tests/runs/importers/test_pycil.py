from __future__ import annotations

import pytest

from recollect.errors import UsageError
from recollect.metrics import identify, score
from recollect.report.summary import labels_of
from recollect.runs import group, load
from recollect.runs.importers import pycil


def test_every_seed_and_classifier_of_a_log_is_a_run(fixtures, same):
    runs = pycil.read(fixtures / "pycil" / "reproduce_1993_resnet32.log")
    assert [(run.learner, run.seed) for run in runs] == [
        ("icarl", 1993),
        ("icarl (NME)", 1993),
        ("icarl", 1994),
        ("icarl (NME)", 1994),
    ]
    same(runs[0].matrix.R, [[0.885, None], [0.6025, 0.9]])
    same(runs[1].matrix.R, [[0.87, None], [0.7, 0.8]])
    same(runs[2].matrix.R, [[0.875, None], [0.5925, 0.9]])
    assert runs[0].stream == "cifar100"
    assert [task.n_classes for task in runs[0].tasks] == [10, 10]
    assert len(pycil.read(fixtures / "pycil" / "reproduce_1993_resnet32.log", classifier="NME")) == 2


def test_groups_past_a_hundred_classes_are_in_the_order_of_time(fixtures, same):
    (run,) = pycil.read(fixtures / "pycil" / "many_1_resnet32.log")
    assert [task.name for task in run.tasks][-2:] == ["classes 100-109", "classes 110-119"]
    same(run.matrix.R, [[(8 * j + i - j) / 100 if j <= i else None for j in range(12)] for i in range(12)])


HEAD = "2024-01-01 [trainer.py] => "


def log(init: int, increment: int, rows: list[dict], seed: int = 1, **options: object) -> str:
    settings = {"model_name": "icarl", "dataset": "cifar", "init_cls": init, "increment": increment, "seed": seed}
    lines = [f"{HEAD}{key}: {value}" for key, value in (settings | options).items()]
    for k, row in enumerate(rows):
        lines += [f"2024-01-01 [icarl.py] => Learning on {k}-{k + 1}", f"{HEAD}CNN: {row}"]
    mean = sum(row["total"] for row in rows) / len(rows)
    return "\n".join([*lines, f"{HEAD}Average Accuracy (CNN): {mean}"]) + "\n"


B20 = [
    {"total": 80.0, "00-09": 75.0, "10-19": 85.0, "old": 0, "new": 80.0},
    {"total": 60.0, "00-09": 40.0, "10-19": 50.0, "20-29": 90.0, "old": 45.0, "new": 90.0},
]


def test_tasks_are_put_together_where_the_total_proves_it(tmp_path, same):
    path = tmp_path / "a.log"
    path.write_text(log(20, 10, B20))
    (run,) = pycil.read(path)
    same(run.matrix.R, [[0.8, None], [0.45, 0.9]])
    assert [task.n_classes for task in run.tasks] == [20, 10]
    assert any("within 0.000" in note for note in run.notes)
    assert "the file says Average Accuracy (CNN) 0.7000 = acc.incremental_pooled" in run.notes


def test_groups_of_other_sizes_leave_the_pooled_family_and_what_is_exact(tmp_path, same):
    third = {"total": 50.0, "00-09": 10.0, "10-19": 20.0, "20-29": 70.0, "30-39": 80.0, "old": 40.0, "new": 80.0}
    rows = [{**B20[0], "total": 82.0, "new": 82.0}, {**B20[1], "old": 48.0}, third]
    path = tmp_path / "a.log"
    path.write_text(log(20, 10, rows))
    (run,) = pycil.read(path)
    same(run.matrix.R, [[0.82, None, None], [0.48, 0.9, None], [None, 0.7, 0.8]])
    same(run.matrix.pooled, [0.82, 0.60, 0.50])
    assert float(score(run.matrix, "acc.pooled")) == pytest.approx(0.50)
    assert "acc.incremental_pooled" in [one.id for one in identify(run.matrix, "64.0")]


def test_increments_that_no_group_fits(tmp_path, same):
    rows = [
        {"total": 90.0, "00-09": 90.0, "old": 0, "new": 90.0},
        {"total": 80.0, "00-09": 80.0, "old": 85.0, "new": 75.0},
        {"total": 70.0, "00-09": 65.0, "10-19": 80.0, "old": 66.0, "new": 80.0},
    ]
    path = tmp_path / "a.log"
    path.write_text(log(5, 5, rows))
    (run,) = pycil.read(path)
    same(run.matrix.R, [[0.9, None, None], [0.85, 0.75, None], [None, None, 0.8]])
    same(run.matrix.pooled, [0.9, 0.8, 0.7])


def test_a_log_that_contradicts_itself_is_a_warning(tmp_path):
    path = tmp_path / "a.log"
    path.write_text(log(20, 10, B20).replace("(CNN): 70.0", "(CNN): 71.5"))
    (run,) = pycil.read(path)
    assert any(note.startswith("warning: the file says Average Accuracy (CNN) 0.7150") for note in run.notes)


def test_runs_of_a_sweep_are_learners_named_by_what_differs(tmp_path):
    path = tmp_path / "a.log"
    other = [{**row, "total": row["total"] - 1} for row in B20]
    aborted = f"{HEAD}seed: 1\n{HEAD}model_name: icarl\n"
    path.write_text(log(20, 10, B20, gamma=0.1) + aborted + log(20, 10, other, gamma=0.5))
    first, second = groups = group(pycil.read(path))
    assert labels_of(groups) == ["icarl (gamma=0.1)", "icarl (gamma=0.5)"]
    assert (first.runs[0].source.part, second.runs[0].source.part) == (1, 3)
    assert any("holds 3 runs" in note and "1 of them ended" in note for note in first.runs[0].notes)
    assert load(path, run="last")[0].learner_config["gamma"] == "0.5"
    with pytest.raises(UsageError, match="no run 2 that can be read; it has 1, 3"):
        load(path, run=2)


def test_one_seed_twice_is_no_second_seed(tmp_path):
    path = tmp_path / "a.log"
    other = [{**row, "total": row["total"] - 1, "new": row["new"] - 1} for row in B20]
    path.write_text(log(20, 10, B20) + log(20, 10, other))
    assert [run.learner for run in pycil.read(path)] == ["icarl (run 1)", "icarl (run 2)"]
    path.write_text(log(20, 10, B20) + log(20, 10, B20))
    (run,) = pycil.read(path)
    assert any("the same to the last digit: counted once" in note for note in run.notes)
    path.write_text(log(20, 10, B20) + log(20, 10, other, seed=2))
    (both,) = group(pycil.read(path))
    assert both.seeds == (1, 2)


def test_a_run_that_was_stopped_is_said(tmp_path):
    path = tmp_path / "a.log"
    order = f"2024-01-01 [data_manager.py] => {list(range(40))}\n"
    path.write_text(log(20, 10, B20).replace("2024-01-01 [icarl", order + "2024-01-01 [icarl", 1))
    (run,) = pycil.read(path)
    assert any("ends after 2 of 3 tasks" in note for note in run.notes)


def test_pilot_groups_by_task(fixtures, same):
    (run,) = pycil.read(fixtures / "pilot" / "reproduce_1993_vit.log")
    same(run.matrix.R, [[0.91, None, None], [0.89, None, None], [0.88, 0.7, 0.955]])
    assert [task.n_classes for task in run.tasks] == [50, 25, 25]


def test_seeds_without_settings_are_told_apart_by_the_groups(tmp_path):
    line = "2024-01-01 [trainer.py] => CNN: {{'total': 1, {}, 'old': 0, 'new': 1}}\n"
    one, two = "'00-09': 80.0", "'00-09': 60.0, '10-19': 70.0"
    path = tmp_path / "a.log"
    path.write_text(line.format(one) + line.format(two) + line.format(one))
    first, second = pycil.read(path)
    assert (first.T, second.T) == (2, 1)
    assert any("ends after 1 tasks" in note for note in second.notes)


def test_an_unknown_classifier(fixtures):
    with pytest.raises(UsageError, match="CNN or NME"):
        pycil.read(fixtures / "pycil" / "many_1_resnet32.log", classifier="SVM")
