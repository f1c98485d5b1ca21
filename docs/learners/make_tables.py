"""Writes the tables of the learners' pages from their cards, so that no page states another default.

python docs/learners/make_tables.py
"""

from __future__ import annotations

from pathlib import Path

from recollect.learners import LEARNERS, LearnerCard

HERE = Path(__file__).parent
START, END = "<!-- options -->", "<!-- end -->"


def options_table(card: LearnerCard) -> str:
    """The options of a learner, and what it stores and costs."""
    lines = ["| option | default | whose | meaning |", "|---|---|---|---|"]
    for option in card.describe():
        meaning = option.meaning.replace("|", "\\|")
        lines.append(f"| `{option.name}` | `{option.default}` | {option.whose} | {meaning} |")
    if len(lines) == 2:
        lines = ["It has no options."]
    lines += ["", f"Stores: {card.stores}.", f"Costs: {card.costs}."]
    if card.needs_boundaries:
        lines.append("Needs to be told where tasks end.")
    return "\n".join(lines)


def index_table() -> str:
    """All learners, a line each."""
    lines = ["| learner | what it does | from | stores |", "|---|---|---|---|"]
    for card in LEARNERS.values():
        lines.append(f"| [{card.name}]({card.name}.md) | {card.summary} | {card.source} | {card.stores} |")
    return "\n".join(lines)


def with_table(text: str, table: str) -> str:
    """The page with the table between its two marks."""
    head, _, rest = text.partition(START)
    return f"{head}{START}\n{table}\n{END}{rest.partition(END)[2]}"


def pages() -> dict[Path, str]:
    """Every page as it should be."""
    made = {HERE / f"{name}.md": options_table(card) for name, card in LEARNERS.items()}
    made[HERE / "index.md"] = index_table()
    return {path: with_table(path.read_text(encoding="utf-8"), table) for path, table in made.items()}


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
