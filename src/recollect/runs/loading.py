"""Read runs from wherever they are: a run folder, an experiment, a matrix file, another tool's file."""

from __future__ import annotations

import gc
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import UsageError
from recollect.inputs import as_scores
from recollect.orientation import doubt
from recollect.runs.arrange import Choices, arrange_any
from recollect.runs.exported import read_export, read_vector
from recollect.runs.index import is_wanted, read_all
from recollect.runs.naming import named
from recollect.runs.reading import HEADER, ROWS, read_run
from recollect.runs.remote import address_of, local_copy
from recollect.runs.run import Row, Run, Task

if TYPE_CHECKING:
    from recollect.runs.importers.versions.evaluation import Evaluation

OWN = "recollect"
PLAIN = ("csv", "npy", "npz", "json")


@dataclass(frozen=True)
class _Versions:
    """What a path says about versions of a model; the runs are made of all paths together."""

    path: Path
    tool: str
    evaluations: tuple[Evaluation, ...]
    taken_for: str


# A file, or the values themselves.
Scores = str | os.PathLike[str] | Iterable[Any]


def load(
    path: str | os.PathLike[str],
    tool: str | None = None,
    *,
    classes: list[int] | None = None,
    untrained: Scores | None = None,
    joint: Scores | None = None,
    samples: list[int] | None = None,
    names: Sequence[str] | None = None,
    unit: str | None = None,
    lower_is_better: bool = False,
    rows: str | None = None,
    run: str | int | None = None,
    name: str | None = None,
    choices: Choices | None = None,
    index: bool = True,
) -> list[Run]:
    """The runs at a path, each with its `.matrix`; `Run.notes` says what the path was taken for.

    Parameters
    ----------
    path : path-like
        A run folder, a folder that holds some, a matrix file (.csv, .npy, .npz, .json), another tool's file.
    tool : str, optional
        What wrote it, if it shall not be guessed.
    classes, samples, names : sequence, optional
        New classes, test-set size and name of each task, where the file does not say. One number of classes
        or samples stands for every task.
    untrained : path-like or sequence, optional
        The scores before any training: a file with one row, or the values.
    joint : path-like or matrix, optional
        The joint learner's scores: a file, or the values.
    unit : {"fraction", "percent", "raw"}, optional
        By default as the file says, or by a look at the scores.
    lower_is_better : bool
        The scores are errors (RMSE, a loss).
    rows : {"time", "tasks"}, optional
        What the rows of a matrix file are, where it does not say it: with "tasks" the matrix is turned. By default
        time, and a note says so if the scores look as if they were tasks.
    run : int or "last", optional
        Which run of a file that holds several, from 1.
    name : str, optional
        How learner and seed are read from the path, such as ``"{learner}/{seed}/results.csv"``; see `naming`.
    choices : Choices, optional
        The base, the order, and what was trained or held out, where rows are versions of a model.
    index : bool
        Keep an index beside the runs of a folder that holds hundreds, and answer from it what has not changed.
    """
    given: dict[str, Any] = {
        "index": index,
        "lower_is_better": lower_is_better,
        "rows": rows,
        "run": run,
        "name": name,
        "classes": classes,
        "samples": samples,
        "names": names,
        "untrained": untrained,
        "joint": joint,
        "unit": unit,
    }
    return load_all([path], tool, choices, **given)


def load_all(
    paths: Sequence[str | os.PathLike[str]],
    tool: str | None = None,
    choices: Choices | None = None,
    *,
    lower_is_better: bool = False,
    rows: str | None = None,
    run: str | int | None = None,
    name: str | None = None,
    index: bool = True,
    **companions: Any,
) -> list[Run]:
    """The runs at several paths, in their order; versions of a model may lie at several paths and are one run."""
    if not paths:
        raise UsageError("No path was given; expected at least one.")
    asked = choices or Choices()
    versions: list[_Versions] = []
    runs: list[Run] = []
    for path in paths:
        place = local_copy(path)
        has_index = index and is_wanted() and address_of(path) is None
        try:
            with _uncollected():
                found = _load_any(place, tool, versions, rows, has_index)
        except (OSError, MemoryError) as error:
            raise UsageError(
                f"Could not read {place}: {getattr(error, 'strerror', None) or error or 'too large'}."
            ) from None
        if lower_is_better:
            found = [replace(run, higher_is_better=False) for run in found]
        runs += chosen_run(_with_doubts(found, place, rows), place, run)
    runs = named(runs, name) if runs else runs
    if asked.base or asked.held_out or asked.trained or asked.order:
        runs = [arrange_any(run, asked) for run in runs]
    if versions:
        with _uncollected():
            runs += _runs_of_versions(versions, asked)
    return _with_companions(runs, **companions)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector, which would look through all runs again and again and find nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _with_companions(
    runs: list[Run],
    *,
    classes: list[int] | None = None,
    untrained: Scores | None = None,
    joint: Scores | None = None,
    samples: list[int] | None = None,
    names: Sequence[str] | None = None,
    unit: str | None = None,
) -> list[Run]:
    if unit is not None:
        runs = [replace(run, unit=unit) for run in runs]
    if any(given is not None for given in (classes, samples, names)):
        runs = [replace(run, tasks=_described(run, classes, samples, names)) for run in runs]
    if untrained is not None:
        runs = [_with_untrained(run, untrained) for run in runs]
    if joint is not None:
        runs = [replace(run, joint_run=_joint_run(run, joint)) for run in runs]
    return runs


