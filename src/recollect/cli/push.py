"""``recollect push``: results to a tracker."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
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
    follow: Annotated[
        bool, typer.Option("--follow", help="Send running experiments: every row as it comes, until all have ended.")
    ] = False,
    *,
    inputs: options.Inputs,
) -> None:
    """Send the table, the matrix as an image, and scalars named by metric id to a tracker.

    Finished and running records are sent alike, one run of the tracker per learner and stream. With --follow each run
    of the experiments in these folders is a run of the tracker of its own, and its rows are sent as they come; it ends
    when all planned seeds are finished or failed, when none has been running for a minute, or with Ctrl-C. The
    tracker's own package is needed: pip install 'recollect[mlflow]', 'recollect[wandb]' or 'recollect[tensorboard]'.

    Example: recollect push mlflow runs/demo --where http://localhost:5000
    """
    from recollect.integrations.trackers import TRACKERS, results_of, send

    if follow:
        _follow(tracker, paths, metric, where, project)
        return
    groups = inputs.groups(paths)
    ids = [m.card.id for m in options.chosen_metrics(metric, groups)]
    for line in send(TRACKERS[tracker], results_of(groups, ids), where=where, project=project):
        typer.echo(line)


def _follow(tracker: str, paths: Sequence[Path], metric: Sequence[str] | None, where: str | None, project: str) -> None:
    from recollect.integrations.following import follow
    from recollect.integrations.trackers import TRACKERS
    from recollect.metrics import registry

    ids = [m.card.id for m in registry.resolve_all(metric or ("acc.average", "forgetting.chaudhry2018"))]
    with contextlib.suppress(KeyboardInterrupt):
        follow(paths, ids, TRACKERS[tracker], where=where, project=project, say=typer.echo)
