from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from recollect.learners import LEARNERS

DOCS = Path(__file__).parents[2] / "docs" / "learners"
FIGURES = DOCS.parents[1] / "benchmarks" / "results" / "against_references.json"


def test_the_pages_state_the_defaults_of_the_code_and_the_figures_of_the_benchmark():
    stale = [
        p.name for p, text in runpy.run_path(str(DOCS / "make_tables.py"))["pages"]().items() if p.read_text() != text
    ]
    assert not stale, f"run python docs/learners/make_tables.py: {stale} are out of date"


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_a_page(name):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert "## Options" in page
    assert "## Ours against the reference" in page


@pytest.mark.parametrize("name", sorted({f["learner"] for f in json.loads(FIGURES.read_text())["figures"]}))
def test_a_learner_that_was_compared_says_so_on_its_page(name):
    assert "| difference |" in (DOCS / f"{name}.md").read_text(encoding="utf-8")


def test_published_figures_name_their_learner_and_their_source():
    for figure in json.loads((DOCS / "published.json").read_text(encoding="utf-8"))["figures"]:
        assert figure["learner"] in LEARNERS
        assert 0 < figure["value"] < 1
        assert figure["source"]
        assert figure["url"].startswith("https://")