def _load_any(place: Path, tool: str | None, versions: list[_Versions], rows: str | None, index: bool) -> list[Run]:
    """The runs of a folder or a file, of a packed one too; those of versions are left for later."""
    from recollect.runs.unpacked import is_packed, unpack, with_packed_files

    if not place.is_dir() and not (place.is_file() and is_packed(place)):
        return _load_file(place, tool, versions, rows)
    known = len(versions)
    try:
        if place.is_dir():
            return _load_folder(place, tool, versions, index)
        inside = unpack(place)
    except UsageError:
        unpacked = with_packed_files(place) if place.is_dir() and len(versions) == known else None
        if unpacked is None:
            raise
        inside = unpacked
    note = f"{place.name}: unpacked"
    runs = _load_folder(inside, tool, versions) if inside.is_dir() else _load_file(inside, tool, versions, rows)
    versions[known:] = [replace(one, taken_for=f"{note}; {one.taken_for}") for one in versions[known:]]
    return [
        replace(run, notes=(note, *run.notes), source=run.source and replace(run.source, path=str(place)))
        for run in runs
    ]


def _load_folder(folder: Path, tool: str | None, versions: list[_Versions], index: bool = False) -> list[Run]:
    if tool in (None, OWN):
        runs = read_all(os.fspath(folder), index=index)
        if runs:
            return runs
    found = None if tool == OWN else _foreign(folder, tool, versions)
    if found is None:
        raise UsageError(
            f"{folder} holds no runs: no folder at or below it has a {HEADER}, and it is not what another"
            " tool writes, as far as Recollect can tell. Give the file itself, or name the tool."
        )
    return found


def _load_file(path: Path, tool: str | None, versions: list[_Versions], rows: str | None) -> list[Run]:
    if not path.exists():
        raise UsageError(f"There is no {path}. Expected a run folder, a matrix file or another tool's file.")
    if path.name in (HEADER, ROWS) and (path.parent / HEADER).is_file() and tool in (None, OWN):
        return [read_run(path.parent)]
    if path.stat().st_size == 0:
        raise UsageError(f"{path} is empty; expected scores.")
    runs = read_export(path) if tool in (None, OWN) else None
    if runs is None and tool != OWN:
        runs = _foreign(path, tool, versions, rows)
    if runs is None:
        raise UsageError(
            f"{path} is not a file that Recollect knows by its content. Expected .csv, .npy, .npz or .json"
            f" with scores, or the results of another tool; name the tool if its files look unusual.{_as_what(path)}"
        )
    return runs


def _as_what(path: Path) -> str:
    """Why a file is not what the end of its name says; nothing if that says nothing."""
    from recollect.runs import importers

    tool = {".csv": "csv", ".tsv": "csv", ".json": "json", ".npy": "npy", ".npz": "npz"}.get(path.suffix.lower())
    try:
        if tool is not None:
            importers.read(path, tool)
    except UsageError as error:
        return f" {error}"
    return ""


def chosen_run(runs: list[Run], place: Path, which: str | int | None) -> list[Run]:
    """The run of that number, or the last, of each file that holds several; files of one run hold run 1."""
    if which is None:
        return runs
    if str(which) != "last" and not re.fullmatch(r"[1-9][0-9]{0,8}", str(which)):
        raise UsageError(f"--run is `last` or a whole number from 1; got {str(which)[:40]!r}.")
    files: dict[str, list[Run]] = {}
    for run in runs:
        files.setdefault("" if run.source is None else run.source.path, []).append(run)
    found = []
    for of_file in files.values():
        parts = sorted({_part(run) for run in of_file})
        wanted = parts[-1] if str(which) == "last" else int(which)
        if wanted not in parts:
            there = ", ".join(map(str, parts))
            raise UsageError(f"{place} has no run {wanted} that can be read; it has {there}.")
        found += [run for run in of_file if _part(run) == wanted]
    return found


def _part(run: Run) -> int:
    return 1 if run.source is None or run.source.part is None else run.source.part


