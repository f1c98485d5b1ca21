"""A run with fewer columns or fewer rows: without some concepts, or seen where tasks had been learned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from recollect.errors import UsageError
from recollect.runs.run import Row, Run
from recollect.runs.timeline import RowFacts

NOTE = "seen where a concept had been learned: the seeds learned their concepts after different rows"


def without(run: Run, names: Collection[str]) -> Run:
    """The run as if these concepts had never been evaluated; what the learner learned of them stays learned.

    The rows stay, so that those after a concept that is left out are rows between two others. Only for problems whose
    tasks can be left out (`Problem.check_leaving_out`).

    >>> from recollect.runs import Row, Run, Task
    >>> scores = [(.9, None, .5), (.8, None, .6), (.7, None, .9)]
    >>> run = Run(learner="naive", stream="toy", tasks=(Task("a"), Task("b"), Task("c")), scenario="concept-aware",
    ...           rows=tuple(Row(k, scores={"accuracy": row}) for k, row in enumerate(scores)))
    >>> left = without(run, ["b"])
    >>> left.matrix.R.tolist(), left.matrix.learned_at.tolist()
    ([[0.9, 0.5], [0.8, 0.6], [0.7, 0.9]], [0, 2])
    """
    there = [task.name for task in run.tasks]
    unknown = [name for name in names if name not in there]
    if unknown:
        raise UsageError(f"The run {run.name} has no concept {unknown[0]!r} to leave out; it has {', '.join(there)}.")
    kept = [place for place, name in enumerate(there) if name not in names]
    if not kept:
        raise UsageError(f"All {len(there)} concepts of the run {run.name} would be left out; keep one at least.")
    time = run.timeline
    # A row that was never planned goes; a planned row that is absent keeps its place.
    ends = {place: task for task, place in enumerate(time.learned_at) if place >= 0}
    there_at = [place for place, row in enumerate(time.rows) if row is not None or place in ends]
    new_place = {old: new for new, old in enumerate(there_at)}
    last = max((place for place in there_at if time.rows[place] is not None), default=-1)
    timed = [time.rows[place] or Row(ends[place]) for place in there_at if place <= last]
    return replace(
        run,
        tasks=tuple(run.tasks[place] for place in kept),
        rows=tuple(_row(row, kept, there) for row in (*([] if time.base is None else [time.base]), *timed)),
        learned_at={new: new_place[at] for new, old in enumerate(kept) if (at := time.learned_at[old]) >= 0},
        row_facts=RowFacts(
            own=tuple(new for new, old in enumerate(kept) if time.own[old]),
            inside=tuple(new for new, old in enumerate(there_at) if time.inside[old]),
        ),
        joint_run=None if run.joint_run is None else without(run.joint_run, names),
        notes=(*run.notes, f"left out: {', '.join(name for name in there if name in names)}"),
    )


def _row(row: Row, kept: Sequence[int], names: Sequence[str]) -> Row:
    def pick(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
        return None if values is None else tuple(values[place] if place < len(values) else None for place in kept)

    remaining = {names[place] for place in kept}
    after = sum(place <= row.after for place in kept) - 1
    return replace(
        row,
        after=after,
        # A row that follows concepts which are all left out is not the untrained one.
        task_end=row.task_end and (after >= 0 or row.after < 0),
        scores={name: pick(values) or () for name, values in row.scores.items()},
        correct=pick(row.correct),
        n=pick(row.n),
        masked=pick(row.masked),
        restricted=None,
        confusion=None,
        joint=pick(row.joint),
        errors={side: pick(counts) or () for side, counts in row.errors.items()},
        standard_error=pick(row.standard_error),
        # It was measured over all tasks.
        pooled=None,
        reasons={
            target: {name: why for name, why in reasons.items() if name in remaining}
            for target, reasons in row.reasons.items()
        },
    )


def at_task_ends(run: Run) -> Run:
    """The run with one row per concept, that after which it had been learned.

    >>> from recollect.runs import Row, Run, Task
    >>> rows = tuple(Row(k - 1, step=k, task_end=False, scores={"accuracy": (k / 10, .5)}) for k in range(1, 4))
    >>> run = Run(learner="naive", stream="toy", tasks=(Task("a"), Task("b")), rows=rows, learned_at={0: 0, 1: 2})
    >>> at_task_ends(run).matrix.R.tolist()
    [[0.1, 0.5], [0.3, 0.5]]
    """
    if run.learned_at is None:
        return run
    if len({place for place in run.timeline.learned_at if place >= 0}) < run.T:
        raise UsageError(
            f"The seeds of {run.learner} on {run.stream} learned their concepts after different rows, and {run.name}"
            " has no row of its own for each concept, so they cannot be put side by side. Give the concepts equal sizes"
            " (subset), smaller batches or more planned rows; or score the runs one by one."
        )
    joint = None if run.joint_run is None else at_task_ends(run.joint_run)
    return replace(
        run, rows=_ends(run, range(run.T)), learned_at=None, row_facts=None, joint_run=joint, notes=(*run.notes, NOTE)
    )


def at_rows(run: Run, tasks: Collection[int]) -> Run:
    """The run as if it had been evaluated after these tasks only.

    >>> from recollect.runs import Row, Task
    >>> run = Run(learner="er", stream="toy", tasks=(Task("a"), Task("b")),
    ...           rows=(Row(0, scores={"accuracy": (.9, None)}), Row(1, scores={"accuracy": (.5, .8)})))
    >>> at_rows(run, {1}).matrix.R
    array([[nan, nan],
           [0.5, 0.8]])
    """
    kept = tuple(sorted(tasks))
    plan = replace(run.plan, rows=kept, every=None)
    return replace(run, plan=plan, rows=_ends(run, kept), learned_at=None, row_facts=None)


def _ends(run: Run, tasks: Iterable[int]) -> tuple[Row, ...]:
    """The base row, and the rows after which these tasks had been learned."""
    time = run.timeline
    ends = [(task, time.end_of(task)) for task in tasks]
    first = () if time.base is None else (time.base,)
    return first + tuple(replace(row, after=task, task_end=True) for task, row in ends if row is not None)
