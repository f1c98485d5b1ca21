"""Text as people and programs want it: tables for the terminal, Markdown, LaTeX and CSV, and foreign text (names,
notes, reasons from records and files) in each of them, one function per kind.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "−": "$-$",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}
# Control, format (marks that turn the direction of text among them), surrogate and private characters, line ends.
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


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


def visible(text: str) -> str:
    r"""The text with every control character shown, not sent: what a terminal gets.

    >>> print(visible("er\x1b[2J\n\u202eok"))
    er\x1b[2J\n\u202eok
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(mark) if unicodedata.category(mark) in _HIDDEN else mark for mark in text)


def csv_cell(text: str) -> str:
    """A cell that a spreadsheet takes for text: one that would begin a formula gets an apostrophe in front.

    >>> csv_cell("=HYPERLINK(1)"), csv_cell("-0.25"), csv_cell("-1+cmd|' /C calc'!A0")
    ("'=HYPERLINK(1)", '-0.25', "'-1+cmd|' /C calc'!A0")
    """
    text = visible(text)
    return f"'{text}" if text.lstrip()[:1] in tuple("=+-@") and not _is_number(text) else text


def markdown(text: str) -> str:
    r"""A text that Markdown shows as it is, in a table too: no link, no tag, no emphasis.

    >>> print(markdown("a|b*c [x](http://y) <b> split_x [0.1, 0.2]"))
    a\|b\*c \[x\](http\://y) \<b\> split_x [0.1, 0.2]
    """
    escaped = re.sub(r"([\\`*<>|~&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))", r"\\\1", " ".join(visible(text).split()))
    escaped = re.sub(r"\[([-−+\d., ]*)\]|([\[\]])", lambda m: f"\\{m[2]}" if m[2] else m[0], escaped)
    # A bare address becomes a link without any mark around it; a backslash ends that.
    return re.sub(r"(?i)\b(https?|ftp|mailto|javascript|data):|\b(www)\.", _apart, escaped)


def _apart(found: re.Match[str]) -> str:
    return f"{found[1]}\\:" if found[1] else f"{found[2]}\\."


def latex(text: str) -> str:
    r"""A text that LaTeX shows as it is.

    >>> print(latex("10% of_it ± 1"))
    10\% of\_it $\pm$ 1
    """
    return "".join(_LATEX.get(mark, mark) for mark in " ".join(visible(text).split()))


def _shown(mark: str) -> str:
    return mark.encode("unicode_escape").decode()


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+−]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text.strip()) is not None
