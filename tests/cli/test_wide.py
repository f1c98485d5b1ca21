"""One row per learner, one column per metric."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.runs import save
from tests.cli.conftest import Command
from tests.report.samples import make_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    keeps = {"er": 0.9, "finetune": 0.4}
    save([make_run(name, seed, 3, keep=keep) for name, keep in keeps.items() for seed in range(2)], tmp_path / "runs")
    return tmp_path / "runs"


def test_a_table_as_papers_have_it(recollect: Command, runs: Path) -> None:
    made = recollect("score", runs, "-m", "AA", "-m", "AF", "--wide", "--percent", "--md")
    lines = made.out.splitlines()
    assert lines[0] == "| learner | AA | AF | n |"
    er = next(line for line in lines if line.startswith("| er "))
    assert 50 < float(er.split("|")[2].split()[0]) < 100
    plain = recollect("score", runs, "-m", "AA", "--wide", "--latex").out
    assert r"\begin{tabular}{lrr}" in plain
    assert " & 0." in plain


def test_names_and_order_of_a_figure(recollect: Command, runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "a.svg"
    words = ("figure", "compare", runs, "-o", out, "-m", "AF", "--style", "sans", "--width", "one")
    assert recollect(*words, "--rename", "er=ER (ours)").code == 0
    assert out.stat().st_size > 1000
    assert recollect(*words, "--rename", "er=finetune").code == 2
    assert recollect(*words, "--rename", "nobody=x").code == 2
    assert recollect(*words, "--rename", "er").code == 2
