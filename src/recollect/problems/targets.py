"""What learners are scored by: the targets of a problem, or a function of the user's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.nearest import nearest
from recollect.paths import import_path

_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
Function = Callable[..., float]


@dataclass(frozen=True)
class Target:
    """What a score is, and how it is computed.

    `function` takes the true answers and what the learner gave (`takes`: its scores, its alarms, its values, or both
    scores and alarms; "ranking": the sorted scores with their labels alone); it is None where the examiner counts.
    `weighted`: it takes the weights of the samples as a further argument, or ranks samples with them.
    `unit` is "fraction" for values between 0 and 1, else "raw". `beside`: recorded where another is asked for too.
    `warning` is what a reader of its values must know.
    """

    name: str
    label: str
    function: Function | None = None
    takes: str = "scores"
    unit: str = "raw"
    higher_is_better: bool = True
    beside: bool = True
    undefined: str = ""
    warning: str = ""
    weighted: bool = False

    def __call__(self, *given: Any) -> tuple[float, str | None]:
        """The value, or NaN with the reason."""
        assert self.function is not None
        value = self.function(*given)
        if not isinstance(value, float | int | np.number) or isinstance(value, bool):
            raise UsageError(f"The target {self.name} gives one number; got {value!r}.")
        made = float(value)
        return made, (self.undefined or f"{self.name} gave NaN") if math.isnan(made) else None


def target_of(given: Target | Function | str, targets: Sequence[Target]) -> Target:
    """The one of these targets that has the name; a function "package.module:function"; or the function itself.

    A function takes the true answers and what the learner gave, and gives a number; higher is better, unless the
    function has an attribute `higher_is_better` that is False. One with a third argument takes the alarms too.

    >>> target_of("roc_aux", [Target("roc_auc", "ROC-AUC"), Target("f1", "F1")])
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: There is no target 'roc_aux' here; the nearest is 'roc_auc'. ...
    """
    if isinstance(given, Target):
        return given
    if not isinstance(given, str):
        if not callable(given):
            raise UsageError(f"A target is a name or a function of labels and scores; got {given!r}.")
        return _of_user(getattr(given, "__name__", type(given).__name__), given)
    if ":" in given:
        return _of_user(given.rpartition(":")[2], _imported(given))
    by_name = {target.name: target for target in targets}
    if given not in by_name:
        raise UsageError(
            f"There is no target {given!r} here; the nearest is {nearest(given, by_name)!r}. There are:"
            f" {', '.join(by_name)}; one of your own is 'package.module:function', called with the labels and the"
            " scores."
        )
    return by_name[given]


def _of_user(name: str, function: Function) -> Target:
    """A user's own function, with the alarms where it takes three arguments."""
    try:
        places = [p for p in signature(function).parameters.values() if p.default is p.empty and p.kind in _BY_PLACE]
    except (TypeError, ValueError):  # a function of C without a signature
        places = []
    better = getattr(function, "higher_is_better", True) is not False
    takes = "both" if len(places) == 3 else "scores"
    return Target(name, name, function, takes=takes, higher_is_better=better)


def _imported(path: str) -> Function:
    function: Function = import_path(path, "target")
    if not callable(function):
        raise UsageError(f"The target {path!r} is a {type(function).__name__}, not a function of labels and scores.")
    return function
