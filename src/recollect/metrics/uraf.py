"""Unnormalised rescaled average forgetting: how many times the reference's."""

from __future__ import annotations

from typing import Any

import numpy as np

from recollect.matrix import Array
from recollect.metrics import forgetting
from recollect.metrics.cells import Cells
from recollect.metrics.reference import ROUNDING, reference_sweep, require_accuracies
from recollect.metrics.registry import metric
from recollect.metrics.sweep import Sweep, Undefined


@metric(
    latex=r"\frac{\mathrm{AF}_k}{\mathrm{AF}_k(\mathrm{Rand}_{C_k})}",
    source="Michel et al. 2023, Def. 4.1",
    reads=Cells.SINCE_LEARNED,
    needs=("n_classes",),
    better="lower",
    kind="difference",
    bounds=(-np.inf, np.inf),
    undefined="forgetting needs a task evaluated before, and a reference that forgets",
    parameters=("reference",),
)
def michel2023(s: Sweep, reference: Any = "uniform") -> Array:
    """Average forgetting over the random classifier's: 1 is what growing difficulty alone explains (uRAF).

    >>> michel2023.curve([[.8, .1], [.6, .9]], n_classes=[2, 2])
    array([nan, 0.8])

    See Also
    --------
    raf.michel2023 : divided by the largest value any learner can reach.
    """
    require_accuracies(s)
    random = forgetting.chaudhry2018.formula(reference_sweep(s, reference))
    if s.P > 1 and (random[1:] <= ROUNDING).all():
        no_classes = " (no classes are added, so a random classifier never gets worse)"
        why = no_classes if isinstance(reference, str) and reference == "uniform" else ""
        raise Undefined(f"the reference forgets nothing{why}: there is nothing to rescale by")
    return forgetting.chaudhry2018.formula(s) / np.where(random > ROUNDING, random, np.nan)
