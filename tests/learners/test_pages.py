from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from recollect.learners import LEARNERS

DOCS = Path(__file__).parents[2] / "docs" / "learners"


def test_the_pages_state_the_defaults_of_the_code():
    stale = [
        p.name for p, text in runpy.run_path(str(DOCS / "make_tables.py"))["pages"]().items() if p.read_text() != text
    ]
    assert not stale, f"run python docs/learners/make_tables.py: {stale} are out of date"


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_a_page(name):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert "## Options" in page
    assert "## Ours against the reference" in page
