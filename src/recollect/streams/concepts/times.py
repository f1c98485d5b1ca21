"""The time of each row of a table: numbers, or dates as people write them, where they can mean one thing only."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError

_OFFSET = re.compile(r"(?:Z|[+-]\d{2}:?\d{2})$")
# 03/04/2024 may be in March or in April; 2024-03-04 may not.
_EITHER = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b")


def times(column: Any, name: str) -> NDArray[Any]:
    """The column as numbers or instants; refused where a row has none, or where dates may be read in two orders.

    Dates with the day first are read so where they cannot be read with the month first. Offsets from UTC may differ
    from row to row (as they do where clocks are changed), if every row has one.

    >>> import pandas
    >>> times(pandas.Series(["13.03.2024", "02.04.2024"]), "plant").astype("datetime64[D]").astype(str).tolist()
    ['2024-03-13', '2024-04-02']
    """
    if column.dtype.kind not in "buifM":
        column = _dates(column, name)
    if column.isna().any():
        raise UsageError(f"Every row has a time; {column.isna().sum():,} rows of {name} have none in {column.name!r}.")
    found = np.asarray(column.to_numpy())
    if found.dtype.kind == "f" and np.isinf(found).any():
        raise UsageError(f"A time is a finite number or a date; {column.name!r} of {name} has infinite ones.")
    return found


def _dates(column: Any, name: str) -> Any:
    if column.isna().any():
        raise UsageError(f"Every row has a time; {column.isna().sum():,} rows of {name} have none in {column.name!r}.")
    texts = column.astype(str)
    offsets = texts.str.contains(_OFFSET) & texts.str.contains(":")
    if offsets.any() and not offsets.all():
        strange = texts[~offsets].iloc[0]
        raise UsageError(
            f"Every time in {column.name!r} of {name} says how far it is from UTC, or none does; {strange!r} does not,"
            f" {texts[offsets].iloc[0]!r} does."
        )
    utc, either = bool(offsets.any()), bool(texts.str.match(_EITHER).any())
    month = _parsed(texts, dayfirst=False, utc=utc)
    day = _parsed(texts, dayfirst=True, utc=utc) if either else None
    if month is not None and day is not None:
        orders = [np.argsort(one.to_numpy(), kind="stable") for one in (month, day)]
        if not np.array_equal(orders[0], orders[1]):
            raise UsageError(
                f"The dates in {column.name!r} of {name}, such as {texts.iloc[0]!r}, may have the day or the month"
                " first, and their order depends on it. Write them as 2024-03-31."
            )
    if (found := month if month is not None else day) is not None:
        return found
    raise UsageError(
        f"{column.name!r} of {name} is a time: numbers, or dates of one form such as 2020-03-09 10:34:33; got"
        f" {_strange(texts)}."
    )


def _parsed(texts: Any, *, dayfirst: bool, utc: bool) -> Any:
    """The texts as instants, all of one form; None where they are not."""
    import pandas

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # pandas guesses row by row where it finds no common form
            warnings.filterwarnings("ignore", "Parsing dates in")  # that an order is the only one that fits
            return pandas.to_datetime(texts, dayfirst=dayfirst, utc=utc)
    except (ValueError, TypeError, OverflowError, UserWarning):
        return None


def _strange(texts: Any) -> str:
    """The first row that is no date by itself, or that is of another form than those before it."""
    import pandas

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = pandas.to_datetime(texts, errors="coerce", format="mixed", utc=True)
    if alone.isna().any():
        place = int(np.flatnonzero(alone.isna())[0])
    else:
        good, place = 1, len(texts) - 1  # the rows up to `good` have one form; `place` is another at the latest
        while good < place:
            middle = (good + place) // 2
            one_form = any(
                _parsed(texts[: middle + 1], dayfirst=first, utc=True) is not None for first in (False, True)
            )
            good, place = (middle + 1, place) if one_form else (good, middle)
    return f"{texts.iloc[place]!r} in row {place + 1}"
