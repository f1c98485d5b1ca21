"""Two versions on the same test items: is the change more than a coin would give?"""

from __future__ import annotations

from recollect.errors import UsageError


def mcnemar(forgotten: int, learned: int) -> float:
    """McNemar's exact test: the chance of a split at least as uneven, if each item that changed did so by a fair coin.

    Items that are right in both versions, or wrong in both, say nothing about a difference and do not count.

    >>> mcnemar(10, 0), mcnemar(0, 0)
    (0.001953125, 1.0)

    See Also
    --------
    recollect.stats.compare_paired : learners over seeds.
    """
    if forgotten < 0 or learned < 0:
        raise UsageError(f"Expected counts of items, got {forgotten} and {learned}.")
    changed = forgotten + learned
    if not changed:
        return 1.0
    from scipy.stats import binomtest  # half a second that a command without items does not pay

    return float(binomtest(forgotten, changed, 0.5).pvalue)
