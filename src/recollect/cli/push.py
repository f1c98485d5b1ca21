"""``recollect push``: results to a tracker."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from recollect.cli import options


@options.takes_inputs
def push(
    tracker: Annotated[Literal["mlflow", "wandb", "tensorboard"], typer.Argument(help="Where to.")],
    paths: options.Paths,
    metric: options.Metrics = None,
    where: Annotated[
        str | None, typer.Option("--where", help="MLflow's tracking URI, wandb's folder, TensorBoard's log folder.")
    ] = None,
    project: Annotated[str, typer.Option("--project", help="The tracker's project or experiment.")] = "recollect",
    *,
    inputs: options.Inputs,
) -> None:
    """Send the table, the matrix as an image, and scalars named by metric id to a tracker.

    Finished and running records are sent alike, one run of the tracker per learner and stream. The tracker's own
    package is needed: pip install 'recollect[mlflow]', 'recollect[wandb]' or 'recollect[tensorboard]'.

    Example: recollect push mlflow runs/demo --where http://localhost:5000
    """
    from recollect.integrations.trackers import TRACKERS, results_of

    groups = inputs.groups(paths)
    ids = [m.card.id for m in options.chosen_metrics(metric, groups)]
    for line in TRACKERS[tracker](results_of(groups, ids), where=where, project=project):
        typer.echo(line)
