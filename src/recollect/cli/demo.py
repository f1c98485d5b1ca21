"""``recollect demo``: a whole experiment in about a minute, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recollect.cli import output
from recollect.errors import MissingExtra, NotComputable

# What the demo's table shows, in words that a first reader knows.
COLUMNS = {
    "AA": "acc.average",
    "AF": "forgetting.chaudhry2018",
    "RAA": "raa.michel2023",
    "RAF": "raf.michel2023",
    "lost": "split.lost",
    "confusion": "split.confusion",
}


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the experiments.")] = Path("runs"),
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Worker processes; by default one a core.")
    ] = None,
) -> None:
    """Run five learners with five seeds on split digits, show what they learned, kept and forgot, and write a report.

    The same command again resumes, or shows the finished runs.

    Example: recollect demo -o runs
    """
    try:
        from recollect.experiments import demo as experiment
    except ModuleNotFoundError as missing:
        raise MissingExtra.of(str(missing.name), "run") from None
    from recollect.metrics import registry
    from recollect.report.summary import learner_table, summarise
    from recollect.runs import attach_joint, group, load

    outcome = experiment.demo(out, workers=workers)
    if outcome.failures:
        failed = outcome.failures[0]
        raise NotComputable(f"{len(outcome.failures)} runs failed, the first was {failed.job.name}: {failed.message}.")
    groups = group(attach_joint(load(outcome.folder)))
    lines = summarise(groups, [registry.get(id) for id in COLUMNS.values()])
    typer.echo()
    output.show(learner_table(lines, COLUMNS))
    typer.echo(f"\nMean and 95 % interval over {len(groups[0].runs)} seeds.")
    typer.echo(f"\nThe runs are in {outcome.folder}. Look at them from other sides:")
    for words in ("dialects {} -f forgetting", "compare {} -m forgetting.chaudhry2018", "score {} -m all --curve"):
        typer.echo(f"  recollect {words.format(outcome.folder)}")
