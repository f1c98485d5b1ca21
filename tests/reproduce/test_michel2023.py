"""The whole reproduction from finished runs, through the command."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from recollect.cli.reproduce import reproduce
from recollect.errors import UsageError
from recollect.reproduce import michel2023, tables, toy
from recollect.runs import save
from tests.report.samples import make_run
from tests.reproduce.samples import paper_like

app = typer.Typer()
app.command()(reproduce)


@pytest.fixture(autouse=True)
def _short_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    known = toy.run_toy
    monkeypatch.setattr(toy, "run_toy", lambda seeds: known(1))
    monkeypatch.setattr(toy, "PASSES", 1)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    save([run for run in paper_like(seeds=2) if run.learner != "gdumb"], tmp_path / "runs")
    return tmp_path / "runs"


def test_everything_is_written(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "made"
    result = CliRunner().invoke(app, ["michel2023", "--runs", str(runs), "-o", str(out)], catch_exceptions=False)
    assert result.exit_code == 0
    for number in (1, 2, 3, 4):
        for kind in ("png", "pdf"):
            assert (out / f"figure{number}.{kind}").stat().st_size > 1000
    assert "34 of 34 printed numbers" in result.output
    assert "cannot tell     split-cifar100: all claims about gdumb" in result.output
    summary = (out / "summary.md").read_text(encoding="utf-8")
    for name in ("figure1.png", "figure4.png", "tables.md", "claims.md"):
        assert name in summary
        assert (out / name).exists()
    assert not (out / "split1.png").exists()  # runs without restricted counts cannot be split
    assert "thresholds are ours" in (out / "claims.md").read_text(encoding="utf-8")


def test_two_streams_and_the_split(tmp_path: Path) -> None:
    made = [make_run("er", seed, stream=stream) for seed in range(2) for stream in ("one", "two")]
    save(made, tmp_path / "runs")
    lines: list[str] = []
    found = michel2023.reproduce(tmp_path, runs=tmp_path / "runs", say=lines.append)
    assert (tmp_path / "split2.pdf").exists()
    assert {check.stream for check in found.checks} == {"one", "two"}
    assert "| two | er |" in found.summary.read_text(encoding="utf-8")


def test_a_table_that_differs_is_exit_code_1(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "TABLE_1", (("51", *tables.TABLE_1[0][1:]), *tables.TABLE_1[1:]))
    result = CliRunner().invoke(app, ["michel2023", "--runs", str(runs), "-o", str(tmp_path / "made")])
    assert result.exit_code == 1
    assert "DOES NOT HOLD   Tables 1 and 2: 33 of 34" in result.output


def test_quick_and_runs_exclude_each_other(runs: Path) -> None:
    result = CliRunner().invoke(app, ["michel2023", "--quick", "--runs", str(runs)])
    assert isinstance(result.exception, UsageError)
