"""Over seeds: intervals, comparisons, ranks, plateaus. Plain arrays in, small frozen results out.

>>> from recollect.stats import estimate
>>> print(estimate([0.61, 0.58, 0.64, 0.60, 0.62]))
0.61 [0.5822, 0.6378] (n = 5)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# One interval should not cost the import of every test, and `estimate` names a module and a function of it.
from recollect.stats.estimate import Estimate, estimate

if TYPE_CHECKING:
    from recollect.stats.binomial import clopper_pearson, proportion, wilson
    from recollect.stats.improvement import probability_of_improvement
    from recollect.stats.item_draws import Noise, noise_of
    from recollect.stats.item_noise import difference_over_items, null_forgetting, over_items
    from recollect.stats.lead import Lead, Rival, find_lead
    from recollect.stats.paired import Paired, Pairwise, compare_all, compare_each, compare_paired, holm, shared
    from recollect.stats.paired_items import mcnemar
    from recollect.stats.permutation import Permuted, label_shuffles, sign_flips, signed_rank
    from recollect.stats.plateau import Plateau, find_plateau
    from recollect.stats.ranks import Ranks, friedman_nemenyi
    from recollect.stats.same_stream import require_same_stream

_LATER = {
    **dict.fromkeys(("clopper_pearson", "proportion", "wilson"), "binomial"),
    "probability_of_improvement": "improvement",
    **dict.fromkeys(("Lead", "Rival", "find_lead"), "lead"),
    "mcnemar": "paired_items",
    **dict.fromkeys(("Noise", "noise_of"), "item_draws"),
    **dict.fromkeys(("difference_over_items", "null_forgetting", "over_items"), "item_noise"),
    **dict.fromkeys(("Paired", "Pairwise", "compare_all", "compare_each", "compare_paired"), "paired"),
    **dict.fromkeys(("holm", "shared"), "paired"),
    **dict.fromkeys(("Permuted", "label_shuffles", "sign_flips", "signed_rank"), "permutation"),
    **dict.fromkeys(("Plateau", "find_plateau"), "plateau"),
    **dict.fromkeys(("Ranks", "friedman_nemenyi"), "ranks"),
    "require_same_stream": "same_stream",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'recollect.stats' has no attribute {name!r}")
    return getattr(import_module(f"recollect.stats.{_LATER[name]}"), name)


__all__ = [
    "Estimate",
    "Lead",
    "Noise",
    "Paired",
    "Pairwise",
    "Permuted",
    "Plateau",
    "Ranks",
    "Rival",
    "clopper_pearson",
    "compare_all",
    "compare_each",
    "compare_paired",
    "difference_over_items",
    "estimate",
    "find_lead",
    "find_plateau",
    "friedman_nemenyi",
    "holm",
    "label_shuffles",
    "mcnemar",
    "noise_of",
    "null_forgetting",
    "over_items",
    "probability_of_improvement",
    "proportion",
    "require_same_stream",
    "shared",
    "sign_flips",
    "signed_rank",
    "wilson",
]
