"""What a learner can do beside learning and answering, and the check of a learner before its run starts.

An ability is a Protocol that a learner has or has not. A method whose name is nearly that of a hook would be no
error and would do nothing, so it is one here.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cached_property, partialmethod
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np

from recollect.errors import UsageError
from recollect.learners.base import Learner
from recollect.problems.base import Flags, Represents
from recollect.values import shown

__all__ = [
    "Configured",
    "Flags",
    "LearnsUnits",
    "Noted",
    "Represents",
    "Sees",
    "SelectsWeights",
    "Settles",
    "Signals",
    "check_hooks",
    "check_learner",
    "misspelt",
]


@runtime_checkable
class Settles(Protocol):
    """Puts training off, and does it when it is told to: before an evaluation."""

    def settle(self) -> None:
        """Do the training that was put off."""


@runtime_checkable
class Sees(Protocol):
    """Takes samples that are ids, and looks at what surrounds them: a graph."""

    def see(self, view: Any) -> None:
        """Take what may be seen from now on: given before the batches of a section, and before an evaluation."""


@runtime_checkable
class SelectsWeights(Protocol):
    """Keeps the weights that were best on the present task's validation samples, if it was asked to."""

    @property
    def selects_weights(self) -> bool:
        """Whether it was asked to."""

    def keep_if_best(self, accuracy: float) -> None:
        """Told after each pass over a task: how well the weights of now answer the validation samples."""


@runtime_checkable
class Noted(Protocol):
    """Has something to say in the record."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences, such as what it had to do otherwise than it was told."""


@runtime_checkable
class Signals(Protocol):
    """Says when the stream has changed."""

    @property
    def signals(self) -> tuple[int, ...]:
        """The samples presented at each time that it said so."""


@runtime_checkable
class LearnsUnits(Protocol):
    """Learns from a whole unit at once, not from its batches."""

    @property
    def learns_at_ends(self) -> bool:
        """Whether nothing is learned before a task ends."""


@runtime_checkable
class Configured(Protocol):
    """Has options: a frozen dataclass of them, which a checkpoint is bound to."""

    options: Any


# What a hook is called with; None: it is a value, not a method.
HOOKS: dict[str, tuple[str, ...] | None] = {
    "learn": ("batch",),
    "score": ("x", "task"),
    "end_task": (),
    "state": (),
    "restore": ("state",),
    "settle": (),
    "see": ("view",),
    "flagged": ("scores", "task"),
    "represent": ("x",),
    "keep_if_best": ("accuracy",),
    "stored_samples": None,
    "stored_bytes": None,
    "notes": None,
    "signals": None,
    "selects_weights": None,
    "learns_at_ends": None,
}
# What the values are, and in words.
_VALUES: dict[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys(("stored_samples", "stored_bytes"), (Real, "a number")),
    "notes": ((tuple, list), "a tuple of sentences"),
    "signals": ((tuple, list), "a tuple of steps"),
    **dict.fromkeys(("selects_weights", "learns_at_ends"), ((bool, np.bool_), "True or False")),
}
# What a subclass of a learner of ours overrides.
_METHODS = ("train_on", "retrieve", "remember", "importance_of")
_SKLEARNS = "score_samples"  # of scikit-learn's densities: no stored_samples
_FILLERS = frozenset(("on", "at", "of", "the", "a", "is", "do", "my"))
# Two words of five letters that differ in one (store, score) are at 0.8; a letter too many or too few is above it.
_ALIKE = 0.84
# Of such a short name (see) half of the language is one letter away (seen, seed).
_SHORT = 4


def check_learner(learner: object, needs: tuple[str, ...], is_asked: bool = True) -> None:
    """Raise UsageError if it lacks a part of `needs`, has a hook that cannot be one, or a misspelt one.

    A learner that only an examiner of the user's asks (`is_asked` is false) need not score.
    """
    needs = needs if is_asked else tuple(hook for hook in needs if hook != "score")
    lacking = [hook for hook in needs if not hasattr(type(learner), hook) and hook not in _own(learner)]
    if lacking:
        slips = "".join(f" It has {slip!r}: is that {hook!r}?" for slip, hook in misspelt(learner) if hook in lacking)
        raise UsageError(
            f"The learner {type(learner).__name__} lacks {' and '.join(lacking)}.{slips} `wrap(learner, setting)`"
            " completes an object that has learn(batch) and score(x)."
        )
    check_hooks(learner, HOOKS)


