"""Names to definitions: ids, aliases, families, and the nearest name when there is none."""

from __future__ import annotations

from recollect.errors import UsageError
from recollect.metrics.card import ALIASES, REGISTRY, Metric
from recollect.nearest import nearest

FAMILIES = {
    "acc": "Accuracy: how good the learner is over the tasks seen so far.",
    "forgetting": "Forgetting: how far the scores on earlier tasks have fallen.",
    "bwt": "Backward transfer: what learning later tasks did to earlier ones.",
    "fwt": "Forward transfer: how well the learner does on tasks it has not learned yet.",
    "intransigence": "Intransigence: how much worse new tasks are learned than by the joint learner.",
    "raa": "Rescaled average accuracy: corrected for growing difficulty.",
    "uraa": "The same, before it is normalised.",
    "raf": "Rescaled average forgetting: corrected for growing difficulty.",
    "uraf": "The same, before it is normalised.",
    "anytime": "Anytime: over every evaluation, inside tasks too.",
    "split": "Forgetting split exactly: within the task, confused with older tasks, confused with newer ones.",
}


def all_ids() -> list[str]:
    """Every id, family by family, in the order of definition."""
    return [id for family in FAMILIES for id in REGISTRY if id.startswith(family + ".")]


def families() -> dict[str, list[str]]:
    """Ids by family.

    >>> families()["raa"]
    ['raa.michel2023']
    """
    return {f: [id for id in REGISTRY if id.split(".")[0] == f] for f in FAMILIES}


def get(name: str) -> Metric:
    """Return the metric of an id or an alias; a family or an unknown name is an error that helps.

    >>> get("acc.ca").card.id
    'acc.continual_average'
    """
    if name in ALIASES:
        name = ALIASES[name]
    if name in REGISTRY:
        return REGISTRY[name]
    if name in FAMILIES:
        raise UsageError(f"{name!r} is a family, not a definition: choose one of {', '.join(families()[name])}.")
    near = nearest(name, [*REGISTRY, *ALIASES, *FAMILIES], cutoff=0.5)
    hint = "" if near is None else f" Did you mean {near}?"
    raise UsageError(f"unknown metric {name!r}.{hint} `recollect metrics` lists them all.")


def resolve(name: str) -> list[Metric]:
    """Return the metrics of an id, an alias, a family, or ``all``.

    >>> len(resolve("intransigence"))
    2
    """
    if name == "all":
        return [REGISTRY[id] for id in all_ids()]
    if name in FAMILIES:
        return [REGISTRY[id] for id in families()[name]]
    return [get(name)]
