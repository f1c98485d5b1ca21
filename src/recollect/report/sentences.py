"""The answer in sentences: who is ahead and whether the seeds can tell, who stopped learning, what was lost.

Every sentence is made from numbers with their uncertainty, and says no more than they do. A sentence is a
tuple of parts, in which learners' names are marked: a page can set them off, and knows them as foreign text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recollect.report.contents import Bend, Learner, Number, Stream
from recollect.report.lead import at_the_end, who_is_ahead
from recollect.report.prose import Name, Sentence, bracketed, listed, shown, with_interval
from recollect.report.words import Words

# More learners than this are a table, not a text.
DESCRIBED = 8


def answer(stream: Stream) -> tuple[tuple[Sentence, ...], ...]:
    """What the numbers of a stream say: a paragraph on the lead, on learning, and on forgetting."""
    headline, higher = stream.focus.headline, stream.higher_is_better
    learners = [one for one in stream.learners if not one.is_reference] or list(stream.learners)
    best = _best(learners, headline, higher)
    values = {one.label: one.numbers[headline] for one in learners}
    pairs = next((table for table in stream.comparisons if table.id == headline), None)
    lead = who_is_ahead(values, pairs, stream.words, higher=higher)
    if headline != "acc.average":
        lead += at_the_end(values, {one.label: one.numbers["acc.average"] for one in learners}, stream.words, higher)
    if len(learners) < len(stream.learners):
        lead += reference_level({one.label: one.numbers[headline] for one in stream.learners if one.is_reference})
    stopped = who_stopped({one.label: one.bend for one in best}, stream.words, stream.T)
    rest = other_rows({one.label: one.ends for one in best}, stream.words, stream.T) + _unanswered(stream, not stopped)
    if len(best) < len(learners):
        rest += (Sentence((f"Of {len(learners)} learners the {len(best)} best are described here.",)),)
    paragraphs = (lead, stopped, what_was_forgotten(best, stream.words), rest)
    return tuple(paragraph for paragraph in paragraphs if paragraph)


def _best(learners: Sequence[Learner], headline: str, higher: bool) -> list[Learner]:
    """At most `DESCRIBED` learners, those with the best means, in their order."""
    sign = 1 if higher else -1

    def rank(one: Learner) -> float:
        number = one.numbers[headline]
        return -sign * number.value if number.is_known else np.inf

    kept = sorted(learners, key=rank)[:DESCRIBED]
    return [one for one in learners if any(one is other for other in kept)]


def other_rows(ends: Mapping[str, Sequence[int | None]], words: Words, T: int) -> tuple[Sentence, ...]:
    """That learners were evaluated after different tasks: what is measured along the way cannot be compared then."""
    rows = {label: tuple(end for end in found if end is not None) for label, found in ends.items()}
    if len(set(rows.values())) < 2:
        return ()
    most = max(map(len, rows.values()))
    fewer = [label for label, found in rows.items() if len(found) < most]
    who: tuple[str, ...] = (f"Learners were evaluated after {most} {words.tasks} each, not the same ones.",)
    if fewer:
        counts = " or ".join(map(str, sorted({len(rows[label]) for label in fewer})))
        verb = "was" if len(fewer) == 1 else "were"
        who = (*listed(fewer), f" {verb} evaluated after {counts} of {T} {words.tasks}, others after {most}.")
    care = (
        f" Forgetting and transfer are over those rows alone, without the scores right after the other {words.tasks}:"
        f" compare them with care. The {words.score} at the end is the same question for all."
    )
    return (Sentence((*who, care)),)


def _unanswered(stream: Stream, no_curve: bool) -> tuple[Sentence, ...]:
    """What the runs do not tell, and why; what does not apply to such streams is said elsewhere."""
    made = []
    if no_curve and not stream.words.is_concepts:
        reason = stream.why_not("raa") or "RAA has no value"
        made.append(Sentence((f"Who stopped learning is judged by RAA, and there is none: {reason}.",)))
    reason = stream.why_not("split") or ""
    if reason and not stream.words.is_concepts:
        made.append(Sentence((f"What part of the forgetting is lost knowledge cannot be told: {reason}.",)))
    return tuple(made)


def reference_level(references: Mapping[str, Number]) -> tuple[Sentence, ...]:
    """How far learners that are retrained on everything get: the level to measure the others by."""
    known = [(label, number) for label, number in references.items() if number.is_known]
    if not known:
        return ()
    parts: list[str] = []
    for place, (label, number) in enumerate(known):
        between = "" if not place else " and " if place == len(known) - 1 else ", "
        parts += [between, Name(label), f"{' reaches' if not place else ''} {with_interval(number)}"]
    return (Sentence(("Retrained on everything seen so far, ", *parts, ": what can be reached with all the data.")),)


def who_stopped(bends: Mapping[str, Bend | None], words: Words, T: int) -> tuple[Sentence, ...]:
    """Say who stopped accumulating knowledge and when: where the RAA curve stops rising."""
    known = {label: bend for label, bend in bends.items() if bend is not None}
    if not known:
        return ()
    made: list[Sentence] = []
    for label, bend in known.items():
        if bend.found and bend.at is not None and bend.low is not None and bend.high is not None:
            after = " and loses ground after it" if bend.kind == "peak" else ""
            place = f"{bend.at + 1} [{bend.low + 1}, {bend.high + 1}]"
            made.append(Sentence((Name(label), f" stops learning at {words.task} {place} of {T}{after}.")))
    for kinds, verb in (
        (("rising", "slowing"), ("is still learning", "are still learning")),
        (("flat",), ("never gains", "never gain")),
        (("falling",), ("loses ground throughout", "lose ground throughout")),
    ):
        labels = [label for label, bend in known.items() if bend.kind in kinds]
        if labels:
            slopes = [known[label].after for label in labels if known[label].after.is_known]
            rate = ""
            if kinds[0] == "rising" and slopes:
                low, high = min(s.value for s in slopes), max(s.value for s in slopes)
                span = shown(low, 3) if shown(low, 3) == shown(high, 3) else f"{shown(low, 3)} to {shown(high, 3)}"
                rate = f" at the end (RAA rises by {span} a {words.task})"
            made.append(Sentence((*listed(labels), f" {verb[len(labels) > 1]}{rate}.")))
    undecided: dict[str, list[str]] = {}
    for label, bend in known.items():
        if bend.kind == "undecided":
            short = "; ".join((bend.reason or "").split("; ")[:1]).split(" (its best")[0]
            undecided.setdefault(_generic(short), []).append(label)
    for reason, labels in undecided.items():
        made.append(Sentence(("Whether ", *listed(labels), f" stopped learning is open: {reason}.")))
    lead = f"By RAA, which corrects {words.score} for the growing number of classes: "
    return (Sentence((lead, *_lowered(made[0]))), *made[1:]) if made else ()


def _generic(reason: str) -> str:
    """Take the numbers of one learner out of a reason that is given for several."""
    return reason.split(": ")[0]


def _lowered(sentence: Sentence) -> tuple[str, ...]:
    first, *rest = sentence.parts
    return (first if isinstance(first, Name) else first[:1].lower() + first[1:], *rest)


def what_was_forgotten(learners: Sequence[Learner], words: Words) -> tuple[Sentence, ...]:
    """Say of each learner's forgetting how much is lost knowledge and how much confusion with newer classes."""
    made = []
    for learner in learners:
        af = learner.numbers.get("forgetting.chaudhry2018", Number())
        lost = learner.numbers.get("split.lost", Number())
        confusion = learner.numbers.get("split.confusion", Number())
        chance = learner.numbers.get("split.chance", Number())
        if af.is_known:
            made.append(_forgotten(learner.label, af, lost, confusion, chance, words))
    return tuple(made)


