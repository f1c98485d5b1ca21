"""Lists of what `strategy.eval()` gave: JSON of dictionaries, a DataFrame's csv, JSON lines of linear probes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.runs import load
from recollect.runs.importers import avalanche, detect

R = [[0.9, 0.1, 0.2], [0.5, 0.8, 0.15], [0.4, 0.6, 0.7]]
SEEN = [[0.9], [0.5, 0.8], [0.4, 0.6, 0.7]]


def call(scores: list[float], loss: list[float] | None = None, stream: float | None = None, label: bool = True) -> dict:
    task = "/Task000" if label else ""
    made = {f"Top1_Acc_Exp/eval_phase/test_stream{task}/Exp{j:03d}": score for j, score in enumerate(scores)}
    made |= {f"Loss_Exp/eval_phase/test_stream{task}/Exp{j:03d}": one for j, one in enumerate(loss or [])}
    if stream is not None:
        made[f"Top1_Acc_Stream/eval_phase/test_stream{task}"] = stream
    return made | {f"Top1_Acc_Exp/eval_phase/train_stream{task}/Exp000": 0.99}


@pytest.fixture
def written(tmp_path):
    def write(value: object, name: str = "er.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(value))
        return path

    return write


def frame(calls: list[dict]) -> str:
    names = list(dict.fromkeys(key for one in calls for key in one))
    lines = [",".join(["", *names])]
    lines += [",".join([str(i), *(str(one.get(name, "")) for name in names)]) for i, one in enumerate(calls)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("label", [True, False])
def test_one_call_after_each_experience(written, same, label):
    path = written([call(row, label=label) for row in R])
    assert detect(path).NAME == "avalanche"
    (run,) = load(path)
    same(run.matrix.R, R)
    assert (run.learner, run.source.part) == ("er", None)
    (run,) = avalanche.read(written([call(row) for row in SEEN]))
    same(run.matrix.R, [[0.9, None, None], [0.5, 0.8, None], [0.4, 0.6, 0.7]])


def test_one_call_more_is_the_untrained_one_and_is_said(written, same):
    (run,) = avalanche.read(written([call([0.1, 0.2, 0.3]), *(call(row) for row in R)]))
    same(run.matrix.b, [0.1, 0.2, 0.3])
    same(run.matrix.R, R)
    assert any("taken for the untrained" in note for note in run.notes)


def test_runs_of_lists_and_learners_by_name(written, same):
    calls = [call(row) for row in R]
    first, second = avalanche.read(written([calls, calls]))
    assert (first.learner, first.source.part, second.source.part) == ("er", 1, 2)
    runs = avalanche.read(written({"naive": calls, "replay": [calls, calls], "note": "x"}))
    assert [run.learner for run in runs] == ["naive", "replay", "replay"]


def test_a_table_of_accuracies_beside_the_calls_is_no_score_matrix(written, same):
    value = {"accuracy": [[0.9, 0.6], [0.8, 0.7]], "complete results": [[call([0.9, 0.1]), call([0.5, 0.7])]] * 2}
    path = written(value)
    runs = load(path)
    assert len(runs) == 2
    same(runs[0].matrix.R, [[0.9, 0.1], [0.5, 0.7]])


def cells() -> list[dict]:
    """One call per cell, each carrying along what the calls before it gave."""
    made, known = [], {}
    for row in R:
        for j, score in enumerate(row):
            known |= {k: v for k, v in call(row, stream=score).items() if "/Exp" not in k or k.endswith(f"Exp{j:03d}")}
            made.append(dict(known))
    return made


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_one_call_per_cell(tmp_path, same, suffix):
    path = tmp_path / f"er.{suffix}"
    path.write_text(json.dumps(cells()) if suffix == "json" else frame(cells()))
    (run,) = load(path)
    same(run.matrix.R, R)
    assert any("one call per cell" in note for note in run.notes)


def test_calls_that_change_more_than_their_cell_are_refused(written):
    calls = cells()
    for key in calls[4]:
        if key.endswith("test_stream/Task000/Exp000"):
            calls[4][key] = 0.77
    with pytest.raises(UsageError, match="9 calls of eval for 3 experiences"):
        avalanche.read(written(calls))


def test_values_that_are_carried_along_were_not_evaluated(written, same):
    diagonal = [[0.9, None, None], [None, 0.8, None], [None, None, 0.7]]
    alone = [[0.9], [0.9, 0.8], [0.9, 0.8, 0.7]]
    for calls in (
        [call(row, stream=row[-1]) for row in alone],
        [call(row, loss=[0.1, 0.2, 0.3][: len(row)]) for row in alone],
    ):
        (run,) = avalanche.read(written(calls))
        same(run.matrix.R, diagonal)
        assert any("3 values were carried along" in note for note in run.notes)
    # The stream's accuracy shows that all were evaluated, and nothing was forgotten.
    (run,) = avalanche.read(written([call(row, stream=sum(row) / len(row)) for row in alone]))
    same(run.matrix.R, [[0.9, None, None], [0.9, 0.8, None], [0.9, 0.8, 0.7]])


def test_a_frame_is_read_line_by_line(tmp_path, same):
    path = tmp_path / "er.csv"
    path.write_text(frame([call(row) for row in SEEN]))
    same(load(path)[0].matrix.R, [[0.9, None, None], [0.5, 0.8, None], [0.4, 0.6, 0.7]])


def test_lines_of_linear_probes(tmp_path, same):
    path = tmp_path / "logs.json"
    # The steps count probes, from 0, and may repeat.
    lines = [json.dumps({"step": step, **call(row)}) for step, row in zip((0, 1, 1), SEEN, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    same(load(path)[0].matrix.R, [[0.9, None, None], [0.5, 0.8, None], [0.4, 0.6, 0.7]])
    path.write_text("\n".join(lines + lines) + "\n")
    assert [run.source.part for run in load(path)] == [1, 2]


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ([call(R[0])] * 5, "5 calls of eval for 3 experiences"),
        ([{**call(R[0]), "Top1_Acc_Exp/eval_phase/test_stream/Task001/Exp000": 0.5}] * 3, "several task labels"),
        ([call(["high"])], "is not a number"),
        ([{"Top1_Acc_Exp/eval_phase/test_stream/Exp004": 0.5}], "expected 0, 1, 2"),
        ([{"Top1_Acc_Exp/eval_phase/valid_stream/Exp000": 0.5}], "it has evaluations of: valid"),
    ],
)
def test_what_cannot_be_told_is_refused(written, calls, message):
    with pytest.raises(UsageError, match=message):
        load(written(calls))


def test_single_numbers_are_no_matrix(written):
    with pytest.raises(UsageError, match="not a file that Recollect knows"):
        load(written({"(0, 1)": 0.93, "(1, 0)": 0.92}))
