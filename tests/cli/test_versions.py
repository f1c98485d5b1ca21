"""Versions of a model on the commands: the gate, the weekly team, and options that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from recollect.cli import build
from recollect.errors import UsageError
from tests.runs.importers.versions.writing import lmeval_results


def call(command: str, *words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(build((command,)), [command, *map(str, words)], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def weekly(tmp_path: Path) -> Path:
    """Five releases on two fixed slices; the last has lost a tenth of one of them."""
    for week, (north, south) in enumerate(((0.80, 0.60), (0.81, 0.61), (0.80, 0.60), (0.82, 0.60), (0.80, 0.50))):
        name = f"release-{week}"
        lmeval_results(
            tmp_path / "evals" / f"{name}.json", name, {"north": north, "south": south}, date=float(week), n=2000
        )
    return tmp_path / "evals"


def test_the_gate_says_one_sentence_and_how_sure(weekly: Path) -> None:
    code, _, said = call("check", weekly, "--max", "held_out.relative=0.02", "--sure")
    assert code == 1
    sentence = said.strip().splitlines()[-1]
    assert "held_out.relative of evals on evals is 0.0833 [" in sentence
    assert "over test items (97.5% sure, one-sided): beyond the largest allowed, 0.02." in sentence
    code, said, _ = call("check", weekly, "--max", "held_out.relative=0.2", "--sure")
    assert code == 0
    assert "within the largest allowed" in said


def test_a_loss_that_may_be_noise_does_not_pass_for_sure(weekly: Path) -> None:
    bound = "held_out.relative=0.09"
    assert call("check", weekly, "--max", bound)[0] == 0
    assert call("check", weekly, "--max", bound, "--sure")[0] == 1


def test_the_weekly_team_needs_no_words_of_continual_learning(weekly: Path) -> None:
    code, out, said = call("score", weekly)
    assert code == 0
    assert "held_out.delta" in out
    assert "-0.0500" in out
    assert "forgetting" not in out
    assert "by the date of the evaluation" in said


def test_every_command_takes_base_held_out_trained_and_order(weekly: Path, tmp_path: Path) -> None:
    order = ",".join(f"release-{week}" for week in (0, 1, 2, 3, 4))
    chosen = ("--base", "release-0", "--held-out", "south", "--order", order)
    assert call("score", weekly, *chosen)[0] == 0
    assert call("dialects", weekly, "-f", "held_out", *chosen)[0] == 0
    assert call("check", weekly, "--max", "held_out.relative=0.5", *chosen)[0] == 0
    page = tmp_path / "page.html"
    assert call("report", weekly, "-o", page, *chosen)[0] == 0
    assert "south" in page.read_text()
    code, out, _ = call("score", weekly, "--trained", "north=0,south=0", "-m", "forgetting.chaudhry2018")
    assert code == 0
    # Peak minus last: .82 - .80 and .61 - .50.
    assert "0.0650" in out


def test_lists_that_do_not_parse_are_one_sentence(weekly: Path) -> None:
    for words in (("--held-out", "a,,b"), ("--trained", "north"), ("--trained", "north=x"), ("--order", "a,a")):
        with pytest.raises(UsageError, match=words[0]):
            call("score", weekly, *words)


def test_a_matrix_file_takes_held_out_columns_too(tmp_path: Path) -> None:
    long = "after,on,score\n-1,a,0.1\n-1,g,0.5\na,a,0.9\na,g,0.4\n"
    (tmp_path / "long.csv").write_text(long)
    code, out, _ = call("score", tmp_path / "long.csv", "--held-out", "g", "-m", "held_out.delta")
    assert code == 0
    assert "-0.1000" in out
