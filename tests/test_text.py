"""Names and notes from records, in every kind of output."""

from __future__ import annotations

import csv
import io

import pytest

from recollect.text import Table, csv_cell, latex, markdown, visible

HOSTILE = ("er\x1b[2J\x07", "a\u202eb", "=1+1", "@SUM(A1)", "[x](http://evil)", "<img src=x>", "a\r\nb", "-2+3", "+1|x")


@pytest.mark.parametrize("name", HOSTILE)
def test_no_control_character_is_sent(name: str) -> None:
    table = Table(("learner", "value"), ((name, "-0.25"),), right=(1,), title=name)
    for text in (table.plain(), table.markdown(), table.latex(), table.csv()):
        assert all(mark.isprintable() or mark == "\n" for mark in text)
        assert text.count("\n") <= 8, "a name adds no line"


@pytest.mark.parametrize("name", HOSTILE)
def test_no_cell_of_a_csv_begins_a_formula(name: str) -> None:
    rows = list(csv.reader(io.StringIO(Table(("learner", "value"), ((name, "-0.25"),)).csv())))
    assert rows[1][0][0] not in "=+-@\t\r"
    assert rows[1][1] == "-0.25", "a number stays a number"


def test_markdown_has_no_link_no_tag_and_no_bare_address() -> None:
    text = markdown("[x](http://evil) <b> https://evil www.evil.org javascript:alert(1) ![i](j)")
    assert "](" not in text.replace("\\]", "")
    assert "<" not in text.replace("\\<", "")
    assert "http:" not in text
    assert "https:" not in text
    assert "www.e" not in text
    assert "javascript:" not in text
    assert markdown("0.61 [0.58, 0.64]") == "0.61 [0.58, 0.64]"


def test_names_stay_readable() -> None:
    for name in ("er (memory=500)", "naïve", "学习", "a_b"):
        assert visible(name) == name
        assert csv_cell(name) == name
    assert latex("a_b & c") == r"a\_b \& c"
