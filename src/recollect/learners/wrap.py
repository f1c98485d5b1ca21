"""Learners of others, made ours by one call: scikit-learn estimators, torch modules, any object."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.learners.abilities import (
    HOOKS,
    Flags,
    LearnsUnits,
    Noted,
    Represents,
    Sees,
    SelectsWeights,
    Settles,
    Signals,
    check_hooks,
    misspelt,
)
from recollect.learners.base import Array, Learner, Resumable, Scores, Setting, State
from recollect.learners.keeping import attributes_of, give_attributes
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch
# Where an estimator has several, the first: a logarithm tells apart what a probability rounds to 0.
_SCORES = ("decision_function", "predict_joint_log_proba", "predict_log_proba", "predict_proba")


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
    >>> setting = Setting(input_shape=(4,), n_classes=2, tasks=((0, 1),), problem="detection")
    >>> lof = LocalOutlierFactor(n_neighbors=5, novelty=True)
    >>> wrap_detector(lof, setting, derive(0), "replay", memory=100).stored_samples
    0
    """
    from recollect.learners.registry import make_learner

    return make_learner(strategy, {"detector": detector, **options}, setting, seeds, device)


def wrap_sklearn(estimator: Any, setting: Setting, seeds: Seeds | None = None) -> Learner:
    """A learner around a scikit-learn classifier (or regressor, where values are asked for) with `partial_fit`.

    Samples are flattened; uint8 images become values in 0 .. 1. Where `random_state` is None it is set from
    the run's seed. The scores are `decision_function`, else `predict_joint_log_proba`, `predict_log_proba` or
    `predict_proba`, else 1 for the predicted class: logarithms first, for a small probability is rounded to 0.
    """
    if isinstance(estimator, type):
        raise UsageError(
            f"An estimator was expected, and the class {estimator.__name__} came. Make one of it, with its"
            f" parameters: wrap_sklearn({estimator.__name__}(), ...)."
        )
    if setting.samples != "arrays":
        raise UsageError(
            f"An estimator learns from tables, and the samples of this stream are ids of {setting.samples}: numbers"
            " that mean nothing by themselves. Write an object with learn, score and see(view): it is given the graph."
        )
    kind, such = ("classifier", "SGDClassifier, GaussianNB") if setting.per_class else ("regressor", "SGDRegressor")
    instead = f"Take a {kind} that has ({such}, ...), or write an object with learn and score."
    name = type(estimator).__name__
    if not callable(getattr(estimator, "partial_fit", None)):
        raise UsageError(f"{name} has no partial_fit, so it cannot learn from a stream. {instead}")
    if not callable(getattr(estimator, "predict", None)) or is_incremental_classifier(estimator) != setting.per_class:
        arguments = "x, y, classes" if setting.per_class else "x, y"
        raise UsageError(
            f"A {kind} was expected, with predict(x) and partial_fit({arguments}); {name} has no such"
            f" methods. {instead}"
        )
    return SklearnLearner(estimator, setting, seeds)


def wrap(learner: Any, setting: Setting, seeds: Seeds | None = None) -> Learner:
    """A learner around any object with `learn` and `score`; what else it lacks is filled in.

    `end_task` does nothing, nothing is stored, and the state is the object's attributes, pickled. An
    estimator with `partial_fit` is given to `wrap_sklearn`.
    """
    if isinstance(learner, type):
        raise UsageError(
            f"A learner was expected, and the class {learner.__name__} came. Make one of it:"
            f" wrap({learner.__name__}(...), ...)."
        )
    if hasattr(learner, "partial_fit") and not hasattr(learner, "learn"):
        return wrap_sklearn(learner, setting, seeds)
    missing = [name for name in ("learn", "score") if not callable(getattr(learner, name, None))]
    if missing:
        slips = "".join(f" It has {slip!r}: is that {hook!r}?" for slip, hook in misspelt(learner) if hook in missing)
        raise UsageError(
            f"A learner has the methods learn(batch) and score(x, task); {type(learner).__name__} lacks"
            f" {' and '.join(missing)}.{slips}"
        )
    how = _task_is_taken(learner)
    check_hooks(learner, [hook for hook in HOOKS if hook != "score"])
    if isinstance(learner, Learner) and how == "by place":
        return learner
    able = [kind for ability, kind in _ABLE.items() if isinstance(learner, ability)]
    kind = able[0] if len(able) == 1 else type(ObjectLearner.__name__, (*able, ObjectLearner), {})
    return cast(Learner, kind(learner, setting, how))


