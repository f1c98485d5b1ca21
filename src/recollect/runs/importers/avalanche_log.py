"""Avalanche's text log: what was learned and evaluated, in the order of time.

A training phase is one call of `strategy.train`; in it the log names each experience as it begins on it. Most
phases hold one, and its number is that of the test experience. An online stream cuts an experience into small
ones: a phase then holds hundreds, counted anew in each phase or on from phase to phase, and only the phases can
be the experiences that are evaluated. `_phase_is_experience` decides which of the two a log is, or refuses.

Avalanche opens its log for appending: a script that was started ten times leaves ten runs in one file. Training that
returns to the first experience is a new run (`_split`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path

from recollect.errors import UsageError
from recollect.inputs import plain_number
from recollect.runs.importers.build import Score, number, whole
from recollect.runs.importers.events import Evaluated, Learned
from recollect.runs.importers.files import cannot_read, in_words

NAME = "avalanche"

METRIC = re.compile(
    r"Top1_Acc_Exp/eval_phase/(?P<stream>[^/\s]+)_stream(?:/Task(?P<task>\d{1,6}))?/Exp(?P<exp>\d{1,6})"
)
# Loggers print tensors as they are, on a line of their own.
TENSOR = re.compile(r"\n?tensor\(([^,()]*)[^()]*\)")
_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"
_SCORE_LINE = re.compile(rf"\s*{METRIC.pattern} = \s*(?P<score>{_NUMBER})")
_PRINTED_LINE = re.compile(
    r"\s*(?P<name>Top1_Acc_Stream|StreamForgetting|StreamBWT)/eval_phase/(?P<stream>[^/\s]+)_stream(?:/Task\d{1,6})?"
    rf" = \s*(?P<score>{_NUMBER})"
)
# Avalanche's names of metrics of a whole evaluation, and what they are here.
PRINTED = {"Top1_Acc_Stream": "pooled", "StreamForgetting": "StreamForgetting", "StreamBWT": "StreamBWT"}
_TRAINING_ON = "-- Starting training on experience "


@dataclass(frozen=True)
class _PhaseBegins:
    """A training phase begins."""


@dataclass(frozen=True)
class _TrainingOn:
    """Training on an experience begins; None where its number cannot be read."""

    experience: str | None


@dataclass(frozen=True)
class _PhaseEnds:
    """A training phase ends."""


_Mark = _PhaseBegins | _TrainingOn | _PhaseEnds | Evaluated


@dataclass
class _Phase:
    """A training phase: the experiences it names, and those evaluated between it and the next phase."""

    begun: bool
    ended: bool = False
    trained: dict[str | None, None] = field(default_factory=dict)
    tested: set[str] = field(default_factory=set)


Events = list[Learned | Evaluated]


def log_runs(path: Path, text: str, wanted: str) -> tuple[list[Events], list[str]]:
    """What each run of the log tells of the stream `wanted`, and a note on what training phases were taken for."""
    marks = list(_marks(path, text, wanted))
    if any(len(phase.trained) > 1 for phase in _phases(marks)):
        events, notes = _online_events(path, marks)
        return [events], notes
    return [list(_by_number(part)) for part in _split(path, marks)], []


def _split(path: Path, marks: list[_Mark]) -> list[list[_Mark]]:
    """The marks of each run, where a phase holds one experience."""
    begins = [at for at, mark in enumerate(marks) if isinstance(mark, _PhaseBegins)]
    if not begins:
        return [marks]
    trained = [_experience_of(marks, at) for at in begins]
    if all(one is None for one in trained):
        starts = _starts_unnamed(path, marks, begins)
    else:
        starts = _starts_named(marks, begins, trained)
    # Where the log begins with evaluations of the untrained learner, every run does.
    untrained = sum(isinstance(mark, Evaluated) for mark in marks[: begins[0]])
    places = [0, *(_back(marks, start, untrained) for start in starts), len(marks)]
    return [marks[a:b] for a, b in pairwise(places)]


def _starts_named(marks: list[_Mark], begins: list[int], trained: list[str | None]) -> list[int]:
    """Where training returns to the first experience; not where `train` is called several times on each."""
    repeats = {one for place, one in enumerate(trained) if place and one == trained[place - 1]}
    called_often = len(repeats) > 1
    starts = []
    first = trained[0]
    for before, at, one, last in zip(begins, begins[1:], trained[1:], trained, strict=False):
        was_ended = any(isinstance(mark, _PhaseEnds) for mark in marks[before:at])
        if one == first and not (called_often and last == first and was_ended):
            starts.append(at)
    return starts


def _starts_unnamed(path: Path, marks: list[_Mark], begins: list[int]) -> list[int]:
    """Where fewer experiences are evaluated than before: InteractiveLogger does not say which one is trained."""
    starts = []
    most = 0
    for at, end in zip(begins, [*begins[1:], len(marks)], strict=True):
        tested = _evaluated(marks[at:end])
        if tested and len(tested) < most:
            starts.append(at)
            most = 0
        most = max(most, len(tested))
    evaluated = len(_evaluated(marks))
    if not starts and len(begins) > evaluated > 0:
        raise cannot_read(
            path,
            NAME,
            f"it has {len(begins)} training phases and evaluations of {evaluated} experiences, and does not say which"
            " experience a phase trains on: it may hold several runs. Give the log of one run.",
        )
    return starts


def _experience_of(marks: list[_Mark], begin: int) -> str | None:
    following = marks[begin + 1] if begin + 1 < len(marks) else None
    return following.experience if isinstance(following, _TrainingOn) else None


def _back(marks: list[_Mark], start: int, untrained: int) -> int:
    """The place of a run's first mark, given how many evaluations come before its training."""
    while untrained and isinstance(marks[start - 1], Evaluated):
        start, untrained = start - 1, untrained - 1
    return start


