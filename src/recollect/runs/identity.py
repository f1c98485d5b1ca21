"""What must agree for two runs to be seeds of one learner, and for a run to go on.

A record of an earlier version has no identity: what it does say is compared, and the rest cannot be told.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import UsageError
from recollect.runs.sources import UNKNOWN

if TYPE_CHECKING:
    from recollect.runs.run import Run

_MOST = 6
_DEEP = 6
_LONG = 50


@dataclass(frozen=True)
class Identity:
    """Who learned what, and how it was fed.

    `learner` is "module:Class", `options` are all of them, with their defaults. `code` has the hash of every source
    file that is neither ours nor a library's. `training` is the hash of the training samples that are used, `feeding`
    how they come (batch, passes, ...), `target` what answers are scored by. `order` (which samples in which task) and
    `start` (the weights of a network that was given with some) belong to the seed: runs that differ in them alone are
    seeds of one learner. `later` has the defaults of options that came after records were written: with its default
    such an option is the same as not given. It is known of a run that is asked for, not of a record.
    """

    learner: str
    options: Mapping[str, Any] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)
    training: str = ""
    feeding: Mapping[str, Any] = field(default_factory=dict)
    target: str = ""
    order: str = ""
    start: str = ""
    later: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def shared(self) -> str:
        """What the seeds of one learner have in common, as one text; an option that is None is one not given.

        >>> Identity("er", {"memory": 9}, order="a").shared == Identity("er", {"memory": 9}, order="b").shared
        True
        >>> Identity("er", {"memory": 9, "clip": None}).shared == Identity("er", {"memory": 9}).shared
        True
        """
        given = {name: value for name, value in self.options.items() if value is not None}
        return json.dumps(asdict(replace(self.as_seed(), options=given)), sort_keys=True)

    def as_seed(self) -> Identity:
        """The identity without what belongs to the seed."""
        return replace(self, order="", start="", later={})

    def to_json(self) -> dict[str, Any]:
        """As the record keeps it."""
        return {key: value for key, value in asdict(self).items() if value not in ("", {}) and key != "later"}

    @classmethod
    def from_json(cls, data: Any) -> Identity:
        """What `to_json` gave; ValueError or TypeError if it is no identity."""
        texts = {key: data.get(key, "") for key in ("learner", "training", "target", "order", "start")}
        tables = {key: data.get(key, {}) for key in ("options", "code", "feeding")}
        if not all(isinstance(text, str) for text in texts.values()):
            raise ValueError("an identity names the learner, the training samples and the target by texts")
        if not all(isinstance(table, dict) for table in tables.values()):
            raise ValueError("options, code and feeding of an identity are objects")
        return cls(**texts, **tables)

    def differences(self, other: Identity) -> Iterator[str]:
        """Where the other one differs, in words; `self` is what was there first."""
        if self.learner != other.learner:
            yield f"the learner was {self.learner} and is {other.learner} now"
        else:
            later = {**self.later, **other.later}
            yield from differences(*_used(self.options, other.options, later), "the option ")
        for name in sorted({*self.code, *other.code}):
            then, now = self.code.get(name), other.code.get(name)
            if then != now and UNKNOWN not in (then, now):
                yield f"the code of {name} {'was changed' if then and now else 'is used now' if now else 'was used'}"
        if self.training != other.training:
            yield "the training samples are others"
        yield from differences(self.feeding, other.feeding, "")
        if self.target != other.target:
            yield f"the target was {self.target} and is {other.target} now"
        if self.training == other.training and self.order != other.order:
            yield "the training samples come in other tasks or in another order"
        if self.start != other.start:
            yield "the network that was given has other weights"


def _used(there: Any, wanted: Any, later: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both without the options that came later, that one of them alone has, and that have their defaults."""
    alone = {name for name in there.keys() ^ wanted.keys() if name in later}
    unused = {name for name in alone if {**there, **wanted}[name] == later[name]}
    one, other = ({name: value for name, value in of.items() if name not in unused} for of in (there, wanted))
    return one, other


def differences(there: Any, wanted: Any, where: str = "") -> Iterator[str]:
    """The places where two plain values differ, in words; None is the same as not being there.

    >>> list(differences({"lr": 0.1, "memory": 9}, {"lr": 0.1, "memory": 5, "keep": True}, "the option "))
    ['the option memory was 9 and is 5 now', 'the option keep is True and was not given then']
    """
    if isinstance(there, Mapping) and isinstance(wanted, Mapping):
        for key in [*there, *(key for key in wanted if key not in there)]:
            inner = f"{where}{key}"
            if there.get(key) is None and wanted.get(key) is None:
                continue
            if key not in wanted:
                yield f"{inner} was {there[key]!r} and is not given now"
            elif key not in there:
                yield f"{inner} is {wanted[key]!r} and was not given then"
            else:
                is_table = isinstance(there[key], Mapping)
                yield from differences(there[key], wanted[key], f"{inner}." if is_table else inner)
    elif there != wanted:
        yield f"{where.removesuffix('.')} was {there!r} and is {wanted!r} now"


