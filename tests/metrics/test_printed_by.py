"""The cards say who prints a number; the benchmark that ran the tools' own code must have found the same."""

from __future__ import annotations

import json
from pathlib import Path

from recollect.metrics import registry

MEASURED = Path(__file__).parents[2] / "benchmarks" / "results" / "peers.json"


def found() -> dict[str, set[str]]:
    measured = json.loads(MEASURED.read_text())
    # A function that the tool's own loop calls on other cells is not what the tool prints.
    functions = {(finding["peer"], finding["function"]) for finding in measured["findings"]}
    as_called = ", as the loop calls it"
    called_otherwise = {(peer, name.removesuffix(as_called)) for peer, name in functions if name.endswith(as_called)}
    tools: dict[str, set[str]] = {id: set() for id in registry.all_ids()}
    for finding in measured["findings"]:
        if (finding["peer"], finding["function"]) in called_otherwise:
            continue
        for id in finding["equal"]:
            tools[id].add(finding["title"].replace(", main branch", " (main branch)"))
    for read in measured["read"]:
        tools[read["id"]].add(read["title"])
    for names in tools.values():
        # A release that agrees speaks for its main branch too.
        names -= {f"{name} (main branch)" for name in set(names)}
    return tools


def test_cards_name_exactly_the_tools_that_were_found_to_print_it() -> None:
    assert {id: set(registry.get(id).card.printed_by) for id in registry.all_ids()} == found()


def test_the_four_peers_of_the_registry_were_run() -> None:
    ran = {finding["peer"] for finding in json.loads(MEASURED.read_text())["findings"]}
    assert {"pyclad", "avalanche", "continuum", "capymoa"} <= ran
