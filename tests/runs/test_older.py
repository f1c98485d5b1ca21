"""Records of older versions: read, checked by their seals, and gone on with."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.runs.older import lift_line
from recollect.runs.reading import read_run
from tests.runs import older_runs

RUNS = {"classes": older_runs.classes, "concepts": older_runs.concepts}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_was_begun_goes_on_to_the_same_end(tmp_path: Path, name: str) -> None:
    whole = read_run(older_runs.FOLDER / f"{name}-whole")
    folder = shutil.copytree(older_runs.FOLDER / f"{name}-begun", tmp_path / name)
    assert read_run(folder).rows == whole.rows[:2]
    made = list(RUNS[name](folder))
    assert len(made) == 2, "the rows that were there are not made again"
    finished = read_run(folder)
    # What a row says now and did not say then: further targets, and the reasons of each.
    for row, wanted in zip(finished.rows, whole.rows, strict=True):
        scores = {name: values for name, values in row.scores.items() if name in wanted.scores}
        reasons = {name: why for name, why in row.reasons.items() if name in wanted.reasons}
        assert replace(row, scores=scores, reasons=reasons) == wanted
    assert finished.targets == whole.targets
    new = (folder / "rows.jsonl").read_text().splitlines()[2:]
    assert not any("extra" in json.loads(line) or "score" in json.loads(line) for line in new)


@pytest.mark.parametrize("name", RUNS)
def test_what_was_changed_is_found_by_the_seals(tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(older_runs.FOLDER / f"{name}-whole", tmp_path / name)
    rows = folder / "rows.jsonl"
    rows.write_text(rows.read_text().replace('"step":', '"step":1', 1))
    with pytest.raises(UsageError, match="seal does not fit"):
        read_run(folder)


def test_every_target_has_its_scores_unit_and_reasons() -> None:
    run = read_run(older_runs.FOLDER / "concepts-whole")
    assert run.rows[1].scores == {
        "roc_auc": (0.875, 1.0, None),
        "average_precision": (0.8333333333333333, 1.0, None),
        "f1": (0.6666666666666666, 0.6666666666666666, None),
    }
    assert run.rows[1].reasons == {"roc_auc": {"c": "its test set holds normal samples only"}}
    assert run.rows[0].reason == "the learner has learned nothing yet"
    assert len(run.rows[1].state or "") == 64
    under = run.with_metric("f1")
    assert (under.unit, under.higher_is_better, under.matrix.R[0, 0]) == ("fraction", True, 0.6666666666666666)
    assert sorted(target.name for target in under.targets) == ["average_precision", "roc_auc"]
    assert under.with_metric("roc_auc").matrix.R[0].tolist()[:2] == run.matrix.R[0].tolist()[:2]


def test_counts_by_where_the_errors_went() -> None:
    row = read_run(older_runs.FOLDER / "classes-whole").rows[0]
    assert row.errors == {"older": (0, 15, 15), "own": (6, 0, 0), "newer": (0, 0, 0)}
    assert row.standard_error == (0.065465, 0.0, 0.0)
    assert not row.notes


@pytest.mark.parametrize(
    "beside",
    [
        {"scores": 3},
        {"scores": {"f1": ["0.5"]}},
        {"errors": {"own": [1]}},
        {"errors": {"older": [0], "own": "x", "newer": None}},
        {"standard_error": 0.1},
        {"reasons": "none"},
        {"reasons": {"a": 3}},
        {"reason": 3},
        {"state": [1]},
        {"seconds": 1.5},
    ],
)
def test_what_others_put_beside_a_row_is_kept_and_not_read(beside: dict[str, object]) -> None:
    assert lift_line({"after": 0, "score": [0.5], "extra": beside}, "accuracy") == {
        "after": 0,
        "scores": {"accuracy": [0.5]},
        "notes": beside,
    }
