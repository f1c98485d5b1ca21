"""From what happened in time (a task was learned, tasks were evaluated) to rows of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recollect.runs.importers.build import Score
from recollect.runs.run import ACCURACY, Row


@dataclass(frozen=True)
class Learned:
    """A task has been learned to its end."""

    task: str


@dataclass(frozen=True)
class Evaluated:
    """Tasks and their scores; `inside` if a task was under way; `printed` are metrics that the file gives beside them.

    Of these "pooled" is the score over all that was evaluated.
    """

    scores: Mapping[str, Score]
    inside: bool = False
    printed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Laid:
    """Tasks in the order of learning (then those never learned), and the rows of their evaluations.

    Where tasks come again rows are the ends of visits, and `learned_at` says by which row each task was first learned.
    """

    tasks: tuple[str, ...]
    learned: int
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    learned_at: Mapping[int, int] | None = None


def lay_out(events: Sequence[Learned | Evaluated], metric: str = ACCURACY, also: Sequence[str] = ()) -> Laid:
    """Put the events into rows. A task's end is its first evaluation after it was first learned.

    `also` names tasks of the stream that a run which was stopped may not have come to.

    >>> line = lay_out([Evaluated({"a": .1}), Learned("a"), Evaluated({"a": .9}), Learned("b"),
    ...                 Evaluated({"a": .7, "b": .8})])
    >>> line.tasks, [(row.after, row.scores["accuracy"]) for row in line.rows]
    (('a', 'b'), [(-1, (0.1, None)), (0, (0.9, None)), (1, (0.7, 0.8))])
    """
    learned: list[str] = []
    placed: list[tuple[int, bool, dict[str, Score], float | None]] = []
    ends: dict[int, dict[str, Score]] = {}
    again = False
    repeated = revisited = 0
    for event in events:
        if isinstance(event, Learned):
            again = event.task in learned
            if not again:
                learned.append(event.task)
            continue
        after = len(learned) - 1
        scores = dict(event.scores)
        # The pooled score of a row is that of the tasks seen so far.
        pooled = event.printed.get("pooled") if set(scores) == set(learned) else None
        if event.inside or again:
            revisited += again and not event.inside
            placed.append((after, False, scores, pooled))
        elif after in ends:
            # Nothing was learned in between: the same evaluation again, or more of its tasks.
            repeated += any(task in ends[after] for task in scores)
            ends[after].update(scores)
        else:
            ends[after] = scores
            placed.append((after, True, scores, pooled))
    seen = dict.fromkeys(task for _, _, scores, _ in placed for task in scores)
    tasks = (*learned, *(task for task in dict.fromkeys((*seen, *also)) if task not in set(learned)))
    rows = tuple(
        Row(after, task_end=end, scores={metric: tuple(scores.get(task) for task in tasks)}, pooled=pooled)
        for after, end, scores, pooled in placed
    )
    notes = []
    if repeated:
        notes.append(f"{repeated} evaluations came twice with nothing learned in between: the last counts")
    learned_at = None
    if revisited:
        notes.append(f"tasks were learned again: {revisited} of {len(rows)} rows are the ends of such visits")
        learned_at = (
            _first_learned(rows) if not any(event.inside for event in events if isinstance(event, Evaluated)) else None
        )
    return Laid(tasks, len(learned), rows, tuple(notes), learned_at)


def _first_learned(rows: Sequence[Row]) -> dict[int, int]:
    """The row by which each task was first learned, the untrained one not counted."""
    timed = [row for row in rows if not (row.after == -1 and row.task_end)]
    return {row.after: place for place, row in enumerate(timed) if row.task_end}
