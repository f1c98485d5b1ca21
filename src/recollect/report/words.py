"""What things are called: tasks and accuracy, or concepts and ROC-AUC; and what each field asks first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.runs import Group

_SCORES = {"roc_auc": "ROC-AUC", "average_precision": "average precision", "f1": "F1"}


@dataclass(frozen=True)
class Words:
    """What the units of the stream, its rows and the scores are called; a row follows a task unless it says else."""

    task: str = "task"
    tasks: str = "tasks"
    score: str = "accuracy"
    row: str = ""
    rows: str = ""

    @property
    def is_concepts(self) -> bool:
        """Whether this is anomaly detection."""
        return self.task == "concept"

    @property
    def by_rows(self) -> bool:
        """Whether time is counted in batches or visits, because a row does not follow one task each."""
        return bool(self.row)

    @property
    def moment(self) -> str:
        """After what a row stands: a task, a batch, a visit."""
        return self.row or self.task

    @property
    def axis(self) -> str:
        """What the axis of time counts."""
        return self.rows or f"{self.tasks} learned"

    @property
    def average(self) -> str:
        """The mean of the scores.

        >>> Words().average, Words(score="average precision").average
        ('average accuracy', 'mean average precision')
        """
        return f"{'mean' if self.score.startswith('average') else 'average'} {self.score}"

    @property
    def headline(self) -> str:
        """The number that learners are judged by, in words."""
        return f"continual average of {self.score}" if self.is_concepts else f"{self.average} over all {self.tasks}"

    def say(self, text: str) -> str:
        """A text of the catalogue in these words.

        >>> Words("concept", "concepts", "ROC-AUC").say("Mean accuracy over the tasks seen, task by task")
        'Mean score over the concepts seen, concept by concept'
        """
        if not self.is_concepts:
            return text
        text = re.sub(r"\b([Tt])ask(s?)\b", lambda m: ("C" if m[1] == "T" else "c") + "oncept" + m[2], text)
        return re.sub(r"\baccuracy\b", "score", text)


@dataclass(frozen=True)
class Focus:
    """What a field asks of its learners: the number that decides who is ahead, what pairs are compared by, the
    curves (those of one tuple share a scale), and which definitions of a family come first.
    """

    headline: str
    compared: tuple[str, ...]
    panels: tuple[tuple[str, ...], ...]
    bwt: str = "bwt.lopezpaz2017"
    fwt: str = "fwt.lopezpaz2017"
    shown: tuple[str, ...] = ()


TASKS = Focus(
    headline="acc.average",
    compared=(
        "acc.average",
        "forgetting.chaudhry2018",
        "acc.incremental",
        "raf.michel2023",
        "split.lost",
        "split.confusion",
        "bwt.lopezpaz2017",
        "intransigence.begin",
    ),
    panels=(("acc.average", "raa.michel2023"), ("forgetting.chaudhry2018", "raf.michel2023")),
    shown=(
        "acc.average",
        "acc.incremental",
        "forgetting.chaudhry2018",
        "bwt.lopezpaz2017",
        "fwt.lopezpaz2017",
        "raa.michel2023",
        "raf.michel2023",
        "split.lost",
        "split.confusion",
    ),
)
# pyCLAD's three, as its metric page defines them, then forgetting and where the learner ends.
CONCEPTS = Focus(
    headline="acc.continual_average",
    compared=(
        "acc.continual_average",
        "acc.average",
        "bwt.diazrodriguez2018",
        "fwt.diazrodriguez2018",
        "forgetting.chaudhry2018",
        "intransigence.begin",
    ),
    panels=(("acc.average",), ("forgetting.chaudhry2018",)),
    bwt="bwt.diazrodriguez2018",
    fwt="fwt.diazrodriguez2018",
    shown=(
        "acc.continual_average",
        "bwt.diazrodriguez2018",
        "fwt.diazrodriguez2018",
        "forgetting.chaudhry2018",
        "acc.average",
    ),
)


def words_for(group: Group) -> Words:
    """Concepts and their score for anomaly detection, tasks and accuracy else."""
    run = group.runs[0]
    score = score_name(run.metric)
    if run.problem != "detection":
        return Words(score=score)
    if run.learned_at is None or run.matrix.is_square:
        return Words("concept", "concepts", score)
    unit = ("batch", "batches") if run.scenario == "concept-agnostic" else ("visit", "visits")
    return Words("concept", "concepts", score, *unit)


def common_words(all_words: Sequence[Words]) -> Words:
    """The words for what is said of several streams at once.

    >>> common_words([Words(), Words("concept", "concepts", "F1")]).tasks
    'tasks or concepts'
    """
    tasks = dict.fromkeys((one.task, one.tasks) for one in all_words)
    scores = dict.fromkeys(one.score for one in all_words)
    score = next(iter(scores)) if len(scores) == 1 else "score"
    return Words(" or ".join(task for task, _ in tasks), " or ".join(many for _, many in tasks), score)


def focus_of(all_words: Sequence[Words]) -> Focus:
    """What to ask of streams; of tasks and concepts together, what is asked of tasks."""
    return CONCEPTS if all_words and all(one.is_concepts for one in all_words) else TASKS


def score_name(metric: str) -> str:
    """A score as people call it.

    >>> score_name("roc_auc"), score_name("Accuracy"), score_name("F1-Score"), score_name("recall_at_100")
    ('ROC-AUC', 'accuracy', 'F1-Score', 'recall_at_100')
    """
    if metric in _SCORES:
        return _SCORES[metric]
    return metric if metric.isupper() or "-" in metric else metric.lower()


def with_article(text: str) -> str:
    """Put "a" or "an" before it.

    >>> with_article("average accuracy"), with_article("continual average")
    ('an average accuracy', 'a continual average')
    """
    return f"{'an' if text[:1] in 'aeiou' else 'a'} {text}"


def curve_titles(words: Words) -> dict[str, str]:
    """What the curves are called; an accuracy by the paper's letters, another score by its name.

    >>> curve_titles(Words())["acc.average"], curve_titles(Words("concept", "concepts", "F1"))["acc.average"]
    ('AA', 'average F1')
    """
    if words.is_concepts:
        return {"acc.average": words.average, "forgetting.chaudhry2018": f"forgetting ({words.score})"}
    return {"acc.average": "AA", "raa.michel2023": "RAA", "forgetting.chaudhry2018": "AF", "raf.michel2023": "RAF"}
