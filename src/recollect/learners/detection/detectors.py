"""Detectors: what a strategy fits, updates and asks for scores; here those of other libraries."""

from __future__ import annotations

import copy
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.errors import MissingExtra, UsageError
from recollect.learners.base import Array, State
from recollect.learners.detection.names import (
    RIVER,
    SKLEARN,
    WHAT_IT_HAS,
    Spec,
    is_detector,
    is_streaming,
    parse,
    pyod_names,
)
from recollect.learners.keeping import bring_back, keep
from recollect.nearest import nearest
from recollect.paths import import_path
from recollect.runs.seeds import Seeds

Floats = NDArray[np.float64]
# The parameter of river's filters that is a detector itself.
INNER = "anomaly_detector"


class Detector(Protocol):
    """Fitted on samples, it says how anomalous others are, and above which score that is an alarm."""

    can_update: bool
    threshold: float
    notes: list[str]

    def fit(self, x: Array) -> None:
        """Learn these samples and nothing else; the same samples give the same detector."""

    def update(self, x: Array) -> None:
        """Go on with these samples, where `can_update`."""

    def score(self, x: Array) -> Floats:
        """One number per sample, higher = more anomalous; NaN before anything was learned."""

    def state(self) -> State:
        """What updates have made of it; empty for a detector that is fitted from its samples alone."""

    def restore(self, state: State) -> None:
        """Become the detector whose state this is; with an empty one it waits to be fitted."""

    @property
    def stored_bytes(self) -> int:
        """Bytes of its weights, where it has some."""


def make_detector(spec: Spec, n_features: int, seeds: Seeds, contamination: float, device: str = "auto") -> Detector:
    """The detector that was asked for, new.

    >>> from recollect.learners.detection.names import parse
    >>> from recollect.runs.seeds import derive
    >>> detector = make_detector(parse("IsolationForest"), 2, derive(0), contamination=0.1)
    >>> detector.fit(np.random.default_rng(0).normal(size=(100, 2)))
    >>> scores = detector.score(np.array([[0.0, 0.0], [9.0, 9.0]]))
    >>> (scores > detector.threshold).tolist()
    [False, True]
    """
    if spec.family == "network":
        if find_spec("torch") is None:
            raise MissingExtra.of("torch", "torch")
        from recollect.learners.detection.torch_detectors import make_network

        return make_network(spec, n_features, seeds, contamination, device)
    from recollect.learners.detection.streaming import OneByOne

    thing = spec.thing if spec.family == "object" else _imported(spec)
    wrapper = OneByOne if is_streaming(thing) else Model
    if spec.family == "object" and not isinstance(thing, type):
        return wrapper(lambda: _fresh(thing), spec.name, seeds.learner, contamination)
    parameters = _complete(thing, spec, seeds.learner, contamination)
    return wrapper(lambda: thing(**parameters), spec.name, seeds.learner, contamination)


class Model:
    """A model with `fit` and `decision_function`, made anew for each fit with the same seed.

    PyOD's scores are taken as they are; those of scikit-learn's outlier models (higher = more normal) with their
    sign changed. Where the model has a `threshold_` (PyOD) that is the threshold, else it is the quantile of the
    training scores. A model with `partial_fit` is updated instead of fitted again.
    """

    stored_bytes = 0

    def __init__(self, make: Callable[[], Any], name: str, seed: int, contamination: float) -> None:
        self._make = make
        self._name = name
        self._seed = seed
        self._contamination = contamination
        self._model: Any = None
        self.threshold = np.inf
        self.notes: list[str] = []
        with quiet(seed):
            unfitted = self._new()
        self.can_update = callable(getattr(unfitted, "partial_fit", None))

    def fit(self, x: Array) -> None:
        """A new model, fitted."""
        model = self._new()
        try:
            self._fit_neighbours(model, len(x))
            with quiet(self._seed):
                (model.fit if callable(getattr(model, "fit", None)) else model.partial_fit)(x)
        except (ValueError, ArithmeticError) as error:
            raise self._cannot(x, error) from None
        self._model = model
        self.threshold = self._threshold(x)

    def update(self, x: Array) -> None:
        """One `partial_fit`."""
        if self._model is None:
            self._model = self._new()
        try:
            with quiet(self._seed):
                self._model.partial_fit(x)
        except (ValueError, ArithmeticError) as error:
            raise self._cannot(x, error) from None
        self.threshold = self._threshold(x)

    def score(self, x: Array) -> Floats:
        """The model's scores; NaN before anything was learned."""
        if self._model is None:
            return np.full(len(x), np.nan)
        with quiet(self._seed):
            if not _is_sklearns(self._model):
                scores = self._model.decision_function(x)
            else:
                scores = -getattr(self._model, "score_samples", self._model.decision_function)(x)
        try:
            made = np.asarray(scores, np.float64)
        except (TypeError, ValueError):
            raise UsageError(
                f"The detector {self._name} gives one score per row, a number; it gave a {type(scores).__name__} that"
                " holds something else."
            ) from None
        if made.shape not in ((len(x),), (len(x), 1)):
            raise UsageError(
                f"The detector {self._name} gives one score per row; of {len(x)} rows it gave values of the shape"
                f" {made.shape}."
            )
        return made.reshape(len(x))

    def state(self) -> State:
        """The model's attributes if it is updated, else nothing."""
        if not self.can_update or self._model is None:
            return {}
        return {**keep(self._model), "threshold": self.threshold}

    def restore(self, state: State) -> None:
        """Become the detector whose state this is."""
        self._model, self.threshold = None, np.inf
        if state:
            self._model = bring_back(state, self._new())
            self.threshold = float(state["threshold"])

    def _new(self) -> Any:
        model = self._make()
        if getattr(model, "random_state", 0) is None:
            model.random_state = self._seed
        return model

    def _fit_neighbours(self, model: Any, rows: int) -> None:
        """No more neighbours than there are other rows: scikit-learn's LOF does so itself, PyOD's KNN fails."""
        wanted = getattr(model, "n_neighbors", None)
        if wanted is not None and rows < 2:
            raise ValueError("a row is compared with its neighbours, and there is none")
        if isinstance(wanted, int) and rows <= wanted:
            model.n_neighbors = rows - 1
            note = (
                f"{self._name} was fitted on {rows} rows or fewer at a time, with as many neighbours as there are"
                f" other rows instead of {wanted}."
            )
            self.notes[:] = [note]

    def _threshold(self, x: Array) -> float:
        own = getattr(self._model, "threshold_", None)
        if own is not None:
            return float(own)
        scores = getattr(self._model, "decision_scores_", None)
        if scores is None and hasattr(self._model, "negative_outlier_factor_"):
            # Asked for training samples, LOF would count each among its own neighbours.
            scores = -self._model.negative_outlier_factor_
        return threshold(self.score(x) if scores is None else np.asarray(scores, np.float64), self._contamination)

    def _cannot(self, x: Array, error: Exception) -> UsageError:
        reason = " ".join(str(error).split())
        return UsageError(
            f"The detector {self._name} cannot learn {len(x)} rows of {x.shape[1]} features: {reason.rstrip('.')}."
            " Give it more rows at a time (a larger batch, a longer visit), other parameters, or take another."
        )


