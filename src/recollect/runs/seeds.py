"""Four seeds from one: class order, initialisation, stream sampling, learner.

Four, so that a learner that draws more numbers does not change the order of the classes, and two learners
with one seed meet the same stream. They are cut from SHA-256, which is the same on every machine and in
every version of numpy; a stored run can be made again years later.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from recollect.errors import UsageError
from recollect.values import LONGEST, shown

PURPOSES = ("class_order", "init", "stream", "learner")


@dataclass(frozen=True)
class Seeds:
    """The four seeds of a run, each in 0 .. 2**32 - 1 (what numpy, torch and scikit-learn all accept)."""

    class_order: int
    init: int
    stream: int
    learner: int


def derive(seed: int) -> Seeds:
    """The four seeds that belong to `seed`, for ever the same.

    >>> derive(0)
    Seeds(class_order=1064495341, init=1985241405, stream=1486238466, learner=178436744)
    >>> derive(0) == derive(0), derive(0).init == derive(1).init
    (True, False)
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(
            f"A seed is a whole number; got {shown(seed)} ({type(seed).__name__}). Give an int, such as 0."
        )
    if seed.bit_length() > LONGEST:
        raise UsageError(f"A seed is a whole number of at most {LONGEST} bits; got {shown(seed)}.")
    return Seeds(*(_cut(seed, purpose) for purpose in PURPOSES))


def _cut(seed: int, purpose: str) -> int:
    digest = hashlib.sha256(f"recollect seeds 1/{purpose}/{seed:x}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
