from __future__ import annotations

import numpy as np
import pytest
from scipy.special import chdtrc

from recollect.errors import UsageError
from recollect.learners.buffers import Everything, GreedyBalanced, Reservoir

from .helpers import same, through_disk

CAPACITY, LENGTH, BATCHES, STREAMS = 5, 17, (3, 4, 6, 4), 10_000


def inclusion_p(counts: np.ndarray) -> float:
    """The p-value of "each of n samples is held equally often", for draws of k without replacement.

    The counts are negatively correlated: their chi-square is n - 1 over n of the usual one over 1 - k/n.
    """
    p = CAPACITY / LENGTH
    statistic = ((counts - STREAMS * p) ** 2).sum() / (STREAMS * p * (1 - p)) * (LENGTH - 1) / LENGTH
    return float(chdtrc(LENGTH - 1, statistic))


def count_inclusions(make) -> np.ndarray:
    counts = np.zeros(LENGTH)
    samples, labels = np.arange(LENGTH), np.zeros(LENGTH, np.int64)
    for seed in range(STREAMS):
        memory = make(seed)
        start = 0
        for size in BATCHES:
            memory.add(samples[start : start + size], labels[start : start + size])
            start += size
        counts[memory.x] += 1
    return counts


class CountsTheBatchOnce(Reservoir):
    """The usual mistake: places are drawn from what had been seen before the batch."""

    def add(self, x, y):
        self._prepare({"x": x, "y": y})
        fills = min(len(y), self.capacity - self.filled)
        self.columns["x"][self.filled : self.filled + fills] = x[:fills]
        self.filled += fills
        seen = self.seen + fills
        if fills < len(y):
            places = self._rng.integers(0, seen, len(y) - fills)
            hits = places < self.capacity
            self.columns["x"][places[hits]] = x[fills:][hits]
        self.seen += len(y)


def test_every_sample_of_the_stream_is_held_equally_often():
    assert inclusion_p(count_inclusions(lambda seed: Reservoir(CAPACITY, seed))) > 1e-3


def test_the_chi_square_finds_a_bias_at_the_fill_line():
    assert inclusion_p(count_inclusions(lambda seed: CountsTheBatchOnce(CAPACITY, seed))) < 1e-9


def test_batches_equal_samples_one_by_one():
    """Algorithm R as it is printed, given the same draws."""
    memory = Reservoir(4, seed=1)
    draws = np.random.default_rng(1)
    held: list[int] = []
    seen = 0
    for size in (3, 3, 7, 1, 30):
        x = np.arange(seen, seen + size)
        memory.add(x, x % 3)
        late = [n for n in range(seen, seen + size) if n >= 4]
        places = dict(zip(late, draws.integers(0, np.array(late) + 1), strict=True)) if late else {}
        for n in range(seen, seen + size):
            if n < 4:
                held.append(n)
            elif places[n] < 4:
                held[places[n]] = n
        seen += size
        assert memory.x.tolist() == held
        assert memory.y.tolist() == [n % 3 for n in held]


def test_retrieval_is_without_replacement_and_uniform():
    memory = Reservoir(20, seed=0)
    memory.add(np.arange(20), np.zeros(20, np.int64))
    counts = np.zeros(20)
    for _ in range(4000):
        places = memory.sample(6)
        assert len(set(places.tolist())) == 6
        counts[places] += 1
    assert abs(counts / 4000 - 0.3).max() < 0.04
    assert sorted(memory.sample(30).tolist()) == list(range(20))


def test_memory_is_counted_in_bytes():
    memory = Reservoir(10, seed=0)
    assert memory.stored_bytes == 0
    memory.add(np.zeros((4, 3, 8, 8), np.uint8), np.zeros(4, np.int64))
    assert memory.stored_bytes == 4 * (3 * 8 * 8 + 8)
    assert memory.x.dtype == np.uint8


def test_a_memory_of_nothing_is_refused():
    with pytest.raises(UsageError, match="at least one sample"):
        Reservoir(0, seed=0)


def slow_greedy(labels: list[int], capacity: int) -> dict[int, int]:
    """Class counts of GDumb's sampler, Algorithm 1 of the paper; counts do not depend on the draws."""
    counts: dict[int, int] = {}
    for label in labels:
        share = capacity // max(1, len(counts))
        if label not in counts or counts[label] < share:
            if sum(counts.values()) >= capacity:
                counts[max(counts, key=lambda c: counts[c])] -= 1
            counts[label] = counts.get(label, 0) + 1
    return counts


def test_greedy_sampler_counts_as_the_paper():
    rng = np.random.default_rng(0)
    labels = np.concatenate([rng.integers(low, low + 3, 60) for low in (0, 3, 6)])
    memory = GreedyBalanced(20, seed=0)
    for start in range(0, len(labels), 7):
        memory.add(np.arange(len(labels))[start : start + 7], labels[start : start + 7])
        expected = slow_greedy(labels[: start + 7].tolist(), 20)
        assert dict(zip(*np.unique(memory.y, return_counts=True), strict=True)) == expected
    assert set(np.bincount(memory.y)) <= {2, 3}
    assert (labels[memory.x] == memory.y).all()
    assert len(set(memory.x.tolist())) == 20


def test_greedy_says_whether_it_changed():
    memory = GreedyBalanced(2, seed=0)
    assert memory.add(np.arange(2), np.array([0, 0]))
    assert not memory.add(np.arange(2), np.array([0, 0]))
    assert memory.add(np.arange(1), np.array([1]))


@pytest.mark.parametrize("make", [lambda: Reservoir(6, 5), lambda: GreedyBalanced(6, 5), Everything])
def test_a_restored_buffer_goes_on_the_same(make):
    rng = np.random.default_rng(2)
    parts = [(rng.integers(0, 255, (5, 2), dtype=np.uint8), rng.integers(0, 4, 5)) for _ in range(8)]
    undisturbed, restored = make(), make()
    for x, y in parts[:4]:
        undisturbed.add(x, y)
    restored.restore(through_disk(undisturbed.state()))
    for x, y in parts[4:]:
        undisturbed.add(x, y)
        restored.add(x, y)
    assert same(undisturbed.state(), restored.state())
    if isinstance(undisturbed, Reservoir):
        assert undisturbed.sample(3).tolist() == restored.sample(3).tolist()


def test_everything_keeps_everything():
    store = Everything()
    for start in range(0, 3000, 100):
        store.add(np.arange(start, start + 100), np.full(100, start))
    assert store.x.tolist() == list(range(3000))
    assert store.stored_bytes == 3000 * 16
