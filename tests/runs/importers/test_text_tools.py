"""GEM, Michel's code and l2metrics: results in text files and folders."""

from __future__ import annotations

import shutil

import pytest

from recollect.errors import UsageError
from recollect.runs.importers import gem, l2metrics, michel

GEM = "gem/gem_mnist_permutations.pt_2018_02_10_12_30_45_0f3a.txt"


def test_gem(fixtures, same):
    (run,) = gem.read(fixtures / GEM)
    same(run.matrix.b, [0.1012, 0.09, 0.1101])
    same(run.matrix.R, [[0.8012, 0.15, 0.1203], [0.7001, 0.85, 0.2], [0.65, 0.7999, 0.9]])
    assert (run.learner, run.stream) == ("gem", "mnist_permutations")
    assert any(note.startswith("the file says Final Accuracy") and note.endswith("acc.average") for note in run.notes)
    assert not any(note.startswith("warning") for note in run.notes)


def test_gem_a_summary_that_disagrees_is_said(fixtures, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text((fixtures / GEM).read_text().replace("Final Accuracy: 0.7833", "Final Accuracy: 0.9000"))
    assert any("Final Accuracy 0.9000" in note for note in gem.read(path)[0].notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1 0.2\n0.3 0.4\n", "second line is not the bar"),
        ("0.1 0.2\n|\n0.3\n", "row 0 has 1 scores"),
        ("0.1\n|\n0.3\n0.4\n", "visited more than once"),
        ("0.1\n|\nabc\n", "not a row of numbers"),
        ("0.1\n|\n\n", "no rows"),
    ],
)
def test_gem_refuses(tmp_path, text, message):
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        gem.read(path)


def test_michel_a_results_folder(fixtures, same):
    runs = michel.read(fixtures / "michel" / "results")
    assert [(run.learner, run.seed) for run in runs] == [
        ("ER", 0),
        ("ER (ncm)", 0),
        ("ER", 10),
        ("ER (ncm)", 10),
    ]
    same(runs[0].matrix.R, [[0.9, None, None], [0.5, 0.8, None], [0.25, 0.0, 0.75]])
    same(runs[3].matrix.R, [[0.89, None, None], [0.5, 0.79, None], [0.35, 0.0, 0.75]])
    assert {run.stream for run in runs} == {"cifar10"}
    assert [task.n_classes for task in runs[0].tasks] == [2, 2, 2]
    assert runs[0].scenario == "class-incremental"


def test_michel_one_file_or_one_classifier(fixtures):
    tag = fixtures / "michel" / "results" / "ER,cifar10,m200mbs64sbs10"
    assert michel.read(tag / "run10" / "acc.csv")[0].seed == 10
    assert [run.seed for run in michel.read(tag, classifier="ncm")] == [0, 10]
    with pytest.raises(UsageError, match="it has: acc, ncm"):
        michel.read(tag, classifier="knn")


def test_michel_forgetting_is_not_taken_for_scores(fixtures):
    with pytest.raises(UsageError, match=r"not scores. Give acc.csv"):
        michel.read(fixtures / "michel" / "results" / "ER,cifar10,m200mbs64sbs10" / "run0" / "forgetting.csv")


def test_l2metrics_blocks_become_rows(fixtures, same):
    (run,) = l2metrics.read(fixtures / "l2metrics" / "lifetime")
    assert [task.name for task in run.tasks] == ["task_a", "task_b"]
    same(run.matrix.b, [2.0, 0.0])
    same(run.matrix.R, [[85.0, 15.0], [65.0, 80.0], [91.0, 55.0]])
    assert run.matrix.learned_at.tolist() == [0, 1]
    assert (run.unit, run.metric, run.stream) == ("raw", "performance", "custom")
    assert any("learned again" in note for note in run.notes)


def test_l2metrics_from_one_log_finds_the_run(fixtures):
    (run,) = l2metrics.read(fixtures / "l2metrics" / "lifetime" / "worker-0" / "0-test" / "data-log.tsv")
    assert run.learner == "lifetime"


def test_l2metrics_an_expert_log_has_no_tests(tmp_path):
    folder = tmp_path / "ste" / "w" / "0-train"
    folder.mkdir(parents=True)
    (folder / "data-log.tsv").write_text(
        "block_num\texp_num\tblock_type\ttask_name\texp_status\tperformance\n0\t0\ttrain\ta_1\tcomplete\t1.0\n"
    )
    with pytest.raises(UsageError, match="single-task expert"):
        l2metrics.read(tmp_path / "ste")
    with pytest.raises(UsageError, match="no column reward"):
        l2metrics.read(tmp_path / "ste", metric="reward")


def test_l2metrics_experiences_of_a_block_may_alternate(tmp_path, same):
    header = "block_num\texp_num\tblock_type\ttask_name\texp_status\tperformance\n"
    blocks = {"0-train": "0\t0\ttrain\ta\tcomplete\t1\n0\t1\ttrain\tb\tcomplete\t1\n"}
    scores = (("a", 10), ("b", 0), ("a", 30), ("b", ""))
    blocks["1-test"] = "".join(f"1\t{2 + i}\ttest\t{t}\tcomplete\t{s}\n" for i, (t, s) in enumerate(scores))
    for name, lines in blocks.items():
        (tmp_path / "run" / "w" / name).mkdir(parents=True)
        (tmp_path / "run" / "w" / name / "data-log.tsv").write_text(header + lines)
    (run,) = l2metrics.read(tmp_path / "run")
    assert [row.after for row in run.rows] == [1]
    same(run.rows[0].scores["performance"], [20.0, 0.0])


def test_l2metrics_an_expert_beside_a_run_is_left_out_and_said(fixtures, tmp_path):
    shutil.copytree(fixtures / "l2metrics" / "lifetime", tmp_path / "lifetime")
    (tmp_path / "ste" / "w" / "0-train").mkdir(parents=True)
    shutil.copy(tmp_path / "lifetime/worker-0/1-train/data-log.tsv", tmp_path / "ste/w/0-train")
    (tmp_path / "ste" / "logger_info.json").write_text('{"metrics_columns": ["performance"]}')
    (run,) = l2metrics.read(tmp_path)
    assert "1 logs beside it have training only" in run.notes[-1]
