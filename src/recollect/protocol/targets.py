"""What a detector is scored by: ROC-AUC, average precision, F1, or a function of the user's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import MissingExtra, UsageError

Function = Callable[[NDArray[Any], NDArray[Any]], float]
# The name that the record has, and scikit-learn's function: of labels and scores, or of labels and alarms.
_KNOWN = {
    "roc_auc": ("roc_auc_score", False),
    "average_precision": ("average_precision_score", False),
    "f1": ("f1_score", True),
}
ROC_AUC = "roc_auc"


@dataclass(frozen=True)
class Target:
    """A function of the labels (1: anomaly) and a detector's scores, or of its alarms; higher is better.

    `is_fraction` says that its values lie between 0 and 1.
    """

    name: str
    function: Function
    takes_alarms: bool = False
    is_fraction: bool = False

    def __call__(self, labels: NDArray[Any], given: NDArray[Any]) -> tuple[float, str | None]:
        """The value, or NaN with the reason.

        >>> target_of("roc_auc")(np.array([0, 0, 1]), np.array([.1, .3, .2]))
        (0.5, None)
        >>> target_of("roc_auc")(np.array([0, 0]), np.array([.1, .3]))
        (nan, 'its test set holds normal samples only')
        """
        if len(np.unique(labels)) < 2:
            what = "anomalies" if labels.any() else "normal samples"
            return math.nan, f"its test set holds {what} only"
        value = float(self.function(labels, given))
        return value, f"{self.name} gave NaN" if math.isnan(value) else None


def target_of(given: Target | Function | str) -> Target:
    """The target of this name, of a function "package.module:function", or of the function itself.

    A function takes the labels (0 and 1) and the scores (higher: more anomalous) and gives a number; higher is
    better.

    >>> target_of("f1").takes_alarms
    True
    >>> target_of("roc_aux")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: There is no target 'roc_aux'; the nearest is 'roc_auc'. ...
    """
    if isinstance(given, Target):
        return given
    if not isinstance(given, str):
        if not callable(given):
            raise UsageError(f"A target is a name or a function of labels and scores; got {given!r}.")
        return Target(getattr(given, "__name__", type(given).__name__), given)
    if ":" in given:
        return Target(given.rpartition(":")[2], _imported(given))
    if given not in _KNOWN:
        near = get_close_matches(given, _KNOWN, n=1, cutoff=0.0)[0]
        raise UsageError(
            f"There is no target {given!r}; the nearest is {near!r}. There are: {', '.join(_KNOWN)}; one of your own"
            " is 'package.module:function', called with the labels and the scores."
        )
    name, takes_alarms = _KNOWN[given]
    return Target(given, _of_sklearn(name), takes_alarms, is_fraction=True)


def beside(target: Target) -> tuple[Target, ...]:
    """The other targets, which one evaluation gives as well."""
    return tuple(target_of(name) for name in _KNOWN if name != target.name)


def _of_sklearn(name: str) -> Function:
    def function(labels: NDArray[Any], given: NDArray[Any]) -> float:
        try:
            metrics = import_module("sklearn.metrics")
        except ModuleNotFoundError:
            raise MissingExtra.of("scikit-learn", "anomaly") from None
        return float(getattr(metrics, name)(labels, given))

    return function


def _imported(path: str) -> Function:
    module, _, attribute = path.partition(":")
    try:
        function: Function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"Cannot import the target {path!r}: {error}. Is its package on the path?") from None
    if not callable(function):
        raise UsageError(f"The target {path!r} is a {type(function).__name__}, not a function of labels and scores.")
    return function
