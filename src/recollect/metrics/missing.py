"""Naming what a metric reads and a run lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.matrix import Array
from recollect.metrics.sweep import Sweep

if TYPE_CHECKING:
    from recollect.metrics.registry import Card


def missing_cells(card: Card, sweep: Sweep, r: int, runs: NDArray[np.intp]) -> list[str]:
    """Name, for each of `runs`, the cells that `card` reads at planned row r and that it lacks; "" if none.

    Runs that lack the same cells share one text, so that thousands of runs cost what one does.
    """
    texts = [""] * len(runs)
    for names, values in _inputs(card, sweep, r, runs):
        lacking = np.isnan(values)
        said: dict[bytes, str] = {}
        for i in np.flatnonzero(lacking.any(0)):
            key = lacking[:, i].tobytes()
            if key not in said:
                said[key] = _listed([names[cell] for cell in np.flatnonzero(lacking[:, i])])
            texts[i] = texts[i] or said[key]
    for name, symbol in (("masked", "W[{k}, {j}]"), ("asked", "A[{k}, {j}, {j}]")):
        if name in card.needs and getattr(sweep.matrix, name) is not None:
            texts = [
                text or _listed(_missing_at_peak(sweep, r, int(run), name, symbol))
                for run, text in zip(runs, texts, strict=True)
            ]
    if "restricted" in card.needs:
        texts = [
            text or _listed(_missing_restricted(sweep, r, int(run))) for run, text in zip(runs, texts, strict=True)
        ]
    return texts


def _inputs(card: Card, s: Sweep, r: int, runs: NDArray[np.intp]) -> Iterator[tuple[list[str], Array]]:
    """Yield what the value at row r reads, scores first: the names of the cells and (cells, runs) values."""
    mask = card.reads.mask(s, r)
    cells = np.argwhere(mask)
    yield [f"R[{s.row_index[i]}, {s.columns[j]}]" for i, j in cells], s.all_rows[mask][:, runs]
    tasks = np.flatnonzero(mask.any(0))
    names = s.columns[tasks]
    if "b" in card.needs and s.matrix.b is not None:
        yield [f"b[{j}]" for j in names], s.need("b")[tasks][:, runs]
    if "joint" in card.needs and s.matrix.joint is not None:
        yield [f"joint[{j}, {j}]" for j in names], s.joint_diagonal[tasks][:, runs]


def _missing_restricted(s: Sweep, r: int, run: int) -> list[str]:
    """Name the restricted scores that run lacks at row r, among the answers possible at each task's peak."""
    if s.matrix.restricted is None:
        return []
    A = s.matrix.restricted.reshape(s.N, *s.matrix.restricted.shape[-3:])[run]
    k = s.columns[s.seen[r] - 1]
    read = [(k, s.columns[j], s.columns[s.seen[row] - 1]) for j, row in _peak_rows(s, r, run)]
    return [f"A[{k}, {j}, {p}]" for k, j, p in read if np.isnan(A[k, j, p])]


def _missing_at_peak(s: Sweep, r: int, run: int, name: str, symbol: str) -> list[str]:
    """Name the cells of a companion that run lacks, at each earlier task's peak and at row r."""
    scores = s.at_ends(name)[..., run]
    cells = [(row, j) for j, peak in _peak_rows(s, r, run) for row in (peak, r)]
    given = [(s.row_index[s.ends[row]], s.columns[j], scores[row, j]) for row, j in cells]
    return [symbol.format(k=k, j=j) for k, j, value in given if np.isnan(value)]


def _peak_rows(s: Sweep, r: int, run: int) -> list[tuple[int, int]]:
    """Each earlier task with the row of its peak before row r."""
    tasks = np.arange(s.T)[s.before[r]].tolist()
    return [(j, int(s.own[j] + np.argmax(s.R[s.own[j] : r, j, run]))) for j in tasks]


def _listed(names: list[str], most: int = 4) -> str:
    """Join names for a sentence.

    >>> _listed(["R[0, 0]", "R[1, 0]", "R[1, 1]"])
    'R[0, 0], R[1, 0] and R[1, 1]'
    """
    if len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
