"""A table as people and programs want it: on the terminal, in Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.foreign import csv_cell, latex, markdown, visible


@dataclass(frozen=True)
class Table:
    """Columns with names and rows of text; `right` are the columns of numbers, `bold` the cells (row, column) that
    stand out.

    >>> print(Table(("id", "value"), (("acc.average", "0.61"),), right=(1,)).markdown())
    | id | value |
    | --- | ---: |
    | acc.average | 0.61 |
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    title: str = ""
    bold: frozenset[tuple[int, int]] = frozenset()

    def plain(self) -> str:
        """Aligned columns, no frames: what a pipe or a log gets."""
        cells = [tuple(map(visible, row)) for row in (self.columns, *self.rows)]
        widths = [max(len(row[c]) for row in cells) for c in range(len(self.columns))]

        def line(row: Sequence[str]) -> str:
            parts = (
                text.rjust(w) if c in self.right else text.ljust(w)
                for c, (text, w) in enumerate(zip(row, widths, strict=True))
            )
            return "  ".join(parts).rstrip()

        heading = [visible(self.title)] if self.title else []
        return "\n".join([*heading, *map(line, cells)])

    def markdown(self) -> str:
        rule = "| " + " | ".join("---:" if c in self.right else "---" for c in range(len(self.columns))) + " |"
        head, *body = ("| " + " | ".join(cells) + " |" for cells in self._marked(markdown, "**", "**"))
        return "\n".join([head, rule, *body])

    def latex(self) -> str:
        spec = "".join("r" if c in self.right else "l" for c in range(len(self.columns)))
        head, *body = (" & ".join(cells) + r" \\" for cells in self._marked(latex, r"\textbf{", "}"))
        lines = [
            rf"\begin{{tabular}}{{{spec}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines)

    def _marked(self, escape: Callable[[str], str], begin: str, end: str) -> Iterator[list[str]]:
        """The columns, then every row, escaped; the marks of bold are put around whole cells afterwards."""
        yield [escape(name) for name in self.columns]
        for r, row in enumerate(self.rows):
            yield [f"{begin}{escape(c)}{end}" if (r, place) in self.bold else escape(c) for place, c in enumerate(row)]

    def csv(self) -> str:
        out = io.StringIO()
        cells = [tuple(map(csv_cell, row)) for row in (self.columns, *self.rows)]
        csv.writer(out, lineterminator="\n").writerows(cells)
        return out.getvalue().rstrip("\n")


def shown(value: float, digits: int = 4) -> str:
    """A number for a reader; a dash where there is none.

    >>> shown(.18333), shown(float("nan")), shown(-0.00001)
    ('0.1833', '–', '0.0000')
    """
    if np.isnan(value):
        return "–"
    # To nine digits first, so that a tie such as 0.6125 is shown alike wherever it is shown.
    text = f"{round(value, 9):.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def interval(low: float, high: float, digits: int = 4) -> str:
    """An interval for a reader; empty where there is none.

    >>> interval(.1, .25)
    '[0.1000, 0.2500]'
    """
    return "" if np.isnan(low) or np.isnan(high) else f"[{shown(low, digits)}, {shown(high, digits)}]"
