"""What the callbacks share: which task is being learned, and where an evaluation belongs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from recollect.errors import UsageError
from recollect.runs.recorder import Recorder
from recollect.runs.run import Run, Task


class Stages:
    """A record of training in stages: say `learning(task)` before each, `close()` or the end of the block after all.

    Evaluations before the first stage are the base row; those while a task is being trained lie inside it; those
    after its training are its end.

    Parameters
    ----------
    path : the run's folder; if it holds this run already, recording goes on after the last finished row.
    learner, stream : their names.
    tasks : names of the tasks, or `Task`s; a held-out task is never learned.
    **fields : any other field of `Run`: seed, metric, unit, higher_is_better, ...
    """

    def __init__(
        self,
        path: Path | str,
        *,
        learner: str,
        stream: str,
        tasks: Sequence[str | Task],
        seed: int | None = None,
        **fields: Any,
    ) -> None:
        trained = [task for task in tasks if not (isinstance(task, Task) and task.held_out)]
        planned = {"learned_at": {j: j for j in range(len(trained))}} if len(trained) < len(tasks) else {}
        if trained != list(tasks[: len(trained)]):
            raise UsageError("Held-out tasks come last: they have no row of their own.")
        self._recorder = Recorder(path, learner=learner, stream=stream, tasks=tasks, seed=seed, **(planned | fields))
        self._names = [task.name for task in self._recorder.run.tasks]
        self._trained = len(trained)
        self._after = -1
        self._under_way = False
        self.metric = self._recorder.run.metric

    @property
    def run(self) -> Run:
        """The run as it is on disk now."""
        return self._recorder.run

    def is_done(self, task: int | str) -> bool:
        """Whether the row after this task is on disk already: a killed training skips to where it was."""
        return self._recorder.is_done(self._place(task))

    def learning(self, task: int | str) -> Self:
        """Say which task is trained next."""
        place = self._place(task)
        if place >= self._trained:
            raise UsageError(f"{self._names[place]} is held out: it is never trained.")
        self._recorder.end_row()
        self._after, self._under_way = place - 1, True
        return self

    def learned(self) -> None:
        """Say that the training of the task is over; evaluations from now on are its end."""
        if self._under_way:
            self._after, self._under_way = self._after + 1, False

    def record(self, scores: Mapping[int | str, float], step: int | None = None) -> None:
        """Record scores by task, of the moment that the training has come to."""
        for task, score in scores.items():
            self._recorder.log(
                after=self._after,
                on=self._place(task),
                score=score,
                step=step if self._under_way else None,
                task_end=not self._under_way,
            )

    def close(self) -> None:
        """Put the last row on disk."""
        self._recorder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recorder.__exit__(kind, error, trace)

    def _place(self, task: int | str) -> int:
        if isinstance(task, str):
            if task not in self._names:
                raise UsageError(f"There is no task {task!r} in the record; there are {', '.join(self._names)}.")
            return self._names.index(task)
        return task
