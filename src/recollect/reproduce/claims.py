"""The claims of Michel et al. 2023, section 5.3, each as a check with a verdict, a number and an interval.

The paper's words ("nearly constant", "strong increase") have no numbers. The thresholds are ours. A verdict needs the
whole 95 % interval over seeds on one side of the threshold; else, and with one seed, the answer is "cannot tell".

A claim about one learner reads all tasks after which it was evaluated; one that compares two reads those that both
have. Change over training is that of the least-squares line through the curve, from its first to its last such task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recollect.matrix import Array
from recollect.metrics import score
from recollect.report.summary import labels_of
from recollect.report.words import interval, shown
from recollect.reproduce.coefficients import from_definitions
from recollect.runs import Group, at_common_rows
from recollect.stats import Estimate, Plateau, estimate, find_plateau
from recollect.text import Table

REPRODUCED, NOT_REPRODUCED, CANNOT_TELL = "reproduced", "not reproduced", "cannot tell"
LEARNERS = ("finetune", "er", "gdumb")

# RAA "almost constant": its line changes by at most this much over training.
CONSTANT_RAA = 0.05
# "Distinct training regimes": RAA changes by more than this part of its own mean level more than another learner's.
# A part, not a number: RAA itself is small where there are many classes.
DISTINCT = 0.5
# RAA "near zero": the mean of the curve is at most this.
NEAR_ZERO = 0.10
# AF "rather constant or slightly increasing": its line changes by no less and no more than these.
CONSTANT_AF = (-0.10, 0.20)
# RAF "strong increase": its line rises by more than this.
STRONG_RAF = 0.10
# A plateau "around task 25": its whole interval is within 25 plus or minus this part of the tasks.
AROUND = 0.10

# Plateaus of the text, tasks from 1. The caption of Figure 3 says of GDumb that it is on CIFAR-100, without a task.
TINY_PLATEAUS = {"gdumb": 25, "er": 65}


Named = tuple[str, Group]


@dataclass(frozen=True)
class Check:
    """One claim about one learner on one stream: the verdict, the number it rests on, and the rule.

    `tasks` says how many of the tasks it reads.
    """

    claim: str
    stream: str
    learner: str
    verdict: str
    number: Estimate
    what: str
    rule: str
    note: str = ""
    tasks: str = ""

    @property
    def line(self) -> str:
        """One line for a terminal."""
        return f"{self.verdict:<15} {self.stream}: {self.claim} ({self.learner}): {self.what} {self.shown_number}"

    @property
    def shown_number(self) -> str:
        ends = interval(float(self.number.low), float(self.number.high), 3) or "no interval"
        return f"{shown(float(self.number.value), 3)} {ends} (n = {self.number.n})"


def check_claims(groups: Sequence[Group]) -> tuple[Check, ...]:
    """Every claim on every stream of the groups; learners other than the paper's three are passed over.

    What the paper says of both data sets is checked on any stream, what it says of one only there; a stream that
    is not Tiny ImageNet stands in for CIFAR-100.
    """
    found: list[Check] = []
    streams = dict.fromkeys((group.stream, group.family) for group in groups)
    for key in streams:
        members = [group for group in groups if (group.stream, group.family) == key]
        named = zip(labels_of(members), members, strict=True)
        own = sorted(
            ((label, group) for label, group in named if group.learner in LEARNERS),
            key=lambda pair: LEARNERS.index(pair[1].learner),
        )
        found += _check_stream(key[0], own)
    return tuple(found)


def change(curves: Array) -> Array:
    """Change of each seed's least-squares line between the first and the last known point of its curve.

    >>> change(np.array([[np.nan, 0.2, 0.3, 0.4]])).round(6)
    array([0.2])
    """
    made = np.full(len(curves), np.nan)
    for seed, curve in enumerate(curves):
        known = np.flatnonzero(np.isfinite(curve))
        if len(known) >= 2:
            made[seed] = np.polyfit(known, curve[known], 1)[0] * (known[-1] - known[0])
    return made


def judge(number: Estimate, low: float = -np.inf, high: float = np.inf) -> str:
    """Say whether the whole interval is between the bounds, outside of them, or neither.

    >>> judge(estimate([-0.3, -0.31, -0.29]), high=0), judge(estimate([0.3, 0.31]), high=0)
    ('reproduced', 'not reproduced')
    >>> judge(estimate([0.1, -0.1]), high=0), judge(estimate([-0.3]), high=0)
    ('cannot tell', 'cannot tell')
    """
    ends = float(number.low), float(number.high)
    if not np.isfinite(ends).all():
        return CANNOT_TELL
    if low < ends[0] and ends[1] < high:
        return REPRODUCED
    return NOT_REPRODUCED if ends[1] <= low or ends[0] >= high else CANNOT_TELL


def claims_table(checks: Sequence[Check]) -> Table:
    """All checks as a table."""
    head = ("claim", "stream", "tasks", "learner", "verdict", "measured", "value and 95 % interval", "rule", "note")
    rows = tuple(
        (c.claim, c.stream, c.tasks, c.learner, c.verdict, c.what, c.shown_number, c.rule, c.note) for c in checks
    )
    return Table(head, rows)


def _compared(stream: str, one: Named, other: Named, make: Callable[[str, Named, Named], Check]) -> Check:
    """The check of two learners over the tasks after which both were evaluated."""
    (first, second), rows = at_common_rows([one[1], other[1]])
    return replace(make(stream, (one[0], first), (other[0], second)), tasks=f"{len(rows)} of {first.matrix.T}")


def _check_stream(stream: str, named: Sequence[Named]) -> list[Check]:
    is_tiny = "tiny-imagenet" in stream
    made = [_accuracy_falls(stream, label, group) for label, group in named]
    for label, group in named:
        if group.learner == "finetune":
            made += _constant_near_zero(stream, label, group)
    for first, second, make in _PAIRS:
        made += [
            _compared(stream, one, other, make)
            for one in named
            for other in named
            if (one[1].learner, other[1].learner) == (first, second)
        ]
    for label, group in named:
        if group.learner == "er" and not is_tiny:
            made.append(_still_rising(stream, label, group))
        if group.learner in TINY_PLATEAUS and (is_tiny or group.learner == "gdumb"):
            made.append(_plateau(stream, label, group, TINY_PLATEAUS[group.learner] if is_tiny else None))
        if group.learner == "gdumb" and not is_tiny:
            made.append(_only_rescaled(stream, label, group))
    made += [_forgetting_constant(stream, label, group) for label, group in named]
    made += [_rescaled_rises(stream, label, group) for label, group in named]
    own = {label: f"{int(group.matrix.planned.sum())} of {group.matrix.T}" for label, group in named}
    made = [check if check.tasks else replace(check, tasks=own[check.learner]) for check in made]
    return made + [_absent(stream, learner) for learner in LEARNERS if learner not in {g.learner for _, g in named}]


def _curves(group: Group, id: str) -> Array:
    return score(group.matrix, id, curve=True)


def _mean(curves: Array) -> Array:
    """The mean of each seed's curve over the tasks where it is known."""
    known = np.isfinite(curves)
    with np.errstate(invalid="ignore"):
        mean: Array = np.where(known, curves, 0).sum(axis=1) / known.sum(axis=1)
    return mean


