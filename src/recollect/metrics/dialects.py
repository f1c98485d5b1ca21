"""Which number is this? All definitions side by side, and the ones that give a published value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.inputs import plain_number
from recollect.matrix import ScoreMatrix
from recollect.metrics import registry
from recollect.metrics.scoring import Outcome, evaluate, refuse_unknown


def dialects(matrix: ScoreMatrix, family: str = "all", **params: Any) -> list[Outcome]:
    """Compute every definition of a family, or of all.

    >>> for d in dialects(ScoreMatrix([[.8, .1], [.6, .9]]), "bwt")[:3]:
    ...     print(d.id, round(float(d.value), 3))
    bwt.diazrodriguez2018 -0.2
    bwt.lopezpaz2017 -0.2
    bwt.gem_code -0.1
    """
    metrics = registry.resolve(family)
    refuse_unknown(params, metrics)
    return [evaluate(matrix, m, **params) for m in metrics]


@dataclass(frozen=True)
class Identified:
    """A definition that gives the published value: `value` as computed, and how it must be read."""

    id: str
    value: float
    percent: bool
    sign_turned: bool


def identify(
    matrix: ScoreMatrix, value: float | str, digits: int | None = None, family: str = "all", **params: Any
) -> list[Identified]:
    """Find the definitions whose value, rounded to the printed digits, is the published one.

    `value` may be text, so that ``"15.0"`` says it was printed with one digit. It is tried as a fraction and
    as percent, as it is and with its sign turned (a forgetting printed as a transfer). Of several runs, the
    mean is taken.

    >>> [found.id for found in identify(ScoreMatrix([[.8, .1], [.6, .9]]), "0.10", family="forgetting")]
    ['forgetting.raptormai', 'forgetting.clsurvey', 'forgetting.continual_world', 'forgetting.begin_docs']
    """
    published, printed = _parse(value)
    digits = printed if digits is None else digits
    # Half a unit of the last printed digit, and a hair for values that sit on the rounding edge.
    slack = 0.5 * 10.0**-digits * (1 + 1e-9) + 1e-12
    found = []
    for outcome in dialects(matrix, family, **params):
        computed = float(np.mean(outcome.value))
        for turned in (False, True):
            # A percentage may be printed in full (15.0) even where fractions are below 1.
            for percent in (False, True):
                shown = (-computed if turned else computed) * (100 if percent else 1)
                if abs(shown - published) <= slack and not (turned and computed == 0):
                    found.append(Identified(outcome.id, computed, percent, turned))
    return _plausible(found)


def _plausible(found: list[Identified]) -> list[Identified]:
    """Order by likelihood: as printed before sign-turned; one reading of each definition."""
    ordered = sorted(found, key=lambda f: (f.sign_turned, f.percent))
    first: dict[str, Identified] = {}
    for match in ordered:
        first.setdefault(match.id, match)
    return list(first.values())


def _parse(value: float | str) -> tuple[float, int]:
    text = str(value).strip().rstrip("%").strip()
    try:
        number = plain_number(text)
    except ValueError:
        raise UsageError(f"a published value must be a number; got {value!r}.") from None
    if not np.isfinite(number):
        raise UsageError(f"a published value must be finite; got {value!r}.")
    mantissa = text.lower().split("e")
    decimals = len(mantissa[0].partition(".")[2])
    exponent = int(mantissa[1]) if len(mantissa) > 1 else 0
    return number, max(decimals - exponent, 0)
