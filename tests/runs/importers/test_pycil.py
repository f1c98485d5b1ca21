from __future__ import annotations

import pytest

from recollect.errors import UsageError
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


@pytest.mark.parametrize("name", ["base50_1993_resnet32.log", "increment5_1993_resnet32.log"])
def test_groups_that_are_not_the_tasks_are_refused_with_that_reason(fixtures, name):
    with pytest.raises(UsageError, match="groups of classes are not the tasks"):
        pycil.read(fixtures / "pycil" / name)


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


def test_one_group_of_ten_when_the_log_says_otherwise(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("x => init_cls: 7\nx => increment: 7\nx => CNN: {'total': 80.0, '00-09': 80.0}\n")
    with pytest.raises(UsageError, match="init_cls 7"):
        pycil.read(path)


def test_an_unknown_classifier(fixtures):
    with pytest.raises(UsageError, match="CNN or NME"):
        pycil.read(fixtures / "pycil" / "many_1_resnet32.log", classifier="SVM")
