"""The parts that sentences are made of: names, numbers with their intervals, lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.report.contents import Number
from recollect.report.text import shown as plain


def shown(value: float, digits: int) -> str:
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


def with_interval(number: Number) -> str:
    alone = " (one seed, no interval)" if number.n == 1 and np.isnan(number.low) else ""
    return bracketed(number) + alone


def bracketed(number: Number) -> str:
    if np.isnan(number.low):
        return shown(number.value, 3)
    return f"{shown(number.value, 3)} [{shown(number.low, 3)}, {shown(number.high, 3)}]"


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