def _absent(stream: str, learner: str) -> Check:
    number = estimate(np.full(1, np.nan))
    return Check(
        f"all claims about {learner}", stream, learner, CANNOT_TELL, number, "", "", "there is no finished run"
    )


def _accuracy_falls(stream: str, label: str, group: Group) -> Check:
    number = estimate(change(_curves(group, "acc.average")))
    return _check("AA decreases during training", stream, label, number, "change of AA", "below 0", high=0.0)


def _constant_near_zero(stream: str, label: str, group: Group) -> list[Check]:
    curves = _curves(group, "raa.michel2023")
    moved, level = estimate(change(curves)), estimate(_mean(curves))
    # A learner that keeps the newest task alone, with accuracy a, has RAA_k = (C_k / C_K)(a / k) = a / K.
    note = f"keeping only the newest of equal tasks gives RAA = a / {group.matrix.T}, a its accuracy"
    bound = CONSTANT_RAA
    rule = f"between -{bound:g} and {bound:g}"
    return [
        _check("RAA of finetune is almost constant", stream, label, moved, "change of RAA", rule, -bound, bound),
        _check(
            "RAA of finetune is near zero",
            stream,
            label,
            level,
            "mean RAA",
            f"below {NEAR_ZERO:g}",
            high=NEAR_ZERO,
            note=note,
        ),
    ]


