"""``recollect dialects``: every definition of a family on your matrix, side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli import options, output
from recollect.metrics import registry
from recollect.metrics.formula import readable
from recollect.report.summary import summarise
from recollect.report.words import interval, shown
from recollect.text import Table


@options.takes_inputs
def dialects(
    paths: options.Paths,
    family: Annotated[
        list[str] | None, typer.Option("--family", "-f", "--metric", "-m", help="A family; may be given several times.")
    ] = None,
    reference: options.Reference = "uniform",
    as_json: options.AsJson = False,
    as_csv: options.AsCsv = False,
    as_md: options.AsMarkdown = False,
    as_latex: options.AsLatex = False,
    *,
    inputs: options.Inputs,
) -> None:
    """Show every definition that goes by one name: value, formula, and who prints it.

    Example: recollect dialects results.csv -f forgetting
    """
    format = output.one_format(json=as_json, csv=as_csv, md=as_md, latex=as_latex)
    families = family or [f for f, ids in registry.families().items() if len(ids) > 1]
    metrics = options.chosen_metrics(families)
    groups = inputs.groups(paths)
    lines = summarise(groups, metrics, reference=options.read_reference(reference))
    if format == "json":
        about = ("latex", "source", "printed_by")
        output.show_json([line.as_dict() | {k: getattr(line.metric.card, k) for k in about} for line in lines])
        return
    for group in groups:
        rows = tuple(
            (
                line.id,
                shown(float(line.estimate.value)),
                interval(float(line.estimate.low), float(line.estimate.high)),
                readable(line.metric.card.latex),
                ", ".join(line.metric.card.printed_by),
                line.reason or "",
            )
            for line in lines
            if line.group is group
        )
        columns = ("id", "value", "95 % interval", "formula", "printed by", "undefined because")
        keep = [c for c in range(len(columns)) if c < 2 or any(row[c] for row in rows)]
        output.show(
            Table(
                tuple(columns[c] for c in keep),
                tuple(tuple(row[c] for c in keep) for row in rows),
                right=(1,),
                title=f"{group.learner} on {group.stream}, n = {len(group.runs)}",
            ),
            format,
        )
