"""`recollect export` and `recollect report --model-card`: what others read, read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recollect.cli import build
from recollect.runs import load
from tests.runs.importers.versions.writing import lmeval_results


def call(command: str, *words: object) -> str:
    result = CliRunner().invoke(build((command,)), [command, *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture
def evals(tmp_path: Path) -> Path:
    for step, (a, b) in ((1, (0.8, 0.6)), (2, (0.7, 0.61))):
        lmeval_results(tmp_path / "evals" / f"{step}.json", f"m/step{step}", {"a": a, "b": b}, n=2000)
    return tmp_path / "evals"


def test_every_eval_ever_is_read_back_as_it_was(evals: Path, tmp_path: Path) -> None:
    said = call("export", "every-eval-ever", evals, "-o", tmp_path / "out", "--organisation", "us")
    assert len(said.splitlines()) == 2
    documents = [json.loads(file.read_text()) for file in sorted((tmp_path / "out").iterdir())]
    assert {one["schema_version"] for one in documents} == {"0.3.0"}
    assert documents[0]["source_metadata"]["source_organization_name"] == "us"
    (before,), (after,) = load(evals), load(tmp_path / "out")
    assert after.matrix.R.tolist() == before.matrix.R.tolist()
    assert after.rows[0].standard_error == before.rows[0].standard_error


def test_eval_results_are_the_last_row(evals: Path, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    call("export", "eval-results", evals, "-o", tmp_path / "hub")
    (file,) = (tmp_path / "hub" / ".eval_results").iterdir()
    entries = yaml.safe_load(file.read_text())
    assert [(one["dataset"]["task_id"], one["value"]) for one in entries] == [("a", 0.7), ("b", 0.61)]


def test_a_model_card_says_what_changed_and_its_command(evals: Path) -> None:
    card = call("report", evals, "--base", "step1", "--model-card")
    assert card.startswith("## What this version keeps")
    assert "1 worse: a by −0.100 [−0.127, −0.073] since step1; 1 cannot be told from no change" in card
    assert "| a | step1 | 0.800 | 0.700 | -0.100 [-0.127, -0.073] |" in card
    assert "--base step1" in card
