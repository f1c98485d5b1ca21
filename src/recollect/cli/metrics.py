"""``recollect metrics``: the catalogue, or one definition."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from recollect.cli import options, output
from recollect.metrics import Card, registry
from recollect.metrics.formula import readable
from recollect.metrics.registry import ALIASES
from recollect.text import Table


def metrics(
    name: Annotated[str | None, typer.Argument(help="An id, an alias or a family; nothing lists them all.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the definitions, or show one whole: formula, source, what it reads, when it is undefined.

    Example: recollect metrics forgetting.chaudhry2018
    """
    cards = [m.card for m in registry.resolve(name or "all")]
    if as_json:
        output.show_json([as_dict(card) for card in cards])
    elif name and len(cards) == 1 and registry.stands_for(name) not in registry.FAMILIES:
        if (said := registry.alias_note(name)) is not None:
            print(f"{said}.\n")
        print(page(cards[0]))
    else:
        rows = tuple((card.id, "up" if card.better == "higher" else "down", card.summary) for card in cards)
        output.show(Table(("id", "better", "what it is"), rows))


def page(card: Card) -> str:
    """One definition as text."""
    sources = {
        "formula": readable(card.latex),
        "LaTeX": card.latex,
        "source": card.source,
        "better": card.better,
        "reads": card.reads.value,
        "needs": ", ".join(card.needs) or "R alone",
        "bounds": f"{card.bounds[0]:g} to {card.bounds[1]:g}",
        "undefined": card.undefined or "never",
        "equals": card.equals,
        "caution": card.caution,
        "printed by": ", ".join(card.printed_by),
        "parameters": ", ".join(card.parameters),
        "aliases": ", ".join(a for a, id in ALIASES.items() if id == card.id),
    }
    lines = [card.id, f"  {card.summary}", ""]
    lines += [f"  {what + ':':<12}{said}" for what, said in sources.items() if said]
    if details := card.details.split("See Also")[0].strip():
        lines += ["", *(f"  {line.strip()}" for line in details.splitlines())]
    return "\n".join(lines)


def as_dict(card: Card) -> dict[str, Any]:
    """One definition for a program."""
    return {
        "id": card.id,
        "family": card.family,
        "summary": card.summary,
        "latex": card.latex,
        "formula": readable(card.latex),
        "source": card.source,
        "better": card.better,
        "kind": card.kind,
        "reads": card.reads.value,
        "needs": list(card.needs),
        "bounds": [None if abs(b) == float("inf") else b for b in card.bounds],
        "undefined": card.undefined,
        "printed_by": list(card.printed_by),
        "equals": card.equals,
        "caution": card.caution,
        "aliases": [a for a, id in ALIASES.items() if id == card.id],
    }