def check_hooks(thing: object, hooks: Iterable[str]) -> None:
    """Raise UsageError if the object has a misspelt hook, or one of `hooks` that cannot be called or read as one."""
    name = type(thing).__name__
    for slip, hook in misspelt(thing):
        raise UsageError(
            f"The learner {name} has {slip!r}, which nothing calls; the nearest that is called is {hook!r}. Rename it"
            f" to that, or if it is your own, to something else ('_{slip}' will do)."
        )
    halves = [hook for hook in ("selects_weights", "keep_if_best") if hasattr(thing, hook)]
    if len(halves) == 1:
        raise UsageError(f"{name} has {halves[0]} alone: weights are kept by selects_weights with keep_if_best.")
    for hook in hooks:
        there = inspect.getattr_static(thing, hook, HOOKS)
        if there is not HOOKS and (there is not None or HOOKS[hook] is None):  # a method that is None is none
            _refuse_other_kind(name, getattr(thing, hook, there), there, hook)


def misspelt(learner: object) -> Iterator[tuple[str, str]]:
    """The names of a user's learner that look like a slip, each with the hook that it was to be.

    >>> Mine = type("Mine", (), {"setle": print, "rehearse": print, "__module__": "mine"})
    >>> dict(misspelt(Mine()))
    {'setle': 'settle'}
    """
    own = _own(learner)
    for name, value in own.items():
        if name.startswith("_") or name in (*HOOKS, *_METHODS, _SKLEARNS) or isinstance(value, type):
            continue
        methods = [method for method in _METHODS if hasattr(type(learner), method)]
        hooks = [hook for hook in (*HOOKS, *methods) if _may_be(value, hook)]
        alike = {hook: _alikeness(name, hook) for hook in hooks if hook not in own or _is_spelled(name, hook)}
        best = max(alike, key=alike.__getitem__, default=None)
        if best is not None and alike[best] >= _ALIKE:
            yield name, best


def _own(thing: object) -> dict[str, Any]:
    """What the user gave an object: in its classes, and in itself, as a module holds it."""
    bases = [base for base in type(thing).__mro__ if base.__module__.split(".")[0] not in ("recollect", "builtins")]
    own = {name: value for base in reversed(bases) for name, value in vars(base).items()}
    slots = {name: getattr(thing, name, None) for name, value in own.items() if inspect.ismemberdescriptor(value)}
    return own | slots | getattr(thing, "__dict__", {})


def _may_be(value: object, hook: str) -> bool:
    """Whether this was meant for such a hook: something that is called, or read, or a value of its kind."""
    if inspect.isroutine(value) or isinstance(value, property | cached_property):
        return True
    if HOOKS.get(hook, ()) is None:
        return isinstance(value, _VALUES[hook][0])
    return callable(value) or isinstance(value, partialmethod)


def _is_spelled(name: str, hook: str) -> bool:
    """Whether a name is a hook's in other letters: endTask beside end_task is called no more than alone."""
    return name.replace("_", "").lower() == hook.replace("_", "")


def _alikeness(name: str, hook: str) -> float:
    """From 0 to 1; words in another order, letters exchanged, or one wrong letter of six or more are alike."""
    dropped = _FILLERS.difference(hook.split("_"))
    one, other = _letters(name, dropped), _letters(hook, dropped)
    if Counter(one) == Counter(other):
        return 1.0
    if len(one) == len(other) >= 6 and sum(a != b for a, b in zip(one, other, strict=True)) == 1:
        return 0.99
    return SequenceMatcher(None, one, other).ratio() if len(other) > _SHORT else 0.0


def _letters(name: str, dropped: frozenset[str]) -> str:
    """Without case, underscores and small words: endTask, on_end_task and end_of_task are one."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")
    return "".join(word for word in words if word not in dropped)


def _refuse_other_kind(name: str, value: Any, there: object, hook: str) -> None:
    """A value where a method is called, a method where a value is read, or a method with other arguments."""
    arguments = HOOKS[hook]
    if arguments is None:
        if callable(value):
            raise UsageError(f"{name}.{hook} is read as a value, and it is a method. Put @property above it.")
        kind, words = _VALUES[hook]
        if not isinstance(value, kind):
            raise UsageError(f"{name}.{hook} is read as {words}; it is {shown(value)}.")
        return
    called = f"{hook}({', '.join(arguments)})"
    if isinstance(there, property) or not callable(value):
        what = "property" if isinstance(there, property) else type(there).__name__
        raise UsageError(f"{name}.{hook} is called as {called}, and it is a {what}. Make it a method.")
    try:
        signature = inspect.signature(value)
    except ValueError:  # a function of C without one
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise UsageError(
            f"{name}.{hook} is called as {called}, and it is {hook}{signature}: {error}. Give it these arguments, and"
            " others a default."
        ) from None


LEARNS: tuple[str, ...] = ("learn", "score", "end_task")
RESUMES: tuple[str, ...] = tuple(name for name in dir(Learner) if not name.startswith("_"))
# Of a learner whose run has no checkpoints.
UNSAVED: tuple[str, ...] = tuple(name for name in RESUMES if name not in ("state", "restore"))
