"""``recollect check``: a gate for a retraining pipeline."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from recollect.cli import options, output
from recollect.errors import UsageError
from recollect.inputs import plain_number
from recollect.metrics import Metric, registry
from recollect.report.gates import Bound, judge


@options.takes_inputs
def check(
    paths: options.Paths,
    most: Annotated[list[str] | None, typer.Option("--max", help="ID=VALUE: the metric must not be above it.")] = None,
    least: Annotated[list[str] | None, typer.Option("--min", help="ID=VALUE: the metric must not be below it.")] = None,
    sure: Annotated[
        bool, typer.Option("--sure", help="The whole 95 % interval must keep the bound, not the value alone.")
    ] = False,
    method: options.Interval = "auto",
    reference: options.Reference = "uniform",
    as_json: options.AsJson = False,
    *,
    inputs: options.Inputs,
) -> None:
    """Exit 1, with a sentence, if a bound is broken or cannot be checked; 0 if all hold.

    Example: recollect check runs/weekly --max forgetting.chaudhry2018=0.1 --min acc.average=0.8 --sure
    """
    bounds = [_bound(text, "max") for text in most or ()] + [_bound(text, "min") for text in least or ()]
    if not bounds:
        raise UsageError("give at least one bound, such as --max forgetting.chaudhry2018=0.1.")
    groups = inputs.groups(paths)
    verdicts = judge(groups, bounds, sure=sure, method=method, reference=options.read_reference(reference))
    if as_json:
        output.show_json([v.as_dict() for v in verdicts])
    else:
        for verdict in verdicts:
            typer.echo(verdict.sentence, err=not verdict.holds)
    if not all(v.holds for v in verdicts):
        raise typer.Exit(1)


def _bound(text: str, side: Literal["max", "min"]) -> Bound:
    name, _, value = text.partition("=")
    metric: Metric = registry.get(name)
    options.say_alias(name.strip())
    try:
        return Bound(metric, side, plain_number(value))
    except ValueError:
        raise UsageError(f"a bound is ID=VALUE with a number, such as {name.strip()}=0.1; got {text!r}.") from None
