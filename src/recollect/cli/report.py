"""``recollect report``: runs as one self-contained HTML page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from recollect.cli import options
from recollect.errors import UsageError


@options.takes_inputs
def report(
    paths: options.Paths,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
    title: Annotated[str, typer.Option("--title", help="The heading of the page.")] = "",
    card: Annotated[
        bool, typer.Option("--model-card", help="Print a section for a model card (Markdown) instead of the page.")
    ] = False,
    *,
    inputs: options.Inputs,
) -> None:
    """Write one HTML page: the answer in sentences, tables, curves, matrices, comparisons, definitions.

    The page holds everything it needs: it opens from disk without a network, prints, and can be sent as it is.
    Every definition of every metric that the runs allow is in it; the reader switches between them.

    Example: recollect report runs/demo -o report.html
    """
    from recollect.report.gather import gather
    from recollect.report.page import build_page
    from recollect.runs.files import write_atomic

    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"the page is an HTML file: expected a name that ends in .html, got {out}.")
    groups = inputs.groups(paths)
    chosen = [] if inputs.target is None else ["--target", inputs.target]
    chosen += [word for name in inputs.without or () for word in ("--without", name)]
    for name in ("base", "held_out", "trained", "order"):
        chosen += [f"--{name.replace('_', '-')}", given] if (given := getattr(inputs, name)) else []
    chosen += ["--masked"] if inputs.masked else []
    command = shlex.join(["recollect", "report", *map(str, paths), *chosen, "-o", str(out)])
    contents = gather(groups, title=title, command=command)
    if card:
        from recollect.report.model_card import model_card

        typer.echo(model_card(contents))
        return
    page = build_page(contents)
    write_atomic(out, page.encode())
    typer.echo(f"{out} ({len(page.encode()) / 1e6:.1f} MB)")