class ObjectLearner:
    """An object with `learn` and `score`, completed."""

    def __init__(self, learner: Any, setting: Setting, how: str) -> None:
        self.wrapped = learner
        self._answer = (setting.n_classes,) if setting.per_class else ()
        self._how = how

    @property
    def notes(self) -> tuple[str, ...]:
        """What the object has to say."""
        return tuple(self.wrapped.notes) if isinstance(self.wrapped, Noted) else ()

    def settle(self) -> None:
        """Tell the object to do what it has put off, if it puts anything off."""
        if isinstance(self.wrapped, Settles):
            self.wrapped.settle()

    def see(self, view: Any) -> None:
        """Show the object what may be seen, if it looks."""
        if isinstance(self.wrapped, Sees):
            self.wrapped.see(view)

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
        """The object's scores, with their shape checked; `task` is given to those that take it."""
        name = type(self.wrapped).__name__
        if self._how == "by place":
            given = self.wrapped.score(x, task)
        else:
            given = self.wrapped.score(x, task=task) if self._how == "by name" else self.wrapped.score(x)
        scores = _as_scores(given, name)
        if scores.shape != (len(x), *self._answer):
            what = "one row per sample and one score per class" if self._answer else "one number per sample"
            raise UsageError(f"{name}.score gives {what}, here {(len(x), *self._answer)}; got {scores.shape}.")
        return scores

    def end_task(self) -> None:
        """Tell the object, if it listens."""
        if hasattr(self.wrapped, "end_task"):
            self.wrapped.end_task()

    def state(self) -> State:
        """The object's own state, else its attributes."""
        if isinstance(self.wrapped, Resumable):
            return {"own": self.wrapped.state()}
        return attributes_of(self.wrapped)

    def restore(self, state: State) -> None:
        """Put it back."""
        if "own" in state:
            self.wrapped.restore(state["own"])
        else:
            give_attributes(self.wrapped, state)


class FlaggingObject(ObjectLearner):
    """An object that sets a threshold."""

    def flagged(self, scores: Scores, task: NDArray[np.int64] | None = None) -> Any:
        """What the object says."""
        return self.wrapped.flagged(scores, task)


class RepresentingObject(ObjectLearner):
    """An object that has features."""

    def represent(self, x: Array) -> Any:
        """What the object says."""
        return self.wrapped.represent(x)


class SignallingObject(ObjectLearner):
    """An object that says when the stream has changed."""

    @property
    def signals(self) -> tuple[int, ...]:
        """What the object says."""
        return tuple(self.wrapped.signals)


class UnitObject(ObjectLearner):
    """An object that learns from a whole unit at once."""

    @property
    def learns_at_ends(self) -> bool:
        """What the object says."""
        return bool(self.wrapped.learns_at_ends)


class SelectingObject(ObjectLearner):
    """An object that may keep the weights that were best on validation samples."""

    @property
    def selects_weights(self) -> bool:
        """What the object says."""
        return bool(self.wrapped.selects_weights)

    def keep_if_best(self, accuracy: float) -> None:
        """Tell the object."""
        self.wrapped.keep_if_best(accuracy)


# What an object can do that its learner can only then.
_ABLE: dict[type, type[ObjectLearner]] = {
    Flags: FlaggingObject,
    Represents: RepresentingObject,
    Signals: SignallingObject,
    LearnsUnits: UnitObject,
    SelectsWeights: SelectingObject,
}


