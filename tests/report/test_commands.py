"""`recollect report` and `recollect figure`, called as functions of a small application."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from recollect.cli.figure import figure
from recollect.cli.report import report
from recollect.errors import RecollectError
from recollect.runs import save
from tests.report.samples import make_groups

app = typer.Typer()
app.command("report")(report)
app.command("figure")(figure)


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
