"""The task-id oracle: the same run, with every answer given among the classes of the sample's own task."""

from __future__ import annotations

from dataclasses import replace

from recollect.errors import UsageError
from recollect.runs.run import Row, Run


def with_task_given(run: Run) -> Run:
    """The run as it would be if the task of every test sample were known; its rows must hold `masked` counts.

    How many classes compete no longer grows with the tasks, so the tasks say no class counts: what is rescaled by
    difficulty has no value, instead of one against the wrong guess.

    >>> from recollect.runs import Task
    >>> tasks, row = (Task("a", n_samples=10),), Row(0, correct=(5,), masked=(9,))
    >>> run = Run(learner="er", stream="toy", tasks=tasks, rows=(row,))
    >>> with_task_given(run).matrix.R
    array([[0.9]])
    """
    if not any(row.masked for row in run.rows):
        raise UsageError(
            f"The run {run.name} has no counts of answers among each task's own classes (`masked`), which --masked"
            " needs. Runs of `recollect run` have them, and those of a Recorder with log_scores."
        )
    rows = tuple(
        Row(row.after, row.step, row.task_end, correct=row.masked, n=row.n, reason=row.reason, name=row.name)
        for row in run.rows
    )
    return replace(
        run,
        rows=rows,
        tasks=tuple(replace(task, n_classes=None, class_counts=None) for task in run.tasks),
        stream=f"{run.stream}, task given",
        scenario="task-incremental",
        metric="accuracy",
        unit="fraction",
        targets=(),
        joint_run=None,
    )
