"""Writes the tables of the learners' pages, so that no page states another default or figure than there is.

The options come from the learners' cards, the figures from benchmarks/results/against_references.json, those that
others publish from published.json, and ours beside them from the runs in results/.

python docs/learners/make_tables.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import recollect as rc
from recollect.learners import LEARNERS, LearnerCard
from recollect.runs import Group, group, load
from recollect.stats import Estimate, estimate

HERE = Path(__file__).parent
FIGURES = HERE.parents[1] / "benchmarks" / "results" / "against_references.json"
PUBLISHED = HERE / "published.json"
RUNS = HERE.parents[1] / "results"
OURS = ("cifar100", "cifar100-survey")
END = "<!-- end -->"


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
    if card.needs_task:
        lines.append("Needs to be told the task of each sample.")
    return "\n".join(lines)


def comparison_table(name: str, made: dict[str, Any]) -> str:
    """Ours against other implementations, mean and 95 % interval over the seeds, in percent."""
    mine = [figure for figure in made["figures"] if figure["learner"] == name]
    if not mine:
        return "Not compared with another implementation."
    lines = [
        f"{made['setting']} Average accuracy after the last task: mean and 95 % interval over seeds; the difference is"
        " paired by seed, and one such interval in twenty misses 0 by chance. All are in"
        " `benchmarks/results/against_references.md`.",
        "",
        "| reference | seeds | among | ours, % | reference, % | difference | differs by design |",
        "|---|---|---|---|---|---|---|",
    ]
    for figure in mine:
        options = ", ".join(f"{key} {value}" for key, value in figure["options"].items())
        for which, among in (("", "all classes"), ("_own", "the task's two")):
            ours, theirs = (np.array(figure[side + which]) for side in ("ours", "theirs"))
            differs = figure["differs"] + (f" (ours: {options})" if options else "")
            cells = (_percent(estimate(ours)), _percent(estimate(theirs)), _percent(estimate(ours - theirs), "+"))
            first = f"{figure['reference']} | {len(figure['seeds'])} | {among}"
            lines.append(f"| {first} | {' | '.join(cells)} | {'as above' if which else differs} |")
    return "\n".join(lines)


def published_table(name: str, published: list[dict[str, Any]], groups: list[tuple[str, Group]]) -> str:
    """What others publish for a learner, and what ours gives on the same data, each with its setting."""
    lines = ["| who | setting | seeds | accuracy at the end, % |", "|---|---|---|---|"]
    for folder, one in groups:
        if one.learner_config.get("learner", one.learner) == name:
            value = estimate(rc.score(one.matrix, "acc.average"))
            lines.append(f"| ours, `results/{folder}` | {_setting(one)} | {len(one.runs)} | {_percent(value)} |")
    for figure in published:
        if figure["learner"] == name:
            values = figure.get("values")
            value = _percent(estimate(np.array(values))) if values else f"{100 * figure['value']:g}"
            passes = "one pass" if figure["online"] else "epochs"
            replayed = f", {figure['memory_batch']} replayed a step" if "memory_batch" in figure else ""
            setting = (
                f"{figure['stream']}, {figure['tasks']} tasks of {figure['classes_per_task']}, {passes}, batch"
                f" {figure['batch']}; {figure['network']}, M = {figure['memory']}{replayed}; {figure['optimizer']};"
                f" {figure['differs']}"
            )
            who = f"[{figure['source']}]({figure['url']}) at `{figure['revision'][:7]}`"
            lines.append(f"| {who} | {setting} | {figure['seeds'] or 'not said'} | {value} |")
    return "\n".join(lines) if len(lines) > 2 else "Nothing in a setting that was run here."


def _setting(one: Group) -> str:
    """Stream, network and what decides the result, from the record."""
    config = one.learner_config
    sizes = "/".join(sorted({str(task.n_classes) for task in one.runs[0].tasks}))
    parts = [f"{one.stream}, {len(one.runs[0].tasks)} tasks of {sizes}, one pass; {config['network']}"]
    said = {
        "memory": "M = {}",
        "memory_batch": "{} replayed a step",
        "iterations": "{} steps a batch",
        "epochs": "{} epochs",
    }
    parts += [words.format(config[key]) for key, words in said.items() if config.get(key) not in (None, 1)]
    parts.append(f"rate {config['lr']:.3g}")
    if config.get("augment", "none") != "none":
        parts.append(config["augment"])
    rows = int(one.matrix.planned.sum())
    return ", ".join(parts) + ("" if rows == one.matrix.T else f"; evaluated {rows} times")


def _percent(one: Estimate, sign: str = "") -> str:
    if one.low == one.high == one.value or np.isnan(one.low):  # one seed has no interval
        return f"{100 * one.value:{sign}.2f}"
    return f"{100 * one.value:{sign}.2f} [{100 * one.low:{sign}.2f}, {100 * one.high:{sign}.2f}]"


def index_table() -> str:
    """All learners, a line each."""
    lines = ["| learner | what it does | from | stores |", "|---|---|---|---|"]
    for card in LEARNERS.values():
        lines.append(f"| [{card.name}]({card.name}.md) | {card.summary} | {card.source} | {card.stores} |")
    return "\n".join(lines)


def with_table(text: str, mark: str, table: str) -> str:
    """The page with the table between this mark, if the page has it, and the next end."""
    start = f"<!-- {mark} -->"
    head, found, rest = text.partition(start)
    return f"{head}{start}\n{table}\n{END}{rest.partition(END)[2]}" if found else text


def pages() -> dict[Path, str]:
    """Every page as it should be."""
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))["figures"]
    groups = [(folder, one) for folder in OURS if (RUNS / folder).exists() for one in group(load(RUNS / folder))]
    made = {HERE / "index.md": with_table((HERE / "index.md").read_text(encoding="utf-8"), "options", index_table())}
    for name, card in LEARNERS.items():
        page = HERE / f"{name}.md"
        text = with_table(page.read_text(encoding="utf-8"), "options", options_table(card))
        text = with_table(text, "reference", comparison_table(name, figures))
        made[page] = with_table(text, "published", published_table(name, published, groups))
    return made


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
