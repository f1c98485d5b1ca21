"""McNemar's exact test: coins, symmetry, and what is no count."""

from __future__ import annotations

import pytest

from recollect.errors import UsageError
from recollect.stats import mcnemar


def test_mcnemar_counts_coins() -> None:
    assert mcnemar(5, 5) == 1.0
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(6, 0) == pytest.approx(2 / 2**6)
    assert mcnemar(0, 6) == mcnemar(6, 0)
    with pytest.raises(UsageError, match="counts of items"):
        mcnemar(-1, 2)
