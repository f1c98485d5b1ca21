"""Learners of others, made ours by one call: scikit-learn estimators, torch modules, any object."""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.learners.base import Array, Learner, Scores, Setting, State
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch

_TRUSTED = ("numpy", "scipy", "sklearn")
_PLAIN = frozenset(
    {f"builtins.{name}" for name in ("set", "frozenset", "bytearray", "complex", "range", "slice", "object")}
    | {"collections.OrderedDict", "collections.defaultdict", "collections.deque", "copyreg._reconstructor"}
)
# Functions by which numpy rebuilds its arrays, numbers and generators.
_MAKERS = frozenset(
    (
        "_reconstruct",
        "_frombuffer",
        "scalar",
        "__randomstate_ctor",
        "__bit_generator_ctor",
        "__generator_ctor",
    )
)


def wrap_module(
    module: Any,
    setting: Setting,
    seeds: Seeds,
    learner: str = "finetune",
    device: str = "auto",
    **options: Any,
) -> Learner:
    """A learner around a torch module, or around a function that makes one.

    `learner` is any learner with a network: finetune, er, gdumb, ... A module is copied with the weights it
    has; a function is called under the run's own seed, which is what new networks (gdumb, joint) want.

    >>> import torch
    >>> from recollect.runs.seeds import derive
    >>> setting = Setting(input_shape=(4,), n_classes=2, tasks=((0,), (1,)))
    >>> wrap_module(torch.nn.Linear(4, 2), setting, derive(0), "er", memory=10).stored_samples
    0
    """
    from recollect.learners.registry import make_learner

    return make_learner(learner, {"network": module, **options}, setting, seeds, device)


def wrap_detector(
    detector: Any,
    setting: Setting,
    seeds: Seeds,
    strategy: str = "naive",
    device: str = "auto",
    **options: Any,
) -> Learner:
    """A learner of anomaly streams around a detector: an object, or a class, with `fit` and `decision_function`.

    `strategy` is naive, cumulative, experts or replay. Higher scores are more anomalous, but for scikit-learn's own
    outlier models, whose sign is changed. Every fit is one of a new copy; with `partial_fit` it is updated instead.

    >>> from sklearn.neighbors import LocalOutlierFactor
    >>> from recollect.runs.seeds import derive
    >>> setting = Setting(input_shape=(4,), n_classes=2, tasks=((0, 1),), kind="anomaly")
    >>> lof = LocalOutlierFactor(n_neighbors=5, novelty=True)
    >>> wrap_detector(lof, setting, derive(0), "replay", memory=100).stored_samples
    0
    """
    from recollect.learners.registry import make_learner

    return make_learner(strategy, {"detector": detector, **options}, setting, seeds, device)


def wrap_sklearn(estimator: Any, setting: Setting, seeds: Seeds | None = None) -> Learner:
    """A learner around a scikit-learn classifier with `partial_fit`.

    Samples are flattened; uint8 images become values in 0 .. 1. Where `random_state` is None it is set from
    the run's seed. The scores are `decision_function`, else `predict_proba`, else 1 for the predicted class.
    """
    if not hasattr(estimator, "partial_fit"):
        raise UsageError(
            f"{type(estimator).__name__} has no partial_fit, so it cannot learn from a stream. Take an"
            " estimator that has (SGDClassifier, GaussianNB, ...), or write an object with learn and score."
        )
    return SklearnLearner(estimator, setting, seeds)


def wrap(learner: Any, setting: Setting, seeds: Seeds | None = None) -> Learner:
    """A learner around any object with `learn` and `score`; what else it lacks is filled in.

    `end_task` does nothing, nothing is stored, and the state is the object's attributes, pickled. An
    estimator with `partial_fit` is given to `wrap_sklearn`.
    """
    if isinstance(learner, Learner):
        return learner
    if hasattr(learner, "partial_fit") and not hasattr(learner, "learn"):
        return wrap_sklearn(learner, setting, seeds)
    missing = [name for name in ("learn", "score") if not callable(getattr(learner, name, None))]
    if missing:
        raise UsageError(
            f"A learner has the methods learn(batch) and score(x, task); {type(learner).__name__} lacks"
            f" {' and '.join(missing)}."
        )
    return ObjectLearner(learner, setting)


