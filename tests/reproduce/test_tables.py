"""The printed tables, and the comparison that could find them wrong."""

from __future__ import annotations

import pytest

from recollect.reproduce import tables


def test_every_printed_number_agrees() -> None:
    cells = tables.compare_tables()
    assert len(cells) == 60
    assert [cell for cell in cells if not cell.agrees] == []


def test_which_numbers_the_paper_cut_off() -> None:
    found = tables.count_agreements(tables.compare_tables())
    assert {cell.printed for cell in found[tables.TRUNCATED]} == {"4.16", "6.66"}
    assert {cell.printed for cell in found[tables.ROUNDED]} == {"16.7", "18.06"}
    assert sum(map(len, found.values())) == 34


def test_a_wrong_number_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = (*tables.TABLE_2[:3], ("37.5", "12.5", "4.15", "-", "-", "18.06"), tables.TABLE_2[4])
    monkeypatch.setattr(tables, "TABLE_2", wrong)
    cells = tables.compare_tables()
    assert [(c.table, c.row, c.column) for c in cells if not c.agrees] == [(2, "T4", "T3")]
    assert "4.1667 (paper: 4.15)" in tables.as_tables(cells)[2].markdown()


@pytest.mark.parametrize(("printed", "value"), [("-", 1.0), ("10", float("nan")), ("0.1", 0.2), ("16.7", 16.6)])
def test_what_differs(printed: str, value: float) -> None:
    assert tables.agreement(printed, value) == tables.DIFFERS
