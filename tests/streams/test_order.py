import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams.order import permutation


def test_it_is_a_permutation_and_depends_on_seed_and_place():
    orders = [permutation(50, *place).tolist() for place in ((0,), (1,), (0, 0), (0, 1), (0, 0, 1), (0, 1, 0))]
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert len({tuple(order) for order in orders}) == len(orders)


def test_every_order_of_three_is_equally_likely():
    counts = np.zeros(27)
    for seed in range(6000):
        counts[permutation(3, seed) @ [9, 3, 1]] += 1
    seen = counts[counts > 0]
    assert len(seen) == 6
    # Chi-square with 5 degrees of freedom: 20.5 is its 0.999 quantile.
    assert ((seen - 1000) ** 2 / 1000).sum() < 20.5


@pytest.mark.parametrize("seed", [-1, 0.5, True, "0", None])
def test_a_wrong_seed_is_refused(seed):
    with pytest.raises(UsageError, match="whole number"):
        permutation(3, seed)
