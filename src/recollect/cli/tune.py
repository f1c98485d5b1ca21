"""``recollect tune``: choose options on validation samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recollect.errors import UsageError


def tune(
    experiment: Annotated[Path, typer.Argument(help="The experiment file (YAML), with a part `tune`.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the experiments.")] = Path("runs"),
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", help="Worker processes; by default one per core.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder with the data sets; else RECOLLECT_DATA, else the cache."),
    ] = None,
    ray: Annotated[
        str | None, typer.Option("--ray", help="Run the settings on Ray: local, auto, or the address of a cluster.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the settings, and do nothing.")] = False,
) -> None:
    """Choose options of learners on validation samples, and write the experiment with the best ones.

    The part `tune` of the file says what to try: tune: {over: {er: {lr: [0.01, 0.1], memory_batch: [10, 64]}}}. Every
    setting is run with its own seeds on a stream whose test samples are a part of the training samples that is held
    back; the data set's test samples are in none of these streams. A grid (the default) tries all combinations;
    search: random or tpe draws them from lists and ranges, {low: 0.001, high: 1.0, log: true}, by Optuna (pip install
    'recollect[tune]'). Bad settings stop early by keep: 0.5 (a grid: the best half goes on after each seed) or asha: 3.
    The record of every later run says what was tried.
    The same command again goes on where it was.

    Example: recollect tune experiment.yaml -o results
    """
    from recollect.experiments.tuning import read_search, settings
    from recollect.experiments.tuning import tune as choose
    from recollect.report.words import interval, shown
    from recollect.text import Table

    if workers is not None and workers < 1:
        raise UsageError(f"--workers takes at least 1; got {workers}.")
    asked, search = read_search(experiment)
    if dry_run:
        for trial in settings(asked, search):
            typer.echo(trial.label)
        if search.search != "grid":
            typer.echo(f"and {search.drawn} settings of each of {', '.join(search.over)}, drawn by {search.search}")
        return
    made = choose(asked, search, out, data=data, workers=workers, ray=ray)
    rows = []
    for trial in made.trials:
        value = trial.value
        ends = "" if value is None else interval(float(value.low), float(value.high), 3)
        mark = "chosen" if made.chosen[trial.learner] is trial else "" if trial.state == "finished" else trial.state
        rows.append(
            (trial.label, "" if value is None else shown(float(value.value), 3), ends, f"{trial.seconds:.0f}", mark)
        )
    typer.echo(Table(("setting", made.metric, "95 % interval", "CPU s", ""), tuple(rows), right=(1, 3)).plain())
    for trial in made.trials:
        if trial.state == "failed":
            typer.echo(f"failed {trial.label}: {trial.message}")
    typer.echo("\n".join(made.said.values()))
    typer.echo(f"now: recollect run {made.file} -o {out}")
