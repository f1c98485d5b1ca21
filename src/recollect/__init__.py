"""Recollect measures what a continual learner learns, keeps and forgets.

>>> import recollect as rc
>>> matrix = rc.ScoreMatrix([[.8, .1], [.6, .9]], n_classes=[2, 2])
>>> round(rc.score(matrix, "forgetting.chaudhry2018"), 6)
0.2
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recollect._version import __version__

if TYPE_CHECKING:
    from recollect import metrics, runs, stats
    from recollect.errors import RecollectError
    from recollect.matrix import ScoreMatrix
    from recollect.metrics import dialects, identify, score
    from recollect.runs import Recorder, Run, load

# All is imported when it is first used: who asks for the version or the help waits for neither numpy nor the rest.
_MODULES = ("metrics", "runs", "stats")
_LATER = {
    "RecollectError": "errors",
    "ScoreMatrix": "matrix",
    **dict.fromkeys(("dialects", "identify", "score"), "metrics"),
    **dict.fromkeys(("Recorder", "Run", "load"), "runs"),
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"recollect.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    return getattr(import_module(f"recollect.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


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
