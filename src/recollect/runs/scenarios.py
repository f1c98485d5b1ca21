"""The scenarios by name, and what each is like: whoever needs to know asks these facts, not the name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scenario:
    """What a scenario is like.

    `problem` is what its runs are asked unless they say it. `gives_task`: the learner is told the task of a sample.
    `adds_classes`: a task brings classes of its own; `is_domains`: every task has all classes, changed by a domain;
    `is_timed`: tasks are stretches of time. `by_batches`: no tasks are told, and rows stand after batches.
    """

    problem: str
    gives_task: bool = False
    adds_classes: bool = False
    is_domains: bool = False
    is_timed: bool = False
    by_batches: bool = False


SCENARIOS: dict[str, Scenario] = {
    "class-incremental": Scenario("classification", adds_classes=True),
    "task-incremental": Scenario("classification", adds_classes=True, gives_task=True),
    "domain-incremental": Scenario("classification", is_domains=True),
    "time-incremental": Scenario("classification", is_timed=True),
    "concept-aware": Scenario("detection", gives_task=True),
    "concept-incremental": Scenario("detection"),
    "concept-agnostic": Scenario("detection", by_batches=True),
}


# The problem of runs that say neither what was asked nor which scenario they have.
UNSAID = "classification"
