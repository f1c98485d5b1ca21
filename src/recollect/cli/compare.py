"""``recollect compare``: learners over seeds, with intervals, paired differences and plateaus."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from recollect.cli import options, output
from recollect.metrics import registry
from recollect.report.comparison import PLATEAU_CURVE, Comparison, StreamComparison
from recollect.report.comparison import compare as compare_groups
from recollect.report.over_items import NULL, ItemPair, lead_over_items
from recollect.report.summary import behind, number
from recollect.report.words import focus_of, interval, shown, shown_p, words_for
from recollect.stats import Lead, Plateau, Rival
from recollect.stats.lead import MOST_SEEDS
from recollect.text import Table

# Of notes on single pairs so many are shown.
MOST_NOTES = 3


@options.takes_inputs
def compare(
    paths: options.Paths,
    metric: Annotated[
        str | None,
        typer.Option("--metric", "-m", help="The metric to compare by: an id; acc.average, of concepts CA."),
    ] = None,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Compare learners that were not run with the same seeds.")
    ] = False,
    different_streams: Annotated[
        bool, typer.Option("--different-streams", help="Compare learners although their streams differ.")
    ] = False,
    method: options.Interval = "auto",
    reference: options.Reference = "uniform",
    as_json: options.AsJson = False,
    as_csv: options.AsCsv = False,
    as_md: options.AsMarkdown = False,
    as_latex: options.AsLatex = False,
    *,
    inputs: options.Inputs,
) -> None:
    """Compare learners over the seeds they share: estimates, paired differences, plateaus, ranks over streams.

    Who is ahead is told by intervals that hold for all pairs at once ("all pairs"); beside them stands the interval
    of each pair alone. The p value counts every flip of signs of the paired differences, next to the smallest one
    that this many seeds can give. Many pairs are corrected by Holm's method.

    Example: recollect compare runs/demo -m forgetting.chaudhry2018
    """
    format = output.one_format(json=as_json, csv=as_csv, md=as_md, latex=as_latex)
    asked = registry.get(metric) if metric else None
    if metric:
        options.say_alias(metric)
    groups = inputs.groups(paths)
    made = compare_groups(
        groups,
        asked or registry.get(focus_of(groups).headline),
        unpaired=unpaired,
        different_streams=different_streams,
        method=method,
        reference=options.read_reference(reference),
    )
    if format == "json":
        output.show_json(_as_dict(made))
        return
    if format == "md" or format == "latex":
        from recollect.report.paper import paper_table, why_not_bold

        output.show(paper_table(made), format)
        for note in why_not_bold(made):
            options.say(note)
        return
    for number_, stream in enumerate(made.streams):
        if number_:
            print()
        output.show(_learners(stream, made.metric.card.id), format)
        for table in _tables(stream):
            print()
            output.show(table, format)
        said = _items_say(stream) if stream.over_items else (*_few(stream.compared.notes), *_lead(stream))
        for note in (*stream.notes, *said, *_unusual(stream)):
            options.say(note)
    if made.ranks is not None:
        print()
        output.show(_ranks(made), format)
    for note in made.notes:
        options.say(note)


def _few(notes: tuple[str, ...]) -> tuple[str, ...]:
    """Notes on pairs, of which there may be as many as pairs: the first few."""
    rest = len(notes) - MOST_NOTES
    return notes if rest <= 1 else (*notes[:MOST_NOTES], f"{rest} more such notes on other pairs")


def _learners(stream: StreamComparison, id: str) -> Table:
    rows = []
    for label, line, plateau in zip(stream.labels, stream.lines, stream.plateaus, strict=True):
        rows.append(
            (
                label,
                shown(float(line.estimate.value)),
                interval(float(line.estimate.low), float(line.estimate.high)),
                shown(float(line.estimate.sd)),
                behind(line.estimate),
                "" if plateau is None else _phrase(plateau),
                line.reason or "",
            )
        )
    columns = ("learner", id, "95 % interval", "sd", "n", "RAA over tasks", "undefined because")
    words = words_for(stream.lines[0].group)
    keep = [c for c in range(len(columns)) if c < 5 or any(row[c] for row in rows)]
    return Table(
        tuple(columns[c] for c in keep),
        tuple(tuple(row[c] for c in keep) for row in rows),
        right=(1, 2, 3, 4),
        title=words.titled(stream.stream),
    )


def _phrase(plateau: Plateau) -> str:
    """Where the curve stops rising, counting tasks from 1 as people do; or what it does instead."""
    return plateau.describe("RAA").removeprefix("RAA ") if plateau.found else plateau.kind


def _plateau(plateau: Plateau | None) -> dict[str, Any] | None:
    if plateau is None:
        return None
    return {
        "curve": PLATEAU_CURVE,
        "kind": plateau.kind,
        "found": plateau.found,
        "at": plateau.at,
        "low": plateau.low,
        "high": plateau.high,
        "slope_before": number(plateau.slope_before.value),
        "slope_after": number(plateau.slope_after.value),
        "slope": number(plateau.slope.value),
        "n": plateau.n,
        "reason": plateau.reason,
    }


def _pairs(stream: StreamComparison) -> Table:
    rows = []
    for pair in stream.compared.pairs:
        made = pair.comparison
        rows.append(
            (
                f"{pair.first} - {pair.second}",
                shown(float(made.difference.value)),
                interval(float(made.difference.low), float(made.difference.high)),
                "" if pair.together is None else interval(float(pair.together.low), float(pair.together.high)),
                shown(made.p, 3),
                shown(pair.holm_p, 3),
                shown(made.smallest_p, 3),
                shown(made.wilcoxon_p, 3),
                shown(float(made.improvement.value), 2),
                str(made.n),
            )
        )
    columns = (
        "difference",
        "value",
        "95 %, this pair",
        "95 %, all pairs",
        "p",
        "p (Holm)",
        "smallest p",
        "Wilcoxon p",
        "P(first better)",
        "pairs" if all(p.comparison.paired for p in stream.compared.pairs) else "n",
    )
    return Table(columns, tuple(rows), right=tuple(range(1, len(columns))))


def _lead(stream: StreamComparison) -> tuple[str, ...]:
    """Who is ahead of whom, by intervals that hold for all pairs of learners at once."""
    lead = stream.compared.lead
    if lead is None or not lead.rivals:
        return ()
    behind = ", ".join(rival.label for rival in lead.rivals if rival.is_behind)
    does = f"is ahead of {behind}" if behind else "has the best mean, but no lead over another is shown"
    said = f"{lead.best} {does}"
    if all(rival.difference.value == 0 for rival in lead.rivals):
        return (f"{', '.join((lead.best, *(rival.label for rival in lead.rivals)))} have the same mean",)
    of = "by the interval of the one pair" if lead.pairs == 1 else f"intervals for all {lead.pairs} pairs at once"
    return (f"{said} ({of})", *_stay_open(lead))


def _unusual(stream: StreamComparison) -> tuple[str, ...]:
    """What is unusual in the seeds of a learner: one that lies far off, or that all are one observation."""
    found: dict[str, list[str]] = {}
    for line in stream.lines:
        if line.estimate.reason and line.estimate.n > 1:
            found.setdefault(str(line.estimate.reason), []).append(line.label)
    return tuple(f"{', '.join(labels)}: {reason}" for reason, labels in found.items())


def _stay_open(lead: Lead) -> tuple[str, ...]:
    by_what: dict[str, list[str]] = {}
    for rival in lead.rivals:
        if not rival.is_behind:
            by_what.setdefault(_what_would(rival), []).append(rival.label)
    needed = [f"{', '.join(labels)} ({what})" for what, labels in by_what.items()]
    return (f"{lead.best} cannot be told from {'; '.join(needed)}",) if needed else ()


def _what_would(rival: Rival) -> str:
    """What would settle the order of two learners, as far as their seeds tell."""
    if rival.seeds_needed is not None:
        return f"about {rival.seeds_needed} seeds would settle it, if the difference stays"
    if rival.difference.value == 0:
        return "the same mean"
    if rival.difference.n < 2:
        return "one seed says nothing of the spread"
    if not rival.difference.sd > 0:
        return "the seeds do not vary"
    return f"a difference so small needs more than {MOST_SEEDS:,} seeds"


def _lead_as_dict(lead: Lead | None) -> dict[str, Any] | None:
    if lead is None:
        return None
    rivals = [
        {
            "label": rival.label,
            "difference": number(rival.difference.value),
            "low": number(rival.difference.low),
            "high": number(rival.difference.high),
            "behind": rival.is_behind,
            "seeds_needed": rival.seeds_needed,
        }
        for rival in lead.rivals
    ]
    return {"best": lead.best, "confirmed": lead.is_confirmed, "pairs": lead.pairs, "rivals": rivals}


def _tables(stream: StreamComparison) -> list[Table]:
    """The pairs over seeds; of single runs those over their test items, and column by column where items are known."""
    if not stream.over_items:
        return [_pairs(stream)] if stream.compared.pairs else []
    columns = any(pair.columns for pair in stream.over_items)
    return [_over_items(stream), *([_by_column(stream)] if columns else [])]


def _over_items(stream: StreamComparison) -> Table:
    rows = []
    for pair in stream.over_items:
        made = pair.difference
        rows.append(
            (
                f"{pair.first} - {pair.second}",
                shown(float(made.estimate.value)),
                interval(float(made.estimate.low), float(made.estimate.high)),
                shown_p(made.p),
                shown_p(pair.p_holm),
                f"{made.estimate.n:,}",
                f"same items in {made.paired} columns" if made.paired else "drawn apart",
            )
        )
    columns = ("difference", "value", "95 % interval", "p", "p (Holm)", "items", "items are")
    return Table(columns, tuple(rows), right=tuple(range(1, 6)), title="over test items, one run each")


def _by_column(stream: StreamComparison) -> Table:
    rows = tuple(
        (
            f"{pair.first} - {pair.second}",
            one.task,
            *(f"{count:,}" for count in (one.items, one.first_only, one.second_only)),
            shown_p(one.p),
        )
        for pair in stream.over_items
        for one in pair.columns
    )
    columns = ("last rows", "task", "items", "first right alone", "second right alone", "p (McNemar)")
    return Table(columns, rows, right=(2, 3, 4, 5))


def _items_say(stream: StreamComparison) -> tuple[str, ...]:
    values = {label: float(line.estimate.value) for label, line in zip(stream.labels, stream.lines, strict=True)}
    said = lead_over_items(stream.over_items, values, stream.lines[0].better == "higher")
    nulls = [note for line in stream.lines for note in line.notes if line.null is not None and NULL in note]
    caution = "this is about other test items: another training of the same learner may differ by more"
    return (*([said] if said else ()), *nulls, caution)


def _ranks(made: Comparison) -> Table:
    assert made.ranks is not None
    ranks = made.ranks
    rows = tuple((name, shown(rank, 2)) for name, rank in zip(ranks.names, ranks.average, strict=True))
    title = (
        f"average ranks over {ranks.n} streams: Friedman p = {shown(ranks.p, 3)}{' (exact)' if ranks.exact else ''},"
        f" Nemenyi's critical difference {shown(ranks.critical_difference, 2)}"
    )
    return Table(("learner", "rank"), rows, right=(1,), title=title)


def _item_pair(pair: ItemPair) -> dict[str, Any]:
    made = pair.difference
    return {
        "first": pair.first,
        "second": pair.second,
        "difference": number(made.estimate.value),
        "low": number(made.estimate.low),
        "high": number(made.estimate.high),
        "items": int(made.estimate.n),
        "paired_columns": made.paired,
        "p": number(made.p),
        "p_holm": number(pair.p_holm),
        "columns": [asdict(one) for one in pair.columns],
    }


def _as_dict(made: Comparison) -> dict[str, Any]:
    return {
        "metric": made.metric.card.id,
        "streams": [
            {
                "stream": s.stream,
                "learners": [
                    line.as_dict() | {"label": label, "plateau": _plateau(plateau)}
                    for label, line, plateau in zip(s.labels, s.lines, s.plateaus, strict=True)
                ],
                "pairs": [
                    {
                        "first": p.first,
                        "second": p.second,
                        "difference": number(p.comparison.difference.value),
                        "low": number(p.comparison.difference.low),
                        "high": number(p.comparison.difference.high),
                        "low_all_pairs": None if p.together is None else number(p.together.low),
                        "high_all_pairs": None if p.together is None else number(p.together.high),
                        "n": p.comparison.n,
                        "paired": p.comparison.paired,
                        "p": number(p.comparison.p),
                        "p_holm": number(p.holm_p),
                        "smallest_p": number(p.comparison.smallest_p),
                        "wilcoxon_p": number(p.comparison.wilcoxon_p),
                        "probability_of_improvement": number(p.comparison.improvement.value),
                        "reason": p.comparison.reason,
                    }
                    for p in s.compared.pairs
                ],
                "lead": _lead_as_dict(s.compared.lead),
                "over_items": [_item_pair(pair) for pair in s.over_items],
                "notes": list(s.notes),
            }
            for s in made.streams
        ],
        "ranks": None
        if made.ranks is None
        else {
            "learners": list(made.ranks.names),
            "average": [number(r) for r in made.ranks.average],
            "friedman_p": number(made.ranks.p),
            "critical_difference": number(made.ranks.critical_difference),
            "n": made.ranks.n,
        },
        "notes": list(made.notes),
    }
