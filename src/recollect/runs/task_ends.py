"""A run seen at its task ends alone: what seeds can share where their rows fall at different moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.errors import UsageError
from recollect.runs.run import Run

NOTE = "seen where a concept had been learned: the seeds learned their concepts after different rows"


def comparable(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Runs whose rows can be put side by side: as they are, or at their task ends where those differ.

    Rows that are batches fall where they fall: with the concepts in another order, or of other sizes, the same
    concept is learned after another batch.
    """
    if all(run.learned_at == runs[0].learned_at for run in runs):
        return tuple(runs)
    return tuple(at_task_ends(run) for run in runs)


def at_task_ends(run: Run) -> Run:
    """The run with one row a concept, that after which it had been learned.

    >>> from recollect.runs import Row, Run, Task
    >>> rows = tuple(Row(k - 1, step=k, task_end=False, scores={"accuracy": (k / 10, .5)}) for k in range(1, 4))
    >>> run = Run(learner="naive", stream="toy", tasks=(Task("a"), Task("b")), rows=rows, learned_at={0: 0, 1: 2})
    >>> at_task_ends(run).matrix.R.tolist()
    [[0.1, 0.5], [0.3, 0.5]]
    """
    if run.learned_at is None:
        return run
    time = run.timeline
    if len({place for place in time.learned_at if place >= 0}) < run.T:
        raise UsageError(
            f"The seeds of {run.learner} on {run.stream} learned their concepts after different rows, and {run.name}"
            " has no row of its own for each concept, so they cannot be put side by side. Give the concepts equal sizes"
            " (subset), smaller batches or more planned rows; or score the runs one by one."
        )
    first = [] if time.base is None else [time.base]
    ends = [time.end_of(task) for task in range(run.T)]
    kept = [replace(row, after=task, task_end=True) for task, row in enumerate(ends) if row is not None]
    joint = None if run.joint_run is None else at_task_ends(run.joint_run)
    return replace(run, rows=(*first, *kept), learned_at=None, joint_run=joint, notes=(*run.notes, NOTE))
