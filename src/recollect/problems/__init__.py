"""The problems by name."""

from __future__ import annotations

from recollect.problems.base import PROBLEMS, Examiner, Focus, Moment, Problem, problem_of
from recollect.problems.classification import CLASSIFICATION
from recollect.problems.detection import DETECTION
from recollect.problems.given import GIVEN, Given
from recollect.problems.links import LINKS
from recollect.problems.properties import PROPERTIES
from recollect.problems.regression import REGRESSION
from recollect.problems.targets import Target
from recollect.problems.versions import RELEASES, STAGES, VERSIONS

for _problem in (CLASSIFICATION, DETECTION, REGRESSION, LINKS, PROPERTIES, GIVEN, VERSIONS, RELEASES, STAGES):
    PROBLEMS[_problem.name] = _problem

__all__ = ["CLASSIFICATION", "PROBLEMS", "Examiner", "Focus", "Given", "Moment", "Problem", "Target", "problem_of"]
