"""Unnormalised rescaled average accuracy: how many times better than the reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from recollect.matrix import Array
from recollect.metrics import acc
from recollect.metrics.cells import Cells
from recollect.metrics.reference import reference_sweep, require_accuracies
from recollect.metrics.registry import metric
from recollect.metrics.sweep import Sweep, Undefined


@metric(
    latex=r"\frac{\mathrm{AA}_k}{\mathrm{AA}_k(\mathrm{Rand}_{C_k})}",
    source="Michel et al. 2023, Def. 4.1",
    reads=Cells.NOW,
    needs=("n_classes",),
    better="higher",
    kind="ratio",
    bounds=(0, np.inf),
    undefined="the reference scores 0 here, or its cells were not evaluated",
    equals="C_k acc.average with the uniform reference",
    parameters=("reference",),
)
def michel2023(s: Sweep, reference: Any = "uniform") -> Array:
    """Average accuracy over the random classifier's: 1 is chance (uRAA).

    >>> michel2023.curve([[.8, .1], [.6, .9]], n_classes=[2, 2])
    array([1.6, 3. ])

    See Also
    --------
    raa.michel2023 : divided by the largest value any learner can reach, so that it ends at AA.
    """
    require_accuracies(s)
    random = acc.average.formula(reference_sweep(s, reference))
    if (random <= 0).all():
        raise Undefined("the reference scores 0 everywhere")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(random > 0, acc.average.formula(s) / random, np.nan)
