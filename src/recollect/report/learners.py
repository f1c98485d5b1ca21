"""The learners of a stream, measured all at once: a thousand of them cost few passes over their scores.

Task by task, too: how much of each one's forgetting is within the task, older, newer, and where errors go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recollect.matrix import Array, ScoreMatrix
from recollect.metrics import evaluate_all, registry, score
from recollect.metrics.split import by_task
from recollect.metrics.sweep import Sweep
from recollect.report.class_answers import classes_of
from recollect.report.columns import TOTAL_TIME
from recollect.report.comparison import PLATEAU_CURVE, plateau_of
from recollect.report.over_items import are_shares
from recollect.report.over_rows import curves_over_rows
from recollect.report.provenance import config_text
from recollect.report.results import LearnerResult, Shares
from recollect.report.words import Words, explain
from recollect.runs import Group, Run
from recollect.runs.alike import matrix_of_runs
from recollect.runs.packed import stacked
from recollect.stats import Estimate, Plateau, estimate
from recollect.stats.estimate import Bounds
from recollect.stats.peak_noise import peak_noise

AF, PARTS = "forgetting.chaudhry2018", tuple(f"split.{part}" for part in ("within", "older", "newer"))
CURVES = (
    "acc.average",
    "raa.michel2023",
    "forgetting.chaudhry2018",
    "raf.michel2023",
    "acc.incremental",
    *PARTS,
)
# Cells of R, joint and restricted that are laid out at a time.
CELLS_AT_ONCE = 20_000_000


@dataclass(frozen=True, eq=False)
class MeasuredLearner:
    """A learner for the page, and behind it, run by run, what comparisons are made of."""

    learner: LearnerResult
    group: Group
    scores: Array
    values: Mapping[str, Array]


def measure(
    groups: Sequence[Group], labels: Sequence[str], words: Words, unscored: Mapping[str, str]
) -> list[MeasuredLearner]:
    """Measure every group; those whose runs are alike go together. `unscored` are tasks without a score."""
    costs = _costs(groups)
    made: dict[int, MeasuredLearner] = {}
    for places in _alike(groups):
        matrix = matrix_of_runs([run for place in places for run in groups[place].runs])
        batch = _Batch(matrix, len(places), words, unscored)
        for row, place in enumerate(places):
            group, label = groups[place], labels[place]
            learner = LearnerResult(
                label=label,
                name=group.learner,
                config=config_text(group),
                seeds=group.seeds,
                role=group.runs[0].role,
                numbers={**batch.numbers[row], **costs[place]},
                curves=batch.curves[row],
                plateau=batch.plateau(row),
                ends=batch.ends,
                learned_at=tuple(matrix.learned_at.tolist()) if words.by_rows else (),
                matrix=batch.matrices[row],
                untrained=batch.untrained[row],
                joint=batch.joint[row],
                parts=batch.parts[row],
                errors=error_shares(group),
                classes=classes_of(group),
                drops=batch.drops[row],
                is_constant=_is_constant(batch.scores[row]),
                **(batch.noise(row) if are_shares(group.runs[0]) else {}),
            )
            made[place] = MeasuredLearner(learner, group, batch.scores[row], batch.values(row))
    return [made[place] for place in range(len(groups))]


def _alike(groups: Sequence[Group]) -> Iterator[list[int]]:
    """Places of groups with as many seeds and the same companions, in lots that fit into memory."""
    kinds: dict[Any, list[int]] = {}
    for place, group in enumerate(groups):
        own = {_kind(run.matrix) for run in group.runs} if group.alike is None else {_kind(group.alike.at(0))}
        # Runs that differ among themselves keep only what all have, and must not take it from others.
        kind = (len(group.runs), own.pop()) if len(own) == 1 else place
        kinds.setdefault(kind, []).append(place)
    for places in kinds.values():
        group = groups[places[0]]
        matrix = group.matrix
        cells = sum(a.size for a in (matrix.R, matrix.joint, matrix.restricted) if a is not None)
        lot = max(1, CELLS_AT_ONCE // cells)
        for start in range(0, len(places), lot):
            yield places[start : start + lot]


def _kind(matrix: ScoreMatrix) -> tuple[Any, ...]:
    given = (*matrix._batched().values(), matrix.n_samples)
    same = (matrix.learned_at, matrix.planned, matrix.inside, matrix.n_classes, matrix.steps)
    return (
        matrix.R.shape,
        matrix.unit == "raw",
        tuple(array is None for array in given),
        tuple(None if array is None else array.tobytes() for array in same),
    )


def _is_constant(scores: Array) -> bool:
    return len(scores) > 1 and bool(np.array_equal(scores, np.broadcast_to(scores[:1], scores.shape), equal_nan=True))


class _Batch:
    """Several groups of equally many runs, stacked: every attribute has an entry per group."""

    def __init__(self, matrix: ScoreMatrix, groups: int, words: Words, unscored: Mapping[str, str]) -> None:
        self._matrix, self._groups = matrix, groups
        self._outcomes = evaluate_all(matrix, registry.resolve("all"), CURVES)
        self._bounds = {made.id: made.bounds for made in self._outcomes}
        self._curves = {made.id: made.curve for made in self._outcomes if made.curve is not None}
        self._values = self._apart(np.stack([made.value for made in self._outcomes], axis=-1))
        self.numbers = self._numbers(words, unscored)
        shown = curves_over_rows(matrix) if words.by_rows else self._curves
        self.curves = [
            {id: band for id, band in of.items() if np.isfinite(band.value).any()} for of in self._bands(shown)
        ]
        self.scores = self._apart(matrix.R)
        self._noise = self._apart(peak_noise(matrix))
        self.matrices = self._band(matrix.R, self._bounds["acc.average"])
        self.untrained = self._known(matrix.b, self._bounds["acc.average"])
        self.joint = self._known(matrix.joint, self._bounds["acc.average"])
        split = split_parts(matrix)
        over_time, per_task = ({}, {}) if split is None else split
        self.parts = [
            Shares(*both) if split is not None else None
            for both in zip(self._bands(over_time), self._bands(per_task), strict=True)
        ]
        self.drops = self._known(final_drops(matrix) if split is None else None)
        ends: list[int | None] = [None] * matrix.S
        for task, row in enumerate(matrix.learned_at.tolist()):
            if row >= 0:
                ends[row] = task + 1
        self.ends = tuple(ends)

    def values(self, row: int) -> dict[str, Array]:
        """A group's value of every metric, a number per run."""
        return {made.id: self._values[row, :, place] for place, made in enumerate(self._outcomes)}

    def noise(self, row: int) -> dict[str, Any]:
        """What test noise alone would show as forgetting in several runs, and what AF and its parts are beyond it."""
        alone = self._noise[row]
        if len(alone) < 2 or np.isnan(alone).any():
            return {}
        values = self.values(row)
        beyond = {id: estimate(values[id] - alone) for id in (AF, *PARTS) if not np.isnan(values[id]).any()}
        mean = float(alone.mean())
        return {"null": Estimate(mean, np.nan, np.nan, len(alone), "null", np.nan), "beyond": beyond}

    def plateau(self, row: int) -> Plateau | None:
        rising = self._curves.get(PLATEAU_CURVE)
        return None if rising is None else plateau_of(self._apart(rising)[row], self._matrix.higher_is_better)

    def _numbers(self, words: Words, unscored: Mapping[str, str]) -> list[dict[str, Estimate]]:
        """Every metric of every group; where there is no value, with the first run's reason."""
        seeds = self._values.shape[1]
        least, most = np.array([outcome.bounds for outcome in self._outcomes]).T
        made = [
            {outcome.id: one for outcome, one in zip(self._outcomes, line, strict=True)}
            for line in scalars(estimate(self._values, axis=1, bounds=(least, most)))
        ]
        for group, numbers in enumerate(made):
            for outcome in self._outcomes:
                if not numbers[outcome.id].n:
                    of_group = zip(outcome.reasons, outcome.unevaluated, strict=True)
                    first = next((pair for pair in list(of_group)[group * seeds :][:seeds] if pair[0]), (None, False))
                    why = None if first[0] is None else explain(first[0], first[1], unscored, words)
                    numbers[outcome.id] = replace(numbers[outcome.id], reason=why)
                elif own := outcome.notes[len(self._matrix.notes) :]:
                    said = "; ".join(filter(None, (*own, numbers[outcome.id].reason)))  # type: ignore[arg-type]
                    numbers[outcome.id] = replace(numbers[outcome.id], reason=said)
        return made

    def _apart(self, runs: Array) -> Array:
        """(runs, ...) as (groups, seeds, ...)."""
        return runs.reshape(self._groups, -1, *runs.shape[1:])

    def _band(self, runs: Array, bounds: Bounds | None = None) -> list[Estimate]:
        made = estimate(self._apart(runs), axis=1, bounds=bounds)
        return made.points()

    def _known(self, runs: Array | None, bounds: Bounds | None = None) -> list[Estimate | None]:
        if runs is None:
            return [None] * self._groups
        return [None if np.isnan(one.value).all() else one for one in self._band(runs, bounds)]

    def _bands(self, runs: Mapping[str, Array]) -> list[dict[str, Estimate]]:
        """Several arrays (runs, ...) of one shape, estimated at once."""
        if not runs:
            return [{} for _ in range(self._groups)]
        least, most = np.array([self._bounds.get(id, (-np.inf, np.inf)) for id in runs]).T[:, :, None]
        stacked = self._band(np.stack(list(runs.values()), axis=1), (least, most))
        return [dict(zip(runs, of.points(), strict=True)) for of in stacked]


