"""Michel et al. 2023, "New metrics for analyzing continual learners", computed again and written to a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.report.figures import make_figure
from recollect.report.words import with_interval
from recollect.reproduce import claims, coefficients, experiment, figures, tables, toy
from recollect.reproduce.claims import Check
from recollect.runs.files import write_atomic
from recollect.text import Table

if TYPE_CHECKING:
    from recollect.report.results import Contents
    from recollect.runs import Group

FIGURE_2 = (20, 100)
CURVES = {3: ("acc.average", "raa.michel2023"), 4: ("forgetting.chaudhry2018", "raf.michel2023")}
Say = Callable[[str], Any]


@dataclass(frozen=True)
class Reproduction:
    """What came out: whether the mathematics holds, the verdicts on the claims, and the page that ties all."""

    mathematics_holds: bool
    checks: tuple[Check, ...]
    summary: Path


def reproduce(
    out: Path,
    *,
    quick: bool = False,
    data: Path | None = None,
    runs: Path | None = None,
    workers: int | None = None,
    seeds_of_toy: int = toy.SEEDS,
    say: Say = print,
) -> Reproduction:
    """Write tables, figures, claims and a summary to `out`; the trained runs are in its folder `runs`."""
    finished = None if runs is None else experiment.read(runs)
    out.mkdir(parents=True, exist_ok=True)
    sections, holds = _mathematics(out, say)
    sections.append(_toy(out, say, seeds_of_toy))
    groups, unfinished = finished or (experiment.run(out / "runs", quick=quick, data=data, workers=workers), ())
    checks = claims.check_claims(groups)
    for check in checks:
        say(check.line)
    text = "# Claims of section 5.3\n\n" + (claims.__doc__ or "").split("\n\n", 1)[1].strip()
    text += "\n\n" + claims.claims_table(checks).markdown() + "\n"
    _write(out / "claims.md", text)
    sections.append(_experiment(out, groups, unfinished, checks))
    summary = out / "summary.md"
    _write(summary, "# Michel et al. 2023, computed again\n\n" + "\n\n".join(sections) + "\n")
    return Reproduction(holds, checks, summary)


def _mathematics(out: Path, say: Say) -> tuple[list[str], bool]:
    """Tables 1 and 2, Figure 2, the propositions: what must hold."""
    cells = tables.compare_tables()
    agreements = tables.count_agreements(cells)
    wrong = agreements.get(tables.DIFFERS, [])
    count = sum(map(len, agreements.values()))
    say(f"{_verdict(not wrong):<15} Tables 1 and 2: {count - len(wrong)} of {count} printed numbers")
    propositions = coefficients.check_propositions()
    for one in propositions:
        say(
            f"{_verdict(one.holds):<15} {one.name}: {one.statement}, largest difference {one.difference:.1e}"
            f" over K = 2 .. {one.most}"
        )
    unequal = coefficients.unequal_table(coefficients.check_unequal())
    _write(out / "tables.md", _tables_text(cells, agreements, propositions, unequal))
    _figure_2(out)
    text = (
        f"## Tables and propositions\n\n{count - len(wrong)} of {count} printed numbers of Tables 1 and 2 agree"
        f" ([tables.md](tables.md)). "
        + " ".join(f"{p.name}: largest difference {p.difference:.1e} over K = 2 .. {p.most}." for p in propositions)
        + "\n\n![Figure 2](figure2.png)\n\nFigure 2. The coefficients by their definitions (lines) and closed forms"
        " (markers), equal tasks.\n\nOn unequal tasks, which Proposition 4.4 does not cover:\n\n" + unequal.markdown()
    )
    return [text], not wrong and all(one.holds for one in propositions)


def _tables_text(
    cells: tuple[tables.Cell, ...],
    agreements: dict[str, list[tables.Cell]],
    propositions: Sequence[coefficients.Proposition],
    unequal: Table,
) -> str:
    parts = ["# Tables and propositions"]
    for table in tables.as_tables(cells).values():
        parts += [f"## {table.title}", table.markdown()]
    parts += [
        "## To the printed digit",
        "Each cell is computed from Definitions 3.1 and 3.2 and compared at the digits that the paper prints.",
        Table(("agreement", "cells", "which"), tuple(_agreement_row(*item) for item in agreements.items())).markdown(),
        "## Propositions",
        Table(
            ("", "statement", "K", "largest difference", "holds"),
            tuple(
                (p.name, p.statement, f"2 .. {p.most}", f"{p.difference:.1e}", "yes" if p.holds else "NO")
                for p in propositions
            ),
        ).markdown(),
        "## Proposition 4.4 on unequal tasks",
        unequal.markdown(),
    ]
    return "\n\n".join(parts) + "\n"


def _agreement_row(kind: str, cells: Sequence[tables.Cell]) -> tuple[str, str, str]:
    which = [f"{c.printed} ({c.row}, {c.column})" for c in cells] if kind != tables.EXACT else ["all others"]
    return kind, str(len(cells)), ", ".join(dict.fromkeys(which))


def _figure_2(out: Path) -> None:
    panels = []
    for K in FIGURE_2:
        defined = coefficients.from_definitions([1] * K)
        panels.append((K, (defined.gamma, defined.beta), coefficients.closed_forms(K)))
    figures.draw(out / "figure2", lambda: figures.coefficient_figure(panels))


def _toy(out: Path, say: Say, seeds: int) -> str:
    made = toy.run_toy(seeds)
    figures.draw(out / "figure1", lambda: figures.toy_figure(made))
    numbers = {
        "task 1, right after it": made.learned,
        "task 1 at the end, among its own classes": made.first_kept,
        "task 2 at the end, among its own classes": made.second_kept,
        "task 1 at the end, among all four": made.first_all,
        "task 2 at the end, among all four": made.second_all,
        "all four, learned at once in as many passes": made.joint,
        "AF": made.forgetting,
        "answered worse within the task": made.within,
        "confused with the newer task": made.newer,
        "within the task, with Adam instead of SGD": made.within_with_adam,
        "within the task, with task 2 shifted so that no line solves both": made.within_when_shifted,
    }
    say(
        f"{'measured':<15} Figure 1: AF {float(made.forgetting.value):.3f} = within {float(made.within.value):.3f}"
        f" + newer {float(made.newer.value):.3f} (n = {made.within.n})"
    )
    table = Table(("", "value and 95 % interval"), tuple((name, str(number)) for name, number in numbers.items()))
    return (
        "## Figure 1, for real\n\n![Figure 1](figure1.png)\n\nFigure 1. A network with two hidden layers of 32 learns"
        f" left or right twice, {toy.PASSES} passes a task (SGD, rate {toy.SGD['lr']}). Seed 0 drawn.\n\n"
        + table.markdown()
    )


def _experiment(out: Path, groups: Sequence[Group], unfinished: Sequence[str], checks: Sequence[Check]) -> str:
    from recollect.report.gather import gather

    contents = gather(groups)
    for number, ids in CURVES.items():
        figures.draw(out / f"figure{number}", partial(figures.curve_figure, contents.streams, ids))
    notes = list(experiment.captions(contents, groups))
    if unfinished:
        notes.append(f"Not finished and left out: {', '.join(unfinished)}.")
    n = {verdict: sum(check.verdict == verdict for check in checks) for verdict in _VERDICTS}
    table = Table(
        ("claim", "stream", "learner", "verdict", "value and 95 % interval"),
        tuple((c.claim, c.stream, c.learner, c.verdict, c.shown_number) for c in checks),
    )
    parts = [
        "## Figures 3 and 4",
        "![Figure 3](figure3.png)",
        "Figure 3. AA and RAA over tasks, mean and 95 % interval over seeds. A ring marks where a curve stops rising, a"
        " bar its interval.",
        "![Figure 4](figure4.png)",
        "Figure 4. AF and RAF over tasks.",
        "What was run:",
        "\n".join(f"- {note}" for note in notes),
        *_split(out, contents),
        "## Claims",
        ", ".join(f"{count} {verdict}" for verdict, count in n.items())
        + ". Rules and notes are in [claims.md](claims.md).",
        table.markdown(),
    ]
    return "\n\n".join(parts)


def _split(out: Path, contents: Contents) -> list[str]:
    """What the forgetting of Figure 4 consists of at the end, where the runs can tell."""
    ids = {
        "AF": "forgetting.chaudhry2018",
        "within the task": "split.within",
        "confused with older tasks": "split.older",
        "with newer tasks": "split.newer",
    }
    rows = []
    parts = ["## What the forgetting consists of"]
    for place, stream in enumerate(contents.streams):
        if not any(learner.parts for learner in stream.learners):
            continue
        name = f"split{place + 1}"
        figures.draw(out / name, partial(make_figure, "split", stream))
        parts += [f"![{stream.key}]({name}.png)", f"{stream.key}: AF over tasks, split."]
        for learner in stream.learners:
            numbers = [learner.numbers[id] for id in ids.values()]
            shown_numbers = (with_interval(one) for one in numbers)
            rows.append((stream.key, learner.label, *shown_numbers, str(numbers[0].n)))
    return [*parts, Table(("stream", "learner", *ids, "n"), tuple(rows)).markdown()] if rows else []


_VERDICTS = (claims.REPRODUCED, claims.NOT_REPRODUCED, claims.CANNOT_TELL)


def _verdict(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"


def _write(path: Path, text: str) -> None:
    write_atomic(path, text.encode())
