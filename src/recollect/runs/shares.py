"""Which scores are shares of the test items that were answered right, by their names."""

from __future__ import annotations

from functools import lru_cache

SHARES = frozenset(
    (
        "acc",
        "acc_norm",
        "accuracy",
        "exact_match",
        "em",
        "success",
        "pc_success",
        "pass@1",
        "match",
        "includes",
        "choice",
    )
)


@lru_cache(maxsize=4096)
def is_share(metric: str) -> bool:
    """Whether a score is the share of test items that are answered right; the filter of the answers is no matter.

    >>> is_share("acc,none"), is_share("Accuracy"), is_share("f1"), is_share("roc_auc")
    (True, True, False, False)
    """
    return metric.split(",", 1)[0].lower() in SHARES
