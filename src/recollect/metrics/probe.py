"""Linear probes: what the representation still holds, whatever the head does with it."""

from __future__ import annotations

from recollect.matrix import Array
from recollect.metrics import acc
from recollect.metrics import forgetting as _forgetting
from recollect.metrics.cells import Cells
from recollect.metrics.registry import metric
from recollect.metrics.sweep import Sweep

_SOURCE = "Davari et al. 2022 (probing representation forgetting)"


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left(\max_{j\le l<k}P_{lj}-P_{kj}\right)",
    source=_SOURCE,
    reads=Cells.NOTHING,
    needs=("probe",),
    better="lower",
    kind="difference",
    undefined="forgetting needs a task that was probed before: there is none yet",
)
def forgetting(s: Sweep) -> Array:
    """Average forgetting of a linear classifier that is refitted after every row: what the features lost.

    ``P`` is the score of a linear probe, fitted to each task's training samples with the features of the row.

    >>> round(forgetting([[.8, 0], [.1, .9]], probe=[[.9, .3], [.85, .95]]), 6)
    0.05

    See Also
    --------
    average : the probes' mean score now.
    """
    return _forgetting.chaudhry2018.formula(s.like(s.at_ends("probe")))


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}P_{kj}",
    source=_SOURCE,
    reads=Cells.NOTHING,
    needs=("probe",),
    better="higher",
    kind="level",
    bounds=(0, 1),
)
def average(s: Sweep) -> Array:
    """Mean score now of linear probes over the tasks seen so far.

    >>> round(average([[.8, 0], [.1, .9]], probe=[[.9, .3], [.85, .95]]), 6)
    0.9
    """
    return acc.average.formula(s.like(s.at_ends("probe")))
