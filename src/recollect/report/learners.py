"""The learners of a stream, measured all at once: a thousand of them cost few passes over their scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.matrix import Array, ScoreMatrix
from recollect.metrics import Outcome, evaluate, registry
from recollect.report.columns import TOTAL_TIME
from recollect.report.comparison import PLATEAU_CURVE
from recollect.report.contents import Band, Bend, Learner, Number, Parts
from recollect.report.over_rows import curves_over_rows
from recollect.report.parts import error_shares, final_drops, split_parts
from recollect.report.provenance import config_text
from recollect.report.words import Words
from recollect.runs import Group
from recollect.stats import Estimate, Plateau, estimate, find_plateau

CURVES = (
    "acc.average",
    "raa.michel2023",
    "forgetting.chaudhry2018",
    "raf.michel2023",
    "split.lost",
    "split.confusion",
    "split.chance",
)
# Cells of R, joint and restricted that are laid out at a time.
CELLS_AT_ONCE = 20_000_000


@dataclass(frozen=True, eq=False)
class Measured:
    """A learner for the page, and behind it, run by run, what comparisons are made of."""

    learner: Learner
    group: Group
    scores: Array
    values: Mapping[str, Array]


def measure(groups: Sequence[Group], labels: Sequence[str], references: set[str], words: Words) -> list[Measured]:
    """Measure every group; those whose runs are alike go together."""
    costs = _costs(groups)
    made: dict[int, Measured] = {}
    for places in _alike(groups):
        matrix = ScoreMatrix.stack([run.matrix for place in places for run in groups[place].runs])
        batch = _Batch(matrix, len(places), words)
        for row, place in enumerate(places):
            group, label = groups[place], labels[place]
            learner = Learner(
                label=label,
                name=group.learner,
                config=config_text(group),
                seeds=group.seeds,
                is_reference=group.learner in references,
                numbers={**batch.numbers[row], **costs[place]},
                curves=batch.curves[row],
                bend=batch.bend(row),
                ends=batch.ends,
                learned_at=tuple(matrix.learned_at.tolist()) if words.by_rows else (),
                matrix=batch.matrices[row],
                untrained=batch.untrained[row],
                joint=batch.joint[row],
                parts=batch.parts[row],
                errors=error_shares(group),
                drops=batch.drops[row],
            )
            made[place] = Measured(learner, group, batch.scores[row], batch.values(row))
    return [made[place] for place in range(len(groups))]


def _alike(groups: Sequence[Group]) -> Iterator[list[int]]:
    """Places of groups with as many seeds and the same companions, in lots that fit into memory."""
    kinds: dict[Any, list[int]] = {}
    for place, group in enumerate(groups):
        own = {_kind(run.matrix) for run in group.runs}
        # Runs that differ among themselves keep only what all have, and must not take it from others.
        kind = (len(group.runs), own.pop()) if len(own) == 1 else place
        kinds.setdefault(kind, []).append(place)
    for places in kinds.values():
        group = groups[places[0]]
        matrix = group.runs[0].matrix
        cells = len(group.runs) * sum(a.size for a in (matrix.R, matrix.joint, matrix.restricted) if a is not None)
        lot = max(1, CELLS_AT_ONCE // cells)
        for start in range(0, len(places), lot):
            yield places[start : start + lot]


def _kind(matrix: ScoreMatrix) -> tuple[Any, ...]:
    given = (matrix.b, matrix.joint, matrix.restricted, matrix.masked, matrix.correct, matrix.n_samples)
    same = (matrix.learned_at, matrix.n_classes, matrix.steps)
    return (
        matrix.R.shape,
        matrix.unit == "raw",
        tuple(array is None for array in given),
        tuple(None if array is None else array.tobytes() for array in same),
    )


class _Batch:
    """Several groups of equally many runs, stacked: every attribute has an entry a group."""

    def __init__(self, matrix: ScoreMatrix, groups: int, words: Words) -> None:
        self._matrix, self._groups = matrix, groups
        self._outcomes = [evaluate(matrix, registry.get(id), curve=id in CURVES) for id in registry.all_ids()]
        self._curves = {made.id: made.curve for made in self._outcomes if made.curve is not None}
        self._values = self._apart(np.stack([made.value for made in self._outcomes], axis=-1))
        self.numbers = _numbers(self._outcomes, estimate(self._values, axis=1), self._values.shape[1])
        shown = curves_over_rows(matrix) if words.by_rows else self._curves
        self.curves = [
            {id: band for id, band in of.items() if np.isfinite(band.value).any()} for of in self._bands(shown)
        ]
        self.scores = self._apart(matrix.R)
        self.matrices = self._band(matrix.R)
        self.untrained = self._known(matrix.b)
        self.joint = self._known(matrix.joint)
        split = split_parts(matrix)
        over_time, per_task = ({}, {}) if split is None else split
        self.parts = [
            Parts(*both) if split is not None else None
            for both in zip(self._bands(over_time), self._bands(per_task), strict=True)
        ]
        self.drops = self._known(final_drops(matrix) if split is None else None)
        ends: list[int | None] = [None] * matrix.S
        for task, row in enumerate(matrix.learned_at.tolist()):
            if row >= 0:
                ends[row] = task + 1
        self.ends = tuple(ends)

    def values(self, row: int) -> dict[str, Array]:
        """A group's value of every metric, a number a run."""
        return {made.id: self._values[row, :, place] for place, made in enumerate(self._outcomes)}

    def bend(self, row: int) -> Bend | None:
        rising = self._curves.get(PLATEAU_CURVE)
        mine = None if rising is None else self._apart(rising)[row]
        if mine is None or np.isnan(mine).all():
            return None
        return _bend(find_plateau(mine, higher_is_better=self._matrix.higher_is_better))

    def _apart(self, runs: Array) -> Array:
        """(runs, ...) as (groups, seeds, ...)."""
        return runs.reshape(self._groups, -1, *runs.shape[1:])

    def _band(self, runs: Array) -> list[Band]:
        made = Band.of(estimate(self._apart(runs), axis=1))
        return [Band(*parts) for parts in zip(made.value, made.low, made.high, strict=True)]

    def _known(self, runs: Array | None) -> list[Band] | list[None]:
        return [None] * self._groups if runs is None or np.isnan(runs).all() else self._band(runs)

    def _bands(self, runs: Mapping[str, Array]) -> list[dict[str, Band]]:
        """Several arrays (runs, ...) of one shape, estimated at once."""
        if not runs:
            return [{} for _ in range(self._groups)]
        stacked = self._band(np.stack(list(runs.values()), axis=1))
        return [
            {name: Band(of.value[place], of.low[place], of.high[place]) for place, name in enumerate(runs)}
            for of in stacked
        ]