def _online_events(path: Path, marks: list[_Mark]) -> tuple[Events, list[str]]:
    """The events of a log in which a phase holds several experiences."""
    phases = _phases(marks)
    if _phase_is_experience(path, phases, _evaluated(marks)):
        most = max(len(phase.trained) for phase in phases)
        note = (
            f"a training phase holds up to {most} small experiences, which are not those evaluated (an online"
            " stream): the phases are taken for the experiences, numbered as they come"
        )
        return list(_by_place(marks)), [note]
    note = "a training phase holds several experiences: each is taken for learned when training on the next begins"
    return list(_by_number(marks)), [note]


def score_of(path: Path, text: str) -> Score:
    """The accuracy that a log or a table prints."""
    try:
        return number(plain_number(text))
    except ValueError:
        raise cannot_read(path, NAME, f"'{in_words(text)}' is not an accuracy.") from None


def no_scores(path: Path, wanted: str, other: set[str]) -> UsageError:
    """The error for a file without scores of the stream `wanted`; it says which streams there are."""
    streams = f"; it has evaluations of: {', '.join(sorted(other))}" if other else ": it holds no evaluation"
    return cannot_read(path, NAME, f"no Top1_Acc_Exp of the stream '{in_words(wanted)}' is in it{streams}.")


def _marks(path: Path, text: str, wanted: str) -> Iterator[_Mark]:
    other: set[str] = set()
    under_way, found = False, False
    scores: dict[str, Score] = {}
    # Metrics of an evaluation are printed after its end: they are put into what has been given already.
    printed: dict[str, float] = {}
    lines = TENSOR.sub(r"\1", text).split("\n")
    if _SCORE_LINE.match(lines[-1]):
        # No newline follows: the log was cut off there, perhaps inside the number.
        lines.pop()
    for line in lines:
        if line.startswith("-- >> Start of training phase"):
            if scores:
                # The evaluation before it was cut off when the run was stopped.
                yield Evaluated(scores, under_way, printed)
            scores, printed = {}, {}
            under_way = True
            yield _PhaseBegins()
        elif line.startswith(_TRAINING_ON):
            experience = whole(next(iter(line[len(_TRAINING_ON) :].split()), None))
            yield _TrainingOn(None if experience is None else str(experience))
        elif line.startswith("-- >> End of training phase"):
            under_way = False
            yield _PhaseEnds()
        elif line.startswith("-- >> End of eval phase") and scores:
            yield Evaluated(scores, under_way, printed)
            scores = {}
        elif line.startswith("-- >> Start of eval phase"):
            printed = {}
        elif match := _PRINTED_LINE.match(line):
            value = score_of(path, match["score"])
            if match["stream"] == wanted and value is not None:
                printed[PRINTED[match["name"]]] = value
        elif match := _SCORE_LINE.match(line):
            if match["stream"] == wanted:
                scores[str(int(match["exp"]))] = score_of(path, match["score"])
                found = True
            else:
                other.add(match["stream"])
    if scores:
        yield Evaluated(scores, under_way, printed)
    if not found:
        raise no_scores(path, wanted, other)