def scalars(made: Estimate) -> list[list[Estimate]]:
    """The numbers of an estimate of shape (lines, columns), one by one; by far quicker than `Estimate.at` each."""
    parts = (np.asarray(part).tolist() for part in (made.value, made.low, made.high, made.n, made.sd, made.reason))
    return [
        [Estimate(v, lo, hi, n, made.method, sd, made.level, why) for v, lo, hi, n, sd, why in zip(*line, strict=True)]
        for line in zip(*parts, strict=True)
    ]


def _costs(groups: Sequence[Group]) -> list[dict[str, Estimate]]:
    """Mean time, memory and storage of the runs that say them."""
    found: dict[str, Array] = {}
    most = max(len(group.runs) for group in groups)

    def note(id: str, group: int, seed: int, value: float) -> None:
        found.setdefault(id, np.full((len(groups), most), np.nan))[group, seed] = value

    for place, group in enumerate(groups):
        for seed, run in enumerate(group.runs):
            for prefix, values in (("timings", run.timings), ("cost", run.cost)):
                for key, value in values.items():
                    if isinstance(value, int | float):
                        note(f"{prefix}.{key}", place, seed, value * (1e-6 if key.endswith("_bytes") else 1))
            if {"train_seconds", "evaluate_seconds"} <= set(run.timings):
                total = run.timings["train_seconds"] + run.timings["evaluate_seconds"]
                note(TOTAL_TIME, place, seed, total)
    if not found:
        return [{} for _ in groups]
    # No run takes less than no time; where there is no interval, low is NaN and stays it.
    made = scalars(estimate(np.stack(list(found.values()), axis=-1), axis=1))
    return [
        {id: replace(one, low=max(one.low, 0.0)) for id, one in zip(found, line, strict=True) if one.n} for line in made
    ]


