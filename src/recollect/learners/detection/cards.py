"""The cards of the strategies."""

from recollect.learners.base import LearnerCard

CARDS: tuple[LearnerCard, ...] = ()
