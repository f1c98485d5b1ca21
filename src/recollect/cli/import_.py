"""``recollect import``: other tools' results as run folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from recollect.cli import options
from recollect.runs import save
from recollect.runs.importers import TOOLS


@options.takes_inputs
def import_(
    tool: Annotated[str, typer.Argument(help=f"The tool that wrote PATH: auto, {', '.join(TOOLS)}.")],
    path: Annotated[Path, typer.Argument(help="Its file or folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write the runs into; made if it is not there.")],
    *,
    inputs: options.Inputs,
) -> None:
    """Read another tool's results and write them as Recollect's run folders.

    Example: recollect import avalanche eval_results.csv -o runs/imported
    """
    chosen = replace(inputs, tool=None if tool == "auto" else tool)
    for folder in save(chosen.runs([path]), out):
        typer.echo(str(folder))