def _still_rising(stream: str, label: str, group: Group) -> Check:
    curves = _curves(group, "raa.michel2023")
    late = estimate(change(curves[:, curves.shape[1] // 2 :]))
    plateau = find_plateau(curves)
    verdict = NOT_REPRODUCED if plateau.found else judge(late, low=0.0)
    note = plateau.describe("RAA") if plateau.found else f"shape over all tasks: {plateau.kind}"
    rule = "above 0, and no plateau found"
    what = "change of RAA over the second half"
    return Check("ER shows no plateau of RAA", stream, label, verdict, late, what, rule, note)


def _plateau(stream: str, label: str, group: Group, near: int | None) -> Check:
    curves = _curves(group, "raa.michel2023")
    found = find_plateau(curves)
    claim = "RAA reaches a plateau" if near is None else f"RAA reaches a plateau around task {near}"
    what, rule = "change of RAA a task after its best bend", "a plateau or a peak by find_plateau"
    verdict = _has_plateau(found)
    if near is not None:
        within = AROUND * group.matrix.T
        rule += f", its whole interval within {within:g} tasks of {near}"
        if found.low is not None and found.high is not None:
            verdict = _between(found.low + 1, found.high + 1, near - within, near + within)
    return Check(claim, stream, label, verdict, found.slope_after, what, rule, found.describe("RAA"))


def _only_rescaled(stream: str, label: str, group: Group) -> Check:
    """The caption of Figure 3: a plateau in RAA that AA does not show."""
    plateau = find_plateau(_curves(group, "raa.michel2023"))
    AA = _curves(group, "acc.average")
    after = estimate(change(AA if plateau.at is None else AA[:, plateau.at :]))
    verdict = judge(after, high=0.0) if plateau.found else _has_plateau(plateau)
    what = "change of AA" + ("" if plateau.at is None else f" from task {plateau.at + 1} on")
    rule = "RAA has a plateau, and from there on AA changes by less than 0"
    claim = "RAA shows a plateau that AA does not"
    return Check(claim, stream, label, verdict, after, what, rule, plateau.describe("RAA"))


def _has_plateau(found: Plateau) -> str:
    # "flat": the seeds show no rise, which may be theirs and not the curve's fault.
    return REPRODUCED if found.found else CANNOT_TELL if found.kind in ("undecided", "flat") else NOT_REPRODUCED


def _between(low: float, high: float, least: float, most: float) -> str:
    """The printed rule for an interval of tasks: all of it inside, all of it outside, or neither."""
    if least <= low and high <= most:
        return REPRODUCED
    return NOT_REPRODUCED if high < least or low > most else CANNOT_TELL


def _forgetting_constant(stream: str, label: str, group: Group) -> Check:
    number = estimate(change(_curves(group, "forgetting.chaudhry2018")))
    low, high = CONSTANT_AF
    rule = f"between {low:g} and {high:g}"
    return _check(
        "AF is rather constant or slightly increasing", stream, label, number, "change of AF", rule, low, high
    )


def _rescaled_rises(stream: str, label: str, group: Group) -> Check:
    """The text for finetune and ER ("a strong increase"), the caption of Figure 4 for every method."""
    strong = group.learner in ("finetune", "er")
    number = estimate(change(_curves(group, "raf.michel2023")))
    AF = _curves(group, "forgetting.chaudhry2018")
    classes = group.matrix.n_classes
    beta = np.full(group.matrix.T, np.nan) if classes is None else from_definitions(classes.tolist()).beta
    steady = estimate(change(np.where(np.isnan(AF), np.nan, beta * _mean(AF)[:, None])))
    note = f"an AF that stayed at its mean would give {shown(float(steady.value), 3)}"
    claim, low = ("RAF increases strongly", STRONG_RAF) if strong else ("RAF increases", 0.0)
    return _check(claim, stream, label, number, "change of RAF", f"above {low:g}", low=low, note=note)


def _separates(stream: str, one: Named, other: Named) -> Check:
    """Whether the changes of two learners' RAA differ by a good part of the first one's level, seed by seed."""
    ours, theirs = _of_both(one, other, "raa.michel2023")
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = (change(ours) - change(theirs)) / np.abs(_mean(ours))
    what = f"change of RAA, {one[0]} - {other[0]}, over the mean RAA of {one[0]}"
    claim = f"RAA separates the regimes of {one[0]} and {other[0]}"
    return _check(claim, stream, f"{one[0]}, {other[0]}", estimate(parts), what, f"above {DISTINCT:g}", low=DISTINCT)


def _rises_more(stream: str, one: Named, other: Named) -> Check:
    ours, theirs = _of_both(one, other, "raf.michel2023")
    claim = f"RAF rises more for {one[0]} than for {other[0]}"
    what = f"change of RAF, {one[0]} - {other[0]}"
    number = estimate(change(ours) - change(theirs))
    return _check(claim, stream, f"{one[0]}, {other[0]}", number, what, "above 0", low=0.0)


# (the learner whose curve should change more, the other, the check)
_PAIRS = (
    ("er", "finetune", _separates),
    ("gdumb", "finetune", _separates),
    ("finetune", "gdumb", _rises_more),
    ("er", "gdumb", _rises_more),
)


def _of_both(one: Named, other: Named, id: str) -> tuple[Array, Array]:
    """The curves of two learners over the seeds that both have; NaN for one seed where there is none."""
    seeds = [seed for seed in one[1].seeds if seed in other[1].seeds]
    if not seeds:
        nothing = np.full((1, one[1].matrix.T), np.nan)
        return nothing, nothing
    ours, theirs = (_curves(of, id)[[of.seeds.index(seed) for seed in seeds]] for _, of in (one, other))
    return ours, theirs


def _check(
    claim: str,
    stream: str,
    label: str,
    number: Estimate,
    what: str,
    rule: str,
    low: float = -np.inf,
    high: float = np.inf,
    note: str = "",
) -> Check:
    reasons = "; ".join(filter(None, (note, *number.notes)))
    return Check(claim, stream, label, judge(number, low, high), number, what, rule, reasons)