def _forgotten(label: str, af: Number, lost: Number, confusion: Number, chance: Number, words: Words) -> Sentence:
    is_sure = af.value > 0 if np.isnan(af.low) else af.low > 0
    if not is_sure:
        turned = (
            "forgets nothing that the seeds could show"
            if not af.high < 0
            else (f"gains on earlier {words.tasks} instead of forgetting them")
        )
        return Sentence((Name(label), f" {turned}: AF {with_interval(af)}."))
    start = f" forgets {with_interval(af)}"
    if not (lost.is_known and confusion.is_known):
        return Sentence((Name(label), start + "."))
    return Sentence((Name(label), f"{start}: {_parts(af, lost, confusion, chance)}."))


def _parts(af: Number, lost: Number, confusion: Number, chance: Number) -> str:
    by_chance = ""
    if chance.is_known and confusion.value > 0:
        more = chance.value < confusion.value
        by_chance = ", of which guessing alone explains " if more else ", less than guessing alone would bring: "
        by_chance += shown(chance.value, 3)
    of_confusion = f"{bracketed(confusion)} is confusion with newer classes{by_chance}"
    if lost.high <= 0 or (np.isnan(lost.high) and lost.value <= 0):
        return f"none of it is lost knowledge ({bracketed(lost)}), {of_confusion}"
    if not np.isnan(lost.low) and lost.low <= 0:
        return f"the seeds show no lost knowledge ({bracketed(lost)}), {of_confusion}"
    share = f" ({100 * lost.value / af.value:.0f} %)" if confusion.value >= 0 else ""
    return f"{bracketed(lost)}{share} is lost knowledge, {of_confusion}"
