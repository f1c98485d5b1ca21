"""Settings: what they are called, the grid of them, and what each reached."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

from recollect.errors import UsageError
from recollect.experiments.file import Experiment
from recollect.experiments.tuning.search import MOST_TRIALS, Search
from recollect.stats import Estimate


@dataclass(frozen=True)
class Trial:
    """One setting of one learner, and what it reached on the validation samples of so many seeds.

    `state` is "finished", "stopped" (others were better by then; `value` is that of the rows that it has) or "failed",
    with the message of its first run that did. `better` is the direction of the metric for these scores: an average
    error is better when lower.
    """

    learner: str
    options: Mapping[str, Any]
    label: str
    value: Estimate | None = None
    seconds: float = 0.0
    seeds: int = 0
    state: str = "finished"
    message: str = ""
    better: str = "higher"


def settings(experiment: Experiment, search: Search) -> list[Trial]:
    """Every setting that is known before any is tried; the learner as the file has it comes first.

    Of more combinations than `trials` a fixed random draw is taken. Of a search that draws as it goes, only the
    learners as the file has them are known.
    """
    made: list[Trial] = []
    known = {entry.label: entry for entry in experiment.learners}
    for learner, over in search.over.items():
        if learner not in known:
            raise UsageError(f"tune.over names {learner!r}; the learners of the file are {', '.join(known)}.")
        if not over:
            raise UsageError(f"tune.over.{learner} gives each option a list of values to try; it is empty.")
        combined = _combined(over, search) if search.search == "grid" else []
        own = {name: known[learner].options[name] for name in over if name in known[learner].options}
        if own not in combined:
            combined.insert(0, own)
        made += [Trial(learner, options, label_of(learner, options)) for options in combined]
    if len(made) > MOST_TRIALS:
        raise UsageError(f"tune.over gives {len(made):,} settings; at most {MOST_TRIALS:,} are tried. Give trials.")
    return made


def _combined(over: Mapping[str, Sequence[Any]], search: Search) -> list[dict[str, Any]]:
    count = math.prod(len(values) for values in over.values())
    limit = count if search.trials is None else min(search.trials, count)
    if limit > MOST_TRIALS:
        raise UsageError(f"tune.over gives {count:,} settings; at most {MOST_TRIALS:,} are tried. Give trials.")
    if limit == count:
        return [dict(zip(over, values, strict=True)) for values in product(*over.values())]
    return [_numbered(over, number) for number in Random(0).sample(range(count), limit)]


def _numbered(over: Mapping[str, Sequence[Any]], number: int) -> dict[str, Any]:
    """The combination of this number, counted as `product` does.

    >>> [_numbered({"a": [1, 2], "b": [3, 4]}, k) for k in (0, 1, 2)]
    [{'a': 1, 'b': 3}, {'a': 1, 'b': 4}, {'a': 2, 'b': 3}]
    """
    made = {}
    for name in reversed(list(over)):
        number, place = divmod(number, len(over[name]))
        made[name] = over[name][place]
    return {name: made[name] for name in over}


def label_of(learner: str, options: Mapping[str, Any]) -> str:
    """What a setting is called.

    >>> label_of("er", {"lr": 0.1, "memory_batch": 64}), label_of("er", {})
    ('er lr=0.1 memory_batch=64', 'er as given')
    """
    if not options:
        return f"{learner} as given"
    return " ".join([learner, *(f"{name}={value}" for name, value in options.items())])


def rank_of(trial: Trial) -> float:
    """The rank of what a setting reached: the higher the better; no value comes last.

    >>> low, high = (Trial("er", {}, "er", Estimate(v, v, v, 1, "t", 0.0), better="lower") for v in (0.1, 0.9))
    >>> rank_of(low) > rank_of(high) > rank_of(Trial("er", {}, "er"))
    True
    """
    value = math.nan if trial.value is None else float(trial.value.value)
    return -math.inf if math.isnan(value) else value if trial.better == "higher" else -value
