"""``recollect demo``: a whole experiment in about a minute, without a network."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from recollect.cli import output
from recollect.errors import NotComputable

# What the demo's table shows, under the names that a first reader knows.
COLUMNS = {
    "AA": "acc.average",
    "AF": "forgetting.chaudhry2018",
    "within": "split.within",
    "older": "split.older",
    "newer": "split.newer",
}


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the experiments.")] = Path("runs"),
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Worker processes; by default one per core.")
    ] = None,
) -> None:
    """Run five learners with five seeds on split digits; show what they learned, kept and forgot; write a report.

    The same command again resumes, or shows the finished runs.

    Example: recollect demo -o runs
    """
    from recollect.experiments import demo as experiment
    from recollect.metrics import registry
    from recollect.report.gather import gather
    from recollect.report.page import build_page
    from recollect.report.sentences import answers
    from recollect.report.summary import learner_table, summarise
    from recollect.runs import attach_joint, group, load
    from recollect.runs.files import write_atomic

    outcome = experiment.demo(out, workers=workers)
    if outcome.failures:
        failed = outcome.failures[0]
        raise NotComputable(f"{len(outcome.failures)} runs failed, the first was {failed.job.name}: {failed.message}.")
    groups = group(attach_joint(load(outcome.folder)))
    contents = gather(groups, command="recollect demo")
    typer.echo()
    output.show(learner_table(summarise(groups, [registry.get(id) for id in COLUMNS.values()]), COLUMNS))
    typer.echo(f"\nMean and 95 % interval over {len(groups[0].runs)} seeds.")
    for one in answers(contents.streams[0]):
        typer.echo(f"\n{one.question}")
        typer.echo(fill(" ".join(map(str, (*one.said, *one.more))), 110))
    page = outcome.folder / "report.html"
    write_atomic(page, build_page(contents).encode())
    typer.echo("\nLook at the runs from other sides:")
    for words in ("dialects {} -f forgetting", "compare {} -m forgetting.chaudhry2018", "score {} -m all --curve"):
        typer.echo(f"  recollect {words.format(outcome.folder)}")
    typer.echo(f"\nThe report: {page}")
