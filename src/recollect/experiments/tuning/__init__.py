"""Choosing options on validation data: every setting is a run like any other, on a stream without test samples."""

from recollect.experiments.tuning.choosing import Tuned, tune
from recollect.experiments.tuning.search import Range, Search, read_search
from recollect.experiments.tuning.settings import Trial, settings

__all__ = ["Range", "Search", "Trial", "Tuned", "read_search", "settings", "tune"]
