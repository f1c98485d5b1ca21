"""Files as strangers make them: each is read right, or refused with a reason that names what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.runs import load

RIGHT = [[0.9, None], [0.5, 0.8]]


def write(folder: Path, name: str, content: str | bytes, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("0.9,\n0.5,0.8\n", "utf-8-sig"),
        ("0.9,\n0.5,0.8\n", "utf-16"),
        ("0.9;\n0.5;0.8\n", "utf-8"),
        ("0,9;\n0,5;0,8\n", "utf-8"),
        ("hund;katze\n,9;\n0,5;+0,8\n", "utf-16"),
        ("0,9\t\n0,5\t0,8\n", "utf-8"),
        ("0.9 nan\n0.5 0.8\n", "utf-8"),
        ("0.9,\r\n0.5,0.8\r\n", "utf-8"),
        ("90%,\n50%,80%\n", "utf-8"),
        ("90,00%;\n50,00%;80,00%\n", "utf-8"),
        (",0,1\n0,0.9,\n1,0.5,0.8\n", "utf-8"),
    ],
)
def test_tables_in_every_spelling(tmp_path, same, text, encoding):
    (run,) = load(write(tmp_path, "a.csv", text, encoding))
    same(run.matrix.R, RIGHT)


NOT_EVALUATED = "nan,NaN,NAN,-nan,NA,N/A,n/a,n.a.,#N/A,#NA,<NA>,null,NULL,None,nil,-,--,\u2013,\u2014,?,"


@pytest.mark.parametrize("word", NOT_EVALUATED.split(","))
def test_not_evaluated_in_every_spelling(tmp_path, same, word):
    (run,) = load(write(tmp_path, "a.csv", f"a,b\n0.9,{word}\n0.5,0.8\n"))
    same(run.matrix.R, RIGHT)


@pytest.mark.parametrize("word", ["inf", "-inf", "1e400", "missing", "#DIV/0!", "0.5.1", "1_0", "0x1", "half", "'0.5'"])
def test_what_is_no_score_is_named(tmp_path, word):
    with pytest.raises(UsageError, match="not a score") as refused:
        load(write(tmp_path, "a.csv", f"a,b\n0.9,{word}\n0.5,0.8\n"))
    assert word in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "hünd,b\n0.9,\n0.5,0.8\n".encode("latin-1"), "not text"),
        ("a.csv", "0.9,\n0.5,0.8\n".encode("utf-16-le"), "not text"),
        ("a.csv", b"\n\n", "empty"),
        ("a.csv", b"", "empty"),
        ("a.json", b"", "empty"),
        ("a.npy", b"", "empty"),
        ("a.csv", b"a,b\n", "neither a matrix"),
        ("a.csv", b"# accuracies\n0.9,\n0.5,0.8\n", "neither a matrix"),
        ("a.csv", b'"0,9",""\n"0,5","0,8"\n', "'0,8' is not a score"),
        ("a.csv", b"0,9,0,1\n0,5,0,8\n", "2 rows for 4 tasks"),
        ("a.csv", b"0.9|nan\n0.5|0.8\n", "not a score"),
        ("a.csv", b"0.9,0.5,0.4\n", "1 rows for 3 tasks"),
        ("a.csv", b"a,b,mean\n0.9,,0.9\n0.5,0.8,0.65\n", "2 rows for 3 tasks"),
        ("a.csv", b"a,a\n0.9,\n0.5,0.8\n", "two of its tasks are called 'a'"),
        ("a.csv", b"0.9,0.5\n,0.8\n", "transposed"),
        ("a.json", b'{"R": [[1, 0], [0, 1]], "R": [[0, 1], [1, 0]]}', "comes twice"),
        ("a.json", b'{"R": [[1, 0], [0, 1]], "names": ["a", "a"]}', "two of its tasks"),
        ("a.json", b'[["0.9", null], ["0.5", "0.8"]]', "nested lists of numbers"),
        ("a.json", b"[[true, false], [true, true]]", "nested lists of numbers"),
        ("a.json", b"[[0.9, Infinity], [0.5, 0.8]]", "infinite"),
        ("a.json", b"[0.9, 0.8]", "shape"),
        ("a.json", b'{"R": [[0.9, 0.8]]}', "learned_at"),
        ("a.json", b'{"a": {"a": 0.9}}', "no score matrix"),
        ("a.json", b"[[0.9, null], [0.5, 0.8]", "not JSON"),
    ],
)
def test_refusals_say_what_is_wrong(tmp_path, name, content, said):
    with pytest.raises(UsageError, match=said) as refused:
        load(write(tmp_path, name, content))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["90,0.1\n50,0.8\n", "0.9,\n0.5,85\n", "100,0\n1,100\n"])
def test_percent_and_fractions_in_one_matrix_are_refused(tmp_path, text):
    (run,) = load(write(tmp_path, "a.csv", text))
    with pytest.raises(UsageError, match="percent mixed with fractions"):
        assert run.matrix


def test_json_of_powershell(tmp_path, same):
    (run,) = load(write(tmp_path, "a.json", json.dumps(RIGHT), "utf-16"))
    same(run.matrix.R, RIGHT)


@pytest.mark.parametrize("name", ["a.npy", "a.csv", "a.json"])
def test_zeros_above_the_diagonal_are_said_to_be_taken_for_measured(tmp_path, name):
    path = tmp_path / name
    zeros, full = np.array([[0.9, 0.0], [0.5, 0.8]]), np.array([[0.9, 0.1], [0.5, 0.8]])
    for scores, said in ((zeros, True), (full, False)):
        if name == "a.npy":
            np.save(path, scores)
        elif name == "a.csv":
            np.savetxt(path, scores, delimiter=",", fmt="%.3f")
        else:
            path.write_text(json.dumps(scores.tolist()))
        (run,) = load(path)
        assert any("above the diagonal is 0" in note for note in run.notes) == said


@pytest.mark.parametrize("shape", [(3,), (1, 3), (6, 4), (4, 6), (4, 4, 3), (0, 0), (2, 0), (2, 2, 2, 2, 2, 2, 2, 2)])
def test_arrays_of_other_shapes_are_refused(tmp_path, shape):
    np.save(tmp_path / "a.npy", np.full(shape, 0.5))
    with pytest.raises(UsageError, match=r"shape|rows|no run"):
        load(tmp_path / "a.npy")


def test_the_newest_score_of_pycil_is_compared_with_its_groups(tmp_path):
    head = "2024-01-01 [trainer.py] => "
    lines = [f"{head}{key}: {value}" for key, value in {"model_name": "er", "init_cls": 10, "increment": 10}.items()]
    rows = ["{'total': 80.0, '00-09': 80.0, 'old': 0, 'new': 80.0}"]
    rows += ["{'total': 60.0, '00-09': 40.0, '10-19': 80.0, 'old': 40.0, 'new': NEW}"]
    for new, warned in (("80.0", False), ("70.0", True)):
        text = "\n".join([*lines, *(f"{head}CNN: {row.replace('NEW', new)}" for row in rows)]) + "\n"
        (run,) = load(write(tmp_path, "a.log", text))
        assert any(note.startswith("warning: after task 1 the log says 70.00") for note in run.notes) == warned


def test_numbers_too_large_for_a_float_beside_the_scores(tmp_path, fixtures):
    huge = 10**400
    path = write(tmp_path, "logs.pyd", str({"accuracy_1_task1": 90.0, "accmean_task1": huge, "forgetting": -huge}))
    assert load(path, "mammoth")[0].matrix.T == 1
    data = json.loads(next((fixtures / "pyclad").glob("*.json")).read_text())
    for callback in data.values():
        if "metrics" in callback:
            callback["metrics"] = dict.fromkeys(callback["metrics"], huge)
    assert load(write(tmp_path, "pyclad.json", json.dumps(data)))
    results = json.loads((fixtures / "lm-eval" / "old" / "m_step1.json").read_text())
    assert load(write(tmp_path, "results.json", json.dumps({**results, "date": huge})), "lm-eval")
