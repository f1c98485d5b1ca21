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
    return _KNOWN[given]


def beside(target: Target) -> tuple[Target, ...]:
    """The other targets, which one evaluation gives as well."""
    return tuple(other for other in _KNOWN.values() if other.name != target.name)


def _f1(labels: NDArray[Any], alarms: NDArray[Any]) -> float:
    """Twice the alarms that are right, over alarms and anomalies.

    >>> _f1(np.array([0, 0, 1, 1]), np.array([False, True, True, True]))
    0.8
    """
    return float(2 * np.count_nonzero(labels.astype(bool) & alarms) / (labels.sum() + alarms.sum()))


def _of_sklearn(name: str) -> Function:
    def function(labels: NDArray[Any], given: NDArray[Any]) -> float:
        try:
            sklearn = import_module("sklearn")
        except ModuleNotFoundError:
            raise MissingExtra.of("scikit-learn", "anomaly") from None
        # What goes in has been checked; looking again would take as long as the scores themselves.
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            return float(getattr(import_module("sklearn.metrics"), name)(labels, given))

    return function


_KNOWN = {
    target.name: target
    for target in (
        Target("roc_auc", _of_sklearn("roc_auc_score"), is_fraction=True),
        Target("average_precision", _of_sklearn("average_precision_score"), is_fraction=True),
        Target("f1", _f1, takes_alarms=True, is_fraction=True),
    )
}


def _imported(path: str) -> Function:
    module, _, attribute = path.partition(":")
    try:
        function: Function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"Cannot import the target {path!r}: {error}. Is its package on the path?") from None
    if not callable(function):
        raise UsageError(f"The target {path!r} is a {type(function).__name__}, not a function of labels and scores.")
    return function
