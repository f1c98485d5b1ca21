"""Recollect measures what a continual learner learns, keeps and forgets.

>>> import recollect as rc
>>> matrix = rc.ScoreMatrix([[.8, .1], [.6, .9]], n_classes=[2, 2])
>>> round(rc.score(matrix, "forgetting.chaudhry2018"), 6)
0.2
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recollect import metrics
from recollect._version import __version__
from recollect.errors import RecollectError
from recollect.matrix import ScoreMatrix
from recollect.metrics import dialects, identify, score

if TYPE_CHECKING:
    from recollect import runs, stats
    from recollect.runs import Recorder, Run, load

# Layers above the metrics are imported when they are first used: `import recollect` costs what numpy costs.
_LATER = {"runs": "recollect.runs", "stats": "recollect.stats"}
_LATER |= dict.fromkeys(("Recorder", "Run", "load"), "recollect.runs")


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    module = import_module(_LATER[name])
    return module if name in ("runs", "stats") else getattr(module, name)


__all__ = [
    "RecollectError",
    "Recorder",
    "Run",
    "ScoreMatrix",
    "__version__",
    "dialects",
    "identify",
    "load",
    "metrics",
    "runs",
    "score",
    "stats",
]
