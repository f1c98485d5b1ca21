"""Avalanche's text log is opened for appending: several runs in one file."""

from __future__ import annotations

import pytest

from recollect.errors import UsageError
from recollect.runs import group, load
from recollect.runs.importers import avalanche

METRIC = "Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp{:03d}"


def train(exp: int | None, ended: bool = True) -> str:
    begin = "-- >> Start of training phase << --\n"
    named = "" if exp is None else f"-- Starting training on experience {exp} (Task 0) from train stream --\n"
    return begin + named + ("-- >> End of training phase << --\n" if ended else "")


def evaluate(*scores: float, ended: bool = True) -> str:
    lines = "".join(f"\t{METRIC.format(exp)} = {score:.4f}\n" for exp, score in enumerate(scores))
    return "-- >> Start of eval phase << --\n" + lines + ("-- >> End of eval phase << --\n" if ended else "")


WHOLE = train(0) + evaluate(0.9, 0.1) + train(1) + evaluate(0.5, 0.8)
OTHER = train(0) + evaluate(0.8, 0.2) + train(1) + evaluate(0.4, 0.7)


@pytest.fixture
def log(tmp_path):
    def write(text: str):
        folder = tmp_path / "naive"
        folder.mkdir(exist_ok=True)
        path = folder / "log.txt"
        path.write_text(text)
        return path

    return write


def test_two_whole_runs(log, same):
    first, second = runs = avalanche.read(log(WHOLE + OTHER))
    same(first.matrix.R, [[0.9, 0.1], [0.5, 0.8]])
    same(second.matrix.R, [[0.8, 0.2], [0.4, 0.7]])
    assert all(any("the log holds 2 runs" in note for note in run.notes) for run in runs)
    assert len(group(runs)) == 1


def test_starts_that_were_killed_are_counted_and_stopped_runs_are_kept_apart(log, same):
    killed = train(0, ended=False)
    stopped = train(0) + evaluate(0.7, 0.3)
    runs = avalanche.read(log(killed + WHOLE + killed + stopped + train(1, ended=False) + OTHER + killed))
    assert [(run.learner, run.source.part) for run in runs] == [
        ("naive", 2),
        ("naive (run 4, not whole)", 4),
        ("naive", 5),
    ]
    same(runs[1].matrix.R, [[0.7, 0.3], [None, None]])
    assert any("holds 6 runs, of which 3 were never evaluated" in note for note in runs[0].notes)
    assert any("1 of 2 experiences were learned" in note for note in runs[1].notes)


def test_an_evaluation_that_was_cut_off_does_not_leak_into_the_next_run(log, same):
    first, second = avalanche.read(log(train(0) + evaluate(0.9, 0.3, ended=False) + WHOLE))
    same(first.matrix.R, [[0.9, 0.3], [None, None]])
    same(second.matrix.R, [[0.9, 0.1], [0.5, 0.8]])


def test_each_run_has_its_untrained_evaluation(log, same):
    first, second = avalanche.read(log(evaluate(0.1, 0.2) + WHOLE + evaluate(0.3, 0.4) + OTHER))
    same(first.matrix.b, [0.1, 0.2])
    same(second.matrix.b, [0.3, 0.4])
    same(first.matrix.R, [[0.9, 0.1], [0.5, 0.8]])


def test_training_that_is_not_in_the_log_is_said(log):
    text = train(0) + evaluate(0.9, 0, 0) + train(2) + evaluate(0.5, 0.4, 0.8)
    (run,) = avalanche.read(log(text))
    assert any("training on experience 1 is not in the log" in note for note in run.notes)


def test_several_calls_of_train_on_each_experience_are_one_run(log, same):
    text = train(0) + evaluate(0.6, 0) + train(0) + evaluate(0.9, 0)
    text += train(1) + evaluate(0.7, 0.5) + train(1) + evaluate(0.6, 0.8)
    assert len(avalanche.read(log(text))) == 1


def test_phases_without_names(log, same):
    seen = train(None) + evaluate(0.9) + train(None) + evaluate(0.5, 0.8)
    first, second = avalanche.read(log(seen + seen))
    same(first.matrix.R, [[0.9, None], [0.5, 0.8]])
    same(second.matrix.R, [[0.9, None], [0.5, 0.8]])
    every = train(None) + evaluate(0.9, 0) + train(None) + evaluate(0.5, 0.8)
    with pytest.raises(UsageError, match="it may hold several runs"):
        avalanche.read(log(every + every))


def test_choosing_a_run(log, same):
    path = log(WHOLE + train(0, ended=False) + OTHER)
    same(load(path, run="last")[0].matrix.R, [[0.8, 0.2], [0.4, 0.7]])
    same(load(path, run=1)[0].matrix.R, [[0.9, 0.1], [0.5, 0.8]])
    for wrong in ("2", "4", "0", "first", "1.5"):
        with pytest.raises(UsageError, match=r"no run|--run is"):
            load(path, run=wrong)


def test_a_log_that_was_never_evaluated_is_refused_for_that(log):
    with pytest.raises(UsageError, match="holds no evaluation"):
        load(log(train(0) + train(1)))


def test_a_table_of_two_runs(tmp_path, same):
    path = tmp_path / "eval_results.csv"
    header = "eval_exp,training_exp,eval_accuracy,eval_loss,forgetting\n"
    rows = ["0,0,0.9000,0.1,0", "1,0,0.1000,0.1,0", "0,1,0.5000,0.1,0", "1,1,0.8000,0.1,0"]
    path.write_text(header + "\n".join(rows + [row.replace("0.9000", "0.7000") for row in rows]) + "\n")
    first, second = avalanche.read(path)
    same(first.matrix.R, [[0.9, 0.1], [0.5, 0.8]])
    same(second.matrix.R, [[0.7, 0.1], [0.5, 0.8]])
    untrained = "0,None,0.1000,0.1,0\n1,None,0.2000,0.1,0\n"
    path.write_text(header + 2 * (untrained + "\n".join(rows) + "\n"))
    first, second = avalanche.read(path)
    same(second.matrix.b, [0.1, 0.2])
