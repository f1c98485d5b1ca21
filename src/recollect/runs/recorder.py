"""Record a run from anybody's loop."""

from __future__ import annotations

import math
import traceback
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self, SupportsFloat, SupportsIndex

import numpy as np

from recollect.errors import UsageError
from recollect.nearest import nearest
from recollect.runs.assemble import PROBE
from recollect.runs.class_scores import ClassCounts, count_right
from recollect.runs.environment import revision, versions
from recollect.runs.run import Row, Run, Task
from recollect.runs.seeds import derive
from recollect.runs.store import RunFolder
from recollect.runs.timeline import row_place
from recollect.values import number, shown, whole

_OWN = frozenset(
    [
        "rows",
        "path",
        "status",
        "error",
        "created",
        "finished",
        "source",
        "joint_run",
        "seeds",
        "learner",
        "stream",
        "identity",
        "starts",
    ]
)
MOST_TASKS = 1_000_000
_SETTABLE = frozenset(field.name for field in fields(Run)) - _OWN


class Recorder:
    """Write the scores of a run while it is made, cell by cell; a killed run loses one row at most.

    Parameters
    ----------
    path : the run's folder; if it holds this run already, recording goes on after the last finished row.
    learner, stream : their names.
    tasks : how many tasks, or their names, or `Task`s with classes and test-set sizes.
    seed : one learner on one stream with one seed is a run.
    **fields : any other field of `Run`: learner_config, scenario, unit, metric, higher_is_better, plan, ...

    A row is on disk when the first score of the next one is logged, or at `end_row`, or at the end of the
    block. An error inside the block leaves the rows that were finished and marks the run as failed; run
    again to resume.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/mine"
    >>> for attempt in ("first", "second: resumes"):
    ...     with Recorder(folder, learner="er", stream="toy", tasks=2, seed=0) as rec:
    ...         for i in range(2):
    ...             if rec.is_done(i):
    ...                 continue
    ...             for j in range(2):
    ...                 rec.log(after=i, on=j, score=.9 - abs(i - j) / 2, n=100)
    ...     rec.finished_rows
    (0, 1)
    (0, 1)
    >>> rec.run.matrix.R
    array([[0.9, 0.4],
           [0.4, 0.9]])
    """

    def __init__(
        self,
        path: Path | str,
        *,
        learner: str,
        stream: str,
        tasks: int | Sequence[str | Task],
        seed: int | None = None,
        **fields: Any,
    ) -> None:
        for name in fields:
            if name not in _SETTABLE:
                near = nearest(name, _SETTABLE, cutoff=0.6)
                hint = "" if near is None else f" Did you mean {near}?"
                raise UsageError(f"Recorder does not know {name}.{hint} It takes {', '.join(sorted(_SETTABLE))}.")
        fields = {"versions": versions(), "revision": revision(), **fields}
        seeds = None if seed is None else derive(seed)
        run = Run(
            learner=learner,
            stream=stream,
            tasks=as_tasks(tasks),
            rows=(),
            seed=seed,
            seeds=seeds,
            status="running",
            **fields,
        )
        self._folder = RunFolder.open(path, run)
        self._names = {task.name: j for j, task in enumerate(run.tasks)}
        self._unit, self._metric = run.unit, run.metric
        self._done = {row_place(row): row for row in self._folder.rows}
        self._open: _OpenRow | None = None

    @property
    def run(self) -> Run:
        """The run as it is on disk now."""
        return self._folder.run

    @property
    def finished_rows(self) -> tuple[int, ...]:
        """After which tasks an evaluation is on disk (-1: the untrained one)."""
        return tuple(row.after for row in self._folder.rows if row.task_end)

    def is_done(self, after: int) -> bool:
        """Is the row after this task on disk already?"""
        return row_place(Row(after)) in self._done

    def log(
        self,
        *,
        after: SupportsIndex,
        on: SupportsIndex | str,
        score: SupportsFloat | None = None,
        correct: SupportsIndex | None = None,
        n: SupportsIndex | None = None,
        step: SupportsIndex | None = None,
        task_end: bool = True,
        probe: SupportsFloat | None = None,
    ) -> None:
        """Record one cell: after learning task `after` (-1: nothing yet), the score on task `on`.

        Give `score`, or `correct` out of `n`; `probe` is the score of a linear classifier refitted on the task's
        training samples with the features of now. `task_end=False` with a `step` is an evaluation inside
        the task that follows `after`. The same cell with the same value again changes nothing; with
        another value it is an error, and so is a new cell of a row that was finished.
        """
        j = self._column(on)
        cell = _Cell.of(score, correct, n, self._unit)
        row = _OpenRow(whole(after, "after"), None if step is None else whole(step, "step", low=0), _truth(task_end))
        done = self._done.get(row.place)
        if done is not None:
            if _Cell.at(done, j, self._metric) != cell:
                raise UsageError(
                    f"The row after task {row.after} is finished and on disk; its score on task {j} cannot be"
                    " changed or added. Skip finished rows with is_done(after), or record in a new folder."
                )
            return
        if self._open is None or self._open.place != row.place:
            self.end_row()
            self._open = row
        before = self._open.cells.setdefault(j, cell)
        if before != cell:
            raise UsageError(f"After task {row.after}, the score on task {j} is {before}; now {cell} came.")
        if probe is not None:
            self._open.probes[j] = float(probe)

    def log_scores(
        self,
        *,
        after: SupportsIndex,
        on: SupportsIndex | str,
        scores: Any,
        labels: Any,
        step: SupportsIndex | None = None,
        task_end: bool = True,
        probe: SupportsFloat | None = None,
    ) -> None:
        """Record one cell from the scores of every class: the right answers, and those among fewer classes.

        `scores` has one row per test sample of task `on` and one column per class, also those not seen yet;
        `labels` are the columns of the true classes. The tasks must say their `classes`. With these rows the split of
        forgetting (`split.within`, `split.older`, `split.newer`) is there, exact in counts.

        >>> import tempfile
        >>> tasks = [Task("a", classes=(0, 1)), Task("b", classes=(2, 3))]
        >>> with Recorder(tempfile.mkdtemp() + "/mine", learner="er", stream="toy", tasks=tasks) as rec:
        ...     rec.log_scores(after=0, on="a", scores=[[1, 0, 0, 0], [0, 1, 0, 0]], labels=[0, 1])
        ...     rec.log_scores(after=1, on="a", scores=[[1, 0, 2, 0], [0, 1, 0, 0]], labels=[0, 1])
        ...     rec.log_scores(after=1, on="b", scores=[[0, 0, 2, 0]], labels=[2])
        >>> rec.run.matrix.masked[1, 0].item(), rec.run.matrix.R[1, 0].item()
        (1.0, 0.5)
        """
        j, newest = self._column(on), whole(after, "after") + (not task_end)
        counts = count_right(scores, labels, j, newest, self._folder.run.tasks)
        self.log(after=after, on=j, correct=counts.correct, n=counts.n, step=step, task_end=task_end, probe=probe)
        if self._open is not None:
            self._open.fewer[j] = counts

    def end_row(self, **notes: Any) -> None:
        """Put the row on disk now, with anything that should stand beside it (timings, ...)."""
        if self._open is not None:
            row = self._open.as_row(self._metric, notes)
            self._open = None
            self._folder.append(row)
            self._done[row_place(row)] = row

    def close(self) -> None:
        """Put the last row on disk; the run is finished if every planned row is there, else it may go on."""
        self.end_row()
        planned = self.run.plan.rows
        wanted = range(self.run.T) if planned is None else planned
        if not self._folder.finished and (self.run.learned_at or set(wanted) <= set(self.finished_rows)):
            self._folder.finish()
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        elif isinstance(error, Exception) and not self._folder.finished:
            self._folder.fail("".join(traceback.format_exception(error)))
        else:  # interrupted: to be resumed
            self._folder.close()

    def _column(self, on: SupportsIndex | str) -> int:
        if isinstance(on, str):
            if on not in self._names:
                raise UsageError(f"There is no task {shown(on)}; the tasks are {', '.join(self._names)}.")
            return self._names[on]
        j = whole(on, "on")
        if not 0 <= j < len(self._names):
            raise UsageError(f"on = {j} is no task; they are numbered 0 to {len(self._names) - 1}.")
        return j


