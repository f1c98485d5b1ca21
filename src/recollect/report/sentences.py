"""The answer in sentences: who is ahead, who is still learning, what was forgotten and how, how sure that is.

Every sentence is made from numbers with their uncertainty, and says no more than they do. A sentence is a
tuple of parts, in which learners' names are marked: a page can set them off, and knows them as foreign text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.report.changes import Change
from recollect.report.over_items import lead_over_items
from recollect.report.results import UNKNOWN, LearnerResult, StreamResult
from recollect.report.words import (
    Name,
    Sentence,
    Words,
    is_positive,
    listed,
    rate,
    sentence,
    typeset,
    with_article,
    with_interval,
)
from recollect.stats import Estimate, Lead, Plateau, Rival, holm

PARTS = {
    "split.within": "within the {task}",
    "split.older": "by confusion with older {tasks}",
    "split.newer": "by confusion with newer {tasks}",
}
AF = "forgetting.chaudhry2018"


@dataclass(frozen=True)
class Conclusion:
    """The answer to one question: what a reader should take away, and what belongs to it in small print."""

    key: str
    question: str
    said: tuple[Sentence, ...]
    more: tuple[Sentence, ...] = ()


def what_changed(stream: StreamResult) -> Conclusion | None:
    """Which columns fell or rose by more than the noise of their items, corrected for their number by Holm."""
    made: list[Sentence] = []
    for learner in stream.ranked:
        changes = [one for one in stream.changes if one.label == learner.label]
        if changes:
            made += _changes(learner, changes, stream)
    return Conclusion("changed", "What changed?", tuple(made[:6]), tuple(made[6:])) if made else None


def _changes(learner: LearnerResult, changes: Sequence[Change], stream: StreamResult) -> list[Sentence]:
    said = []
    number = learner.numbers[stream.focus.headline]
    since = next((one.since for one in changes if one.held_out), None)
    if number.is_known and since is not None:
        word = stream.words.headline
        start = f"{word[:1].upper()}{word[1:]} since {since}, "
        said.append(sentence(start, Name(learner.label), f": {with_interval(number)}."))
    corrected = holm([one.p for one in changes])
    sign = 1 if stream.higher_is_better else -1
    sure = [one for one, p in zip(changes, corrected, strict=True) if p < 0.05]
    sure.sort(key=lambda one: -abs(float(one.difference.value)))
    worse, better = ([one for one in sure if side * sign * one.difference.value > 0] for side in (-1, 1))
    both = (("worse", worse), ("better", better))
    parts = [f"{len(found)} {word}: {_columns(found)}" for word, found in both if found]
    unknown = sum(np.isnan(one.p) for one in changes)
    rest = len(changes) - len(sure) - unknown
    parts += [f"{rest} cannot be told from no change"] if rest else []
    parts += [f"of {unknown} the noise is not known"] if unknown else []
    of = f"Of {len(changes)} {stream.words.tasks if len(changes) > 1 else stream.words.task} of "
    return [*said, sentence(of, Name(learner.label), f" {'; '.join(parts)}.")]


def _columns(changes: Sequence[Change], most: int = 3) -> str:
    named = [f"{one.task} by {with_interval(one.difference)} since {one.since}" for one in changes[:most]]
    return ", ".join(named) + (f" and {len(changes) - most} more" if len(changes) > most else "")


def answers(stream: StreamResult) -> tuple[Conclusion, ...]:
    """The questions of the stream's field, and what its numbers say to each."""
    return tuple(made for key in stream.focus.questions if (made := _QUESTIONS[key](stream)) is not None)


def _ahead(stream: StreamResult) -> Conclusion | None:
    if "changed" in stream.focus.questions and len(stream.contestants) < 2:
        return None  # the question before has said it
    return Conclusion("ahead", "Who is ahead?", who_is_ahead(stream), (*at_the_end(stream), *reference_level(stream)))


