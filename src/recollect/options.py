"""Options: dataclass fields that say what they mean and what they may be, and the one check of them all.

Learners, detectors and streams have frozen dataclasses of options. `read` makes one of what a user wrote; `check`
is for dataclasses that are also made by hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from recollect.errors import UsageError
from recollect.nearest import nearest
from recollect.values import shown

Chosen = TypeVar("Chosen")


@dataclass(frozen=True)
class Rule:
    """What an option may be: a kind, a lowest and a highest value, or a list of choices; or nothing at all.

    `optional` says that None may be given, `between` that the lowest and the highest value themselves may not.
    """

    kind: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    optional: bool = False
    between: bool = False


def option(
    default: Any,
    meaning: str = "",
    *,
    whose: str = "ours",
    kind: str | None = None,
    optional: bool = False,
    later: bool = False,
    **limits: Any,
) -> Any:
    """A field with its meaning, whose default it has, and the rule of its values.

    `later` says that records were written before there was the option: with its default it is no part of an identity.
    """
    kind = kind or ("choice" if limits.get("choices") else type(default).__name__)
    rule = Rule(kind, optional=optional or default is None, **limits)
    return field(default=default, metadata={"meaning": meaning, "whose": whose, "rule": rule, "later": later})


def read(cls: type[Chosen], owner: str, config: Mapping[str, Any], what: str = "learner") -> Chosen:
    """The options in `config`, checked; an unknown one is an error that names the nearest.

    `what` is what messages call the thing that has the options, and `owner` its name. `elsewhere` of the dataclass
    says of what people look for here where it is.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Replay:
    ...     memory: int = option(2000, "samples that the memory holds", low=1)
    >>> read(Replay, "er", {"memory": 200})
    Replay(memory=200)
    >>> read(Replay, "er", {"memmory": 200})
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: The learner 'er' has no option 'memmory'; the nearest is 'memory'. It has: memory.
    >>> read(Replay, "er", {"memory": 0})
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: The option 'memory' of the learner 'er' is a whole number of at least 1; got 0. It \
is: samples that the memory holds.
    """
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    values = {}
    elsewhere: Mapping[str, str] = getattr(cls, "elsewhere", {})
    for name, value in config.items():
        if name in elsewhere and name not in known:
            raise UsageError(f"The {what} {owner!r} has no option {name!r}: {elsewhere[name]}")
        if name not in known:
            near = f"the nearest is {nearest(name, known)!r}. It has: {', '.join(known)}." if known else "it has none."
            raise UsageError(f"The {what} {owner!r} has no option {name!r}; {near}")
        rule: Rule = known[name].metadata["rule"]
        if rule.kind == "float" and isinstance(value, str):
            value = number_in(value)
        expected = _expected(value, rule)
        if expected is not None:
            meaning = known[name].metadata["meaning"]
            raise UsageError(
                f"The option {name!r} of the {what} {owner!r} is {expected}; got {shown(value)}. It is: {meaning}."
            )
        values[name] = _plain(value, rule.kind)
    return cls(**values)


def check(chosen: Any) -> None:
    """Raise UsageError if a field of this dataclass that has a rule is not what the rule says."""
    for one in fields(chosen):
        if "rule" in one.metadata:
            rule: Rule = one.metadata["rule"]
            expected = _expected(getattr(chosen, one.name), rule)
            if expected is not None:
                refuse(one.name, expected, getattr(chosen, one.name), rule.choices)


def refuse(name: str, expected: str, value: Any, choices: tuple[str, ...] = ()) -> None:
    """Raise the UsageError of an option that is not what was expected."""
    near = nearest(value, choices, cutoff=0.6)
    hint = "" if near is None else f" Did you mean {near!r}?"
    raise UsageError(f"{name} is {expected}; got {shown(value)}.{hint}")


def refuse_unknown(what: str, options: Mapping[str, Any], known: list[str]) -> None:
    """Raise UsageError if one of the options is none of those known."""
    for name in options:
        if name not in known:
            near = nearest(name, known, cutoff=0.6)
            hint = f"it has {', '.join(known)}." if near is None else f"did you mean {near!r}?"
            raise UsageError(f"{what} has no option {name!r}; {hint}")


def _plain(value: Any, kind: str) -> Any:
    if kind == "float" and value is not None:
        return float(value)
    return tuple(value) if kind in ("widths", "counts") and value is not None else value


def _expected(value: Any, rule: Rule) -> str | None:
    """What was expected, in words, where the value is not that."""
    if value is None and rule.optional:
        return None
    if rule.kind == "choice" and not (isinstance(value, str) and value in rule.choices):
        return f"one of {', '.join(rule.choices)}"
    if rule.kind == "bool" and not isinstance(value, bool):
        return "true or false"
    if rule.kind == "int" and not (is_whole(value) and _within(value, rule)):
        return f"a whole number {_range(rule)}"
    if rule.kind == "float" and not (is_finite(value) and _within(value, rule)):
        return f"a {'fraction' if rule.between else 'number'} {_range(rule)}"
    if rule.kind == "named" and not (isinstance(value, str) or (isinstance(value, Mapping) and _has_name(value))):
        return "a name, or a name with options, such as {name: AdamW, weight_decay: 0.01}"
    if rule.kind == "str" and not isinstance(value, str):
        return "a text"
    if rule.kind == "column" and not isinstance(value, str):
        return "the name of a column"
    if rule.kind == "names" and not (
        isinstance(value, tuple) and value and all(isinstance(n, int | str) for n in value)
    ):
        return "a list of names, not empty"
    if rule.kind == "widths" and not (isinstance(value, list | tuple) and all(is_whole(w) and w > 0 for w in value)):
        return "a list of layer widths, such as [400, 400]"
    if rule.kind == "counts" and not (
        isinstance(value, list | tuple) and value and all(is_whole(w) and w > 0 for w in value)
    ):
        return "a list of whole numbers of at least 1, such as [10, 10]"
    if rule.kind == "network" and not (callable(value) or value in rule.choices or ":" in str(value)):
        near = nearest(value, rule.choices)
        return f"a torch module, a function, its path or one of {', '.join(rule.choices)}; the nearest is {near!r}"
    if rule.kind == "augment" and not isinstance(value, str | list | tuple | Mapping):
        return "a name, such as crop+flip, or a list of them"
    if rule.kind == "normalise" and not (isinstance(value, str) or _is_pair(value)):
        return "a data set's name or [means, deviations]"
    return None


def _within(value: float, rule: Rule) -> bool:
    return rule.low <= value <= rule.high and not (rule.between and value in (rule.low, rule.high))


def _range(rule: Rule) -> str:
    if math.isinf(rule.high):
        return f"of at least {rule.low:g}"
    return f"between {rule.low:g} and {rule.high:g}" if rule.between else f"from {rule.low:g} to {rule.high:g}"


def number_in(text: str) -> float | str:
    """The number that a text is, else the text: YAML reads 1e-3, without a point, as a text.

    >>> number_in("1e-3"), number_in("fast")
    (0.001, 'fast')
    """
    try:
        return float(text)
    except ValueError:
        return text


def is_whole(value: Any) -> bool:
    """Whether this is a whole number; true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Whether this is a number that is neither infinite nor NaN."""
    return (is_whole(value) or isinstance(value, float)) and math.isfinite(value)


def is_names(value: Any) -> bool:
    """Whether these are names, or places, at least one."""
    return isinstance(value, tuple) and bool(value) and all(isinstance(name, int | str) for name in value)


def _has_name(value: Mapping[Any, Any]) -> bool:
    return isinstance(value.get("name"), str) and all(isinstance(key, str) for key in value)


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(isinstance(part, list | tuple) and part and all(is_finite(v) for v in part) for part in value)
    )
