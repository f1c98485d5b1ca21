"""Tables for a paper: bold only where the lead is more than noise and luck."""

from __future__ import annotations

from recollect.metrics import registry
from recollect.report.comparison import Comparison, compare
from recollect.report.paper import is_bold, paper_table, why_not_bold
from recollect.runs import group
from tests.report.samples import make_run

AA = registry.get("acc.average")


def comparison(seeds: int, name: str = "er", keep: float = 0.4) -> Comparison:
    runs = [make_run(name, s, 4) for s in range(seeds)] + [make_run("finetune", s, 4, keep=keep) for s in range(seeds)]
    return compare(group(runs), AA)


def test_a_confirmed_leader_is_bold() -> None:
    made = comparison(5)
    assert is_bold(made.streams[0], "er")
    lines = paper_table(made).markdown().splitlines()
    assert lines[0] == "| acc.average | split toy |"
    assert lines[2].startswith("| er | **0.")
    assert lines[2].endswith("(n = 5)** |")
    assert "**" not in lines[3]
    assert r"& \textbf{0." in paper_table(made).latex()
    assert why_not_bold(made) == ()


def test_what_cannot_be_told_is_not_bold_and_says_what_would_settle_it() -> None:
    made = comparison(3, keep=0.9)
    assert not any(is_bold(made.streams[0], label) for label in ("er", "finetune"))
    assert "**" not in paper_table(made).markdown()
    (note,) = why_not_bold(made)
    assert note.startswith("nothing is bold on split toy: ")
    assert "cannot be told from" in note


def test_names_are_escaped_and_bold_is_not() -> None:
    latex = paper_table(comparison(8, "e_r & {x}")).latex()
    assert r"e\_r \& \{x\} & \textbf{" in latex
    assert r"$\pm$" in latex
