from __future__ import annotations

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.learners.buffers import Balanced, make_memory

from .helpers import same, through_disk


def offer(memory, group: int, rows: np.ndarray) -> None:
    memory.add(rows[:, None], np.full(len(rows), group))


def held_shares(keep: str, units: list[int], groups: list[int], capacity: int, repeats: int = 600) -> np.ndarray:
    """How often each row of the stream is in memory at the end."""
    counts = np.zeros(sum(units))
    for seed in range(repeats):
        memory, start = make_memory(keep, capacity, seed), 0
        for group, size in zip(groups, units, strict=True):
            offer(memory, group, np.arange(start, start + size, dtype=float))
            start += size
        counts[memory.x[:, 0].astype(int)] += 1
    return counts / repeats


def within_chance(shares: np.ndarray, expected: np.ndarray, repeats: int = 600) -> bool:
    return bool((np.abs(shares - expected) < 5 * np.sqrt(expected * (1 - expected) / repeats) + 1e-12).all())


def test_reservoir_holds_every_row_equally_often():
    shares = held_shares("reservoir", [3, 12, 1, 9], [0, 1, 2, 3], capacity=5)
    assert within_chance(shares, np.full(25, 5 / 25))


def test_balanced_holds_every_row_of_a_concept_equally_often():
    shares = held_shares("balanced", [10, 4, 6, 12], [0, 1, 0, 2], capacity=9)
    expected = np.repeat([3 / 16, 3 / 4, 3 / 16, 3 / 12], [10, 4, 6, 12])
    assert within_chance(shares, expected)


def test_balanced_gives_a_small_concept_all_it_has():
    memory = Balanced(20, seed=0)
    offer(memory, 0, np.arange(100.0))
    assert len(memory) == 20
    offer(memory, 1, np.arange(3.0))
    assert [len(rows) for rows in memory.rows.values()] == [10, 3]
    offer(memory, 1, np.arange(3.0, 30.0))
    assert [len(rows) for rows in memory.rows.values()] == [10, 10]


def test_more_units_than_places_still_fill_the_memory():
    memory = Balanced(4, seed=0)
    held = np.zeros(40)
    for seed in range(300):
        memory = Balanced(4, seed)
        for unit in range(40):
            offer(memory, unit, np.full(5, float(unit)))
        assert len(memory) == 4 == len(memory.offered)
        held[memory.x[:, 0].astype(int)] += 1
    assert within_chance(held / 300, np.full(40, 0.1), 300)


@pytest.mark.parametrize("keep", ["reservoir", "balanced"])
def test_restored_it_goes_on_bit_for_bit(keep):
    rng = np.random.default_rng(0)
    units = [(int(rng.integers(4)), rng.normal(size=int(rng.integers(1, 30)))) for _ in range(12)]
    memory, restored = make_memory(keep, 11, seed=1), make_memory(keep, 11, seed=2)
    for group, rows in units[:6]:
        offer(memory, group, rows)
    restored.restore(through_disk(memory.state()))
    for group, rows in units[6:]:
        offer(memory, group, rows)
        offer(restored, group, rows)
    assert same(memory.state(), restored.state())
    assert same(memory.x, restored.x)
    assert len(memory) <= 11


@pytest.mark.parametrize("keep", ["reservoir", "balanced"])
def test_rows_are_kept_as_they_were(keep):
    """What a memory holds does not change when the batch that it came in does."""
    memory, rows = make_memory(keep, 10, seed=0), np.arange(5, dtype=np.float32)
    offer(memory, 0, rows)
    rows[:] = -1
    assert sorted(memory.x[:, 0].tolist()) == [0, 1, 2, 3, 4]
    assert memory.x.dtype == np.float32


@pytest.mark.parametrize("keep", ["reservoir", "balanced"])
def test_a_memory_of_nothing_is_told(keep):
    with pytest.raises(UsageError, match="at least one sample"):
        make_memory(keep, 0, seed=0)
