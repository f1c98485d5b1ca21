"""``recollect score``: metrics of runs or of a matrix file, over seeds."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli import options, output
from recollect.errors import NotComputable
from recollect.metrics import registry
from recollect.report.summary import Line, learner_table, metric_table, summarise
from recollect.report.words import focus_of


@options.takes_inputs
def score(
    paths: options.Paths,
    metric: options.Metrics = None,
    curve: Annotated[bool, typer.Option("--curve", help="Show the value after every task, too.")] = False,
    method: options.Interval = "auto",
    window: Annotated[int, typer.Option("--window", help="Evaluations in a window, for anytime.windowed_*.")] = 10,
    wide: Annotated[
        bool, typer.Option("--wide", help="One row per learner and one column per metric, as papers have it.")
    ] = False,
    percent: Annotated[bool, typer.Option("--percent", help="With --wide: fractions in per cent.")] = False,
    reference: options.Reference = "uniform",
    as_json: options.AsJson = False,
    as_csv: options.AsCsv = False,
    as_md: options.AsMarkdown = False,
    as_latex: options.AsLatex = False,
    *,
    inputs: options.Inputs,
) -> None:
    """Compute metrics of runs, or of a matrix file, with intervals over seeds.

    Undefined is shown as a dash with its reason. A metric asked for by its id that cannot be computed from what
    is there (a missing cell, a missing companion input) ends with exit code 1.

    Example: recollect score results.csv --classes 10,10,10,10,10 -m forgetting -m raf.michel2023 --json
    """
    format = output.one_format(json=as_json, csv=as_csv, md=as_md, latex=as_latex)
    asked = options.chosen_metrics(metric) if metric else []
    groups = inputs.groups(paths)
    lines = summarise(
        groups,
        asked or options.chosen_metrics(None, groups),
        curve=curve,
        method=method,
        reference=options.read_reference(reference),
        window=window,
    )
    if format == "json":
        output.show_json([line.as_dict() for line in lines])
    else:
        # The default set is a suggestion: what lacks an input is named once, not shown as a row of dashes.
        kept = lines if metric else [line for line in lines if not line.missing]
        if wide:
            titles = focus_of(groups).titles
            ids = dict.fromkeys(line.id for line in kept)
            output.show(learner_table(lines, {titles.get(id, id): id for id in ids}, percent=percent), format)
        else:
            output.show(metric_table(kept, curve), format)
    if percent and not wide:
        options.say("--percent is for --wide; nothing was changed")
    if format == "text":
        _explain(lines)
    if not metric and all(line.missing for line in lines):
        raise NotComputable(f"none of the usual metrics can be computed: {lines[0].reason}.")
    meant = {registry.stands_for(name) for name in metric or ()}
    _refuse_missing(lines, asked=meant & set(registry.all_ids()))


def _explain(lines: list[Line]) -> None:
    """Say once why something is undefined, and what was assumed."""
    by_reason: dict[str, dict[str, None]] = {}
    for line in lines:
        if line.reason:
            by_reason.setdefault(line.reason, {})[line.id] = None
    for reason, ids in by_reason.items():
        options.say(f"no value of {', '.join(ids)}: {reason}")
    said = {note for line in lines for run in line.group.runs for note in run.notes}
    for note in dict.fromkeys(note for line in lines for note in line.notes if note not in said):
        options.say(f"{_of_what(note, lines)}{note}")


def _of_what(note: str, lines: list[Line]) -> str:
    """Which metrics and learners a note is about; nothing where it is about all learners."""
    about = [line for line in lines if note in line.notes]
    labels, everyone = ([*dict.fromkeys(line.label for line in some)] for some in (about, lines))
    ids, every = ([*dict.fromkeys(line.id for line in some)] for some in (about, lines))
    if labels == everyone:
        return "" if len(everyone) > 1 or ids == every else f"{', '.join(ids)}: "
    what = "" if ids == every else f"{', '.join(ids)} of "
    return f"{what}{', '.join(labels)}: "


def _refuse_missing(lines: list[Line], asked: set[str]) -> None:
    lacking = [line for line in lines if line.missing and line.id in asked and line.reason]
    if lacking:
        first = lacking[0]
        raise NotComputable(
            f"{first.id} cannot be computed for {first.group.learner} on {first.group.stream}: it {first.reason}."
            + (f" ({len(lacking) - 1} more such lines.)" if len(lacking) > 1 else "")
        )