def threshold(scores: Floats, contamination: float) -> float:
    """The score above which this share of the scores lies, as PyOD has it.

    >>> threshold(np.arange(11.0), 0.1)
    9.0
    """
    return float(np.percentile(scores, 100 * (1 - contamination)))


def _imported(spec: Spec) -> Any:
    path = spec.name
    if spec.family != "path":
        package, extra = {"pyod": ("pyod", "anomaly"), "sklearn": ("sklearn", "sklearn")}.get(
            spec.family, ("river", "streaming")
        )
        if find_spec(package) is None:
            raise MissingExtra.of(package, extra)
        modules = pyod_names() if spec.family == "pyod" else {"sklearn": SKLEARN, "river": RIVER}[spec.family]
        path = f"{modules[spec.name]}:{spec.name}"
    model = import_path(path, "detector")
    if not is_detector(model):
        raise UsageError(f"{WHAT_IT_HAS}; {spec.name} has none of these pairs.")
    return model


def _complete(model: Any, spec: Spec, seed: int, contamination: float) -> dict[str, Any]:
    """The parameters that were given, and of ours those that the model takes."""
    takes = inspect.signature(model).parameters
    is_open = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes.values())
    unknown = [name for name in spec.parameters if name not in takes]
    if unknown and not is_open:
        near = f"; the nearest is {nearest(unknown[0], takes)!r}. It takes: {', '.join(takes)}." if takes else "."
        raise UsageError(f"The detector {spec.name} takes no parameter {', '.join(map(repr, unknown))}{near}")
    ours: dict[str, Any] = {"random_state": seed, "n_jobs": 1}
    if spec.family == "river":
        ours["seed"] = seed
    if spec.family == "pyod":
        ours["contamination"] = contamination
    if spec.name == "LocalOutlierFactor":
        ours["novelty"] = True
    try:
        given = {name: _inner(value, seed) if name == INNER else value for name, value in spec.parameters.items()}
        complete = {**{name: value for name, value in ours.items() if name in takes}, **given}
        with quiet(seed):
            model(**complete)
    except (TypeError, ValueError) as error:
        raise UsageError(f"The detector {spec.name} cannot be made with {dict(spec.parameters)}: {error}.") from None
    return complete


def _inner(value: Any, seed: int) -> Any:
    """The detector that another one filters, where it is named."""
    if not isinstance(value, str | Mapping):
        return value
    spec = parse(value)
    thing = _imported(spec)
    return thing(**_complete(thing, spec, seed, contamination=0.1))


def _fresh(model: Any) -> Any:
    """A model like it that has learned nothing."""
    if callable(getattr(model, "clone", None)):  # river
        return model.clone()
    if hasattr(model, "get_params"):
        return type(model)(**copy.deepcopy(model.get_params(deep=False)))
    return copy.deepcopy(model)


def _is_sklearns(model: Any) -> bool:
    return any(one.__module__.startswith("sklearn.") and one.__name__ == "OutlierMixin" for one in type(model).__mro__)


@contextmanager
def quiet(seed: int) -> Iterator[None]:
    """The global generators, which some models draw from, are ours for a while, and so are warnings of arithmetic.

    PyOD's ECOD and COPOD warn of every constant column (its skewness); nothing is lost by that.
    """
    outside = np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")
    outside_torch = None if torch is None else torch.get_rng_state()
    try:
        np.random.seed(seed)  # noqa: NPY002
        if torch is not None:
            torch.manual_seed(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        np.random.set_state(outside)  # noqa: NPY002
        if torch is not None:
            torch.set_rng_state(outside_torch)
