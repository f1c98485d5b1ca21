"""Metrics and their names: a card for each, the decorator that turns a formula into one, ids, aliases and families."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recollect.errors import MissingCells, UsageError
from recollect.inputs import value_range
from recollect.matrix import Array, ScoreMatrix, as_scores
from recollect.metrics.cells import Cells
from recollect.metrics.missing import missing_cells
from recollect.metrics.sweep import Sweep, Undefined
from recollect.nearest import nearest
from recollect.values import shown

Formula = Callable[..., Array]
Kind = Literal["level", "difference", "ratio"]


@dataclass(frozen=True)
class Card:
    """All that is said about a metric, in one place: the command, the docs and the reports read it here.

    `kind`: a "level" is in the unit of the scores and keeps their sign; a "difference" does not change when
    every score is shifted by a constant; a "ratio" has no unit. `caution` is what makes the number say less than
    its name does.
    """

    id: str
    summary: str
    latex: str
    source: str
    reads: Cells
    needs: tuple[str, ...]
    better: Literal["higher", "lower"]
    kind: Kind
    bounds: tuple[float, float]
    undefined: str
    printed_by: tuple[str, ...]
    equals: str
    details: str
    parameters: tuple[str, ...]
    same_as_truncated: bool
    caution: str

    @property
    def family(self) -> str:
        return self.id.split(".")[0]


class Metric:
    """A definition: callable on arrays, with a card.

    ``metric(R)`` takes arrays of shape (..., T, T) as they are and gives (...); ``metric.curve(R)`` gives the
    value after every task, (..., T). A cell that the formula reads and that is NaN raises MissingCells; where
    the formula is undefined the value is NaN. `recollect.score` says the reason, and knows units and
    directions.
    """

    def __init__(self, card: Card, formula: Formula) -> None:
        self.card = card
        self.formula = formula
        self.__doc__ = formula.__doc__
        self.__name__ = formula.__name__
        self.__module__ = formula.__module__

    def __repr__(self) -> str:
        return f"<metric {self.card.id}>"

    def __call__(self, R: ArrayLike | ScoreMatrix, **inputs: Any) -> float | Array:
        matrix, params = self._matrix(R, inputs)
        values = self._defined(matrix, params)
        self._refuse_missing(matrix, values, [len(values) - 1])
        return _shaped(values[-1], matrix.lead)

    def curve(self, R: ArrayLike | ScoreMatrix, **inputs: Any) -> Array:
        """Return the value after every task; NaN where undefined, or where no evaluation was planned."""
        matrix, params = self._matrix(R, inputs)
        values = self._defined(matrix, params)
        self._refuse_missing(matrix, values, range(len(values)))
        return spread(values, Sweep.of(matrix), matrix.lead)

    def rows(self, matrix: ScoreMatrix, **params: Any) -> Array:
        """Evaluate the formula on the planned rows, shape (P, N), in the direction of the scores."""
        if matrix.held_out.all() and self.card.reads is not Cells.HELD_OUT:
            raise Undefined("no task is trained on: every column is held out")
        values = self.formula(Sweep.of(matrix), **params)
        return -values if self.card.kind == "level" and not matrix.higher_is_better else values

    def _defined(self, matrix: ScoreMatrix, params: dict[str, Any]) -> Array:
        try:
            return self.rows(matrix, **params)
        except Undefined:
            sweep = Sweep.of(matrix)
            return np.full((sweep.P, sweep.N), np.nan)

    def _matrix(self, R: ArrayLike | ScoreMatrix, inputs: dict[str, Any]) -> tuple[ScoreMatrix, dict[str, Any]]:
        params = {k: inputs.pop(k) for k in self.card.parameters if k in inputs}
        if isinstance(R, ScoreMatrix):
            if inputs:
                raise UsageError(f"a ScoreMatrix carries its own {', '.join(inputs)}; give it there.")
            return R, params
        # An array is taken as it is: no percent is guessed, so a shifted matrix stays as the caller made it.
        arrays = {k: as_scores(inputs.pop(k), k) for k in ("b", "joint", "restricted") if inputs.get(k) is not None}
        arrays["R"] = as_scores(R, "R")
        low, high = value_range(list(arrays.values()))
        given = {"unit": "fraction" if low >= 0 and high <= 1 else "raw", "orientation": "time_rows"}
        try:
            return ScoreMatrix(**(given | inputs | arrays)), params
        except TypeError as error:
            raise UsageError(f"{self.card.id}: {str(error).removeprefix('ScoreMatrix.__init__() ')}.") from None

    def _refuse_missing(self, matrix: ScoreMatrix, values: Array, rows: Iterable[int]) -> None:
        for r in rows:
            runs = np.flatnonzero(np.isnan(values[r]))
            texts = missing_cells(self.card, Sweep.of(matrix), r, runs) if runs.size else []
            run, cells = next(((n, text) for n, text in zip(runs, texts, strict=True) if text), (0, ""))
            if cells:
                index = [int(i) for i in np.unravel_index(run, matrix.lead)] if matrix.lead else []
                of_run = f" of run {index[0] if len(index) == 1 else index}" if index else ""
                raise MissingCells(f"{self.card.id} reads {cells}{of_run}, which was not evaluated (NaN).")


def _shaped(values: Array, lead: tuple[int, ...]) -> float | Array:
    return values.reshape(lead) if lead else float(values[0])


def spread(values: Array, sweep: Sweep, lead: tuple[int, ...]) -> Array:
    """Lay values of rows (P, N) out over all tasks, (..., T): at each task's own row; the newest has that of now."""
    if sweep.is_full and sweep.T == sweep.matrix.T:
        out = values
    else:
        out = np.full((sweep.matrix.T, sweep.N), np.nan)
        tasks = np.flatnonzero(sweep.own >= 0)
        # Of tasks that were learned together the last one stands for all.
        last = tasks[np.append(np.diff(sweep.own[tasks]) > 0, True)] if tasks.size else tasks
        out[sweep.columns[last]] = values[sweep.own[last]]
        if sweep.seen[-1]:
            out[sweep.columns[sweep.seen[-1] - 1]] = values[-1]
    return np.ascontiguousarray(out.T).reshape(*lead, sweep.matrix.T)


