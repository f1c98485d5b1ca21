"""Runs as files for other programs and for people; what is data is read back by `load` as the same matrix."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import MissingExtra, UsageError
from recollect.runs.codec import header_to_json, row_to_json
from recollect.runs.exported import RECORD
from recollect.runs.files import write_atomic
from recollect.runs.groups import Group, stack
from recollect.runs.longcsv import cells_of, write_long
from recollect.runs.run import Run
from recollect.runs.saving import with_joint_rows
from recollect.runs.tables import to_latex, to_markdown

if TYPE_CHECKING:
    import pandas
    import xarray

_AXES: dict[str, tuple[str, ...]] = {
    "R": ("seed", "row", "task"),
    "correct": ("seed", "row", "task"),
    "b": ("seed", "task"),
    "joint": ("seed", "after", "task"),
    "restricted": ("seed", "after", "task", "up_to"),
    "n_samples": ("task",),
    "n_classes": ("task",),
    "learned_at": ("task",),
    "steps": ("row",),
}


def write_file(runs: Sequence[Run], path: Path | str) -> Path:
    """Write runs to a file, in the format that its name says: .csv, .json, .npz, .md or .tex.

    .json holds everything; .csv all but restricted counts; .npz the arrays of one group; .md and .tex the
    tables.
    """
    place = Path(path)
    writers: dict[str, Callable[[Sequence[Run]], bytes]] = {
        ".csv": lambda given: to_csv(given).encode(),
        ".json": lambda given: to_json(given).encode(),
        ".npz": to_npz,
        ".md": lambda given: to_markdown(given).encode(),
        ".tex": lambda given: to_latex(given).encode(),
    }
    if place.suffix.lower() not in writers:
        raise UsageError(f"{place}: expected a name that ends in {', '.join(writers)}, to know the format.")
    if not runs:
        raise UsageError("There are no runs to write.")
    write_atomic(place, writers[place.suffix.lower()](runs))
    return place


def to_csv(runs: Sequence[Run]) -> str:
    """A long table, one line per cell.

    >>> from recollect.runs import Row, Task
    >>> run = Run(learner="er", stream="toy", seed=0, tasks=(Task("a"),), rows=(Row(0, scores={"accuracy": (.9,)}),))
    >>> to_csv([run]).splitlines()[1]
    '0,er,toy,,0,accuracy,fraction,1,0,,1,0,a,,,,0.9,,,,'
    """
    return write_long(map(with_joint_rows, runs))


def to_json(runs: Sequence[Run]) -> str:
    """Everything that the runs hold, in one JSON object."""
    try:
        return json.dumps({"recollect": "runs", "runs": [_as_json(run) for run in runs]}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"The runs cannot be written as JSON: {error}.") from None


def to_npz(runs: Sequence[Run]) -> bytes:
    """The arrays of the runs of one learner on one stream, with a leading axis of seeds.

    Scores are fractions; the names are those of `ScoreMatrix`. The record beside them is for `load`.
    """
    group = stack(runs)
    record = np.frombuffer(to_json(group.runs).encode(), dtype=np.uint8)
    described = {
        "learner": np.array(group.learner),
        "stream": np.array(group.stream),
        "unit": np.array("raw" if group.matrix.unit == "raw" else "fraction"),
    }
    if all(seed is not None and abs(seed) < 2**63 for seed in group.seeds):
        described["seeds"] = np.array(group.seeds, dtype=np.int64)
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **_arrays(group), **described, **{RECORD: record})
    return out.getvalue()


def to_pandas(runs: Sequence[Run]) -> pandas.DataFrame:
    """A long table as a data frame, one line per cell, scores as fractions (needs pandas)."""
    try:
        import pandas
    except ModuleNotFoundError:
        raise MissingExtra.of("pandas", "pandas") from None
    columns = (
        "run",
        "learner",
        "stream",
        "seed",
        "metric",
        "after",
        "step",
        "task_end",
        "on",
        "task",
        "score",
    )
    lines = [
        {**cell, "run": number, "score": _fraction(cell, run), "task_end": bool(cell["task_end"])}
        for number, run in enumerate(runs)
        for cell in cells_of(run)
        if "on" in cell
    ]
    return pandas.DataFrame(lines, columns=[*columns, "correct", "n"])


def to_xarray(runs: Sequence[Run]) -> xarray.Dataset:
    """The arrays of the runs of one group with their names as coordinates (needs xarray)."""
    try:
        import xarray
    except ModuleNotFoundError:
        raise MissingExtra.of("xarray", "xarray") from None
    group = stack(runs)
    arrays = _arrays(group)
    names = arrays.pop("names", None)
    coordinates: dict[str, Any] = {"seed": ["" if seed is None else str(seed) for seed in group.seeds]}
    if names is not None:
        coordinates["task"] = names
    return xarray.Dataset(
        {key: (_AXES[key], array) for key, array in arrays.items()},
        coords=coordinates,
        attrs={"learner": group.learner, "stream": group.stream, "metric": group.metric},
    )


def _arrays(group: Group) -> dict[str, NDArray[Any]]:
    matrix = group.matrix
    arrays: dict[str, Any] = {key: getattr(matrix, key) for key in _AXES}
    if matrix.names is not None:
        arrays["names"] = np.array(matrix.names)
    return {key: np.asarray(value) for key, value in arrays.items() if value is not None}


def _as_json(run: Run) -> dict[str, Any]:
    data = {**header_to_json(run), "rows": [row_to_json(row) for row in run.rows]}
    return data if run.joint_run is None else {**data, "joint_run": _as_json(run.joint_run)}


def _fraction(cell: dict[str, Any], run: Run) -> float | None:
    """The score of a cell in the unit of the matrix."""
    if "correct" in cell:
        return float(cell["correct"] / cell.get("n", cell.get("n_samples")))
    percent = run.unit == "percent" or (run.unit == "auto" and run.matrix.unit == "percent")
    score = cell.get("score")
    return score / 100 if percent and score is not None else score
