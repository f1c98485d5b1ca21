"""``recollect figure``: figures for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from recollect.cli import options
from recollect.errors import UsageError
from recollect.metrics import registry


@options.takes_inputs
def figure(
    name: Annotated[
        Literal["aa-raa", "af-raf", "matrix", "split", "confusion", "difficulty", "compare"],
        typer.Argument(help="Which figure."),
    ],
    paths: options.Paths,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file: .pdf, .svg, .png or .pgf.")],
    width: Annotated[
        str, typer.Option("--width", help="one or two: columns of a paper; or a number of inches.")
    ] = "two",
    stream: Annotated[str | None, typer.Option("--stream", help="Which stream, where there are several.")] = None,
    learner: Annotated[
        list[str] | None,
        typer.Option("--learner", help="Only this learner; may be given several times, and the order is kept."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option("--metric", "-m", help="What `compare` compares by: an id; acc.average, of concepts CA."),
    ] = None,
    style: Annotated[Literal["serif", "sans"], typer.Option("--style", help="Type: Times-like or sans.")] = "serif",
    rename: options.Rename = None,
    *,
    inputs: options.Inputs,
) -> None:
    """Draw a figure for a paper, with intervals over seeds, in colours that the colour-blind can tell apart.

    aa-raa and af-raf are curves over tasks beside their rescaled forms, matrix the score matrices, split what
    forgetting consists of, confusion which class is answered for which (recorded with `confusion: true` in a plan),
    difficulty what a random classifier gets, compare the paired differences.

    Example: recollect figure aa-raa runs/demo -o aa.pdf --width one --rename er="ER (ours)"
    """
    from recollect.report.figures import left_out, make_figure, save_figure
    from recollect.report.gather import gather

    inches = _width(width)
    asked = registry.get(metric).card.id if metric else None
    options.say_alias(metric or "")
    groups = options.chosen_learners(inputs.groups(paths), learner, rename)
    contents = gather(groups)
    chosen = [one for one in contents.streams if stream in (None, one.key, one.name)]
    if not chosen:
        there = ", ".join(one.key for one in contents.streams)
        raise UsageError(f"there is no stream {stream!r}; there are {there}.")
    if len(chosen) > 1:
        there = ", ".join(one.key for one in chosen)
        raise UsageError(f"a figure shows one stream: choose one with --stream; there are {there}.")
    save_figure(make_figure(name, chosen[0], width=inches, metric=asked, style=style), out, style)
    lacking = left_out(name, chosen[0])
    if lacking is not None:
        options.say(lacking)
    typer.echo(str(out))


def _width(given: str) -> str | float:
    if given in ("one", "two"):
        return given
    try:
        inches = float(given)
    except ValueError:
        inches = 0.0
    if not 1 <= inches <= 40:
        raise UsageError(f"--width is one, two, or inches between 1 and 40; got {given!r}.")
    return inches