class ObjectLearner:
    """An object with `learn` and `score`, completed."""

    def __init__(self, learner: Any, setting: Setting) -> None:
        self.wrapped = learner
        self._n_classes = setting.n_classes

    @property
    def stored_samples(self) -> int:
        """What the object says, else 0."""
        return int(getattr(self.wrapped, "stored_samples", 0))

    @property
    def stored_bytes(self) -> int:
        """What the object says, else 0."""
        return int(getattr(self.wrapped, "stored_bytes", 0))

    def learn(self, batch: Batch) -> None:
        """Hand the batch on."""
        self.wrapped.learn(batch)

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """The object's scores, with their shape checked."""
        scores = np.asarray(self.wrapped.score(x, task), np.float32)
        if scores.shape != (len(x), self._n_classes):
            raise UsageError(
                f"{type(self.wrapped).__name__}.score gives one row a sample and one score a class, here"
                f" {(len(x), self._n_classes)}; got {scores.shape}."
            )
        return scores

    def end_task(self) -> None:
        """Tell the object, if it listens."""
        if hasattr(self.wrapped, "end_task"):
            self.wrapped.end_task()

    def state(self) -> State:
        """The object's own state, else its attributes."""
        if hasattr(self.wrapped, "state") and hasattr(self.wrapped, "restore"):
            return {"own": self.wrapped.state()}
        return {"pickled": freeze(self.wrapped)}

    def restore(self, state: State) -> None:
        """Put it back."""
        if "own" in state:
            self.wrapped.restore(state["own"])
        else:
            self.wrapped.__dict__.update(thaw(state["pickled"], self.wrapped))


class SklearnLearner:
    """An estimator with `partial_fit`."""

    stored_samples = 0
    stored_bytes = 0

    def __init__(self, estimator: Any, setting: Setting, seeds: Seeds | None = None) -> None:
        self.estimator = estimator
        self._n_classes = setting.n_classes
        self._classes = np.arange(setting.n_classes)
        self._is_fitted = False
        if seeds is not None and getattr(estimator, "random_state", 0) is None:
            # A RandomState goes on from call to call; an int would shuffle every batch alike.
            estimator.set_params(random_state=np.random.RandomState(seeds.learner))

    def learn(self, batch: Batch) -> None:
        """One `partial_fit`."""
        self.estimator.partial_fit(_flat(batch.x), batch.y, classes=self._classes)
        self._is_fitted = True

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """The estimator's scores; equal ones before it has learned anything."""
        if not self._is_fitted:
            return np.zeros((len(x), self._n_classes), np.float32)
        flat = _flat(x)
        # The log of a prior of 0 (a class not seen yet) is -inf: the right score, not a mistake.
        with np.errstate(divide="ignore", invalid="ignore"):
            if hasattr(self.estimator, "decision_function"):
                scores = np.asarray(self.estimator.decision_function(flat))
            elif hasattr(self.estimator, "predict_proba"):
                scores = np.asarray(self.estimator.predict_proba(flat))
            else:
                scores = np.eye(self._n_classes)[self.estimator.predict(flat)]
        if scores.ndim == 1:
            scores = np.stack([-scores, scores], 1)
        return scores.astype(np.float32)

    def end_task(self) -> None:
        """Do nothing."""

    def state(self) -> State:
        """The estimator's attributes."""
        return {"pickled": freeze(self.estimator), "is_fitted": self._is_fitted}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        self.estimator.__dict__.update(thaw(state["pickled"], self.estimator))
        self._is_fitted = bool(state["is_fitted"])


def freeze(thing: Any) -> bytes:
    """The attributes of an object, as bytes."""
    try:
        return pickle.dumps(thing.__dict__, protocol=4)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise UsageError(
            f"The state of {type(thing).__name__} cannot be saved ({error}). Give it state() and"
            " restore(state), of plain containers, numbers and numpy arrays."
        ) from None


def thaw(frozen: bytes, thing: Any) -> dict[str, Any]:
    """The attributes in `frozen`; types of numpy, scipy, scikit-learn and the object's own package alone."""
    attributes: dict[str, Any] = _Thaw(io.BytesIO(frozen), type(thing).__module__.split(".")[0]).load()
    return attributes


class _Thaw(pickle.Unpickler):
    """An unpickler that looks up types of a learner's packages, and no function but those of numpy arrays."""

    def __init__(self, file: io.BytesIO, package: str) -> None:
        super().__init__(file)
        self._packages = {*_TRUSTED, package}

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] in self._packages:
            found = super().find_class(module, name)
            if isinstance(found, type) or name in _MAKERS or name.startswith("__pyx_unpickle_"):
                return found
        elif f"{module}.{name}" in _PLAIN:
            return super().find_class(module, name)
        raise UsageError(
            f"The checkpoint asks for {module}.{name}, which is no part of the learner's state."
            " It was not made by this learner; run from the start."
        )


def _flat(x: Array) -> Array:
    flat = x.reshape(len(x), -1)
    return flat / np.float32(255) if flat.dtype == np.uint8 else flat
