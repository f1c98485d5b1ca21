"""A-GEM, online-continual-learning, BeGin and van de Ven: results in pickles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.runs.importers import agem, begin, raptormai, vandeven

PYTHON2 = "agem/PERMUTE_MNIST_HERDING_FC-S_True_VAN_0_01_10_1-18-12-01-10-30.pickle"
PLAIN = "agem/SPLIT_CIFAR_HERDING_RESNET-S_True_A-GEM_0_03_10_65-19-01-02-10-30.pickle"
TIME = "begin/benchmark_NC_ogbn-arxiv_EWC_time/result_0.001_0.0_0.0_10000_2000.pkl"


def save(path, value):
    path.write_bytes(pickle.dumps(value))
    return path


def test_agem_of_python_2_with_evaluations_inside_tasks(fixtures, same):
    first, second = agem.read(fixtures / PYTHON2)
    same(first.matrix.R[first.matrix.learned_at], [[0.75, None], [0.5, 0.25]])
    same(second.matrix.R[second.matrix.learned_at], [[1.0, None], [0.25, 0.75]])
    same(first.matrix.R[:2], [[0.5, None], [0.6, None]])
    same(first.matrix.R[3:5], [[0.7, 0.4], [0.65, 0.5]])
    assert (first.learner, first.stream) == ("VAN", "PERMUTE_MNIST")


def test_agem_future_zeros_are_empty_and_past_zeros_stay(fixtures, same):
    (run,) = agem.read(fixtures / PLAIN)
    same(run.matrix.R, [[0.75, None, None], [0.5, 0.25, None], [0.5, 0.0, 1.0]])
    assert (run.learner, run.stream) == ("A-GEM", "SPLIT_CIFAR")
    assert any("left empty" in note for note in run.notes)


def test_agem_a_future_that_was_evaluated_keeps_its_zeros(tmp_path, same):
    path = save(tmp_path / "a.pickle", {"mean": np.array([[[0.9, 0.1, 0.0], [0.5, 0.8, 0.0], [0.4, 0.6, 0.7]]])})
    same(agem.read(path)[0].matrix.R, [[0.9, 0.1, 0.0], [0.5, 0.8, 0.0], [0.4, 0.6, 0.7]])


def test_raptormai_evaluates_everything_so_zeros_stay(fixtures, same):
    first, second = raptormai.read(fixtures / "raptormai" / "er_cifar100.pkl")
    same(first.matrix.R, [[0.5, 0.0, 0.0], [0.25, 0.5, 0.0], [0.0, 0.25, 0.75]])
    assert (first.learner, first.stream, first.seed, second.seed) == ("er", "cifar100", 0, 1)


def test_raptormai_offline_is_one_row_after_all_tasks(fixtures, same):
    run = raptormai.read(fixtures / "raptormai" / "offline_cifar100.pkl")[1]
    assert [row.after for row in run.rows] == [2]
    same(run.matrix.R[-1], [0.1, 0.3, 0.8])


def test_begin_time_incremental(fixtures, same):
    (run,) = begin.read(fixtures / TIME)
    same(run.matrix.R, [[0.75, None, None], [0.5, 0.625, None], [0.0, 0.5, 0.875]])
    same(run.matrix.b, [0.125, None, None])
    assert (run.learner, run.stream, run.seed) == ("EWC", "ogbn-arxiv (NC)", 2000)
    assert run.scenario == "time-incremental"


def test_begin_full_mode_has_the_joint_learner(fixtures, same):
    (run,) = begin.read(fixtures / "begin" / "full.pkl")
    same(run.matrix.R, [[0.75, 0.125], [0.25, 0.5]])
    same(run.matrix.joint, [[0.75, 0.125], [0.625, 0.75]])
    same(run.matrix.b, [0.25, 0.125])


def test_begin_an_error_is_better_when_lower(tmp_path):
    path = save(tmp_path / "zinc.pkl", {"exp_test": np.array([[1.5, 2.0, 1.7], [1.0, 0.5, 0.8]])})
    (run,) = begin.read(path, metric="mae")
    assert (run.unit, run.higher_is_better, run.metric) == ("raw", False, "mae")
    with pytest.raises(UsageError, match="between 0 and 1"):
        _ = begin.read(path)[0].matrix


def test_vandeven_contexts_in_the_order_of_numbers(fixtures, same):
    (run,) = vandeven.read(fixtures / "vandeven" / "dict-splitMNIST11-class--F-784x400x400--i2000--nAll.pkl")
    expected = [[(1 + i + 10 * j) / 200 if j <= i else None for j in range(11)] for i in range(11)]
    same(run.matrix.R[run.matrix.learned_at], expected)
    assert [task.name for task in run.tasks][1::8] == ["context 2", "context 10"]
    assert [(row.after, row.task_end) for row in run.rows][:2] == [(-1, False), (0, True)]
    assert run.rows[0].notes == {"iteration": 500}
    assert (run.stream, run.scenario) == ("splitMNIST11", "class-incremental")


def test_vandeven_a_task_free_stream_has_one_end(tmp_path, same):
    results = {"acc per context": {"context 1": [0.1, 0.9], "context 2": [0.0, 0.8]}, "x_context": [2, 2]}
    (run,) = vandeven.read(save(tmp_path / "dict.pkl", results))
    assert [row.task_end for row in run.rows] == [False, True]
    same(run.rows[0].scores["accuracy"], [0.1, 0.0])


@pytest.mark.parametrize(
    ("importer", "value", "message"),
    [
        (agem, {"mean": np.zeros((2, 2))}, "shape"),
        (agem, {"mean": [[1]]}, "not an array of numbers"),
        (agem, [1], "not a dictionary"),
        (raptormai, {"acc_array": np.zeros((1, 2, 3))}, "shape"),
        (raptormai, {"acc_array": np.zeros((0, 2, 2))}, "shape"),
        (raptormai, {"time": 1.0}, "no 'acc_array'"),
        (begin, {"exp_test": np.zeros((2, 2))}, "pooled last column"),
        (begin, {"exp_test": np.full((2, 3), np.inf)}, "infinite"),
        (vandeven, {"acc per context": {}}, "dictionary"),
        (vandeven, {"acc per context": {"context 1": [0.5]}, "x_context": [3]}, "x_context"),
        (vandeven, {"acc per context": {"context 1": [0.5]}}, "no 'x_context'"),
        (vandeven, {"acc per context": {"context 1": [True]}, "x_context": [1]}, "not a number"),
    ],
)
def test_what_is_not_results_is_refused(tmp_path, importer, value, message):
    with pytest.raises(UsageError, match=message):
        importer.read(save(tmp_path / "a.pkl", value))
