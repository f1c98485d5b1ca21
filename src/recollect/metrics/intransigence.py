"""Intransigence: how much worse new tasks are learned than by a learner that keeps all data."""

from __future__ import annotations

from recollect.matrix import Array
from recollect.metrics.cells import Cells
from recollect.metrics.registry import metric
from recollect.metrics.sweep import Sweep


@metric(
    latex=r"\frac{1}{k+1}\sum_{i\le k}\left(J_{ii}-R_{ii}\right)",
    source="BeGin's metric page (INT)",
    reads=Cells.DIAGONAL,
    needs=("joint",),
    better="lower",
    kind="difference",
    printed_by=("BeGin",),
)
def begin(s: Sweep) -> Array:
    """Mean over tasks of the joint learner's lead on each task right after it was learned.

    >>> round(begin([[.8, .1], [.6, .9]], joint=[[.8, .2], [.8, 1.]]), 6)
    0.05

    Each task is looked at when it has just been learned, so in class-incremental streams a learner that forgets
    everything has a negative value: it answers with the newest classes alone, where the joint learner has to choose
    among all (Cora in three tasks, finetune: -0.08 with an AF of 0.96; `results/graphs-cora`).

    See Also
    --------
    chaudhry2018 : the newest task only.
    """
    return s.mean_over_own(s.joint_diagonal - s.diagonal)


@metric(
    latex=r"J_{kk}-R_{kk}",
    source="Chaudhry et al. 2018 (Riemannian Walk), eq. 4",
    reads=Cells.NEWEST_OWN,
    needs=("joint",),
    better="lower",
    kind="difference",
)
def chaudhry2018(s: Sweep) -> Array:
    """The joint learner's lead on the newest task.

    >>> round(chaudhry2018([[.8, .1], [.6, .9]], joint=[[.8, .2], [.8, 1.]]), 6)
    0.1
    """
    joint = s.joint_diagonal
    own = s.diagonal
    return s.each_row(lambda r: joint[s.seen[r] - 1] - own[s.seen[r] - 1])
