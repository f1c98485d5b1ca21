"""Where the fixtures are, and a comparison of matrices that takes None for "not evaluated"."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture
def fixtures() -> Path:
    return FIXTURES


@pytest.fixture
def same() -> Callable[[Any, Any], None]:
    """Equal to 1e-12, None being NaN."""

    def check(got: Any, expected: Any, tolerance: float = 1e-12) -> None:
        np.testing.assert_allclose(got, np.array(expected, dtype=float), rtol=0, atol=tolerance)

    return check