class SklearnLearner:
    """An estimator with `partial_fit`."""

    stored_samples = 0
    stored_bytes = 0

    def __init__(self, estimator: Any, setting: Setting, seeds: Seeds | None = None) -> None:
        self.estimator = estimator
        self._n_classes = setting.n_classes
        self._told = {"classes": np.arange(setting.n_classes)} if setting.per_class else {}
        self._is_fitted = False
        if seeds is not None and getattr(estimator, "random_state", 0) is None:
            # A RandomState goes on from call to call; an int would shuffle every batch alike.
            estimator.set_params(random_state=np.random.RandomState(seeds.learner))

    def learn(self, batch: Batch) -> None:
        """One `partial_fit`."""
        self.estimator.partial_fit(_flat(batch.x), batch.y, **self._told)
        self._is_fitted = True

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """The estimator's scores, or values; equal scores and no value before it has learned anything."""
        if not self._is_fitted:
            return np.zeros((len(x), self._n_classes)) if self._told else np.full(len(x), np.nan)
        flat = _flat(x)
        if not self._told:
            return np.asarray(self.estimator.predict(flat), np.float64).reshape(len(x))
        method = next((getattr(self.estimator, name) for name in _SCORES if hasattr(self.estimator, name)), None)
        # The log of a prior of 0 (a class not seen yet) is -inf: the right score, not a mistake.
        with np.errstate(divide="ignore", invalid="ignore"):
            given = np.eye(self._n_classes)[self.estimator.predict(flat)] if method is None else method(flat)
        scores = np.asarray(given, np.float64)
        return np.stack([-scores, scores], 1) if scores.ndim == 1 else scores

    def end_task(self) -> None:
        """Do nothing."""

    def state(self) -> State:
        """The estimator's attributes."""
        return {**attributes_of(self.estimator), "is_fitted": self._is_fitted}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        give_attributes(self.estimator, state)
        self._is_fitted = bool(state["is_fitted"])


def is_incremental_classifier(estimator: Any) -> bool:
    """Does it have `partial_fit` with `classes`, as scikit-learn's classifiers do? Of an estimator, or of its class."""
    method = getattr(estimator, "partial_fit", None)
    if not callable(method):
        return False
    takes = inspect.signature(method).parameters
    return "classes" in takes or any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes.values())


def _task_is_taken(learner: Any) -> str:
    """How the object's `score` takes the task: "by place", "by name" or "never"."""
    try:
        signature = inspect.signature(learner.score)
    except ValueError:  # a function of C without one
        return "by place"
    for how, given, named in (("by place", (0, 0), {}), ("by name", (0,), {"task": 0}), ("never", (0,), {})):
        try:
            signature.bind(*given, **named)
        except TypeError:
            continue
        return how
    raise UsageError(
        f"A learner scores by score(x, task) or score(x); {type(learner).__name__} has score{signature}."
        " Give its other arguments defaults."
    )


def _as_scores(given: Any, name: str) -> Scores:
    """Scores as they came, in an array of floats: nothing is rounded, for a rounded score may become a tie."""
    if hasattr(given, "detach"):  # a tensor, perhaps with a gradient or elsewhere than in memory
        given = given.detach().cpu()
        given = given.float() if str(given.dtype) == "torch.bfloat16" else given
    try:
        scores: Array = np.asarray(given)
    except (ValueError, TypeError, RuntimeError) as error:
        raise UsageError(f"{_expected(name)} what came is no array ({error}).") from None
    if scores.dtype.kind in "biu":
        return scores.astype(np.float64)
    if scores.dtype.kind != "f":
        raise UsageError(f"{_expected(name)} these are {_KINDS.get(scores.dtype.kind, f'of type {scores.dtype}')}.")
    return scores


_KINDS = {"c": "complex (which is larger?)", "U": "text", "S": "text", "O": "Python objects"}


def _expected(name: str) -> str:
    return f"{name}.score gives real numbers, one row per sample and one column per class, higher = likelier;"


def _flat(x: Array) -> Array:
    flat = x.reshape(len(x), -1)
    return flat / np.float32(255) if flat.dtype == np.uint8 else flat
