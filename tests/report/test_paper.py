"""Tables for a paper: bold only where the paired test supports it."""

from __future__ import annotations

from recollect.metrics import registry
from recollect.report.comparison import compare
from recollect.report.paper import paper_table, supported, why_not_bold
from recollect.runs import group
from tests.report.samples import make_run

AA = registry.get("acc.average")


def comparison(seeds: int, name: str = "er") -> object:
    runs = [make_run(name, s, 4) for s in range(seeds)] + [make_run("finetune", s, 4, keep=0.4) for s in range(seeds)]
    return compare(group(runs), AA)


def test_enough_seeds_make_the_leader_bold() -> None:
    made = comparison(8)
    assert supported(made.streams[0]) == "er"  # type: ignore[attr-defined]
    lines = paper_table(made, "md").splitlines()  # type: ignore[arg-type]
    assert lines[0] == "| acc.average | split toy |"
    assert lines[2].startswith("| er | **0.")
    assert lines[2].endswith("(n = 8)** |")
    assert "**" not in lines[3]
    assert r"& \textbf{0." in paper_table(made, "latex")  # type: ignore[arg-type]
    assert why_not_bold(made) == ()  # type: ignore[arg-type]


def test_five_seeds_cannot() -> None:
    made = comparison(5)
    assert supported(made.streams[0]) is None  # type: ignore[attr-defined]
    assert "**" not in paper_table(made, "md")  # type: ignore[arg-type]
    assert why_not_bold(made) == (  # type: ignore[arg-type]
        "nothing is bold on split toy: the corrected paired test supports no leader: 5 seeds give no p below 0.0625",
    )


def test_names_are_escaped_and_bold_is_not() -> None:
    latex = paper_table(comparison(8, "e_r & {x}"), "latex")  # type: ignore[arg-type]
    assert r"e\_r \& \{x\} & \textbf{" in latex
    assert r"$\pm$" in latex