class _Cell(tuple[float | None, int | None, int | None]):
    """Score, correct, n of one cell."""

    __slots__ = ()

    @classmethod
    def of(
        cls,
        score: SupportsFloat | None,
        correct: SupportsIndex | None,
        n: SupportsIndex | None,
        unit: str,
    ) -> Self:
        if (score is None) == (correct is None):
            raise UsageError("A cell is logged with score=, or with correct= and n=; one of the two.")
        given = math.nan if score is None else number(score, "score")
        value = None if math.isnan(given) else given
        top = {"fraction": 1.0, "percent": 100.0}.get(unit)
        if value is not None and top is not None and not -1e-6 <= value <= top * (1 + 1e-6):
            raise UsageError(
                f"A score in the unit {unit} lies between 0 and {top:g}; got {value:g}. Tell Recorder the"
                " unit: unit='percent', or unit='raw' for scores that are no proportions."
            )
        counts = (("correct", correct), ("n", n))
        return cls((value, *(None if count is None else whole(count, what, low=0) for what, count in counts)))

    @classmethod
    def at(cls, row: Row, j: int, metric: str) -> Self:
        columns = (row.scores.get(metric), row.correct, row.n)
        return cls(None if column is None or j >= len(column) else column[j] for column in columns)

    def __str__(self) -> str:
        score, correct, n = self
        return f"{score}" if correct is None else f"{correct} of {n}"