SIDES = ("own", "older", "newer")


def split_parts(matrix: ScoreMatrix) -> tuple[dict[str, Array], dict[str, Array]] | None:
    """The parts of forgetting (`split.within`, `.older`, `.newer`), over time and per task at the end, each (runs, T).

    None where the scores among fewer classes are not there, or no earlier task is.
    """
    if matrix.masked is None or matrix.asked is None or matrix.unit == "raw":
        return None
    sweep, parts = Sweep.of(matrix), by_task(matrix)
    if np.isnan(parts["newer"]).all():
        return None
    over_time = {
        name: np.asarray(score(matrix, f"split.{name}", curve=True)).reshape(sweep.N, matrix.T) for name in parts
    }
    return over_time, {name: drops[:, -1] for name, drops in parts.items()}


def final_drops(matrix: ScoreMatrix) -> Array:
    """How much each task has dropped from its best score in the end, (runs, T); its mean is `forgetting.chaudhry2018`.

    >>> final_drops(ScoreMatrix([[.8, .1], [.6, .9]])).round(3)
    array([[0.2, nan]])
    """
    sweep = Sweep.of(matrix)
    drops = np.full((sweep.N, matrix.T), np.nan)
    for tasks, (peak, now) in zip(sweep.before, sweep.peaks_since_learned(), strict=True):
        drops[:, sweep.columns[tasks]] = (peak - now).T
    return drops


