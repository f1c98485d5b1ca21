"""Numbers as readers see them, and the parts that sentences are made of: names, numbers with their intervals, lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.stats import Estimate


def shown(value: float, digits: int = 4) -> str:
    """A number for a reader; a dash where there is none.

    >>> shown(.18333), shown(float("nan")), shown(-0.00001)
    ('0.1833', '–', '0.0000')
    """
    if np.isnan(value):
        return "–"
    # To nine digits first, so that a tie such as 0.6125 is shown alike wherever it is shown.
    text = f"{round(value, 9):.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def interval(low: float, high: float, digits: int = 4) -> str:
    """An interval for a reader; empty where there is none.

    >>> interval(.1, .25)
    '[0.1000, 0.2500]'
    """
    return "" if np.isnan(low) or np.isnan(high) else f"[{shown(low, digits)}, {shown(high, digits)}]"


def typeset(value: float, digits: int = 3) -> str:
    """A number as it is set in prose, with a true minus sign."""
    return shown(value, digits).replace("-", "−")


class Name(str):
    """A learner's name within a sentence."""

    __slots__ = ()


@dataclass(frozen=True)
class Sentence:
    """One sentence: text, with the names of learners marked.

    >>> str(Sentence((Name("er"), " is ahead.")))
    'er is ahead.'
    """

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(self.parts)


def sentence(*parts: str) -> Sentence:
    """One sentence of these parts."""
    return Sentence(parts)


def with_interval(number: Estimate, digits: int = 3) -> str:
    """The value, and its interval where it has one."""
    ends = interval(float(number.low), float(number.high), digits).replace("-", "−")
    return f"{typeset(float(number.value), digits)} {ends}".rstrip()


def excludes_zero(number: Estimate) -> bool:
    """Whether the interval lies on one side of zero; False where there is none."""
    return bool(number.low > 0 or number.high < 0)


def is_positive(number: Estimate) -> bool:
    """Whether the number is shown to be above zero: by its interval, or by its value where one seed has none."""
    return bool(number.value > 0 if np.isnan(number.low) else number.low > 0)


def listed(labels: Sequence[str]) -> tuple[str, ...]:
    """Names with commas and an "and", few of them.

    >>> "".join(listed(["a", "b", "c"]))
    'a, b and c'
    """
    shown_labels = list(labels) if len(labels) <= 6 else list(labels[:5])
    parts: list[str] = []
    for place, label in enumerate(shown_labels):
        if place:
            parts.append(" and " if place == len(labels) - 1 else ", ")
        parts.append(Name(label))
    if len(shown_labels) < len(labels):
        parts.append(f" and {len(labels) - len(shown_labels)} more")
    return tuple(parts)
