"""Single values that a user gives: a whole number, a number, and how any value is shown in a message."""

from __future__ import annotations

import math
import operator
from typing import Any

from recollect.errors import UsageError

# Larger whole numbers are no longer exact as float64.
LARGEST = 2**53
# Options of streams may be as large as a machine's whole numbers.
LARGEST_SEED = 2**63 - 1
# In bits: Python writes no longer whole number as a text.
LONGEST = 4_000


def shown(value: Any, most: int = 80) -> str:
    """A value for a message: short, on one line, and never an error of its own.

    >>> shown(10**6000), shown("a" * 200, most=8)
    ('a whole number of about 6001 digits', "'aaaa...")
    """
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > LONGEST:
        return f"a whole number of about {int(value.bit_length() * math.log10(2)) + 1} digits"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of an object of the user's, whatever it does
        text = f"an object of the type {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def whole(value: Any, what: str, low: int = -LARGEST, high: int = LARGEST) -> int:
    """The whole number that a value is: Python's, numpy's, or a tensor with one; UsageError otherwise.

    >>> whole(3, "n")
    3
    >>> whole(10.5, "n")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: n is a whole number; got 10.5 (float).
    """
    try:
        number = operator.index(detached(value))
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise UsageError(f"{what} is a whole number; got {shown(value)} ({type(value).__name__}).") from None
    if not low <= number <= high:
        raise UsageError(f"{what} lies between {low} and {high}; got {shown(number)}.")
    return number


def number(value: Any, what: str) -> float:
    """The number that a value is; UsageError for texts, lists and what is too large.

    >>> number("a", "score")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: score is a number; got 'a' (str).
    """
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        return float(detached(value))
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise UsageError(f"{what} is a number; got {shown(value)} ({type(value).__name__}).") from None


def detached(value: Any) -> Any:
    """A tensor as an array, without its gradient and in the computer's own memory; anything else as it is."""
    if not (callable(getattr(value, "detach", None)) and callable(getattr(value, "cpu", None))):
        return value
    tensor = value.detach().cpu()
    return (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy()


def duration(seconds: float | None) -> str:
    """Seconds as people read them.

    >>> duration(59.6), duration(3725)
    ('1:00', '1:02:05')
    """
    whole = max(0, round(seconds or 0))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
