"""What learners are scored by: the targets of a problem, or a function of the user's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import MissingExtra, UsageError
from recollect.nearest import nearest

Function = Callable[[NDArray[Any], NDArray[Any]], float]


@dataclass(frozen=True)
class Target:
    """What a score is, and how it is computed.

    `function` takes the true answers and what the learner gave (`takes`: its scores, its alarms, its values); it is
    None where the examiner counts. `unit` is "fraction" for values between 0 and 1, else "raw".
    """

    name: str
    label: str
    function: Function | None = None
    takes: str = "scores"
    unit: str = "raw"
    higher_is_better: bool = True

    def __call__(self, truth: NDArray[Any], given: NDArray[Any]) -> tuple[float, str | None]:
        """The value, or NaN with the reason."""
        assert self.function is not None
        value = float(self.function(truth, given))
        return value, f"{self.name} gave NaN" if math.isnan(value) else None


def target_of(given: Target | Function | str, targets: Sequence[Target]) -> Target:
    """The one of these targets that has the name; a function "package.module:function"; or the function itself.

    A function takes the true answers and what the learner gave, and gives a number; higher is better.

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
        name = getattr(given, "__name__", type(given).__name__)
        return Target(name, name, given)
    if ":" in given:
        name = given.rpartition(":")[2]
        return Target(name, name, _imported(given))
    by_name = {target.name: target for target in targets}
    if given not in by_name:
        raise UsageError(
            f"There is no target {given!r} here; the nearest is {nearest(given, by_name)!r}. There are:"
            f" {', '.join(by_name)}; one of your own is 'package.module:function', called with the labels and the"
            " scores."
        )
    return by_name[given]


def of_sklearn(name: str) -> Function:
    """A score of scikit-learn's, imported when it is first asked for."""

    def function(labels: NDArray[Any], given: NDArray[Any]) -> float:
        try:
            sklearn = import_module("sklearn")
        except ModuleNotFoundError:
            raise MissingExtra.of("scikit-learn", "anomaly") from None
        # What goes in has been checked; looking again would take as long as the scores themselves.
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            return float(getattr(import_module("sklearn.metrics"), name)(labels, given))

    return function


def f1(labels: NDArray[Any], alarms: NDArray[Any]) -> float:
    """Twice the alarms that are right, over alarms and anomalies.

    >>> f1(np.array([0, 0, 1, 1]), np.array([False, True, True, True]))
    0.8
    """
    return float(2 * np.count_nonzero(labels.astype(bool) & alarms) / (labels.sum() + alarms.sum()))


def _imported(path: str) -> Function:
    module, _, attribute = path.partition(":")
    try:
        function: Function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"Cannot import the target {path!r}: {error}. Is its package on the path?") from None
    if not callable(function):
        raise UsageError(f"The target {path!r} is a {type(function).__name__}, not a function of labels and scores.")
    return function
