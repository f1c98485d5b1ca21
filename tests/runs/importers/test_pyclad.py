"""The fixtures were written by pyCLAD itself; expected.json holds the scores that its metrics returned."""

from __future__ import annotations

import json

import pytest

from recollect.errors import UsageError
from recollect.runs.importers import pyclad

FILES = ("naive.json", "cumulative.json", "stepwise.json", "float32_and_nan.json", "never_learned.json")


@pytest.mark.parametrize("file", FILES)
def test_every_callback_gives_its_matrix(fixtures, same, file):
    expected = json.loads((fixtures / "pyclad" / "expected.json").read_text())[file]
    readable = {name: given for name, given in expected["callbacks"].items() if given["serializable"]}
    runs = pyclad.read(fixtures / "pyclad" / file)
    assert [run.metric for run in runs] == list(readable)
    for run, given in zip(runs, readable.values(), strict=True):
        kept = [given["evaluated"].index(name) for name in given["learned"]]
        same(run.matrix.R, [[row[j] for j in kept] for row in given["R"]])
        assert [task.name for task in run.tasks] == given["learned"]
        assert run.learner.startswith(expected["strategy"])
        assert run.stream.startswith(expected["dataset"])


def test_several_metrics_do_not_pass_for_several_seeds(fixtures):
    runs = pyclad.read(fixtures / "pyclad" / "naive.json")
    assert len({run.stream for run in runs}) == len(runs) == 2
    (alone,) = pyclad.read(fixtures / "pyclad" / "naive.json", metric="Accuracy")
    assert alone.metric == "Accuracy"


def test_scores_lost_to_float32_are_said(fixtures, tmp_path):
    (run,) = pyclad.read(fixtures / "pyclad" / "float32_and_nan.json")
    assert any("Accuracy32 was left out" in note for note in run.notes)
    with pytest.raises(UsageError, match=r"float\(value\)"):
        pyclad.read(fixtures / "pyclad" / "float32_and_nan.json", metric="Accuracy32")


def test_some_lost_scores_are_empty_not_zero(tmp_path, same):
    callback = {
        "concepts_order": ["a", "b"],
        "metric_matrix": {"a": {"a": 0.9, "b": "<not serializable>"}, "b": {"a": 0.5, "b": 0.8}},
    }
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"concept_metric_callback_F1": callback}))
    (run,) = pyclad.read(path)
    same(run.matrix.R, [[0.9, None], [0.5, 0.8]])
    assert any("1 scores are '<not serializable>'" in note for note in run.notes)


def test_a_concept_that_was_never_learned_is_left_out_and_said(fixtures):
    (run,) = pyclad.read(fixtures / "pyclad" / "never_learned.json")
    assert run.T == 3
    assert any("never learned: day 12" in note for note in run.notes)


def test_a_loss_is_raw_and_a_text_is_refused(tmp_path):
    path = tmp_path / "out.json"
    matrix = {"a": {"a": 12.5}}
    path.write_text(json.dumps({"concept_metric_callback_X": {"concepts_order": ["a"], "metric_matrix": matrix}}))
    assert pyclad.read(path)[0].unit == "raw"
    path.write_text(path.read_text().replace("12.5", '"high"'))
    with pytest.raises(UsageError, match="'high' is not a number"):
        pyclad.read(path)


def test_what_the_file_prints_names_its_definitions(fixtures):
    for run in pyclad.read(fixtures / "pyclad" / "naive.json"):
        said = [note for note in run.notes if note.startswith("the file says")]
        assert any("BackwardTransfer" in note and note.endswith("= bwt.pyclad_code") for note in said)
        assert not any(note.startswith("warning") for note in run.notes)


def test_a_number_that_no_definition_gives_is_a_warning(fixtures, tmp_path):
    output = json.loads((fixtures / "pyclad" / "naive.json").read_text())
    for key, value in output.items():
        if key.startswith("concept_metric_callback"):
            value["metrics"]["BackwardTransfer"] = 0.123456
    path = tmp_path / "a.json"
    path.write_text(json.dumps(output))
    assert any(note.startswith("warning: the file says BackwardTransfer") for note in pyclad.read(path)[0].notes)
