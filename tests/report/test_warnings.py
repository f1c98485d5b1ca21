"""What changes the reading stands on the first screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from recollect.report.gather import gather
from recollect.report.page import build_page
from recollect.report.sentences import warnings
from recollect.runs import group, load
from tests.report.samples import make_run


def first_screen(page: str) -> str:
    return page[page.index('<section id="answer">') : page.index('<section id="learners">')]


def test_failed_runs_and_rows_without_scores() -> None:
    failed = replace(make_run("a", 0), status="failed", error="out of memory")
    whole = make_run("a", 1)
    silent = replace(
        whole, rows=(*whole.rows[:-1], replace(whole.rows[-1], correct=None, n=None, reason="it diverged"))
    )
    text = first_screen(build_page(gather(group([failed, silent]))))
    assert "the run failed: out of memory" in text
    assert "it diverged" in text


def test_the_side_of_a_bare_matrix_is_a_guess(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("0.9,0.1\n0.5,0.8\n")
    text = first_screen(build_page(gather(group(load(tmp_path / "m.csv")))))
    assert "was not said: rows are taken for time" in text


def test_missing_seeds() -> None:
    runs = [make_run("a", seed) for seed in range(3)] + [make_run("b", seed, keep=0.5) for seed in range(2)]
    (stream,) = gather(group(runs)).streams
    assert any("b: not all of the 3 seeds" in str(one) for one in warnings(stream))
