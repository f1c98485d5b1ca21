"""The parts that sentences are made of: names, numbers with their intervals, lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.report.text import interval
from recollect.report.text import shown as plain
from recollect.stats import Estimate


def shown(value: float, digits: int = 3) -> str:
    """A number as it is set in prose, with a true minus sign."""
    return plain(value, digits).replace("-", "−")


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
    return f"{shown(float(number.value), digits)} {ends}".rstrip()


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
