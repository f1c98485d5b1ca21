"""What things are called in a report; the problem of the runs says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.problems import CLASSIFICATION, Focus, problem_of
from recollect.runs import Group


@dataclass(frozen=True)
class Words:
    """What the units of the stream, its rows and the scores are called; a row follows a task unless it says else.

    `level` is the number that learners are judged by, in words. `scores` counts what the problem may be scored by:
    with several, a table says which.
    """

    task: str = "task"
    tasks: str = "tasks"
    score: str = "accuracy"
    row: str = ""
    rows: str = ""
    level: str = CLASSIFICATION.focus.level
    scores: int = 1

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
        """The number that learners are judged by, in words.

        >>> Words().headline
        'average accuracy over all tasks'
        """
        return self.level.format(average=self.average, tasks=self.tasks, score=self.score)

    def titled(self, title: str) -> str:
        """A table's title, with the score where the problem has several."""
        return ", ".join(filter(None, (title, self.score if self.scores > 1 else "")))


def words_for(group: Group) -> Words:
    """The words of a group's problem."""
    run = group.runs[0]
    problem = problem_of(run.problem)
    is_plain = run.learned_at is None or run.matrix.is_square
    row, rows = ("", "") if is_plain else problem.rows.get(run.scenario, ("", ""))
    score = problem.score_name(run.metric)
    return Words(problem.task, problem.tasks, score, row, rows, problem.focus.level, len(problem.targets))


def common_words(all_words: Sequence[Words]) -> Words:
    """The words for what is said of several streams at once.

    >>> common_words([Words(), Words("concept", "concepts", "F1")]).tasks
    'tasks or concepts'
    """
    tasks = dict.fromkeys((one.task, one.tasks) for one in all_words)
    scores = dict.fromkeys(one.score for one in all_words)
    score = next(iter(scores)) if len(scores) == 1 else "score"
    several = max((one.scores for one in all_words), default=1)
    return Words(" or ".join(task for task, _ in tasks), " or ".join(many for _, many in tasks), score, scores=several)


def focus_of(groups: Sequence[Group]) -> Focus:
    """What to ask of these runs: what their problem asks; of several problems together, what any matrix can answer."""
    names = {group.runs[0].problem for group in groups}
    return problem_of(names.pop()).focus if len(names) == 1 else CLASSIFICATION.focus


def with_article(text: str) -> str:
    """Put "a" or "an" before it.

    >>> with_article("average accuracy"), with_article("continual average")
    ('an average accuracy', 'a continual average')
    """
    return f"{'an' if text[:1] in 'aeiou' else 'a'} {text}"


def curve_titles(words: Words, focus: Focus) -> dict[str, str]:
    """What the curves are called: by the field's letters, else in words.

    >>> curve_titles(Words(), CLASSIFICATION.focus)["acc.average"]
    'AA'
    """
    said = {"acc.average": words.average, "forgetting.chaudhry2018": f"forgetting ({words.score})"}
    known = {"raa.michel2023": "RAA", "raf.michel2023": "RAF", "acc.incremental": "AIA"}
    letters = {id: title for id, title in focus.titles.items() if title.isupper()}
    return said | known | letters
