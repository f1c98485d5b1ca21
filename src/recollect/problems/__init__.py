"""The problems by name."""

from __future__ import annotations

from recollect.errors import UsageError
from recollect.nearest import nearest
from recollect.problems.base import Examiner, Focus, Moment, Problem
from recollect.problems.classification import CLASSIFICATION
from recollect.problems.detection import DETECTION
from recollect.problems.given import GIVEN, Given
from recollect.problems.links import LINKS
from recollect.problems.regression import REGRESSION
from recollect.problems.targets import Target
from recollect.problems.versions import RELEASES, VERSIONS

PROBLEMS: dict[str, Problem] = {
    problem.name: problem for problem in (CLASSIFICATION, DETECTION, REGRESSION, LINKS, GIVEN, VERSIONS, RELEASES)
}

__all__ = ["CLASSIFICATION", "PROBLEMS", "Examiner", "Focus", "Given", "Moment", "Problem", "Target", "problem_of"]


def problem_of(name: str) -> Problem:
    """The problem of this name.

    >>> problem_of("detection").task
    'concept'
    """
    if name not in PROBLEMS:
        raise UsageError(f"There is no problem {name!r}; the nearest is {nearest(name, PROBLEMS)!r}.")
    return PROBLEMS[name]
