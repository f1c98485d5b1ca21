"""Every definition under its own id. A family is a module, a dialect is a metric in it.

>>> from recollect.metrics import forgetting
>>> round(forgetting.chaudhry2018([[.8, .1], [.6, .9]]), 6)
0.2
"""

from recollect.metrics import (
    acc,
    anytime,
    bwt,
    forgetting,
    fwt,
    held_out,
    intransigence,
    plasticity,
    probe,
    raa,
    raf,
    registry,
    split,
    uraa,
    uraf,
)
from recollect.metrics.dialects import Identified, dialects, identify
from recollect.metrics.registry import Card, Metric
from recollect.metrics.scoring import Outcome, Score, evaluate, evaluate_all, over_rows, score

__all__ = [
    "Card",
    "Identified",
    "Metric",
    "Outcome",
    "Score",
    "acc",
    "anytime",
    "bwt",
    "dialects",
    "evaluate",
    "evaluate_all",
    "forgetting",
    "fwt",
    "held_out",
    "identify",
    "intransigence",
    "over_rows",
    "plasticity",
    "probe",
    "raa",
    "raf",
    "registry",
    "score",
    "split",
    "uraa",
    "uraf",
]
