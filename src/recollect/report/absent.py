"""What a report does not show, and why: what does not apply, what runs lack, which tasks have no score."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from recollect.problems import Problem
from recollect.report.results import Column, Learner, Refusal
from recollect.report.words import Words
from recollect.runs import Group

NO_SPLIT = (
    "it needs, for every task, the right answers among its own classes and among those of earlier tasks. Runs made with"
    " `recollect run` on class-incremental streams carry them, and `Recorder` takes them from any loop"
)


def sort_out(
    dropped: Sequence[Refusal], learners: Sequence[Learner], problem: Problem, words: Words
) -> tuple[tuple[Refusal, ...], tuple[Refusal, ...]]:
    """Tell what does not apply to such a stream (the problem says why) from what its runs lack."""
    not_shown, lacking = dict(problem.not_shown), [one for one in dropped if one.part not in _PARTS["split"]]
    if not any(learner.parts for learner in learners):
        lacking.append(Refusal("the split of forgetting", NO_SPLIT, part="split"))
    left_out = []
    for part, why in not_shown.items():
        names = [one for one in _PARTS.get(part, (part,)) if one in {r.part for r in lacking} or part not in _PARTS]
        if part == "errors" and any(learner.errors for learner in learners):
            continue
        if names:
            what = _TITLES.get(part) or " and ".join(name.upper() for name in names)
            left_out.append(Refusal(f"{what} {'are' if ' and ' in what else 'is'} not shown", why, part=part))
        lacking = [one for one in lacking if one.part not in names]
    return tuple(left_out), tuple(lacking)


# The columns that a part of the page consists of, and what it is called.
_PARTS = {"raa": ("raa", "raf"), "split": ("split", "within", "older", "newer")}
_TITLES = {"split": "How forgetting comes about", "errors": "Where wrong answers go"}


def gaps(learners: Sequence[Learner], columns: Sequence[Column]) -> tuple[Refusal, ...]:
    """Values that a learner lacks in a column which others fill, a line per reason."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for column in columns:
        for id in column.ids:
            for learner in learners:
                number = learner.numbers.get(id)
                if number is not None and not number.is_known and number.reason:
                    found.setdefault((id, str(number.reason)), {})[learner.label] = None
    return tuple(Refusal(f"{id} of {', '.join(labels)}", why) for (id, why), labels in found.items())


def unscored(groups: Iterable[Group]) -> dict[str, str]:
    """The tasks that had no score somewhere, with the reasons that the rows give.

    >>> from recollect.runs import Row, Run, Task, group
    >>> row = Row(0, reasons={"accuracy": {"a": "its test set holds normal samples only"}})
    >>> unscored(group([Run(learner="naive", stream="toy", tasks=(Task("a"),), rows=(row,))]))
    {'a': 'its test set holds normal samples only'}
    """
    found: dict[str, dict[str, None]] = {}
    for group in groups:
        for run in group.runs:
            names = [task.name for task in run.tasks]
            for row in run.rows:
                reasons = dict(row.reasons.get(run.metric, {}))
                if row.reason is not None and row is not run.timeline.base:
                    reasons |= dict.fromkeys(names, row.reason)
                for name, reason in reasons.items():
                    if name in names:
                        found.setdefault(name, {})[reason] = None
    return {name: "; ".join(reasons) for name, reasons in found.items()}


def without_score(missing: Mapping[str, str], words: Words) -> tuple[Refusal, ...]:
    """A line for each task that has no score."""
    return tuple(Refusal(f"{words.score} of the {words.task} {name}", why) for name, why in missing.items())


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
