"""Write the pages that come from elsewhere: metrics from their cards, commands from their ``--help``.

    python docs/generate.py           write them
    python docs/generate.py --check   exit 1 if a committed page is not what would be written

Nothing on those pages is typed by hand, so they cannot say another thing than the code.
"""

from __future__ import annotations

import inspect
import os
import sys
from importlib import import_module
from pathlib import Path

from typer.testing import CliRunner

from recollect.cli import COMMANDS, SUBCOMMANDS, build
from recollect.metrics import Card, registry
from recollect.metrics.registry import ALIASES

DOCS = Path(__file__).parent
BENCHMARKS = DOCS.parent / "benchmarks" / "results"
RESULTS = {"peers": "who-prints-what.md", "coverage": "coverage.md", "against_pyclad": "beside-pyclad.md"}
NOTICE = "<!-- Made by docs/generate.py; edit its source, not this page. -->\n\n"


def pages() -> dict[Path, str]:
    """Every generated page, by its place under docs/."""
    made = {Path("metrics/index.md"): _catalogue()}
    for family, ids in registry.families().items():
        cards = [registry.get(id).card for id in ids]
        made[Path(f"metrics/{family}.md")] = _family(family, cards)
    made[Path("commands.md")] = _commands()
    made[Path("api.md")] = _api()
    # Benchmarks write their own tables; the docs show them as they are.
    for name, place in RESULTS.items():
        made[Path(place)] = (BENCHMARKS / f"{name}.md").read_text()
    return {place: NOTICE + text for place, text in made.items()}


def _catalogue() -> str:
    lines = ["# Metrics\n", "`R[k, j]`: score on task `j` after task `k`, from 0. One id, one formula, one number.\n"]
    for family, ids in registry.families().items():
        lines.append(f"\n## [{family}]({family}.md)\n\n{registry.FAMILIES[family]}\n")
        lines.append("| id | better | needs | what it is |\n|---|---|---|---|")
        for id in ids:
            card = registry.get(id).card
            needs = ", ".join(f"`{n}`" for n in card.needs) or "R alone"
            lines.append(f"| [`{id}`]({family}.md#{_anchor(id)}) | {_direction(card)} | {needs} | {card.summary} |")
    lines.append("\n## Aliases\n\n| alias | id |\n|---|---|")
    lines += [f"| `{alias}` | `{id}` |" for alias, id in ALIASES.items()]
    return "\n".join(lines) + "\n"


def _family(family: str, cards: list[Card]) -> str:
    return f"# {family}\n\n{registry.FAMILIES[family]}\n" + "".join(_metric(card) for card in cards)


def _metric(card: Card) -> str:
    facts = {
        "Better": card.better,
        "Reads": card.reads.value,
        "Needs": ", ".join(f"`{n}`" for n in card.needs) or "R alone",
        "Bounds": f"{card.bounds[0]:g} to {card.bounds[1]:g}",
        "Undefined when": card.undefined,
        "Equals": card.equals,
        "Caution": card.caution,
        "Printed by": ", ".join(card.printed_by),
        "Parameters": ", ".join(f"`{p}`" for p in card.parameters),
        "Source": card.source,
    }
    details = "\n".join(line.strip() for line in card.details.strip().splitlines())
    text = f"\n## {card.id}\n\n{card.summary}\n\n$$\n{card.latex}\n$$\n\n"
    text += "".join(f"- **{what}**: {said}\n" for what, said in facts.items() if said)
    prose, example, others = _parts(details)
    text += f"\n{prose}\n" if prose else ""
    text += f"\n```pycon\n{example}\n```\n" if example else ""
    return text + (f"\nSee also\n\n{others}\n" if others else "")


def _parts(details: str) -> tuple[str, str, str]:
    """Split a docstring's rest into prose, example and the list of siblings."""
    body, _, siblings = details.partition("See Also\n--------\n")
    blocks = [block for block in body.split("\n\n") if block.strip()]
    prose = "\n\n".join(b for b in blocks if not b.startswith(">>>"))
    example = "\n".join(b.strip() for b in blocks if b.startswith(">>>"))
    others = "\n".join(
        f"- `{a.strip()}`: {b.strip()}" for a, _, b in (s.partition(" : ") for s in siblings.splitlines() if s)
    )
    return prose, example, others


def _commands() -> str:
    os.environ |= {"TERMINAL_WIDTH": "100", "COLUMNS": "100", "NO_COLOR": "1"}
    app, runner = build(), CliRunner()
    text = "# Commands\n\nWhat `--help` says, word for word.\n"
    calls = [[]] + [[name, *sub] for name in COMMANDS for sub in ([], *([s] for s in SUBCOMMANDS.get(name, ())))]
    for words in calls:
        shown = runner.invoke(app, [*words, "--help"], prog_name="recollect")
        said = "\n".join(line.rstrip() for line in shown.output.strip().splitlines())
        text += f"\n## {' '.join(['recollect', *words])}\n\n```text\n{said}\n```\n"
    return text


def _anchor(id: str) -> str:
    return id.replace(".", "")


def _direction(card: Card) -> str:
    return "up" if card.better == "higher" else "down"


API = {
    "recollect": "Scores, runs and the recorder",
    "recollect.streams": "Streams",
    "recollect.learners": "Learners",
    "recollect.learners.pieces": "The pieces of learners, for methods of one's own",
    "recollect.protocol": "The loop",
    "recollect.stats": "Intervals and comparisons",
}


def _api() -> str:
    """Every public name with its parameters and what its docstring says first."""
    lines = ["# API\n", "Every public name, from its docstring; `help(name)` says all of it.\n"]
    for module, title in API.items():
        found = import_module(module)
        lines.append(f"\n## {title}: `{module}`\n")
        for name in sorted(getattr(found, "__all__", ()), key=str.lower):
            thing = getattr(found, name)
            if inspect.ismodule(thing) or not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            said = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
            lines.append(f"- `{name}{_parameters(thing)}`: {said}")
    return "\n".join(lines) + "\n"


def _parameters(thing: object) -> str:
    """The names of the parameters, those with defaults marked; annotations differ between versions of Python."""
    try:
        taken = list(inspect.signature(thing).parameters.values())  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    if inspect.isclass(thing) and (issubclass(thing, Exception) or getattr(thing, "_is_protocol", False)):
        return ""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    named = [f"{stars.get(p.kind, '')}{p.name}{'' if p.default is p.empty else '=...'}" for p in taken]
    return f"({', '.join(named)})"


def main() -> int:
    """Write the pages, or check them."""
    made, wrong = pages(), []
    for place, text in made.items():
        path = DOCS / place
        if "--check" in sys.argv:
            if not path.exists() or path.read_text() != text:
                wrong.append(str(place))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if wrong:
        print(f"out of date: {', '.join(wrong)}; run `make docs`.", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
