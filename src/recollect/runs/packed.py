"""The numbers of a plain run as arrays in one piece of bytes, so that thousands of runs are stacked without their rows.

A run is plain if its rows are the ends of its tasks, one each and all of the same kind, and say nothing but scores and
counts. Of anything else the rows are read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recollect.runs.run import Row, Run

Array = NDArray[np.float64]
_X = TypeVar("_X")
# The target under which rows keep the scores of linear probes on frozen features.
PROBE = "probe"
SIDES = ("older", "own", "newer")


@dataclass(frozen=True)
class Field:
    """Where an array lies in the bytes."""

    kind: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Layout:
    """What the bytes of some runs hold; runs with the same layout share the object."""

    text: str
    has_base: bool
    steps: list[int | None]
    fields: dict[str, Field]


@dataclass(frozen=True, eq=False)
class Packed:
    """The numbers of a run."""

    layout: Layout
    data: bytes


@lru_cache(maxsize=1024)
def layout_of(text: str) -> Layout:
    """The layout that a text describes; ValueError if it describes none."""
    try:
        has_base, steps, *fields = json.loads(text)
        made, start = {}, 0
        for name, kind, shape in fields:
            size = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
            made[name] = Field(kind, tuple(shape), start, start + size)
            start += size
    except (TypeError, ValueError) as error:
        raise ValueError(f"no layout: {error}") from None
    return Layout(text, has_base is True, list(steps), made)


def pack(run: Run, has_base: bool) -> Packed | None:
    """The numbers of a run whose rows are the ends of its tasks; None if they say more, or have no common shape."""
    if not all(_is_bare(row) for row in run.rows):
        return None
    start = int(has_base)
    fields, pieces = [], []
    try:
        for name, of in getters(run.metric, run.T).items():
            for label, rows in ((name, run.rows[start:]), (f"base {name}", run.rows[:start])):
                values = array_of([[of(row) for row in rows]], run.T)
                if values is not None:
                    kind, data = _encoded(values[0])
                    fields.append([label, kind, list(values.shape[1:])])
                    pieces.append(data)
    except (ValueError, TypeError, OverflowError):
        return None
    return Packed(layout_of(json.dumps([has_base, [row.step for row in run.rows[start:]], *fields])), b"".join(pieces))


def stacked(many: Sequence[Packed], name: str) -> Array | None:
    """One field of many runs, (runs, rows, tasks, ...); None where none has it, ValueError where some have not."""
    layouts = {id(one.layout): one.layout for one in many}
    fields = [layout.fields.get(name) for layout in layouts.values()]
    if all(field is None for field in fields):
        return None
    if len(layouts) > 1:
        if len({None if field is None else field.shape for field in fields}) > 1:
            raise ValueError("rows of other lengths")
        return np.concatenate([_required(stacked([one], name)) for one in many])
    field = _required(fields[0])
    data = b"".join([one.data[field.start : field.stop] for one in many])
    return _decoded(data, field.kind).reshape(len(many), *field.shape)


def getters(metric: str, T: int) -> dict[str, Callable[[Row], Any]]:
    """What arrays are made of, by name."""
    return {
        "scores": lambda row: row.scores.get(metric),
        "correct": lambda row: row.correct,
        "n": lambda row: row.n,
        "restricted": lambda row: row.restricted,
        "masked": lambda row: row.masked,
        "probe": lambda row: _probes(row, T),
        **{side: lambda row, side=side: row.errors.get(side) for side in SIDES},  # type: ignore[misc]
    }


def array_of(given: list[list[Any]], T: int) -> Array | None:
    """Values of rows of runs; None where no row has any, ValueError where some have not."""
    if all(value is None for row in given for value in row):
        return None
    made = np.array(given, dtype=np.float64)
    if made.ndim < 3 or made.shape[2] != T or made.shape[3:] not in ((), (T,)):
        raise ValueError("rows of other lengths")
    return made


def _required(value: _X | None) -> _X:
    if value is None:
        raise ValueError("some have it, and some have not")
    return value


def _is_bare(row: Row) -> bool:
    return not (row.reason or row.reasons or row.signals) and set(row.errors) <= set(SIDES)


def _probes(row: Row, T: int) -> tuple[float | None, ...] | None:
    """The probes of a row, which end with the last task learned."""
    given = row.scores.get(PROBE)
    return None if given is None else (*given, *[None] * (T - len(given)))


def _encoded(values: Array) -> tuple[str, bytes]:
    """Whole numbers in as few bytes as they need, the largest for NaN; anything else as it is."""
    absent = np.isnan(values)
    whole = np.where(absent, 0, values)
    if (whole == np.floor(whole)).all() and not np.signbit(whole).any():
        for kind in ("<u2", "<u4"):
            most = np.iinfo(kind).max
            if whole.max(initial=0) < most:
                return kind, np.where(absent, most, whole).astype(kind).tobytes()
    return "<f8", values.astype("<f8").tobytes()


def _decoded(data: bytes, kind: str) -> Array:
    stored = np.frombuffer(data, dtype=kind)
    made = stored.astype(np.float64)
    if kind != "<f8":
        made[stored == np.iinfo(kind).max] = np.nan
    return made
