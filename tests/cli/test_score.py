"""`recollect score`: numbers, formats, and what happens to bad input."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from recollect.runs import Row, Run, Task, save

from .conftest import R1, Command


def test_golden_values_as_json(recollect: Command, r1: Path) -> None:
    result = recollect("score", r1, "-m", "forgetting", "-m", "acc.average", "--json")
    values = {line["id"]: line["value"] for line in json.loads(result.out)}
    assert result.code == 0
    assert values["forgetting.chaudhry2018"] == pytest.approx(0.183333, abs=1e-6)
    assert values["forgetting.pyclad_code"] == pytest.approx(0.0125)
    assert values["acc.average"] == pytest.approx(0.6125)
    assert len(values) == 12


def test_json_has_what_a_program_needs(recollect: Command, r1: Path) -> None:
    (line,) = json.loads(recollect("score", r1, "-m", "acc.average", "--json").out)
    assert {"id", "value", "reason", "n", "low", "high"} <= line.keys()
    assert (line["n"], line["low"], line["high"]) == (1, None, None)
    assert "one seed gives no interval" in line["notes"]
    assert "curve" not in line


def test_curve_with_undefined_entries_as_null(recollect: Command, r1: Path) -> None:
    words = ("score", r1, "-m", "raf.michel2023", "--classes", "2,2,2,2", "--curve", "--json")
    (line,) = json.loads(recollect(*words).out)
    assert line["curve"][0] is None
    assert line["curve"][1:] == pytest.approx([-0.036111, 0.086667, 0.183333], abs=1e-6)


def test_undefined_is_null_with_a_reason_and_no_failure(recollect: Command, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text("[[0.5]]")
    result = recollect("score", tmp_path / "one.json", "-m", "forgetting.chaudhry2018", "--json")
    (line,) = json.loads(result.out)
    assert (result.code, line["value"]) == (0, None)
    assert "earlier" in line["reason"] or "before" in line["reason"]


def test_seeds_are_averaged_with_an_interval(recollect: Command, seeds: Path) -> None:
    lines = json.loads(recollect("score", seeds, "-m", "acc.average", "--json").out)
    by_learner = {line["learner"]: line for line in lines}
    assert by_learner["good"]["n"] == 5
    assert by_learner["good"]["low"] < by_learner["good"]["value"] < by_learner["good"]["high"]
    assert by_learner["good"]["value"] - by_learner["bad"]["value"] == pytest.approx(0.1, abs=1e-4)


def test_companions_from_files(recollect: Command, r1: Path, tmp_path: Path) -> None:
    joint = [[0.80, 0.10, 0.20, 0.10], [0.82, 0.78, 0.20, 0.10], [0.80, 0.76, 0.72, 0.20], [0.79, 0.75, 0.70, 0.93]]
    np.save(tmp_path / "joint.npy", joint)
    (tmp_path / "b.csv").write_text("0.10,0.05,0.15,0.10\n")
    companions = ("--untrained", tmp_path / "b.csv", "--joint", tmp_path / "joint.npy", "--samples", "10,20,30,40")
    wanted = ("-m", "fwt.lopezpaz2017", "-m", "intransigence.begin", "-m", "acc.pooled")
    result = recollect("score", r1, *companions, *wanted, "--json")
    values = {line["id"]: line["value"] for line in json.loads(result.out)}
    assert values == pytest.approx({"fwt.lopezpaz2017": 0.1, "intransigence.begin": 0.0825, "acc.pooled": 0.665})


def test_one_number_of_classes_stands_for_every_task(recollect: Command, r1: Path) -> None:
    each = recollect("score", r1, "-m", "raf.michel2023", "--classes", "2,2,2,2", "--json").out
    assert recollect("score", r1, "-m", "raf.michel2023", "--classes", "2", "--json").out == each


def test_percent_is_read_as_percent_and_said(recollect: Command, tmp_path: Path) -> None:
    path = tmp_path / "percent.csv"
    path.write_text("\n".join(",".join(str(round(100 * v, 6)) for v in row) for row in R1))
    result = recollect("score", path, "-m", "acc.average", "--json")
    (line,) = json.loads(result.out)
    assert line["value"] == pytest.approx(0.6125)
    assert any("percent" in note for note in line["notes"])


def test_lower_is_better_turns_the_sign_of_differences_only(recollect: Command, tmp_path: Path) -> None:
    (tmp_path / "rmse.csv").write_text("2.0,9.0\n3.0,1.0\n")
    words = ("score", tmp_path / "rmse.csv", "--unit", "raw", "--lower-is-better", "--json")
    lines = json.loads(recollect(*words, "-m", "forgetting.first", "-m", "acc.average").out)
    values = {line["id"]: (line["value"], line["better"]) for line in lines}
    assert values == {"forgetting.first": (1.0, "lower"), "acc.average": (2.0, "lower")}


def test_formats(recollect: Command, r1: Path) -> None:
    words = ("score", r1, "-m", "acc.average")
    table = list(csv.reader(io.StringIO(recollect(*words, "--csv").out)))
    assert table[0][0] == "metric"
    assert table[1][:2] == ["acc.average", "0.6125"]
    assert "| acc.average | 0.6125 |" in recollect(*words, "--md").out
    assert r"acc.average & 0.6125" in recollect(*words, "--latex").out
    assert "choose one output format" in recollect(*words, "--latex", "--md").paragraph


def test_the_default_set_names_what_it_could_not_compute(recollect: Command, r1: Path) -> None:
    result = recollect("score", r1)
    assert result.code == 0
    assert "fwt.lopezpaz2017" not in result.out
    assert "fwt.lopezpaz2017" in result.err
    assert "--untrained" in result.err


@pytest.mark.parametrize(
    ("name", "text", "words", "code", "says"),
    [
        ("wide.csv", ".1,.2,.3\n.4,.5,.6\n", (), 2, "2 rows"),
        ("transposed.json", "[[0.8, 0.6], [null, 0.9]]", (), 2, "transposed"),
        ("mixed.csv", "80,10\n0.6,0.9\n", (), 2, "percent mixed with fractions"),
        ("hole.json", "[[0.8], [null, 0.9], [0.5, 0.6, 0.7]]", ("-m", "forgetting.pycil"), 1, "R[1, 0]"),
        ("ok.csv", ".8,.1\n.6,.9\n", ("-m", "forgeting.chaudhry2018"), 2, "forgetting.chaudhry2018"),
        ("ok.csv", ".8,.1\n.6,.9\n", ("-m", "fwt.lopezpaz2017"), 1, "--untrained"),
        ("ok.csv", ".8,.1\n.6,.9\n", ("--classes", "2,x"), 2, "whole numbers"),
        ("ok.csv", ".8,.1\n.6,.9\n", ("--classes", "2,2,2"), 2, "2 tasks"),
        ("ok.csv", ".8,.1\n.6,.9\n", ("--reference", "coin"), 2, "uniform"),
        ("broken.json", "[[0.8, ", (), 2, "broken.json"),
        ("broken.npy", "not an array", (), 2, "broken.npy"),
        ("words.csv", "a,b\nc,d\n", (), 2, "words.csv"),
        ("empty.csv", "", (), 2, "empty"),
    ],
)
def test_bad_input_is_one_paragraph(
    recollect: Command, tmp_path: Path, name: str, text: str, words: tuple[str, ...], code: int, says: str
) -> None:
    (tmp_path / name).write_text(text)
    before = sorted(os.listdir(tmp_path))
    result = recollect("score", tmp_path / name, *words)
    assert result.code == code
    assert result.paragraph.startswith("recollect: ")
    assert says in result.paragraph
    assert sorted(os.listdir(tmp_path)) == before


def test_a_folder_without_runs_and_no_file_at_all(recollect: Command, tmp_path: Path) -> None:
    assert recollect("score", tmp_path).code == 2
    assert "no runs" in recollect("score", tmp_path).paragraph
    assert recollect("score", tmp_path / "nowhere.csv").code == 2


def test_a_missing_cell_is_null_where_a_family_was_asked_for(recollect: Command, tmp_path: Path) -> None:
    (tmp_path / "hole.json").write_text("[[0.8, 0.1, 0.1], [null, 0.9, 0.1], [0.5, 0.6, 0.7]]")
    result = recollect("score", tmp_path / "hole.json", "-m", "forgetting", "--json")
    lines = {line["id"]: line for line in json.loads(result.out)}
    assert result.code == 0
    assert lines["forgetting.chaudhry2018"]["value"] is None
    assert "R[1, 0]" in lines["forgetting.chaudhry2018"]["reason"]
    assert lines["forgetting.first"]["value"] == pytest.approx(0.3)


def test_an_interval_over_the_items_of_one_run(recollect: Command, tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text('{"R": [[0.8, 0.1], [0.6, 0.9]], "n_samples": [100, 100]}')
    for method in ("items", "auto"):
        (line,) = json.loads(recollect("score", file, "-m", "AA", "--interval", method, "--json").out)
        assert (line["method"], round(line["low"], 3), round(line["high"], 3)) == ("items", 0.694, 0.806)
    (line,) = json.loads(recollect("score", file, "-m", "AA", "--interval", "seeds", "--json").out)
    assert (line["method"], line["low"]) == ("t", None)
    bare = tmp_path / "bare.json"
    bare.write_text('{"R": [[0.8, 0.1], [0.6, 0.9]]}')
    assert "sizes of the test sets" in recollect("score", bare, "-m", "AA", "--interval", "items").err


def test_a_ranking_has_no_interval_over_items(recollect: Command, tmp_path: Path) -> None:
    tasks = (Task("a", n_samples=100), Task("b", n_samples=100))
    rows = (Row(0, scores={"roc_auc": (0.8, 0.5)}), Row(1, scores={"roc_auc": (0.6, 0.9)}))
    run = Run(learner="er", stream="toy", tasks=tasks, problem="links", metric="roc_auc", unit="fraction", rows=rows)
    save([run], tmp_path / "run")
    (line,) = json.loads(recollect("score", tmp_path / "run", "-m", "AA", "--json").out)
    assert (line["value"], line["low"]) == (0.75, None)
    asked = recollect("score", tmp_path / "run", "-m", "AA", "--interval", "items")
    assert (asked.code, "ROC-AUC is no share of right answers" in asked.err) == (1, True)
