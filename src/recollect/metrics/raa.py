"""Rescaled average accuracy: accuracy corrected for the number of classes the question is asked among."""

from __future__ import annotations

from typing import Any

from recollect.matrix import Array
from recollect.metrics import acc, uraa
from recollect.metrics.cells import Cells
from recollect.metrics.reference import reference_sweep, smallest_positive
from recollect.metrics.registry import metric
from recollect.metrics.sweep import Sweep


@metric(
    latex=r"\frac{\mathrm{uRAA}_k}{\max_{f,k'}\mathrm{uRAA}_{k'}(f)}",
    source="Michel et al. 2023, Def. 4.2",
    reads=Cells.NOW,
    needs=("n_classes",),
    better="higher",
    kind="ratio",
    bounds=(0, 1),
    undefined="the reference scores 0 here, or its cells were not evaluated",
    equals="(C_k / C_K) acc.average with the uniform reference (Prop. 4.3)",
    parameters=("reference",),
    same_as_truncated=False,
    caution="at the last task it is acc.average by construction, whatever the learner: read its curve",
)
def michel2023(s: Sweep, reference: Any = "uniform") -> Array:
    """Average accuracy over the random classifier's, over the largest such ratio any learner can reach (RAA).

    A constant curve is a learner that declines like a random classifier; one that declines more slowly has a
    rising curve. The divisor is a maximum over the whole stream, so a curve is not the final value of a
    truncated matrix.

    >>> michel2023.curve([[.8, .1], [.6, .9]], n_classes=[2, 2])
    array([0.4 , 0.75])

    See Also
    --------
    uraa.michel2023 : before the division by the largest.
    """
    ratio = uraa.michel2023.formula(s, reference=reference)
    # A perfect learner has AA = 1, so the largest ratio is the largest 1 / AA(reference).
    return ratio * smallest_positive(acc.average.formula(reference_sweep(s, reference)))