REGISTRY: dict[str, Metric] = {}

ALIASES = {
    "bwt.pyclad": "bwt.diazrodriguez2018",
    "fwt.pyclad": "fwt.diazrodriguez2018",
    "acc.ap": "acc.average",
    "acc.aa": "acc.average",
    "acc.aia": "acc.incremental",
    "acc.ca": "acc.continual_average",
    "forgetting.af": "forgetting.chaudhry2018",
    # What people type, in any case of letters.
    "AA": "acc.average",
    "ACC": "acc.average",
    "AP": "acc.average",
    "Last": "acc.average",
    "MFN": "acc.average",
    "AIA": "acc.incremental",
    "MAA": "acc.incremental",
    "A-bar": "acc.incremental",
    "LA": "acc.learning",
    "MFT": "acc.learning",
    "CA": "acc.continual_average",
    "AF": "forgetting.chaudhry2018",
    "FM": "forgetting.chaudhry2018",
    "INT": "intransigence.begin",
    "RAA": "raa.michel2023",
    "RAF": "raf.michel2023",
}


def metric(
    *,
    latex: str,
    source: str,
    reads: Cells,
    better: Literal["higher", "lower"],
    kind: Kind,
    bounds: tuple[float, float] = (-1, 1),
    needs: tuple[str, ...] = (),
    undefined: str = "",
    printed_by: tuple[str, ...] = (),
    equals: str = "",
    parameters: tuple[str, ...] = (),
    same_as_truncated: bool = True,
    caution: str = "",
) -> Callable[[Formula], Metric]:
    """Register a formula under ``<module>.<function>``, with its card.

    The formula takes a Sweep and gives its values at every planned row, shape (P, N); NaN where undefined.
    """

    def register(formula: Formula) -> Metric:
        doc = formula.__doc__ or ""
        summary, _, details = doc.partition("\n\n")
        card = Card(
            id=f"{formula.__module__.rsplit('.', 1)[-1]}.{formula.__name__}",
            summary=" ".join(summary.split()),
            latex=latex,
            source=source,
            reads=reads,
            needs=needs,
            better=better,
            kind=kind,
            bounds=bounds,
            undefined=undefined,
            printed_by=printed_by,
            equals=equals,
            details=details,
            parameters=parameters,
            same_as_truncated=same_as_truncated,
            caution=caution,
        )
        REGISTRY[card.id] = made = Metric(card, formula)
        return made

    return register


