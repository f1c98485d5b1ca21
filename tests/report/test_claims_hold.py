"""The adversary of `benchmarks/sentences.py`, one experiment of every kind: each sentence holds against the values."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from sentences import KINDS, Drawn, examine


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "a hundred tasks"])
def test_every_sentence_holds(kind: str) -> None:
    rng = np.random.default_rng([12, len(kind)])
    found, count = examine(Drawn(kind, tuple(KINDS[kind](rng))), rng)
    assert found == []
    assert count > 3