def _learning(stream: StreamResult) -> Conclusion:
    plateaus = {one.label: one.plateau for one in stream.contestants}
    learning, each_stop = who_is_learning(plateaus, stream.words, stream.T)
    if not learning:
        why = stream.why_not("raa") or "RAA has no value"
        learning = (sentence(f"That is judged by RAA, which there is none of here: {why}."),)
        return Conclusion("learning", "Who is still learning?", learning, each_stop)
    return Conclusion("learning", "Who is still learning?", _with_meaning(learning), each_stop)


def _with_meaning(said: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
    """The sentences, with what RAA is where it is first named."""
    parts = list(said[0].parts)
    place = next((i for i, part in enumerate(parts) if "RAA" in part and not isinstance(part, Name)), None)
    if place is not None:
        parts[place] = parts[place].replace("RAA", "RAA (accuracy rescaled by that of guessing)", 1)
    return (sentence(*parts), *said[1:])


def _forgotten(stream: StreamResult) -> Conclusion:
    forgotten, each = what_was_forgotten(stream)
    return Conclusion("forgotten", "What was forgotten, and how?", forgotten, each)


def _lost(stream: StreamResult) -> Conclusion | None:
    """What trained tasks lost, where nothing tells how; nothing where no task was trained and evaluated again."""
    higher = stream.higher_is_better
    each = [forgotten(one, stream.words, higher) for one in stream.contestants if one.numbers[AF].is_known]
    return Conclusion("forgotten", "What was forgotten?", tuple(each[:3]), tuple(each[3:])) if each else None


def _sure(stream: StreamResult) -> Conclusion:
    return Conclusion("sure", "How sure?", how_sure(stream), warnings(stream))


_QUESTIONS: dict[str, Callable[[StreamResult], Conclusion | None]] = {
    "ahead": _ahead,
    "learning": _learning,
    "forgotten": _forgotten,
    "changed": what_changed,
    "lost": _lost,
    "sure": _sure,
}


def who_is_ahead(stream: StreamResult) -> tuple[Sentence, ...]:
    """Which learner has the best mean, and over which others its lead is more than noise and luck."""
    said = _best(stream)
    known = {one.label: one.numbers[stream.focus.headline] for one in stream.contestants}
    of = _of_whom(stream, {label: number for label, number in known.items() if number.is_known})
    begins = isinstance(said[0].parts[0], Name)
    return (sentence(of, *said[0].parts), *said[1:]) if of and begins else said


def _best(stream: StreamResult) -> tuple[Sentence, ...]:
    words, headline = stream.words, stream.focus.headline
    values = {one.label: one.numbers[headline] for one in stream.contestants}
    known = {label: number for label, number in values.items() if number.is_known}
    if not known:
        reasons = [str(number.reason) for number in values.values() if number.reason]
        why = reasons[0] if reasons else "a cell it reads was not evaluated"
        return (sentence(f"No learner has {with_article(words.headline)}: {why}."),)
    higher = stream.higher_is_better
    best = (max if higher else min)(known, key=lambda label: float(known[label].value))
    has = f" has the {'highest' if higher else 'lowest'} {words.headline}, {typeset(float(known[best].value))}"
    if len(known) == 1:
        other = "no other contestant has one" if len(stream.learners) > 1 else "no other learner is here"
        said = f" has {with_article(words.headline)} of {with_interval(known[best])}; {other}"
        return (sentence(Name(best), f"{said} to compare it with."),)
    if stream.over_items:
        means = {label: float(one.value) for label, one in known.items()}
        told = lead_over_items(stream.over_items, means, higher)
        return (sentence(Name(best), f"{has}. {told}." if told else f"{has}."),)
    lead = None if stream.headline is None else stream.headline.lead
    same_end = len({_last(one) for one in stream.contestants if one.label in known}) == 1
    if lead is None:
        why = next((one.why for one in stream.refusals if one.what == "paired comparisons"), "no seed is shared")
        if not same_end:
            return (sentence(f"Nobody can be said to be ahead: {why}."),)
        return (sentence(Name(best), f"{has}; the learners could not be compared seed by seed: {why}."),)
    if lead.best != best or not same_end:  # what is compared are the rows that all have
        has = f" has the {'highest' if higher else 'lowest'} {words.headline} over the rows that all have"
    return _lead(lead, known, has)


def _last(learner: LearnerResult) -> int | None:
    """How many tasks had been learned at the last evaluation."""
    return max((end for end in learner.ends if end is not None), default=None)


def _of_whom(stream: StreamResult, known: Mapping[str, Estimate]) -> str:
    """Among how many, where there are learners that are no contestants or have no value."""
    if len(known) == len(stream.learners) or len(known) < 2:
        return ""
    with_value = "" if len(known) == len(stream.contestants) else " that have one"
    kind = "contestants" if stream.contestants[0].is_contestant else "learners"
    return f"Of the {len(known)} {kind}{with_value} "


def _lead(lead: Lead, known: Mapping[str, Estimate], has: str) -> tuple[Sentence, ...]:
    behind = [rival for rival in lead.rivals if rival.is_behind]
    open_ = [rival for rival in lead.rivals if not rival.is_behind]
    nearest = lead.rivals[0]
    if lead.is_confirmed:
        others = "" if len(behind) == 1 else f"{'both' if len(behind) == 2 else 'all'} others, of the nearest, "
        comma = "" if len(behind) == 1 else ","
        by = f"{comma} by {with_interval(nearest.difference)}."
        return (sentence(Name(lead.best), f"{has}, and is ahead of {others}", Name(nearest.label), by),)
    if not behind and all(rival.difference.value == 0 for rival in open_):
        same = listed([rival.label for rival in open_])
        return (sentence(Name(lead.best), f"{has}, and so {_verb(same, 'has', 'have').strip()} ", *same, "."),)
    if not behind and len(open_) == 1:
        other = typeset(float(known[nearest.label].value))
        return (sentence(Name(lead.best), f"{has}, ", Name(nearest.label), f" {other}: {_cannot(open_)}."),)
    ahead = (", and is ahead of ", *listed([rival.label for rival in behind])) if behind else ()
    what = "cannot be told" if behind else "but cannot be told"
    from_ = (f"{'; ' if behind else ', '}{what} from ", *listed([rival.label for rival in open_]))
    return (sentence(Name(lead.best), has, *ahead, *from_, f": {_cannot(open_)}."),)


def _cannot(rivals: Sequence[Rival]) -> str:
    """Why the best one cannot be told from these, and what would settle it."""
    n = max(int(rival.difference.n) for rival in rivals)
    nearest = rivals[0].difference
    constant = all(rival.difference.sd == 0 for rival in rivals)
    if n == 0:
        return "they have no seed in common"
    if n == 1:
        return "one seed cannot tell them apart; run three or more"
    if constant:
        return f"every seed gives the same difference, {typeset(float(nearest.value))}, so that seeds say nothing of it"
    needed = [rival.seeds_needed for rival in rivals if rival.difference.sd > 0]
    most = max((count for count in needed if count is not None), default=None)
    if None in needed or most is None:
        settle = "a difference so small needs more than 1,000"
    else:
        settle = f"about {most} would settle it, if the difference stays"
    return f"these {n} seeds are too few to tell ({settle})"


def at_the_end(stream: StreamResult) -> tuple[Sentence, ...]:
    """Where learners are judged over all of time: who has the best average at the end of it."""
    if stream.focus.headline == "acc.average":
        return ()
    known = {one.label: one.numbers["acc.average"] for one in stream.contestants if one.numbers["acc.average"].is_known}
    if len(known) < 2 or len({_last(stream.learner(label)) for label in known}) > 1:
        return ()
    higher, words = stream.higher_is_better, stream.words
    best = (max if higher else min)(known, key=lambda label: float(known[label].value))
    what = f" has the {'highest' if higher else 'lowest'} {words.average} over all {words.tasks}"
    return (sentence(f"After the last {words.task} ", Name(best), f"{what}, {with_interval(known[best])}."),)


def reference_level(stream: StreamResult) -> tuple[Sentence, ...]:
    """How far references and the floor get: the levels to measure the others by."""
    made = []
    for roles, says in ((("joint", "reference"), "With all the data "), (("floor",), "Without learning ")):
        known = [(one.label, one.numbers[stream.focus.headline]) for one in stream.learners if one.role in roles]
        known = [(label, number) for label, number in known if number.is_known]
        if known and len(known) < len(stream.learners):
            parts: list[str] = []
            for place, (label, number) in enumerate(known):
                between = "" if not place else " and " if place == len(known) - 1 else ", "
                parts += [between, Name(label), f"{'' if place else ' reaches'} {with_interval(number)}"]
            made.append(sentence(says, *parts, "."))
    return tuple(made)


def who_is_learning(
    plateaus: Mapping[str, Plateau | None], words: Words, T: int
) -> tuple[tuple[Sentence, ...], tuple[Sentence, ...]]:
    """Who still rises and who stopped, and when: by the RAA curve, whose question does not become harder.

    Where many stopped, the first and the last of them are named, and each has a sentence behind.
    """
    known = {label: plateau for label, plateau in plateaus.items() if plateau is not None}
    made: list[Sentence] = []
    rising = [label for label, one in known.items() if one.kind in ("rising", "slowing")]
    if rising:
        rates = [float(known[label].slope_after.value) for label in rising]
        ends = rates if len(rates) < 3 else [min(rates), max(rates)]
        span = (" and " if len(rates) < 3 else " to ").join(dict.fromkeys(map(rate, ends)))
        made.append(sentence("RAA still rises for ", *listed(rising), f", by {span} per {words.task} at the end."))
    stops = {label: _stop(label, one, words, T) for label, one in known.items() if one.at is not None}
    if len(stops) <= 3:
        made += stops.values()
    else:
        first, *_, last = sorted(stops, key=lambda label: known[label].at or 0)
        many = f"The RAA of {len(stops)} learners levels off or falls, from "
        made.append(sentence(many, *_at(first, known[first], words), " to ", *_at(last, known[last], words), "."))
    falling = [label for label, one in known.items() if one.kind == "falling"]
    if falling:
        made.append(sentence("RAA falls for ", *listed(falling), f" from the first {words.task} to the last."))
    flat = {label: one.slope for label, one in known.items() if one.kind == "flat"}
    each = [
        sentence(
            "Of ",
            Name(x),
            f" no rise in RAA is shown ({_slope(s)} per {words.task}).",
        )
        for x, s in flat.items()
    ]
    if len(each) > 2:
        made.append(sentence("Of ", *listed(list(flat)), " no rise in RAA is shown."))
    behind = (*(stops.values() if len(stops) > 3 else ()), *(each if len(each) > 2 else ()))
    return (*made, *(each if len(each) <= 2 else ()), *_undecided(known, words)), behind


def _stop(label: str, one: Plateau, words: Words, T: int) -> Sentence:
    place = f"{words.task} {_place(one)} of {T}"
    if one.kind == "peak":
        return sentence(Name(label), f"'s RAA rises up to {place} and falls after it.")
    return sentence(Name(label), f"'s RAA levels off at {place}, to less than a sixth of its rise before.")


def _slope(slope: Estimate) -> str:
    return rate(float(slope.value), float(slope.low), float(slope.high))


def _at(label: str, one: Plateau, words: Words) -> tuple[str, ...]:
    return (f"{words.task} {_place(one)} (", Name(label), ")")


def _place(one: Plateau) -> str:
    """Where a curve stops rising, counting from 1 as people do."""
    at, low, high = (1 + place for place in (one.at or 0, one.low or 0, one.high or 0))
    return f"{at} [{low}, {high}]"


def _undecided(known: Mapping[str, Plateau], words: Words) -> tuple[Sentence, ...]:
    found: dict[str, list[str]] = {}
    for label, one in known.items():
        if one.kind == "undecided":
            if not np.isfinite(one.slope.value):
                why = f"that takes five {words.tasks} or more"
            elif one.n < 2:
                why = "one curve does not tell a plateau from the noise along it"
            else:
                why = "its RAA rises, and the seeds do not show whether it goes on"
            found.setdefault(why, []).append(label)
    return tuple(
        sentence("Whether ", *listed(labels), f"{_verb(labels, 'is', 'are')} still learning is open: {why}.")
        for why, labels in found.items()
    )


def _verb(labels: Sequence[str], one: str, several: str) -> str:
    return f" {one if len(labels) == 1 else several}"


def what_was_forgotten(stream: StreamResult) -> tuple[tuple[Sentence, ...], tuple[Sentence, ...]]:
    """What the best learner forgot and how, and the one that forgot most; then a sentence for each."""
    higher = stream.higher_is_better
    known = [one for one in stream.contestants if one.numbers[AF].is_known]
    each = {one.label: forgotten(one, stream.words, higher) for one in known}
    if not each:
        reasons = [str(one.numbers[AF].reason) for one in stream.contestants if one.numbers[AF].reason]
        return (sentence(f"No learner has a value of forgetting: {reasons[0] if reasons else 'not evaluated'}."),), ()
    lead = stream.headline.lead if stream.headline else None
    most = max(each, key=lambda label: float(stream.learner(label).numbers[AF].value))
    first = lead.best if lead is not None and lead.best in each else next(iter(each))
    said = [each.pop(label) for label in dict.fromkeys((first, most))]
    if not stream.has_parts:
        why = stream.problem.not_shown.get("split") or stream.why_not("split")
        said.append(sentence(f"How it comes about cannot be told: {why}."))
    return tuple(said), tuple(each.values())


def forgotten(learner: LearnerResult, words: Words, higher_is_better: bool = True) -> Sentence:
    """How much of what a learner answered right is now answered wrong, and whether within the task or by confusion.

    An error that is forgotten has risen.
    """
    numbers, name = learner.numbers, Name(learner.label)
    af, beside = numbers[AF], _probed(numbers.get("probe.forgetting", UNKNOWN), words)
    if is_positive(af) and learner.null is not None and not _is_beyond(learner, AF):
        noise = f"AF {with_interval(af)}, where noise of the test items alone shows {with_interval(learner.null)}"
        return sentence(name, f" is not shown to forget: {noise}.{beside}")
    if not is_positive(af):
        shown = "test items" if af.method == "items" else "seeds"
        does = f"gains on earlier {words.tasks}" if af.high < 0 else f"is not shown by the {shown} to forget"
        return sentence(name, f" {does}: AF {with_interval(af)}.{_noise_alone(learner)}{beside}")
    beside, moved = f"{_noise_alone(learner)}{beside}", "fallen" if higher_is_better else "risen"
    in_this = "" if not np.isnan(af.low) else " in this run" if af.n == 1 else " in every run alike"
    start = f"'s {words.score} on earlier {words.tasks} has {moved} by {with_interval(af)} from its best{in_this}"
    parts = {id: numbers.get(id, UNKNOWN) for id in PARTS}
    if not all(part.is_known for part in parts.values()):
        return sentence(name, f"{start}.{beside}")
    said = {id: text.format(task=words.task, tasks=words.tasks) for id, text in PARTS.items()}
    sure = [id for id, part in parts.items() if _is_shown(learner, id, part)]
    found = _joined([f"{typeset(float(parts[id].value))} {said[id]}" for id in sure], "and")
    none = [id for id, part in parts.items() if part.value == 0 and not part.sd > 0]
    open_ = [id for id in parts if id not in sure and id not in none]
    rest = _joined([f"{typeset(float(parts[id].value))} {said[id]}" for id in open_], "and")
    rest += " cannot be told from none" if rest else ""
    nothing = f"none {_joined([said[id] for id in none], 'or')}" if none else ""
    return sentence(name, f"{start}: {'; '.join(filter(None, (found, nothing, rest)))}.{beside}")


def _noise_alone(learner: LearnerResult) -> str:
    """How much of forgetting is the best of several noisy scores; nothing where that is not known."""
    if learner.null is None or np.isnan(learner.null.low):
        return ""
    return f" Noise of the test items alone would show {with_interval(learner.null)}."


def _is_beyond(learner: LearnerResult, id: str) -> bool:
    """Whether forgetting is more than test noise shows in a learner that forgets nothing; True where that is unknown.

    A peak is the best of several noisy scores, and so a little too good.
    """
    if learner.null is None:
        return True
    if id in learner.beyond:
        return is_positive(learner.beyond[id])
    return bool(learner.numbers[id].value > learner.null.high) if not np.isnan(learner.null.high) else True


def _is_shown(learner: LearnerResult, id: str, part: Estimate) -> bool:
    """Whether a part of forgetting is shown to be there; of one run without an interval it is what was measured.

    No part of what noise shows is below 0, so that a negative part needs no correction.
    """
    if np.isnan(part.low):
        return bool(part.value != 0 and np.isnan(learner.numbers[AF].low))
    if part.high < 0:
        return True
    if part.low > 0 and part.method == "items" and learner.null is not None:
        return bool(part.low > learner.null.value)
    return bool(part.low > 0) and _is_beyond(learner, id)


def _probed(probe: Estimate, words: Words) -> str:
    """Whether the representation lost it, by linear probes; nothing where there are none."""
    if not probe.is_known:
        return ""
    found = "The representation lost some of it" if is_positive(probe) else "No loss of the representation is shown"
    measured = f"the {words.score} of linear probes of its features, refitted at every row, has fallen"
    return f" {found}: {measured} by {with_interval(probe)}."


def _joined(texts: Sequence[str], word: str) -> str:
    return f" {word} ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def how_sure(stream: StreamResult) -> tuple[Sentence, ...]:
    """Over how many seeds, which intervals, and whether all learners were asked the same."""
    counts = sorted({len(one.seeds) for one in stream.learners})
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    if counts[-1] == 1 and any(number.method == "items" for one in stream.learners for number in one.numbers.values()):
        what = (
            "One run each: intervals of 95 % and tests are over the test items. Another run of the same training may"
            " differ by more."
        )
    elif counts[-1] == 1:
        what = "One seed per learner: no interval and no test over seeds."
    else:
        what = (
            f"{seeds} seeds per learner. Intervals are of 95 % and hold one by one; those of the lead hold for all"
            " pairs of learners at once."
        )
    rows = {tuple(end for end in one.ends if end is not None) for one in stream.learners}
    words = stream.words
    if len(rows) == 1 and "changed" not in stream.focus.questions:
        n, moments = (len(stream.rows), words.rows) if stream.rows else (len(next(iter(rows))), words.tasks)
        of = "" if stream.rows or n == stream.T else f" of {stream.T}"
        what += f" All were evaluated after the same {n}{of} {moments if n != 1 or of else words.moment}."
    return (sentence(what),)


def warnings(stream: StreamResult) -> tuple[Sentence, ...]:
    """What changes the reading: other plans, missing seeds, learners without chance, runs that are not whole."""
    ends = {one.label: one.ends for one in stream.learners}
    # A sentence that begins with a learner's name begins as that does.
    seeds = [one.why for one in stream.refusals if one.part == "seeds"]
    said = (sentence(f"{one}.") for one in (*seeds, *map(_begun, stream.cautions)))
    return (*other_rows(ends, stream.words, stream.T), *said)


def other_rows(ends: Mapping[str, Sequence[int | None]], words: Words, T: int) -> tuple[Sentence, ...]:
    """That learners were evaluated after different tasks: what is measured along the way cannot be compared then."""
    rows = {label: tuple(end for end in found if end is not None) for label, found in ends.items()}
    if len(set(rows.values())) < 2:
        return ()
    most = max(map(len, rows.values()))
    fewer = [label for label, found in rows.items() if len(found) < most]
    who: tuple[str, ...] = (f"Learners were evaluated after {most} {words.tasks} each, not the same ones:",)
    if fewer:
        counts = " or ".join(map(str, sorted({len(rows[label]) for label in fewer})))
        verb = "was" if len(fewer) == 1 else "were"
        who = (*listed(fewer), f" {verb} evaluated after {counts} of {T} {words.tasks}, others after {most}:")
    care = (
        " their own values of forgetting and transfer answer other questions."
        f" The {words.score} at the end is the same question for all."
    )
    return (sentence(*who, care),)


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]