def error_shares(group: Group) -> Shares | None:
    """Where the answers go, over the tasks seen so far; None where the rows do not say it.

    Rows carry, for every task, how many wrong answers were classes of the task itself, of older and of newer
    tasks. A share is of the task's test samples; over time it is the mean over the tasks seen.
    """
    T = group.runs[0].T
    shares = _shares_of_packed(group.runs, T)
    if shares is None:
        shares = {side: np.full((len(group.runs), T, T), np.nan) for side in (*SIDES, "right")}
        for place, run in enumerate(group.runs):
            sizes = [task.n_samples for task in run.tasks]
            for task, row in run.timeline.ends.items():
                for side, values in (_shares(row.errors, row.n or tuple(sizes), T) or {}).items():
                    shares[side][place, task] = values
    last = max((task for run in group.runs for task in run.ended), default=-1)
    over_time, per_task = {}, {}
    for side, cells in shares.items():
        seen = [cells[:, task, : task + 1].mean(axis=-1) for task in range(T)]
        over_time[side] = np.stack(seen, axis=1)
        per_task[side] = np.where(np.arange(T) <= last, cells[:, last], np.nan)
    if all(np.isnan(values).all() for values in over_time.values()):
        return None
    return Shares(bands(over_time), bands(per_task))


def _shares_of_packed(runs: Sequence[Run], T: int) -> dict[str, Array] | None:
    """Shares of answers, (runs, rows, tasks), of runs that an index had ready; None of others."""
    packed = [run.packed for run in runs if run.packed is not None]
    if len(packed) < len(runs):
        return None
    try:
        n, *errors = (stacked(packed, name) for name in ("n", *SIDES))
    except ValueError:  # some have them, and some have not
        return None
    known = [values for values in errors if values is not None]
    if len(known) < len(SIDES):
        return {side: np.full((len(runs), T, T), np.nan) for side in (*SIDES, "right")}
    sizes = np.array([[task.n_samples for task in run.tasks] for run in runs], dtype=np.float64)[:, None]
    n = sizes if n is None else n
    shares = {side: values / np.where(n == 0, np.nan, n) for side, values in zip(SIDES, known, strict=True)}
    shares["right"] = 1 - sum(shares.values(), np.zeros(1))
    return shares


def _shares(errors: Any, sizes: tuple[int | None, ...], T: int) -> dict[str, Array] | None:
    if not isinstance(errors, Mapping) or not all(side in errors for side in SIDES):
        return None
    n = _floats(sizes, T)
    n[n == 0] = np.nan
    shares = {side: _floats(errors[side], T) / n for side in SIDES}
    shares["right"] = 1 - sum(shares.values(), np.zeros(T))
    return shares


def _floats(values: Any, T: int) -> Array:
    """A number a task, NaN for what is not one: rows of other tools may hold anything under this name."""
    out = np.full(T, np.nan)
    if isinstance(values, list | tuple):
        for place, value in enumerate(values[:T]):
            if isinstance(value, int | float) and not isinstance(value, bool):
                out[place] = value
    return out


def bands(values: Mapping[str, Array]) -> dict[str, Estimate]:
    """Estimate several arrays (seeds, ...) of shares, of one shape, at once."""
    made = estimate(np.stack(list(values.values()), axis=1), bounds=(0, 1))
    return dict(zip(values, made.points(), strict=True))
