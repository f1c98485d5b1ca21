"""Names to definitions: ids, aliases, families, and the nearest name when there is none."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.errors import UsageError
from recollect.metrics.card import ALIASES, REGISTRY, Metric
from recollect.nearest import nearest
from recollect.values import shown

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
    "held_out": "Held-out tasks: abilities that nobody trains on, against the base row.",
    "plasticity": "Plasticity: does the learner go on learning new tasks as well as the first ones?",
    "probe": "Linear probes: what the representation holds, whatever the head does.",
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


def stands_for(name: str) -> str:
    """The id or family that a name stands for, as it is written or else in any letters; the name itself if it is none.

    >>> stands_for("af"), stands_for("BWT"), stands_for("ACC"), stands_for("acc"), stands_for("no such")
    ('forgetting.chaudhry2018', 'bwt', 'acc.average', 'acc', 'no such')
    """
    key = name.strip()
    own = {known: known for known in (*REGISTRY, *FAMILIES, "all")}
    folded = {alias.casefold(): id for alias, id in ALIASES.items()}
    ways = ((own, key), (ALIASES, key), (folded, key.casefold()), (own, key.casefold()))
    return next((names[written] for names, written in ways if written in names), name)


def alias_note(name: str) -> str | None:
    """What a name stands for, to be said beside the number; None of an id.

    >>> alias_note("FM"), alias_note("acc.average")
    ('FM is an alias of forgetting.chaudhry2018', None)
    """
    meant = stands_for(name)
    return f"{name} is an alias of {meant}" if meant in REGISTRY and meant != name else None


def get(name: str) -> Metric:
    """Return the metric of an id or an alias; a family or an unknown name is an error that helps.

    >>> get("acc.ca").card.id
    'acc.continual_average'
    """
    if not isinstance(name, str):
        raise UsageError(f"a metric is named by its id, such as 'acc.average'; got {shown(name)}.")
    meant = stands_for(name)
    if meant in REGISTRY:
        return REGISTRY[meant]
    if meant in FAMILIES:
        raise UsageError(f"{name!r} is a family, not a definition: choose one of {', '.join(families()[meant])}.")
    near = nearest(name, [*REGISTRY, *ALIASES, *FAMILIES], cutoff=0.5)
    hint = "" if near is None else f" Did you mean {near}?"
    raise UsageError(f"unknown metric {name!r}.{hint} `recollect metrics` lists them all.")


def resolve_all(names: Iterable[str]) -> list[Metric]:
    """The metrics of several names, each once, in their order."""
    return list({metric.card.id: metric for name in names for metric in resolve(name)}.values())


def resolve(name: str) -> list[Metric]:
    """Return the metrics of an id, an alias, a family, or ``all``.

    >>> len(resolve("intransigence")), resolve("FWT") == resolve("fwt")
    (2, True)
    """
    meant = stands_for(name)
    if meant == "all":
        return [REGISTRY[id] for id in all_ids()]
    if meant in FAMILIES:
        return [REGISTRY[id] for id in families()[meant]]
    return [get(name)]