def _numbers(outcomes: Sequence[Outcome], made: Estimate, seeds: int) -> list[dict[str, Number]]:
    """Every metric of every group, from estimates of shape (groups, metrics)."""
    return [
        {
            outcome.id: Number.rounded(value, low, high, n, _reason(outcome, group * seeds, seeds) if n == 0 else None)
            for outcome, value, low, high, n in zip(outcomes, *lines, strict=True)
        }
        for group, lines in enumerate(_lines(made))
    ]


def _reason(outcome: Outcome, start: int, seeds: int) -> str | None:
    return next((reason for reason in outcome.reasons[start : start + seeds] if reason), None)


def _bend(made: Plateau) -> Bend:
    before, after = Number.of(made.slope_before), Number.of(made.slope_after)
    return Bend(made.kind, made.found, made.at, made.low, made.high, before, after, made.n, made.reason)


def _costs(groups: Sequence[Group]) -> list[dict[str, Number]]:
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
    made: list[dict[str, Number]] = [{} for _ in groups]
    for id, measured in found.items():
        for of, (value, low, high, n) in zip(made, _lines(estimate(measured, axis=1)), strict=True):
            if n:  # no run takes less than no time; where there is no interval, low is NaN and stays it
                of[id] = Number.rounded(value, max(low, 0.0), high, n)
    return made


def _lines(made: Estimate) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Value, low, high and n along the first axis, as Python's numbers or lists of them."""
    value, low, high, n = (np.asarray(part).tolist() for part in (made.value, made.low, made.high, made.n))
    return zip(value, low, high, n, strict=True)
