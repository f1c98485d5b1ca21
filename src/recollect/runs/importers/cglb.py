"""CGLB's results: a pickled list of matrices in percent, one for each repeat, with zeros for what was not evaluated."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recollect.runs.importers.build import (
    array_matrix,
    blank_future_zeros,
    check_size,
    is_numeric,
    matrix_run,
)
from recollect.runs.importers.files import cannot_read, head, in_words
from recollect.runs.importers.pickles import load_any
from recollect.runs.run import Run

NAME = "cglb"
SUMMARY = "CGLB: results/**/te_*.pkl, a list of (T, T) arrays in percent, one for each repeat"


def sniff(path: Path) -> bool:
    """A pickle that is called te_*.pkl."""
    return path.name.startswith("te_") and path.suffix == ".pkl" and head(path, 4).startswith((b"\x80", b"(lp"))


def read(path: Path) -> list[Run]:
    """One run for each repeat; their numbers are the seeds, for CGLB does not keep its own."""
    content = load_any(path, NAME)
    if not isinstance(content, list | tuple) or not content:
        raise cannot_read(path, NAME, f"the pickle holds {in_words(content)}, not a list of matrices.")
    shapes = {np.shape(array) if is_numeric(array) else None for array in content}
    shape = shapes.pop()
    if shapes or shape is None or len(shape) != 2 or shape[0] != shape[1]:
        raise cannot_read(path, NAME, "its list does not hold square arrays of numbers, all of one size.")
    T = int(shape[0])
    check_size(path, NAME, T, T)
    try:
        matrices, future = blank_future_zeros([array_matrix(np.asarray(array)) for array in content], "CGLB")
    except ValueError as error:
        raise cannot_read(path, NAME, f"{error}.") from None
    scenario = next((f"{word}-incremental" for word in ("class", "task") if f"{word}-IL" in str(path)), None)
    notes = (future, "the number of a repeat is taken for its seed")
    return [
        matrix_run(
            path,
            NAME,
            matrix,
            learner=path.stem,
            guessed=path.stem,
            unit="percent",
            seed=repeat,
            scenario=scenario,
            seen_only=future is not None,
            part=repeat + 1,
            notes=notes,
        )
        for repeat, matrix in enumerate(matrices)
    ]
