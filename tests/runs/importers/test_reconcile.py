"""What a file prints of itself is checked against what was read from it, tool by tool."""

from __future__ import annotations

import contextlib
import json
import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from recollect.cli import main
from recollect.runs import load
from recollect.runs.importers import begin, l2metrics

CSV = "avalanche/class_incremental/eval_results.csv"


def warnings_of(path: Path) -> list[str]:
    return [note for run in load(path) for note in run.notes if note.startswith("warning: ")]


def test_the_forgetting_column_of_avalanche_names_its_definition(fixtures):
    (run,) = load(fixtures / CSV)
    # The last five lines print -.0444, .3636, .7841 and .6705.
    assert "the file says forgetting (mean over the experiences before) 0.4435 = forgetting.first" in run.notes
    assert not warnings_of(fixtures / CSV)


@pytest.mark.parametrize("line", ["1,4,0.2614,2.0844,0.3636", "1,2,0.1477,1.7304,0.4773"])
def test_a_forgetting_that_no_definition_gives_is_a_warning_in_every_row(fixtures, tmp_path, line):
    text = (fixtures / CSV).read_text()
    assert line in text
    path = tmp_path / "eval_results.csv"
    path.write_text(text.replace(line, line[:-6] + "0.1000"))
    (said,) = warnings_of(path)
    assert "the file says forgetting" in said
    assert "check the reading" in said


def begin_file(tmp_path: Path, **changed: object) -> Path:
    R = np.array([[0.75, 0.125], [0.25, 0.5]])
    made = {"init_test": np.zeros(3), "exp_test": np.c_[R, R @ [0.25, 0.75]]}
    path = tmp_path / "result_0.pkl"
    path.write_bytes(pickle.dumps({**made, **changed}))
    return path


def test_the_pooled_column_of_begin_proves_the_reading(tmp_path):
    (run,) = begin.read(begin_file(tmp_path))
    assert any("with the shares 0.250, 0.750 of the test samples" in note for note in run.notes)
    turned = np.array([[0.75, 0.125, 0.8], [0.25, 0.5, 0.4375]])  # .8 is above both scores
    (said,) = warnings_of(begin_file(tmp_path, exp_test=turned))
    assert "the pooled column is no mean of the tasks' scores" in said


def test_one_set_of_shares_must_fit_all_rows(tmp_path):
    rows = np.array([[0.75, 0.125, 0.4375], [0.25, 0.5, 0.4375]])  # halves in one row, a quarter in the other
    assert len(warnings_of(begin_file(tmp_path, exp_test=rows))) == 1


def test_the_numbers_of_begins_trainer_name_their_definitions(tmp_path):
    path = begin_file(tmp_path, exp_AP=0.375, exp_AF=0.5, exp_FWT=0.125)
    (run,) = begin.read(path)
    for said in ("AP 0.3750 = acc.average", "AF 0.5000 = forgetting.first", "FWT 0.1250 = fwt.lopezpaz2017"):
        assert f"the file says {said}" in run.notes
    assert any("the file says AP 0.3760" in said for said in warnings_of(begin_file(tmp_path, exp_AP=0.376)))


@pytest.fixture
def reported(fixtures, tmp_path):
    """A lifetime and the report that l2metrics would write of it; a function changes the report."""
    folder = tmp_path / "logs" / "lifetime"
    shutil.copytree(fixtures / "l2metrics" / "lifetime", folder)
    (run,) = l2metrics.read(folder)
    (tmp_path / "results").mkdir()

    def write(values: dict[str, list[float]], ranges: object) -> Path:
        report = {
            "run_id": "lifetime",
            "metrics_column": run.metric,
            "normalization_data_range": ranges,
            "task_metrics": {task: {"avg_eval_perf_vals": column} for task, column in values.items()},
        }
        (tmp_path / "results" / "lifetime_metrics.json").write_text(json.dumps(report))
        return folder

    columns = {task.name: [row.scores[run.metric][j] for row in run.rows] for j, task in enumerate(run.tasks)}
    return {task: [s for s in column if s is not None] for task, column in columns.items()}, write


def test_the_report_of_l2metrics_proves_every_score(reported):
    columns, write = reported
    count = sum(map(len, columns.values()))
    assert count > 3
    said = f"the report lifetime_metrics.json: all {count} scores that it prints are those that were read"
    assert said in load(write(columns, None))[0].notes
    ranges = {task: {"min": -10.0 - j, "max": 190.0} for j, task in enumerate(columns)}
    each = {t: [1 + 100 * (s - ranges[t]["min"]) / (190 - ranges[t]["min"]) for s in c] for t, c in columns.items()}
    assert said in load(write(each, ranges))[0].notes
    low = min(one["min"] for one in ranges.values())
    together = {task: [1 + 100 * (s - low) / (190 - low) for s in column] for task, column in columns.items()}
    assert said in load(write(together, ranges))[0].notes


def test_a_report_with_other_scores_is_a_warning(reported):
    columns, write = reported
    task = next(iter(columns))
    spoiled = {**columns, task: [columns[task][0] + 1, *columns[task][1:]]}
    (said,) = warnings_of(write(spoiled, None))
    assert f"1 of {sum(map(len, columns.values()))} scores differ" in said
    (said,) = warnings_of(write({**columns, task: columns[task][1:]}, None))
    assert "check the reading" in said


@pytest.mark.parametrize("spoil", ["[]", "{}", '{"run_id": "lifetime", "task_metrics": {"a": 3}}', "{"])
def test_a_report_that_is_none_is_left(reported, spoil):
    columns, write = reported
    folder = write(columns, None)
    (folder.parents[1] / "results" / "lifetime_metrics.json").write_text(spoil)
    assert not [note for note in load(folder)[0].notes if "report" in note]


@pytest.mark.parametrize("words", [["score"], ["import", "-o", "made", "begin"], ["report", "-o", "page.html"]])
def test_score_and_import_and_the_page_show_it(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    path = begin_file(tmp_path, exp_AP=0.376)
    monkeypatch.setattr(sys, "argv", ["recollect", *words, str(path)])
    with contextlib.suppress(SystemExit):
        main()
    shown = capsys.readouterr()
    page = Path("page.html")
    text = page.read_text() if page.exists() else shown.out + shown.err
    assert "the file says AP 0.3760" in " ".join(text.split())
