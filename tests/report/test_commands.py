"""`recollect report`, `figure`, `score` and `compare`, called as functions of a small application."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from recollect.cli.compare import compare
from recollect.cli.figure import figure
from recollect.cli.report import report
from recollect.cli.score import score
from recollect.errors import RecollectError
from recollect.problems import problem_of
from recollect.runs import save
from tests.report.samples import make_detectors, make_groups

app = typer.Typer()
app.command("report")(report)
app.command("figure")(figure)
app.command("score")(score)
app.command("compare")(compare)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    save([run for group in make_groups(T=5, seeds=2) for run in group.runs], place)
    return place


def call(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=True)
    if isinstance(result.exception, RecollectError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def told(*words: object) -> Any:
    """The JSON that a command prints, without the notes beside it."""
    return json.loads(CliRunner().invoke(app, [str(word) for word in words]).stdout)


def test_a_report_of_run_folders(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert "page.html" in call("report", runs, "-o", out, "--title", "Ours")
    text = out.read_text(encoding="utf-8")
    assert "<h1>Ours</h1>" in text
    assert f"-o {out}" in text


def test_a_report_of_a_matrix_file(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("0.8,0.1\n0.6,0.9\n")
    call("report", tmp_path / "m.csv", "-o", tmp_path / "m.html", "--classes", "2,2")
    assert "raa.michel2023" in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_a_page_is_html(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(RecollectError, match=r"ends in \.html"):
        call("report", runs, "-o", tmp_path / "page.pdf")


def test_figures(runs: Path, tmp_path: Path) -> None:
    for name in ("aa-raa", "split", "compare"):
        call("figure", name, runs, "-o", tmp_path / f"{name}.pdf", "--width", "one")
        assert (tmp_path / f"{name}.pdf").stat().st_size > 1000
    call("figure", "matrix", runs, "-o", tmp_path / "m.svg", "--learner", "er", "--width", "4.5")
    assert "finetune" not in (tmp_path / "m.svg").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--width", "wide"), "--width is one, two, or inches"),
        (("--stream", "nowhere"), "there is no stream 'nowhere'"),
        (("--learner", "nobody"), "there is no learner 'nobody'"),
    ],
)
def test_wrong_use_is_a_sentence(runs: Path, tmp_path: Path, words: tuple[str, str], message: str) -> None:
    with pytest.raises(RecollectError, match=message):
        call("figure", "aa-raa", runs, "-o", tmp_path / "a.pdf", *words)


@pytest.fixture(scope="module")
def detectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("detectors")
    groups = make_detectors(seeds=2, rows=("concepts", "batches"))
    save([run for group in groups for run in group.runs], place)
    return place


def test_detectors_are_scored_by_what_their_field_reports(detectors: Path) -> None:
    text = call("score", detectors, "--curve")
    assert text.startswith("ROC-AUC\n")
    assert "after each concept" in text
    ids = [line.split()[3] for line in text.splitlines()[2:7]]
    assert ids == list(problem_of("detection").focus.shown)
    assert "raa.michel2023" not in text
    text = call("compare", detectors)
    assert "nsl_kdd (concept-agnostic), ROC-AUC" in text
    assert "acc.continual_average" in text
    assert "task" not in text


def test_a_target_chooses_among_the_scores(detectors: Path, tmp_path: Path) -> None:
    def ca(*words: str) -> list[float]:
        found = told("score", detectors, "-m", "acc.continual_average", "--json", *words)
        return [line["value"] for line in found]

    assert ca("--target", "average_precision") == pytest.approx([0.8 * value for value in ca()], abs=1e-4)
    assert ca("--target", "roc_auc") == ca("--target", "ROC-AUC") == ca()
    call("report", detectors, "-o", tmp_path / "f1.html", "--target", "f1")
    page = (tmp_path / "f1.html").read_text(encoding="utf-8")
    assert "continual average of F1" in page
    assert "--target f1 -o" in page, "the page says the command that made it"
    call(
        "figure", "matrix", detectors, "-o", tmp_path / "m.svg", "--target", "f1", "--stream", "nsl_kdd (concept-aware)"
    )


def test_a_target_that_the_runs_lack(detectors: Path, runs: Path) -> None:
    with pytest.raises(RecollectError, match="no scores 'recall'; it has average_precision, f1, roc_auc"):
        call("score", detectors, "--target", "recall")
    with pytest.raises(RecollectError, match="no scores 'f1'; it has accuracy"):
        call("compare", runs, "--target", "f1")


def test_a_target_of_a_file_with_a_run_for_each_score() -> None:
    path = Path(__file__).parents[1] / "runs" / "fixtures" / "pyclad" / "naive.json"
    assert "ROC-AUC" in call("score", path, "--target", "ROC-AUC")
    with pytest.raises(RecollectError, match="no scores 'f1'"):
        call("score", path, "--target", "f1")


def test_a_figure_says_what_it_cannot_draw(detectors: Path, tmp_path: Path) -> None:
    words = ("-o", tmp_path / "a.pdf", "--stream", "nsl_kdd (concept-agnostic)")
    assert "raa.michel2023 is not drawn: its difficulty does not follow" in call("figure", "aa-raa", detectors, *words)


def test_a_concept_without_a_score_is_left_out_when_told(tmp_path: Path) -> None:
    save([run for group in make_detectors(seeds=2, one_class="probe") for run in group.runs], tmp_path)
    words = ("score", tmp_path, "-m", "acc.average", "--json")
    assert {line["value"] for line in told(*words[:3], "acc", "--json")} == {None}
    assert all(line["value"] > 0.5 for line in told(*words, "--without", "probe"))
    call("report", tmp_path, "-o", tmp_path / "page.html", "--without", "probe")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "left out: probe" in page
    assert "--without probe -o" in page
    with pytest.raises(RecollectError, match="no concept 'probes' to leave out"):
        call(*words, "--without", "probes")
