from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from recollect.streams import Stream, make_stream, stream_from_arrays


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _global_generators_untouched() -> Iterator[None]:
    """No learner may draw from, or seed, the generators that belong to the user."""
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    yield
    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002


@pytest.fixture(scope="session")
def digits() -> Stream:
    return make_stream("digits", tasks=5)


@pytest.fixture(scope="session")
def twice() -> Stream:
    """Small colour images in two tasks, each seen twice."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 6)
    x = rng.integers(0, 100, (24, 3, 16, 16), dtype=np.uint8)
    x[np.arange(24), y % 3, 4:12, 4:12] += (100 + 40 * (y // 3)).astype(np.uint8)[:, None, None]
    return stream_from_arrays(x, y, x, y, name="blobs", tasks=2, passes=2, batch=6)
