"""Times as people write them: read where they mean one thing, refused where they do not."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams.concepts.times import times

pandas = pytest.importorskip("pandas")


def order(texts) -> list[int]:
    return np.argsort(times(pandas.Series(texts, name="when"), "plant"), kind="stable").tolist()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2024-03-02", "2024-03-01"], [1, 0]),
        (["31.03.2024 10:00", "01.04.2024 09:00", "02.01.2024 09:00"], [2, 0, 1]),  # the day must be first
        (["01/02/2024", "01/31/2024"], [0, 1]),  # the month must be
        (["01/03/2024", "02/03/2024", "03/03/2024"], [0, 1, 2]),  # may be either, the order is the same
        # Clocks are put back: 02:30 comes twice, and 02:00+01:00 is after 02:30+02:00.
        (["2024-10-27T02:00:00+01:00", "2024-10-27T02:30:00+02:00", "2024-10-27T02:15:00+01:00"], [1, 0, 2]),
        (["2024-03-01 00:00:01Z", "2024-03-01 00:00:00Z"], [1, 0]),
        ([3, 1, 2], [1, 2, 0]),
    ],
)
def test_the_order(texts, expected) -> None:
    assert order(texts) == expected


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["05/01/2024", "01/02/2024"], "the day or the month first"),
        (["2024-03-01 10:00+01:00", "2024-03-01 10:00"], r"'2024-03-01 10:00' does not"),
        (["2024-03-01", "2024-13-45"], "got '2024-13-45' in row 2"),
        (["2024-03-01", "2024-03-02", "3 March 2024", "2024-03-04"], "got '3 March 2024' in row 3"),
        (["2024-03-01", None], "1 rows of plant have none in 'when'"),
        ([1.0, np.inf], "a finite number"),
        (["soon", "later"], "got 'soon' in row 1"),
    ],
)
def test_what_is_refused(texts, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        order(texts)
    assert "\n" not in str(caught.value)