def _with_doubts(runs: list[Run], place: Path, rows: str | None) -> list[Run]:
    """Say of matrices that do not tell what their rows are that they look turned, and of others that they tell."""
    if rows == "tasks" and not any(run.source is not None and run.source.rows == "tasks" for run in runs):
        note = f"{place.name}: rows='tasks' is for matrices; this is read as it says itself"
        return [replace(run, notes=(*run.notes, note)) for run in runs]
    unknown = [run for run in runs if run.source is not None and run.source.rows is None and run.status == "imported"]
    if not unknown or place.is_dir():
        return runs
    scores = [
        [row.scores[run.metric] for row in run.rows if row.after >= 0 and run.metric in row.scores] for run in unknown
    ]
    said = doubt(as_scores(scores, "the matrix"), unknown[0].higher_is_better)
    if said is None:
        return runs
    return [replace(run, notes=(*run.notes, said)) if run in unknown else run for run in runs]


def _foreign(path: Path, tool: str | None, versions: list[_Versions], rows: str | None = None) -> list[Run] | None:
    from recollect.runs import importers

    importer = importers.detect(path) if tool is None else importers.named(tool)
    if importer is None:
        return None
    kind = importer.NAME if importer.NAME in PLAIN else f"a file of {importer.NAME}"
    taken_for = f"{path.name}: read as {kind}"
    if isinstance(importer, importers.ReadsVersions):
        versions.append(_Versions(path, importer.NAME, tuple(importer.evaluations(path)), taken_for))
        return []
    told = {"rows": rows} if rows is not None and "rows" in importers.options_of(importer.NAME) else {}
    return [replace(run, notes=(taken_for, *run.notes)) for run in importer.read(path, **told)]


def _runs_of_versions(versions: list[_Versions], choices: Choices) -> list[Run]:
    from recollect.runs.importers.versions.assemble import runs_of

    found = [one for place in versions for one in place.evaluations]
    first = versions[0]
    # Files that lie side by side are named by the folder that they lie in.
    root = first.path if len(versions) == 1 else Path(os.path.commonpath([v.path.absolute().parent for v in versions]))
    notes = dict.fromkeys(place.taken_for for place in versions)
    said = (
        tuple(notes)
        if len(notes) < 4
        else (f"{len(notes)} files or folders of {first.tool}, such as {next(iter(notes))}",)
    )
    return [replace(run, notes=(*said, *run.notes)) for run in runs_of(found, root, first.tool, choices)]


def _described(
    run: Run, classes: list[int] | None, samples: list[int] | None, names: Sequence[str] | None
) -> tuple[Task, ...]:
    # One number stands for every task.
    classes = classes * run.T if classes is not None and len(classes) == 1 else classes
    samples = samples * run.T if samples is not None and len(samples) == 1 else samples
    for what, given in (("classes", classes), ("samples", samples), ("names", names)):
        if given is not None and len(given) != run.T:
            raise UsageError(
                f"{run.name} has {run.T} tasks, and {len(given)} {what} were given; expected one per task."
            )
    return tuple(
        replace(
            task,
            n_classes=task.n_classes if classes is None else classes[j],
            n_samples=task.n_samples if samples is None else samples[j],
            name=task.name if names is None else names[j],
        )
        for j, task in enumerate(run.tasks)
    )


def _with_untrained(run: Run, given: Scores) -> Run:
    values = read_vector(Path(given)) if isinstance(given, str | os.PathLike) else given
    try:
        scores = tuple(None if value is None or value != value else float(value) for value in values)
    except (TypeError, ValueError):
        raise UsageError(f"Untrained scores are numbers, one per task; got {str(given)[:80]}.") from None
    if any(score is not None and math.isinf(score) for score in scores):
        raise UsageError("Untrained scores are finite numbers, or NaN where not evaluated; one is infinite.")
    if len(scores) != run.T:
        raise UsageError(f"{run.name} has {run.T} tasks, and {len(scores)} untrained scores were given.")
    kept = tuple(row for row in run.rows if row is not run.timeline.base)
    return replace(run, rows=(Row(-1, scores={run.metric: scores}), *kept))


def _joint_run(run: Run, given: Scores) -> Run:
    if isinstance(given, str | os.PathLike):
        candidates = load(given)
        same_seed = [other for other in candidates if other.seed == run.seed]
        if len(candidates) != 1 and len(same_seed) != 1:
            raise UsageError(f"{given} holds {len(candidates)} runs, and {run.name} needs one, or one with its seed.")
        joint = (same_seed if len(same_seed) == 1 else candidates)[0]
    else:
        rows = tuple(Row(i, scores={run.metric: _row_of_scores(row)}) for i, row in enumerate(given))
        joint = Run(learner="joint", stream=run.stream, tasks=run.tasks, rows=rows, unit="auto", metric=run.metric)
    if joint.T != run.T:
        raise UsageError(f"{run.name} has {run.T} tasks, and the joint learner's run has {joint.T}.")
    return joint


def _row_of_scores(row: Any) -> tuple[float | None, ...]:
    try:
        return tuple(None if value is None or value != value else float(value) for value in row)
    except (TypeError, ValueError):
        raise UsageError(f"Joint scores are rows of numbers; got {str(row)[:80]}.") from None
