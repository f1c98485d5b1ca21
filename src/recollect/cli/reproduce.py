"""``recollect reproduce``: a paper's tables, figures and claims, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from recollect.errors import UsageError


def reproduce(
    paper: Annotated[Literal["michel2023"], typer.Argument(help="Which paper.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of what is written.")] = Path("michel2023"),
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder with the data sets; else RECOLLECT_DATA, else the cache."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Train on digits instead: a minute, without data or network.")
    ] = False,
    runs: Annotated[
        Path | None, typer.Option("--runs", help="Use the finished runs in this folder instead of training.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Worker processes; by default one per core.")
    ] = None,
) -> None:
    """Compute a paper's tables and figures again and check its claims, each with a verdict.

    michel2023 is "New metrics for analyzing continual learners": Tables 1 and 2, Figures 1 to 4, Propositions 4.3
    and 4.4, the claims of section 5.3. Without --quick and --runs it trains Finetune, ER and GDumb on split
    CIFAR-100 and split Tiny ImageNet, which takes many hours; the same command resumes. A claim that is not
    reproduced is an answer: the exit code is 1 only where a table or a proposition does not hold.

    Example: recollect reproduce michel2023 --quick -o michel2023
    """
    from recollect.reproduce import michel2023

    if quick and runs is not None:
        raise UsageError("--quick trains on digits and --runs trains nothing; give one of them.")
    made = michel2023.reproduce(out, quick=quick, data=data, runs=runs, workers=workers, say=typer.echo)
    typer.echo(f"\nThe summary: {made.summary}")
    if not made.mathematics_holds:
        raise typer.Exit(1)
