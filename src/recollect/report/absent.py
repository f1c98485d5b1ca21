"""What a page does not show, and why: what does not apply, what runs lack, which concepts have no score."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from recollect.report.contents import Column, Learner, Number, Refusal
from recollect.report.words import Words
from recollect.runs import Group


def sort_out(
    dropped: Sequence[Refusal], learners: Sequence[Learner], words: Words
) -> tuple[tuple[Refusal, ...], tuple[Refusal, ...]]:
    """Tell the columns that do not apply to such a stream (a line each kind) from those that its runs lack."""
    split = _not_split(learners, words)
    if not words.is_concepts:
        return (), (*dropped, *split)
    parts = {refusal.part for refusal in dropped}
    left_out = [*split]
    if parts & {"raa", "raf"}:
        names = " and ".join(part.upper() for part in ("raa", "raf") if part in parts)
        why = (
            f"the score is {words.score} of {words.tasks}, and its difficulty does not follow from a number of classes"
        )
        left_out.insert(0, Refusal(f"{names} {'are' if ' ' in names else 'is'} not shown", why, part="raa"))
    if not any(learner.errors for learner in learners):
        why = "a detector gives every sample a score, not one of several answers"
        left_out.append(Refusal("Where wrong answers go is not shown", why, part="errors"))
    applying = [
        one for one in dropped if one.part not in ("raa", "raf", "within", "older", "newer", "lost", "confusion")
    ]
    return tuple(left_out), tuple(applying)


def _not_split(learners: Sequence[Learner], words: Words) -> tuple[Refusal, ...]:
    if any(learner.parts for learner in learners):
        return ()
    if words.is_concepts:
        why = (
            f"that takes scores among the answers of earlier {words.tasks} only, and a detector gives one score a"
            " sample, whatever it has learned since"
        )
        return (Refusal("Forgetting is not split into lost and confused", why, part="split"),)
    why = (
        "it needs the restricted counts: right answers when only the classes of earlier tasks may be"
        " given. Runs made with `recollect run` on class-incremental streams carry them"
    )
    return (Refusal("the split of forgetting", why, part="split"),)


def gaps(learners: Sequence[Learner], columns: Sequence[Column]) -> tuple[Refusal, ...]:
    """Values that a learner lacks in a column which others fill, a line a reason."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for column in columns:
        for id in column.ids:
            for learner in learners:
                number = learner.numbers.get(id)
                if number is not None and not number.is_known and number.reason:
                    found.setdefault((id, number.reason), {})[learner.label] = None
    return tuple(Refusal(f"{id} of {', '.join(labels)}", why) for (id, why), labels in found.items())


def unscored(groups: Iterable[Group]) -> dict[str, str]:
    """The concepts that had no score somewhere, with the reasons that the rows give.

    >>> from recollect.runs import Row, Run, Task, group
    >>> row = Row(0, reasons={"accuracy": {"a": "its test set holds normal samples only"}})
    >>> unscored(group([Run(learner="naive", stream="toy", tasks=(Task("a"),), rows=(row,))]))
    {'a': 'its test set holds normal samples only'}
    """
    found: dict[str, dict[str, None]] = {}
    for group in groups:
        for run in group.runs:
            names = {task.name for task in run.tasks}
            for row in run.rows:
                for name, reason in row.reasons.get(run.metric, {}).items():
                    if name in names:
                        found.setdefault(name, {})[reason] = None
    return {name: "; ".join(reasons) for name, reasons in found.items()}


def without_score(missing: Mapping[str, str], words: Words) -> tuple[Refusal, ...]:
    """A line for each concept that has no score."""
    return tuple(Refusal(f"{words.score} of the {words.task} {name}", why) for name, why in missing.items())


def explained(numbers: Mapping[str, Number], missing: Mapping[str, str], words: Words) -> dict[str, Number]:
    """Numbers whose reasons are in the words of the stream, and name the concepts that have no score."""
    return {
        id: replace(number, reason=explain(number.reason, missing, words)) if number.reason else number
        for id, number in numbers.items()
    }


def explain(reason: str, missing: Mapping[str, str], words: Words) -> str:
    """Why a metric has no value, in the words of the stream.

    >>> explain("reads R[0, 1], not evaluated", {"dos": "one class"}, Words("concept", "concepts", "F1"))
    'the concept dos has no F1 (one class); `--without dos` gives the numbers of the others'
    """
    if missing and "not evaluated" in reason:
        said = "; ".join(f"the {words.task} {name} has no {words.score} ({why})" for name, why in missing.items())
        option = " ".join(f"--without {shlex.quote(name)}" for name in missing)
        return f"{said}; `{option}` gives the numbers of the others"
    return words.say(reason)
