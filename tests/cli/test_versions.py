"""Versions of a model on the commands: the gate, the weekly team, and options that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recollect.cli import build
from recollect.errors import NotComputable, UsageError
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
    assert "over test items (97.5% sure, one-sided): above the largest allowed, 0.02." in sentence
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


def test_held_out_and_trained_may_name_tasks_of_any_kind_of_score(tmp_path: Path) -> None:
    for step, (share, error) in enumerate(((0.5, 10.0), (0.4, 12.0))):
        name = f"m/step{step}"
        lmeval_results(tmp_path / "evals" / f"{step}.json", name, {"a": share, "b": 0.5}, date=float(step))
        file = tmp_path / "evals" / f"{step}.json"
        data = json.loads(file.read_text())
        data["results"]["text"] = {"word_perplexity,none": error}
        file.write_text(json.dumps(data))
    code, out, _ = call("score", tmp_path / "evals", "--held-out", "a,text", "-m", "held_out.relative", "--csv")
    assert code == 0
    assert [line.split(",")[3] for line in out.splitlines()[1:]] == ["0.2000", "0.2000"]
    trained = ("--base", "step0", "--trained", "b=1", "-m", "held_out.relative")
    assert call("score", tmp_path / "evals", *trained)[0] == 0
    with pytest.raises(UsageError, match="There are: a, b, text"):
        call("score", tmp_path / "evals", "--held-out", "c")


def test_what_is_imported_says_the_same(weekly: Path, tmp_path: Path) -> None:
    before = call("score", weekly, "--json")[1]
    assert call("import", "auto", weekly, "-o", tmp_path / "own")[0] == 0
    assert call("score", tmp_path / "own", "--json")[1] == before
    trained = ("--trained", "north=0,south=0", "-m", "forgetting.chaudhry2018", "--csv")
    assert call("score", tmp_path / "own", *trained)[1] == call("score", weekly, *trained)[1]
    header = next((tmp_path / "own").glob("*/run.json"))
    assert '"learned_at": []' in header.read_text(), "nothing was ever trained"


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


class TestNamesAndFolders:
    """Versions as strangers name them: numbers and dates in names, one path for all, a folder each."""

    def test_numbers_in_names_order_versions_where_no_date_does(self, tmp_path: Path) -> None:
        for version in ("v1.10", "v1.9", "v1.2"):
            lmeval_results(tmp_path / f"{version}.json", f"acme/m-{version}", {"a": 0.5}, date=None)
        _, _, said = call("score", tmp_path)
        assert "base m-v1.2, then m-v1.9, m-v1.10, by the numbers in their names" in said

    def test_a_date_of_evaluation_that_contradicts_the_numbers_is_said(self, tmp_path: Path) -> None:
        for place, version in enumerate(("v1.10", "v1.9", "v1.2")):
            lmeval_results(tmp_path / f"{version}.json", f"acme/m-{version}", {"a": 0.5}, date=float(place))
        _, _, said = call("score", tmp_path)
        assert "by the date of the evaluation; the numbers in their names tell another order (--order)" in said

    def test_a_date_in_the_name_is_the_versions_own(self, tmp_path: Path) -> None:
        for place, day in enumerate(("2026-02-01", "2026-01-25")):
            lmeval_results(tmp_path / f"{day}.json", f"prod-{day}", {"a": 0.5}, date=float(place))
        _, _, said = call("score", tmp_path)
        assert "base prod-2026-01-25, then prod-2026-02-01, by the dates in their names" in said

    def test_one_model_path_in_a_folder_per_release(self, tmp_path: Path) -> None:
        for day, score in (("2026-05-01", 0.5), ("2026-04-24", 0.52), ("2026-05-08", 0.4)):
            lmeval_results(tmp_path / day / "__model" / "results.json", "./model", {"a": score}, date=None, n=500)
        code, out, said = call("score", tmp_path, "-m", "held_out.delta")
        assert (code, "-0.1200" in out) == (0, True)
        assert "told apart by their folders" in said
        assert "base 2026-04-24, then 2026-05-01, 2026-05-08" in said

    def test_one_version_in_a_file_per_task_stays_one(self, tmp_path: Path) -> None:
        for task in ("a", "b"):
            lmeval_results(tmp_path / f"{task}.json", "./model", {task: 0.5})
        with pytest.raises(NotComputable, match="needs b"):
            call("score", tmp_path)

    def test_a_task_under_other_conditions_can_be_left_out(self, tmp_path: Path) -> None:
        lmeval_results(tmp_path / "1.json", "m1", {"a": 0.5, "b": 0.5}, date=1.0)
        shots = {"n-shot": {"a": 5, "b": 0}}
        lmeval_results(tmp_path / "2.json", "m2", {"a": 0.4, "b": 0.4}, date=2.0, **shots)
        with pytest.raises(UsageError, match="shots 0 in m1 and shots 5 in m2"):
            call("score", tmp_path)
        assert call("score", tmp_path, "--without", "a")[0] == 0

    def test_a_base_of_zero_is_named(self, tmp_path: Path) -> None:
        for step, score in enumerate((0.0, 0.3)):
            lmeval_results(tmp_path / f"{step}.json", f"m/step{step}", {"a": score, "b": 0.5})
        code, _, said = call("check", tmp_path, "--max", "held_out.relative=0.1")
        assert code == 1
        assert "cannot be checked: the base score of a is about 0" in said

    def test_the_gate_names_the_worst_column(self, tmp_path: Path) -> None:
        for step, (gained, lost) in enumerate(((0.2, 0.5), (0.8, 0.4))):
            lmeval_results(tmp_path / f"{step}.json", f"m/step{step}", {"gained": gained, "lost": lost})
        code, out, _ = call("check", tmp_path, "--max", "held_out.relative=0.02")
        assert code == 0
        assert "Of 2 columns the worst is lost with 0.2000, which alone is beyond it." in out