class _OpenRow:
    """A row that is being filled."""

    def __init__(self, after: int, step: int | None, task_end: bool) -> None:
        self.after, self.step, self.task_end = after, step, task_end
        self.place = row_place(Row(after, step, task_end))
        self.cells: dict[int, _Cell] = {}
        self.fewer: dict[int, ClassCounts] = {}
        self.probes: dict[int, float] = {}

    def as_row(self, metric: str, notes: dict[str, Any]) -> Row:
        width = max(self.cells, default=-1) + 1
        empty = _Cell((None, None, None))
        columns = list(zip(*(self.cells.get(j, empty) for j in range(width)), strict=True)) or [()] * 3
        score, correct, n = (column if any(value is not None for value in column) else None for column in columns)
        scores = {} if score is None else {metric: score}
        if self.probes:
            scores[PROBE] = tuple(self.probes.get(j) for j in range(width))
        masked = restricted = None
        if self.fewer:
            masked = tuple(self.fewer[j].masked if j in self.fewer else None for j in range(width))
        if self.fewer and self.task_end and self.after >= 0:
            restricted = tuple(self.fewer[j].restricted if j in self.fewer else () for j in range(width))
        return Row(
            self.after, self.step, self.task_end, scores, correct, n, masked=masked, restricted=restricted, notes=notes
        )


def as_tasks(tasks: int | Sequence[str | Task]) -> tuple[Task, ...]:
    """Tasks from their number, their names, or as they are.

    >>> as_tasks(2)  # doctest: +ELLIPSIS
    (Task(name='0', n_classes=None, ...), Task(name='1', n_classes=None, ...))
    """
    if isinstance(tasks, int):
        tasks = [str(j) for j in range(whole(tasks, "the number of tasks", low=0, high=MOST_TASKS))]
    if isinstance(tasks, str) or not isinstance(tasks, Sequence):
        raise UsageError(f"tasks is how many there are, or a list of their names or of `Task`s; got {shown(tasks)}.")
    made = tuple(task if isinstance(task, Task) else Task(str(task)) for task in tasks)
    names = [task.name for task in made]
    if not made or len(set(names)) < len(names):
        raise UsageError(f"A stream has at least one task, and each a name of its own; got {names}.")
    return made


def _truth(value: object) -> bool:
    if not isinstance(value, bool | int | np.bool_):
        raise UsageError(f"task_end is True or False; got {shown(value)}.")
    return bool(value)
