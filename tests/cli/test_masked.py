"""`--masked`: the task-id oracle wherever results are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.runs.saving import save
from tests.report.samples import make_run

from .conftest import Command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save([make_run(learner, seed, T=4) for learner in ("er", "gdumb") for seed in range(3)], tmp_path / "runs")
    return tmp_path / "runs"


def test_scores_are_those_of_the_masked_counts(recollect: Command, folder: Path) -> None:
    told = json.loads(recollect("score", folder, "--masked", "-m", "AA", "--json").out)
    plain = json.loads(recollect("score", folder, "-m", "AA", "--json").out)
    last = [make_run("er", seed, T=4).rows[-1] for seed in range(3)]
    expected = sum(sum(m / n for m, n in zip(row.masked, row.n, strict=True)) / 4 for row in last) / 3
    found = {one["learner"]: one["value"] for one in told}
    assert found["er"] == pytest.approx(expected)
    assert found["er"] != {one["learner"]: one["value"] for one in plain}["er"]


def test_what_is_rescaled_by_difficulty_has_no_value(recollect: Command, folder: Path) -> None:
    result = recollect("score", folder, "--masked", "-m", "RAA")
    assert "classes" in result.out + result.err


def test_compare_report_and_check_take_it(recollect: Command, folder: Path, tmp_path: Path) -> None:
    assert recollect("compare", folder, "--masked").code == 0
    page = tmp_path / "page.html"
    assert recollect("report", folder, "--masked", "-o", page).code == 0
    assert "task given" in page.read_text()
    assert "--masked" in page.read_text()


def test_runs_without_the_counts_are_refused(recollect: Command, r1: Path) -> None:
    result = recollect("score", r1, "--masked")
    assert result.code == 2
    assert "among each task's own classes" in result.paragraph
