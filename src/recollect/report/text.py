"""A table as people and programs want it: on the terminal, in Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
}


@dataclass(frozen=True)
class Table:
    """Columns with names and rows of text; `right` tells which columns hold numbers.

    >>> print(Table(("id", "value"), (("acc.average", "0.61"),), right=(1,)).markdown())
    | id | value |
    | --- | ---: |
    | acc.average | 0.61 |
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    title: str = ""

    def plain(self) -> str:
        """Aligned columns, no frames: what a pipe or a log gets."""
        cells = [self.columns, *self.rows]
        widths = [max(len(row[c]) for row in cells) for c in range(len(self.columns))]

        def line(row: Sequence[str]) -> str:
            parts = (
                text.rjust(w) if c in self.right else text.ljust(w)
                for c, (text, w) in enumerate(zip(row, widths, strict=True))
            )
            return "  ".join(parts).rstrip()

        heading = [self.title] if self.title else []
        return "\n".join([*heading, *map(line, cells)])

    def markdown(self) -> str:
        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(c.replace("\\", "\\\\").replace("|", "\\|") for c in cells) + " |"

        rule = "| " + " | ".join("---:" if c in self.right else "---" for c in range(len(self.columns))) + " |"
        return "\n".join([line(self.columns), rule, *map(line, self.rows)])

    def latex(self) -> str:
        def line(cells: Sequence[str]) -> str:
            return " & ".join("".join(_LATEX.get(ch, ch) for ch in cell) for cell in cells) + r" \\"

        spec = "".join("r" if c in self.right else "l" for c in range(len(self.columns)))
        body = [line(self.columns), r"\midrule", *map(line, self.rows)]
        return "\n".join([rf"\begin{{tabular}}{{{spec}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"])

    def csv(self) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.columns, *self.rows])
        return out.getvalue().rstrip("\n")


def shown(value: float, digits: int = 4) -> str:
    """A number for a reader; a dash where there is none.

    >>> shown(.18333), shown(float("nan")), shown(-0.00001)
    ('0.1833', '–', '0.0000')
    """
    if np.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def interval(low: float, high: float, digits: int = 4) -> str:
    """An interval for a reader; empty where there is none.

    >>> interval(.1, .25)
    '[0.1000, 0.2500]'
    """
    return "" if np.isnan(low) or np.isnan(high) else f"[{shown(low, digits)}, {shown(high, digits)}]"