def refuse_another(there: Run, wanted: Run, place: object) -> None:
    """Raise UsageError, with what differs, if a folder holds another run than the one that is asked for.

    Of a run that has no rows yet nothing would be lost: it need only be of the same learner, stream and seed.
    """
    found = [*_in_general(there, wanted)]
    if there.rows or there.status in ("finished", "imported"):
        found += _in_the_record(there, wanted)
        if there.identity is not None and wanted.identity is not None:
            found += there.identity.differences(wanted.identity)
    if found:
        raise another(place, list(dict.fromkeys(found)))


def another(place: object, found: Sequence[str]) -> UsageError:
    """What is said of a folder that holds another run."""
    more = f"; and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return UsageError(
        f"{place} holds another run: {'; '.join(found[:_MOST])}{more}. Nothing was changed. Choose another folder, give"
        " back what it was made with, or start it over (--anew, or remove the folder)."
    )


def _in_general(there: Run, wanted: Run) -> Iterator[str]:
    for what in ("learner", "stream", "seed"):
        one, other = getattr(there, what), getattr(wanted, what)
        if one != other:
            yield f"the {what} was {one!r} and is {other!r} now"


def _in_the_record(there: Run, wanted: Run) -> Iterator[str]:
    if there.fingerprint != wanted.fingerprint:
        yield _how_streams_differ(there, wanted)
    for what, one, other in (
        ("metric", there.metric, wanted.metric),
        ("unit", there.unit, wanted.unit),
    ):
        if one != other:
            yield f"the {what} was {one!r} and is {other!r} now"
    later = {} if wanted.identity is None else wanted.identity.later
    then, now = _used(plain(there.learner_config), plain(wanted.learner_config), later)
    if there.identity is None:  # it did not say all defaults of a learner that is not ours
        now = {key: value for key, value in now.items() if key in then}
    yield from differences(then, now, "the option ")
    yield from differences(plain(asdict(there.plan)), plain(asdict(wanted.plan)), "the plan's ")


def _how_streams_differ(there: Run, wanted: Run) -> str:
    if there.T != wanted.T:
        return f"the stream had {there.T} tasks and has {wanted.T} now"
    if there.scenario != wanted.scenario:
        return f"the stream was {there.scenario} and is {wanted.scenario} now"
    if there.data_hash != wanted.data_hash:
        return "the stream has other test samples, class counts or options (its fingerprint differs)"
    return "the classes come in other tasks (the stream's fingerprint differs)"


def plain(value: Any, depth: int = _DEEP) -> Any:
    """A value as JSON keeps it: classes and functions by their names, objects by their parameters or attributes.

    >>> plain({"network": dict, "hidden": (8, 8), "tol": float("inf")})
    {'network': 'builtins:dict', 'hidden': [8, 8], 'tol': 'inf'}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if depth <= 0:
        return type(value).__qualname__
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return _listed(value, depth)
    return named(value, depth)


def _listed(value: Any, depth: int) -> Any:
    """A list as it is; a long one, or an array, by its length and hash."""
    items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
    if isinstance(items, np.ndarray) or len(items) > _LONG:
        content = np.ascontiguousarray(items).tobytes() if isinstance(items, np.ndarray) else repr(items).encode()
        return {"length": len(items) if np.ndim(items) else 0, "sha256": _short(content)}
    return [plain(item, depth - 1) for item in items]


def named(value: Any, depth: int = _DEEP) -> Any:
    """A class or function by its name; an object by its class and what it was made with, as far as it tells."""
    kind = value if hasattr(value, "__qualname__") else type(value)
    name = f"{kind.__module__}:{kind.__qualname__}"
    return name if kind is value else {name: parameters(value, depth)}


def parameters(thing: Any, depth: int = _DEEP) -> dict[str, Any]:
    """What an object was made with: the parameters of an estimator, the layers of a network, else its plain attributes.

    Attributes that begin with an underscore, or end in one as those of a fitted estimator do, are left out.
    """
    if callable(getattr(thing, "get_params", None)):
        return {name: plain(value, depth - 1) for name, value in sorted(thing.get_params(deep=False).items())}
    if callable(getattr(thing, "named_parameters", None)):
        return {"layers": _short(str(thing).encode())}
    kept = (bool, int, float, str, list, tuple, dict, np.generic, type(None))
    return {
        name: plain(value, depth - 1)
        for name, value in sorted(getattr(thing, "__dict__", {}).items())
        if not name.startswith("_") and not name.endswith("_") and isinstance(value, kept)
    }


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]