FAMILIES = {
    "acc": "Accuracy: how good the learner is over the tasks seen so far.",
    "forgetting": "Forgetting: how far the scores on earlier tasks have fallen.",
    "bwt": "Backward transfer: what learning later tasks did to earlier ones.",
    "fwt": "Forward transfer: how well the learner does on tasks it has not learned yet.",
    "intransigence": "Intransigence: how much worse new tasks are learned than by the joint learner.",
    "raa": "Rescaled average accuracy: corrected for growing difficulty.",
    "uraa": "The same, before it is normalised.",
    "raf": "Rescaled average forgetting: corrected for growing difficulty.",
    "uraf": "The same, before it is normalised.",
    "anytime": "Anytime: over every evaluation, inside tasks too.",
    "held_out": "Held-out tasks: abilities that nobody trains on, against the base row.",
    "plasticity": "Plasticity: does the learner go on learning new tasks as well as the first ones?",
    "probe": "Linear probes: what the representation holds, whatever the head does.",
    "split": "Forgetting split exactly: within the task, confused with older tasks, confused with newer ones.",
}


def all_ids() -> list[str]:
    """Every id, family by family, in the order of definition."""
    return [id for family in FAMILIES for id in REGISTRY if id.startswith(family + ".")]


def families() -> dict[str, list[str]]:
    """Ids by family.

    >>> families()["raa"]
    ['raa.michel2023']
    """
    return {f: [id for id in REGISTRY if id.split(".")[0] == f] for f in FAMILIES}


def stands_for(name: str) -> str:
    """The id or family that a name stands for, as it is written or else in any letters; the name itself if it is none.

    >>> stands_for("af"), stands_for("BWT"), stands_for("ACC"), stands_for("acc"), stands_for("no such")
    ('forgetting.chaudhry2018', 'bwt', 'acc.average', 'acc', 'no such')
    """
    key = name.strip()
    own = {known: known for known in (*REGISTRY, *FAMILIES, "all")}
    folded = {alias.casefold(): id for alias, id in ALIASES.items()}
    ways = ((own, key), (ALIASES, key), (folded, key.casefold()), (own, key.casefold()))
    return next((names[written] for names, written in ways if written in names), name)


def alias_note(name: str) -> str | None:
    """What a name stands for, to be said beside the number; None of an id.

    >>> alias_note("FM"), alias_note("acc.average")
    ('FM is an alias of forgetting.chaudhry2018', None)
    """
    meant = stands_for(name)
    return f"{name} is an alias of {meant}" if meant in REGISTRY and meant != name else None


def get(name: str) -> Metric:
    """Return the metric of an id or an alias; a family or an unknown name is an error that helps.

    >>> get("acc.ca").card.id
    'acc.continual_average'
    """
    if not isinstance(name, str):
        raise UsageError(f"a metric is named by its id, such as 'acc.average'; got {shown(name)}.")
    meant = stands_for(name)
    if meant in REGISTRY:
        return REGISTRY[meant]
    if meant in FAMILIES:
        raise UsageError(f"{name!r} is a family, not a definition: choose one of {', '.join(families()[meant])}.")
    near = nearest(name, [*REGISTRY, *ALIASES, *FAMILIES], cutoff=0.5)
    hint = "" if near is None else f" Did you mean {near}?"
    raise UsageError(f"unknown metric {name!r}.{hint} `recollect metrics` lists them all.")


def better_direction(metric: Metric, higher_is_better: bool) -> str:
    """Which direction of a metric is better, for scores of this direction."""
    turned = metric.card.kind == "level" and not higher_is_better
    return {"higher": "lower", "lower": "higher"}[metric.card.better] if turned else metric.card.better


def directions(ids: Iterable[str], higher_is_better: bool) -> dict[str, str]:
    """Which direction of each of these metrics is better, for scores of this direction."""
    return {id: better_direction(get(id), higher_is_better) for id in ids}


def resolve_all(names: Iterable[str]) -> list[Metric]:
    """The metrics of several names, each once, in their order."""
    return list({metric.card.id: metric for name in names for metric in resolve(name)}.values())


def resolve(name: str) -> list[Metric]:
    """Return the metrics of an id, an alias, a family, or ``all``.

    >>> len(resolve("intransigence")), resolve("FWT") == resolve("fwt")
    (2, True)
    """
    meant = stands_for(name)
    if meant == "all":
        return [REGISTRY[id] for id in all_ids()]
    if meant in FAMILIES:
        return [REGISTRY[id] for id in families()[meant]]
    return [get(name)]
