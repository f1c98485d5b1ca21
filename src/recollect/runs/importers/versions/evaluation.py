"""What one file says about one version of a model, and what is known of the scores by their names."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.runs.importers.build import number
from recollect.runs.shares import SHARES

Floats = NDArray[np.float64]


class Measured(NamedTuple):
    """One score of one version on one task, with the test items behind it and its standard error where told."""

    score: float
    n: int | None = None
    stderr: float | None = None


class NamedScores(Mapping[str, Measured]):
    """Scores of a task whose names are known before they are read; equal sets of names are one tuple."""

    __slots__ = ("names",)
    names: tuple[str, ...]


class TaskScores(Mapping[str, NamedScores]):
    """Scores by task whose names are known before any is read."""

    __slots__ = ("names",)
    names: Mapping[str, tuple[str, ...]]

    @abstractmethod
    def cells(self, wanted: Sequence[tuple[str, str]]) -> list[Measured | None]:
        """The scores of these tasks and names; None where there is none."""


def score_names(scores: Mapping[str, Measured]) -> tuple[str, ...]:
    """The names of a task's scores."""
    return scores.names if isinstance(scores, NamedScores) else tuple(scores)


@dataclass(frozen=True)
class Evaluation:
    """The scores of one version.

    `scores` maps a task to its scores by name (`acc`, or `acc,none` with the filter of the answers); `higher` and
    `units` say direction and unit where the file does; `conditions` what must agree for two versions to be compared on
    a task (unknown is absent); `groups` which tasks are averages of which. `model` and `revision` name the version,
    `step` and `date` order it; `details` may differ between two evaluations of one version. `trained` is the task
    that this version was trained on last, where the tool says it; `family` what the versions of one training share.
    `files` says for each task which file its scores are from, where several were put together.
    Tasks in `aside` are no columns unless the user says that they are held out (averages over a category).
    """

    path: Path
    model: str
    scores: Mapping[str, Mapping[str, Measured]]
    revision: str = ""
    step: int | None = None
    date: float | None = None
    higher: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    trained: str | None = None
    family: str = ""
    files: Mapping[str, Path] = field(default_factory=dict)
    aside: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    def cells(self, wanted: Sequence[tuple[str, str]]) -> list[Measured | None]:
        """The scores of these tasks and names; None where this version has none."""
        if isinstance(self.scores, TaskScores):
            return self.scores.cells(wanted)
        return [self.scores[task].get(name) if task in self.scores else None for task, name in wanted]

    @cached_property
    def shape(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The tasks with the names of their scores: mostly all versions have the same."""
        if isinstance(self.scores, TaskScores):
            return tuple(self.scores.names.items())
        return tuple((task, score_names(scores)) for task, scores in self.scores.items())

    @property
    def version(self) -> str:
        """The full name of the version: its model and, if there is one, its revision."""
        return f"{self.model}@{self.revision}" if self.revision else self.model


_FRACTIONS = SHARES | {
    "f1",
    "acc_mutual_info",
    "mc1",
    "mc2",
    "likelihood_accuracy",
    "extractive_match",
    "quasi_exact_match",
}
_HIGHER = re.compile(
    r"(.*_)?(acc|accuracy|acc_norm|em|exact_match|match|f1|bleu|chrf|rouge.*|mcc|matthews_correlation|pass@\d+|success"
    r"|pc_success|roc_auc|auroc|mc[12]|score|similarity|sari|recall|precision|map|ndcg|spearman.*|pearson.*|includes|choice)"
    r"(_.*|@\d+)?"
)
_LOWER = re.compile(r"(.*_)?(ppl|perplexity|bits_per_byte|loss|wer|cer|ter|mae|mse|rmse|brier.*|ece|error)(_.*)?")
# The score of a task that is shown unless another is asked for: the first of these, else the file's first.
_FIRST = ("acc_norm", "acc", "exact_match", "accuracy")


def name_of(metric: str) -> str:
    """The name of a score without the filter of the answers.

    >>> name_of("acc,none"), name_of("pass@1")
    ('acc', 'pass@1')
    """
    return metric.split(",", 1)[0]


def rank_of(metric: str) -> int:
    """The place of a score among those of its task: lower is preferred."""
    name = name_of(metric)
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def known_direction(metric: str) -> bool | None:
    """Whether more is better, by the score's name; None for a name that says nothing.

    >>> known_direction("acc_norm,none"), known_direction("word_perplexity,none"), known_direction("pct_stereotype")
    (True, False, None)
    """
    name = name_of(metric).lower()
    if _LOWER.fullmatch(name):
        return False
    return True if _HIGHER.fullmatch(name) else None


def unit_of(metric: str) -> str:
    """The unit of a score whose file does not say it: shares are fractions, all others on a scale of their own."""
    return "fraction" if name_of(metric).lower() in _FRACTIONS else "raw"


def items_behind(score: Floats, stderr: Floats) -> Floats:
    """The test items behind shares and their standard errors: n = p (1 - p) / se^2 + 1, NaN if that is no whole number.

    >>> items_behind(np.array([0.452, 0.5, 1.0]), np.array([0.015746235865880677, 0.3, 0.0]))
    array([1000.,   nan,   nan])
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exact = score * (1 - score) / (stderr * stderr) + 1
        n = np.floor(exact + 0.5)
        right, root = score * n, np.sqrt(n)
        is_whole = (np.abs(exact - n) < 1e-4 * root) & (np.abs(right - np.floor(right + 0.5)) < 1e-5 * root)
        plain = (score > 0) & (score < 1) & (stderr > 1e-9) & (stderr < 1) & (exact >= 2) & (exact < 1e9)
    return np.where(plain & is_whole, n, np.nan)


def measured(score: object, stderr: object = None, n: int | None = None) -> Measured | None:
    """A score of a file; None where it holds none (NaN, "N/A"), ValueError where it is no number."""
    value = score if type(score) is float and -math.inf < score < math.inf else number(score)
    if value is None:
        return None
    error = stderr if type(stderr) is float and 0 <= stderr < math.inf else _number_or_none(stderr)
    return Measured(value, n, error)


def _number_or_none(value: object) -> float | None:
    """A standard error; texts such as "N/A" are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e300 else None


def mapping(value: Any) -> dict[str, Any]:
    """The object, or an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """The list, or an empty one where there is none."""
    return value if isinstance(value, list) else []
