"""What things are called in a report, how numbers are shown, why some are absent, and the parts of sentences."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.problems import CLASSIFICATION, Focus, problem_of
from recollect.runs import Group
from recollect.stats import Estimate

# Notes of thousands of runs are not all shown: a warning must not be lost among a few.
MOST_NOTES = 200


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


def few(notes: Iterable[str]) -> tuple[str, ...]:
    """Notes, each once; of more than a reader reads the first, and how many more there are.

    >>> few(["a", "b", "a"]), len(few(map(str, range(1000)))), few(map(str, range(1000)))[-1]
    (('a', 'b'), 201, '800 more notes like these')
    """
    found = tuple(dict.fromkeys(notes))
    more = len(found) - MOST_NOTES
    return found if more <= 1 else (*found[:MOST_NOTES], f"{more:,} more notes like these")


def unscored(groups: Iterable[Group]) -> dict[str, str]:
    """The tasks that had no score somewhere, with the reasons that the rows give.

    >>> from recollect.runs import Row, Run, Task, group
    >>> row = Row(0, reasons={"accuracy": {"a": "its test set holds normal samples only"}})
    >>> unscored(group([Run(learner="naive", stream="toy", tasks=(Task("a"),), rows=(row,))]))
    {'a': 'its test set holds normal samples only'}
    """
    found: dict[str, dict[str, None]] = {}
    for group in groups:
        for run in (run for run in group.runs if run.packed is None):
            names = [task.name for task in run.tasks]
            for row in run.rows:
                reasons = dict(row.reasons.get(run.metric, {}))
                if row.reason is not None and row is not run.timeline.base:
                    reasons |= dict.fromkeys(names, row.reason)
                for name, reason in reasons.items():
                    if name in names:
                        found.setdefault(name, {})[reason] = None
    return {name: "; ".join(reasons) for name, reasons in found.items()}


def explain(reason: str, unevaluated: bool, missing: Mapping[str, str], words: Words) -> str:
    """Why a metric has no value: where a cell was not evaluated because a task has no score, which one.

    >>> explain("reads R[0, 1], not evaluated", True, {"dos": "one class"}, Words("concept", "concepts", "F1"))
    'the concept dos has no F1 (one class); `--without dos` gives the numbers of the others'
    """
    if not (missing and unevaluated):
        return reason
    if len(missing) > 1 and len(set(missing.values())) == 1:
        why = next(iter(missing.values()))
        return f"reads rows in which the {words.tasks} {', '.join(missing)} have no {words.score} ({why})"
    said = "; ".join(f"the {words.task} {name} has no {words.score} ({why})" for name, why in missing.items())
    option = " ".join(f"--without {shlex.quote(name)}" for name in missing)
    return f"{said}; `{option}` gives the numbers of the others"


def shown(value: float, digits: int = 4) -> str:
    """A number for a reader; a dash where there is none.

    >>> shown(.18333), shown(float("nan")), shown(-0.00001)
    ('0.1833', '–', '0.0000')
    """
    if np.isnan(value):
        return "–"
    # To nine digits first, so that a tie such as 0.6125 is shown alike wherever it is shown.
    text = f"{round(value, 9):.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def shown_p(p: float) -> str:
    """A p value for a reader: three digits, and never zero.

    >>> shown_p(0.0421), shown_p(1e-9)
    ('0.042', '<0.001')
    """
    return "<0.001" if p < 0.001 else shown(p, 3)


def interval(low: float, high: float, digits: int = 4) -> str:
    """An interval for a reader; empty where there is none.

    >>> interval(.1, .25)
    '[0.1000, 0.2500]'
    """
    return "" if np.isnan(low) or np.isnan(high) else f"[{shown(low, digits)}, {shown(high, digits)}]"


def typeset(value: float, digits: int = 3) -> str:
    """A number as it is set in prose, with a true minus sign."""
    return shown(value, digits).replace("-", "−")


def rate(value: float, low: float = float("nan"), high: float = float("nan")) -> str:
    """A slope in prose, which may be small: as many digits as tell it, or the wider end of its interval, from zero.

    >>> rate(.1763), rate(.000352), rate(-.002, -.008, .004), rate(0.0)
    ('0.176', '0.00035', '−0.0020 [−0.0080, 0.0040]', '0.000')
    """
    largest = max((abs(one) for one in (value, low, high) if np.isfinite(one)), default=0.0)
    digits = 3 if largest == 0 else int(np.clip(1 - np.floor(np.log10(largest)), 3, 9))
    ends = interval(low, high, digits).replace("-", "−")
    return f"{typeset(value, digits)} {ends}".rstrip()


class Name(str):
    """A learner's name within a sentence."""

    __slots__ = ()


@dataclass(frozen=True)
class Sentence:
    """One sentence: text, with the names of learners marked.

    >>> str(Sentence((Name("er"), " is ahead.")))
    'er is ahead.'
    """

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(self.parts)


def sentence(*parts: str) -> Sentence:
    """One sentence of these parts."""
    return Sentence(parts)


def with_interval(number: Estimate, digits: int = 3) -> str:
    """The value, and its interval where it has one."""
    ends = interval(float(number.low), float(number.high), digits).replace("-", "−")
    return f"{typeset(float(number.value), digits)} {ends}".rstrip()


def excludes_zero(number: Estimate) -> bool:
    """Whether the interval lies on one side of zero; False where there is none."""
    return bool(number.low > 0 or number.high < 0)


def is_positive(number: Estimate) -> bool:
    """Whether the number is shown to be above zero: by its interval, or by its value where one seed has none."""
    return bool(number.value > 0 if np.isnan(number.low) else number.low > 0)


def listed(labels: Sequence[str]) -> tuple[str, ...]:
    """Names with commas and an "and", few of them.

    >>> "".join(listed(["a", "b", "c"]))
    'a, b and c'
    """
    shown_labels = list(labels) if len(labels) <= 6 else list(labels[:5])
    parts: list[str] = []
    for place, label in enumerate(shown_labels):
        if place:
            parts.append(" and " if place == len(labels) - 1 else ", ")
        parts.append(Name(label))
    if len(shown_labels) < len(labels):
        parts.append(f" and {len(labels) - len(shown_labels)} more")
    return tuple(parts)
