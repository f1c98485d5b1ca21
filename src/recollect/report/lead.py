"""Who is ahead, and whether the seeds can tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.report.contents import Number, Pair, PairTable
from recollect.report.prose import Name, Sentence, listed, shown, with_interval
from recollect.report.words import Words, with_article

LEVEL = 0.05


def who_is_ahead(
    values: Mapping[str, Number], table: PairTable | None, words: Words, higher: bool = True
) -> tuple[Sentence, ...]:
    """Say which learner has the best mean, and over which others its lead is more than the seeds' noise.

    The paired test decides (Holm's p at most 5 %). Where so few seeds cannot give a small p whatever the
    scores, the interval of the paired difference is reported, and that the test could not have told.
    """
    known = {label: number for label, number in values.items() if number.is_known}
    level = words.headline
    if not known:
        reasons = dict.fromkeys(number.reason for number in values.values() if number.reason)
        why = next(iter(reasons), "a cell it reads was not evaluated")
        return (Sentence((f"No learner has {with_article(level)}: {why}.",)),)
    best = (max if higher else min)(known, key=lambda label: known[label].value)
    value = with_interval(known[best])
    if len(known) == 1:
        has = f" has {with_article(level)}, {value}" if words.is_concepts else f" ends with an {level} of {value}"
        said = f"{has}. There is no other learner to compare it with."
        return (Sentence((Name(best), said)),)
    word = "highest" if higher else "lowest"
    if table is None or not table.pairs:
        said = f" has the {word} {level}, {value}; the learners could not be compared seed by seed."
        return (Sentence((Name(best), said)),)
    sure, likely, open_ = _sorted_rivals(best, known, table)
    first = Sentence((Name(best), f" has the {word} {level}, {value}."))
    return (first, *_verdict(best, sure, likely, open_))


@dataclass(frozen=True)
class _Rival:
    """Another learner, seen from the best one: the difference is the best's minus its."""

    label: str
    difference: Number
    holm_p: float
    smallest_p: float

    @property
    def interval_excludes_zero(self) -> bool:
        return self.difference.low > 0 or self.difference.high < 0


def at_the_end(
    headline: Mapping[str, Number], values: Mapping[str, Number], words: Words, higher: bool = True
) -> tuple[Sentence, ...]:
    """Where learners are judged over all of time: who has the best average at the end of it."""
    pick = max if higher else min
    known = {label: number for label, number in values.items() if number.is_known}
    over_time = {label: number for label, number in headline.items() if number.is_known}
    if len(known) < 2 or not over_time:
        return ()
    best = pick(known, key=lambda label: known[label].value)
    word = "highest" if higher else "lowest"
    if best == pick(over_time, key=lambda label: over_time[label].value):
        start: tuple[str, ...] = (f"After the last {words.task} it also has",)
    else:
        start = (f"After the last {words.task} ", Name(best), " has")
    said = f" the {word} {words.average} over all {words.tasks}, {with_interval(known[best])}."
    return (Sentence((*start, said)),)


def _sorted_rivals(
    best: str, known: Mapping[str, Number], table: PairTable
) -> tuple[list[_Rival], list[_Rival], list[_Rival]]:
    """Rivals that the test tells apart; those that it cannot for lack of seeds; those it could but does not."""
    sure, likely, open_ = [], [], []
    for pair in table.pairs:
        other = pair.second if pair.first == best else pair.first if pair.second == best else None
        if other is None or other not in known:
            continue
        rival = _Rival(other, _seen_from(best, pair), pair.holm_p, pair.smallest_p)
        # Holm multiplies the smallest p of the pairs by their number: the least that a test can then give.
        too_few = pair.smallest_p > LEVEL
        if pair.holm_p <= LEVEL:
            sure.append(rival)
        elif rival.interval_excludes_zero and (too_few or np.isclose(pair.p, pair.smallest_p)):
            likely.append(rival)
        else:
            open_.append(rival)
    return sure, likely, open_


def _seen_from(best: str, pair: Pair) -> Number:
    d = pair.difference
    return d if pair.first == best else Number(-d.value, -d.high, -d.low, d.n, d.reason)


def _verdict(
    best: str, sure: Sequence[_Rival], likely: Sequence[_Rival], open_: Sequence[_Rival]
) -> Iterator[Sentence]:
    if sure:
        worst = max(rival.holm_p for rival in sure)
        size = _differences(sure)
        yield Sentence(
            (
                "It is ahead of ",
                *listed([rival.label for rival in sure]),
                f" ({size}), and the seeds can tell: Holm-corrected p {_p(worst)}.",
            )
        )
    if likely:
        n = likely[0].difference.n
        smallest = min(rival.smallest_p for rival in likely)
        corrected = min(rival.holm_p for rival in likely)
        raised = f", {corrected:.2g} when corrected for several pairs" if corrected > smallest * 1.01 else ""
        yield Sentence(
            (
                "It is ahead of ",
                *listed([rival.label for rival in likely]),
                f" ({_differences(likely)}; the interval over {n} paired seeds excludes zero), but the test"
                f" cannot confirm it: {n} seeds give no p below {smallest:.2g}, whatever the scores{raised}.",
            )
        )
    if open_:
        seeds = {rival.difference.n for rival in open_}
        if max(seeds) < 2:
            yield Sentence(("One seed cannot tell it from ", *listed([r.label for r in open_]), "."))
            return
        yield Sentence(
            (
                "The seeds cannot tell it from ",
                *listed([rival.label for rival in open_]),
                f" ({_differences(open_)}; Holm-corrected p {_p(min(r.holm_p for r in open_), 'at least')}).",
            )
        )


def _differences(rivals: Sequence[_Rival]) -> str:
    if len(rivals) == 1:
        return f"by {with_interval(rivals[0].difference)}"
    sizes = sorted((rival.difference.value for rival in rivals), key=abs)
    return f"by {shown(sizes[0], 3)} to {shown(sizes[-1], 3)}"


def _p(value: float, bound: str = "at most") -> str:
    return f"{bound} {value:.2g}" if value >= 0.001 else "below 0.001"