def _by_number(marks: Sequence[_Mark]) -> Iterator[Learned | Evaluated]:
    """Experiences under the numbers that the log gives them."""
    training, is_named = None, False
    phases = count()
    for mark in marks:
        if isinstance(mark, Evaluated):
            yield mark
        elif isinstance(mark, _PhaseBegins):
            # InteractiveLogger does not say which experience it is: they are numbered as they come.
            training, is_named = str(next(phases)), False
        elif isinstance(mark, _TrainingOn):
            if is_named and training not in (None, mark.experience):
                yield Learned(str(training))
            training, is_named = mark.experience, True
        else:
            if training is not None:
                yield Learned(training)
            training, is_named = None, False


def _by_place(marks: Sequence[_Mark]) -> Iterator[Learned | Evaluated]:
    """Training phases as experiences, numbered as they come."""
    learned = 0
    for mark in marks:
        if isinstance(mark, Evaluated):
            yield mark
        elif isinstance(mark, _PhaseEnds):
            yield Learned(str(learned))
            learned += 1


def _phases(marks: Sequence[_Mark]) -> list[_Phase]:
    phases: list[_Phase] = []
    for mark in marks:
        if isinstance(mark, Evaluated):
            if phases and phases[-1].ended:
                phases[-1].tested |= set(mark.scores)
            continue
        if isinstance(mark, _PhaseBegins):
            phases.append(_Phase(begun=True))
        elif not phases or phases[-1].ended:
            # The beginning of this phase is not in the file.
            phases.append(_Phase(begun=False))
        if isinstance(mark, _TrainingOn):
            phases[-1].trained[mark.experience] = None
        elif isinstance(mark, _PhaseEnds):
            phases[-1].ended = True
    return phases


def _evaluated(marks: Sequence[_Mark]) -> set[str]:
    return {task for mark in marks if isinstance(mark, Evaluated) for task in mark.scores}


def _phase_is_experience(path: Path, phases: Sequence[_Phase], evaluated: set[str]) -> bool:
    """Whether the phases are the experiences evaluated, where some phase names several; refuse if both may be.

    The numbers that the log gives are believed where they can be: every one is evaluated, and none is trained in
    two phases. Otherwise one of the two readings must be impossible.
    """
    numbers_fit = all(set(phase.trained) <= (phase.tested or evaluated) for phase in phases)
    restarts = _restarts(phases)
    if numbers_fit and not restarts:
        return False
    places_fit = _places_fit(phases, evaluated, restarts)
    if numbers_fit == places_fit:
        raise cannot_read(
            path,
            NAME,
            f"its {len(phases)} training phases hold up to {max(len(phase.trained) for phase in phases)} experiences"
            f" each, it has evaluations of {len(evaluated)}, and which phase learned which of them cannot be told."
            " Is the log whole, and of one run? Otherwise save get_all_metrics() of the run as JSON and give that.",
        )
    return places_fit


def _restarts(phases: Sequence[_Phase]) -> bool:
    """Whether a number is trained in two phases."""
    trained = [experience for phase in phases for experience in phase.trained]
    return len(set(trained)) < len(trained)


def _places_fit(phases: Sequence[_Phase], evaluated: set[str], restarts: bool) -> bool:
    """Whether phase i can be experience i.

    Each phase is whole (the last may be cut off), and what is evaluated after it includes it. There are as many
    phases as experiences; or fewer, in a run that was stopped, if the numbers start anew in each phase and
    each evaluation is of all experiences or of those learned so far. (Numbers that go on over fewer phases may as
    well be a long stream, trained in a few calls.)
    """
    whole_phases = phases if phases[-1].ended else phases[:-1]
    places = [str(i) for i in range(len(whole_phases))]
    for place, phase in zip(places, whole_phases, strict=True):
        if not (phase.begun and phase.ended and place in (phase.tested or evaluated)):
            return False
    if len(places) == len(evaluated):
        return True
    return restarts and all(
        phase.tested in (set(), evaluated) or phase.tested == set(places[: i + 1])
        for i, phase in enumerate(whole_phases)
    )
