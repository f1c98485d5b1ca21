"""How a table leaves the command: rich on a terminal, plain text in a pipe, or the format asked for."""

from __future__ import annotations

import json
import sys
from typing import Any, Literal

from recollect.errors import UsageError
from recollect.text import Table, visible

Format = Literal["text", "json", "csv", "md", "latex"]


def one_format(*, json: bool = False, csv: bool = False, md: bool = False, latex: bool = False) -> Format:
    """Return the one format that was asked for, or "text"."""
    wanted: dict[Format, bool] = {"json": json, "csv": csv, "md": md, "latex": latex}
    asked = [name for name, on in wanted.items() if on]
    if len(asked) > 1:
        raise UsageError(f"choose one output format; got {' and '.join('--' + a for a in asked)}.")
    return asked[0] if asked else "text"


def show(table: Table, format: Format = "text") -> None:
    """Print a table in the format."""
    if format == "csv":
        print(table.csv())
    elif format == "md":
        print(table.markdown())
    elif format == "latex":
        print(table.latex())
    elif sys.stdout.isatty():
        _rich(table)
    else:
        print(table.plain())


def show_json(data: Any) -> None:
    """Print JSON; NaN never leaves as a bare word."""
    print(json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False))


def _rich(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(title=visible(table.title) or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for c, name in enumerate(table.columns):
        drawn.add_column(Text(visible(name)), justify="right" if c in table.right else "left", no_wrap=c == 0)
    for row in table.rows:
        # Text, not markup: names from files are shown as they are.
        drawn.add_row(*(Text(visible(cell)) for cell in row))
    Console().print(drawn)
