"""Rescaled average forgetting: forgetting corrected for what a random classifier would "forget" too."""

from __future__ import annotations

from typing import Any

from recollect.matrix import Array
from recollect.metrics import forgetting, uraf
from recollect.metrics.cells import Cells
from recollect.metrics.reference import reference_sweep, smallest_positive
from recollect.metrics.registry import metric
from recollect.metrics.sweep import Sweep


@metric(
    latex=r"\frac{\mathrm{uRAF}_k}{\max_{h,k'}\mathrm{uRAF}_{k'}(h)}",
    source="Michel et al. 2023, Def. 4.2",
    reads=Cells.SINCE_LEARNED,
    needs=("n_classes",),
    better="lower",
    kind="difference",
    undefined="forgetting needs a task evaluated before, and a reference that forgets",
    equals="beta_k forgetting.chaudhry2018 for equal tasks (Prop. 4.4)",
    parameters=("reference",),
    same_as_truncated=False,
    caution="where all tasks have as many classes it is forgetting.chaudhry2018 at the last task by construction: read"
    " its curve",
)
def michel2023(s: Sweep, reference: Any = "uniform") -> Array:
    """Average forgetting over the random classifier's, over the largest such ratio of any learner (RAF).

    With equal tasks the largest ratio is at the last task, so RAF ends at AF. With unequal ones it may be
    anywhere (50 classes, then 10 at a time: at the second task), and then RAF does not end at AF. Where no
    classes are added the random classifier forgets nothing, and RAF is undefined.

    >>> michel2023.curve([[.8, .1, .1], [.6, .9, .1], [.4, .5, .9]], n_classes=[2, 2, 2])
    array([       nan, 0.16666667, 0.4       ])

    See Also
    --------
    uraf.michel2023 : before the division by the largest.
    """
    ratio = uraf.michel2023.formula(s, reference=reference)
    random = forgetting.chaudhry2018.formula(reference_sweep(s, reference))
    # The worst learner has AF = 1, so the largest ratio is the largest 1 / AF(reference); row 0 has none.
    return ratio * smallest_positive(random[1:]) if s.P > 1 else ratio
