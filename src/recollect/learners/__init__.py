"""Learners: what learns from a stream and scores samples.

`make_learner("er", {"memory": 200}, setting, seeds)` makes one by name; `wrap_sklearn`, `wrap_module` and
`wrap` make one of an estimator with `partial_fit`, of a torch module, of any object with `learn` and `score`,
`wrap_detector` one of a detector of anomalies.
torch is imported when the first learner that needs it is made.
"""

from recollect.learners.base import Learner, LearnerCard, Option, Setting
from recollect.learners.registry import LEARNERS, make_learner
from recollect.learners.wrap import wrap, wrap_detector, wrap_module, wrap_sklearn

__all__ = [
    "LEARNERS",
    "Learner",
    "LearnerCard",
    "Option",
    "Setting",
    "make_learner",
    "wrap",
    "wrap_detector",
    "wrap_module",
    "wrap_sklearn",
]
