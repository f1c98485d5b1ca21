"""Write runs that are complete (read from another tool's files, say) as run folders."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from recollect.errors import UsageError
from recollect.runs.environment import now
from recollect.runs.files import folder_name, make_folder, sync_folder, write_atomic, writing
from recollect.runs.reading import HEADER, ROWS
from recollect.runs.run import Row, Run
from recollect.runs.store import sealed_header, sealed_rows


def save(runs: Iterable[Run], root: Path | str) -> list[Path]:
    """Write each run as a folder of its own below `root`, and return the folders.

    A folder appears whole or not at all, none is overwritten, and nothing is written anywhere else,
    whatever the learners are called.

    >>> import tempfile
    >>> from recollect.runs import Task
    >>> run = Run(learner="er", stream="toy", seed=3, tasks=(Task("a"),), rows=(Row(0, scores={"accuracy": (.9,)}),))
    >>> save([run], tempfile.mkdtemp())[0].name
    'er-toy-seed3'
    """
    root = Path(root)
    planned = _places(list(runs), root)
    content = [(place, _files(with_joint_rows(run))) for place, run in planned.items()]
    make_folder(root)
    for place, files in content:
        _write_folder(place, files)
    return list(planned)


def run_folder_name(run: Run) -> str:
    """The name of a run's folder: learner, stream, seed, and the score where it is not accuracy.

    >>> run_folder_name(Run(learner="a/b", stream="toy", tasks=(), rows=(), metric="ROC-AUC"))
    'a_b-toy-ROC-AUC-428c8416'
    """
    parts = [run.learner, run.stream]
    parts += [] if run.metric == "accuracy" else [run.metric]
    return folder_name(*parts, *([] if run.seed is None else [f"seed{run.seed}"]))


def with_joint_rows(run: Run) -> Run:
    """The run with the joint learner's scores in its own rows, so that it can be written alone."""
    if run.joint_run is None:
        return run
    joint, scale = run.matrix.joint, 100 if run.unit == "percent" else 1
    if joint is None:
        return run
    of_row = {id(row): task for task in range(run.T) if (row := run.timeline.end_of(task)) is not None}

    def filled(row: Row) -> Row:
        if id(row) not in of_row:
            return row
        scores = joint[of_row[id(row)]].tolist()
        return replace(row, joint=tuple(None if v != v else v * scale for v in scores))

    return replace(run, rows=tuple(map(filled, run.rows)), joint_run=None)


def _places(runs: list[Run], root: Path) -> dict[Path, Run]:
    """A free folder for each run; runs that share a name are numbered."""
    places: dict[Path, Run] = {}
    for run in runs:
        name = run_folder_name(run)
        place, number = root / name, 1
        while place in places:
            number += 1
            place = root / f"{name}-{number}"
        if place.exists():
            raise UsageError(
                f"{place} is there already, and runs are not overwritten. Choose another output folder, or remove it."
            )
        places[place] = run
    return places


def _files(run: Run) -> dict[str, bytes]:
    try:
        rows, seal = sealed_rows([replace(row, items=None) for row in run.rows])  # items stay where they are
        return {HEADER: sealed_header(replace(run, created=run.created or now()), seal), ROWS: rows}
    except (TypeError, ValueError) as error:
        raise UsageError(f"The run {run.name} cannot be written as JSON: {error}.") from None


def _write_folder(place: Path, files: dict[str, bytes]) -> None:
    temporary = place.parent / f".{place.name}.{os.urandom(4).hex()}.tmp"
    with writing(place):
        temporary.mkdir()
        try:
            for name, data in files.items():
                write_atomic(temporary / name, data)
            os.rename(temporary, place)
        except BaseException:
            with contextlib.suppress(OSError):
                shutil.rmtree(temporary)
            raise
        sync_folder(place.parent)
