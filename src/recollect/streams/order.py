"""Random orders that stay the same for ever: across processes, machines and versions of numpy.

`Generator.permutation` may change with a release of numpy; the raw output of a bit generator may not. So an
order is the sorting order of raw 64-bit numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.values import shown


def permutation(n: int, seed: int, *place: int) -> NDArray[np.int64]:
    """The numbers 0 .. n - 1 in an order that depends on the seed and on the place where it is used.

    >>> permutation(5, 0)
    array([3, 2, 1, 0, 4])
    >>> permutation(5, 0, 1, 2)
    array([0, 1, 2, 4, 3])
    """
    bits = np.random.PCG64(np.random.SeedSequence(checked_seed(seed), spawn_key=place))
    return np.argsort(bits.random_raw(n), kind="stable")


def checked_seed(seed: int) -> int:
    """The seed, if it is a whole number of at least 0.

    >>> checked_seed(-1)
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: A seed is a whole number of at least 0; got -1.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise UsageError(f"A seed is a whole number of at least 0; got {shown(seed)}.")
    return int(seed)
