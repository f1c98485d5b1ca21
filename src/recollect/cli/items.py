"""``recollect items``: which test items a version forgot, learned, never knew or always knew."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from recollect.cli import options, output
from recollect.errors import NotComputable
from recollect.report.item_flows import ItemFlow, flows_of
from recollect.report.words import shown_p
from recollect.text import Table


@options.takes_inputs
def items(
    paths: options.Paths,
    forgotten: Annotated[bool, typer.Option("--forgotten", help="List the items that are now answered wrong.")] = False,
    learned: Annotated[bool, typer.Option("--learned", help="List the items that are now answered right.")] = False,
    before: Annotated[
        str | None,
        typer.Option(
            "--from", help="The earlier version; by default the one after which a task was learned, else the base."
        ),
    ] = None,
    after: Annotated[str | None, typer.Option("--to", help="The later version; the last by default.")] = None,
    task: Annotated[str | None, typer.Option("--task", help="One column alone.")] = None,
    most: Annotated[int, typer.Option("--most", min=0, help="So many items are listed; 0 lists all.")] = 20,
    as_json: options.AsJson = False,
    as_csv: options.AsCsv = False,
    as_md: options.AsMarkdown = False,
    *,
    inputs: options.Inputs,
) -> None:
    """Count what became of every test item between two versions, and list those that were forgotten.

    Items are paired by what was asked. The p value is McNemar's exact test of as many forgotten as learned. Texts are
    shown where the files have them (samples_*.jsonl of lm-eval, logs of inspect_ai); the items of lerobot are
    episodes.

    Example: recollect items evals/ --forgotten --base llama-3-8b
    """
    format = output.one_format(json=as_json, csv=as_csv, md=as_md)
    flows = flows_of(inputs.runs(paths), before=before, after=after, task=task)
    if not flows:
        raise NotComputable(
            "no single test items lie beside these evaluations; lm-eval writes them with --log_samples, our own runs"
            " with items: true in the plan."
        )
    wanted = [name for name, on in (("forgotten", forgotten), ("learned", learned)) if on]
    if format == "json":
        output.show_json([_as_dict(flow, wanted, most) for flow in flows])
        return
    output.show(_table(flows), format)
    for kind in wanted:
        print()
        output.show(_listed(flows, kind, most), format)


def _table(flows: list[ItemFlow]) -> Table:
    several = len({f.learner for f in flows}) > 1
    rows = tuple(
        (
            *((f.learner,) if several else ()),
            f.task,
            f"{f.before} to {f.after}",
            *(str(n) for n in f.flow.counts.values()),
            str(f.flow.unpaired),
            shown_p(f.p),
        )
        for f in flows
    )
    columns = ("task", "versions", "always", "forgotten", "learned", "never", "in one alone", "p (McNemar)")
    named = (*(("learner",) if several else ()), *columns)
    return Table(named, rows, right=tuple(range(len(named) - 6, len(named))))


def _listed(flows: list[ItemFlow], kind: str, most: int) -> Table:
    several = len({flow.learner for flow in flows}) > 1
    rows = [
        (
            *((flow.learner,) if several else ()),
            flow.task,
            flow.key(item),
            asked.asked,
            asked.target,
            asked.answered,
            flow.answer(item, now=True).answered,
        )
        for flow in flows
        for item in _first(getattr(flow.flow, kind), most)
        for asked in (flow.answer(item, now=False),)
    ]
    total = sum(len(getattr(flow.flow, kind)) for flow in flows)
    return Table(
        (
            *(("learner",) if several else ()),
            *("task", "item", "asked", "right answer", "answered before", "answered now"),
        ),
        tuple(tuple(text if len(text) <= 160 else text[:157] + "..." for text in row) for row in rows),
        title=f"{kind}: {len(rows)} of {total} items",
    )


def _first(items: Any, most: int) -> list[int]:
    return [int(item) for item in np.asarray(items)[: most or None]]


def _as_dict(flow: ItemFlow, wanted: list[str], most: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "task": flow.task,
        "learner": flow.learner,
        "before": flow.before,
        "after": flow.after,
        **flow.flow.counts,
        "in_one_alone": flow.flow.unpaired,
        "p": flow.p,
    }
    for kind in wanted:
        made[f"{kind}_items"] = [
            {
                "item": flow.key(item),
                "asked": before.asked,
                "target": before.target,
                "before": before.answered,
                "now": flow.answer(item, now=True).answered,
            }
            for item in _first(getattr(flow.flow, kind), most)
            for before in (flow.answer(item, now=False),)
        ]
    return made
