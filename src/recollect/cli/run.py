"""``recollect run``: run or resume an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recollect.errors import UsageError


def run(
    experiment: Annotated[Path, typer.Argument(help="The experiment file (YAML).")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the experiments, or an address on object storage (s3://...).")
    ] = Path("runs"),
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", help="Worker processes; by default one per core.")
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            help="Run on Ray: local (started and stopped with the experiment), or a cluster whose machines share the"
            " folders: auto, HOST:PORT, ray://HOST:PORT.",
        ),
    ] = None,
    slurm: Annotated[
        str | None,
        typer.Option(
            "--slurm",
            metavar="OPTIONS",
            help="Run as one array job of Slurm, with options of sbatch: time=240,partition=short,mem=8GB (time in"
            " minutes); or local: the same way on this machine. --workers is how many at a time.",
        ),
    ] = None,
    gpus: Annotated[
        float | None,
        typer.Option(
            "--gpus",
            metavar="SHARE",
            help="GPUs that each worker on Ray asks for; 0.5 lets two share one. By default 1 if the device is cuda.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder with the data sets; else RECOLLECT_DATA, else the cache."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the runs and their cost in samples, and do nothing.")
    ] = False,
    anew: Annotated[
        bool,
        typer.Option("--anew", help="Start every run over; what is there is moved to the folder .before beside it."),
    ] = False,
) -> None:
    """Run an experiment: learners x streams x seeds, each in a folder of its own, on worker processes.

    The same command again goes on where it was: a finished run is left alone, one that was killed goes on
    from its last row and ends bit for bit as if nothing had happened. Ctrl-C at any time. A folder that holds
    a run with other options, data or code is refused, with what differs; --anew starts over. A run that fails
    is listed at the end, with its traceback in its folder, and the others go on; the exit code is then 1.

    Example: recollect run experiment.yaml -o results --workers 4
    """
    from recollect.experiments.file import read
    from recollect.experiments.running import dry_run as look
    from recollect.experiments.running import run_experiment

    if workers is not None and workers < 1:
        raise UsageError(f"--workers takes at least 1; got {workers}.")
    asked = read(experiment)
    if dry_run:
        typer.echo(look(asked, out, data, anew=anew))
        return
    try:
        outcome = run_experiment(asked, out, data=data, workers=workers, ray=ray, slurm=slurm, gpus=gpus, anew=anew)
    except KeyboardInterrupt:
        stays = "" if slurm in (None, "local") else "; jobs that Slurm has stay in its queue (scancel ends them)"
        typer.echo(f"interrupted; the same command goes on from the last finished rows{stays}", err=True)
        raise typer.Exit(130) from None
    done = len(outcome.jobs) - len(outcome.failures)
    before = f" ({len(outcome.skipped)} before)" if outcome.skipped else ""
    typer.echo(f"{done} of {len(outcome.jobs)} runs finished{before}: {outcome.place}")
    for failure in outcome.failures:
        where = f" (traceback: {failure.file})" if failure.file else ""
        typer.echo(f"failed {failure.job.name}: {failure.message}{where}", err=True)
    if outcome.failures:
        raise typer.Exit(1)
