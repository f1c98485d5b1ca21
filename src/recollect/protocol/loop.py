"""The loop: feed the stream to the learner batch by batch, evaluate when due, and give the rows.

`iter_protocol` is a generator without callbacks: the caller's loop is the hook.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.learners.abilities import LEARNS, Flags, Sees, SelectsWeights, Settles, Signals, check_learner
from recollect.problems import Examiner, Given, Moment, Target, problem_of
from recollect.problems.base import CountsClasses, MarksItems, Tracker, Tracks
from recollect.problems.given import GIVEN, Asking, Function, given_of
from recollect.problems.probing import Probes
from recollect.problems.validating import validation_accuracy
from recollect.protocol.meter import Meter
from recollect.runs.confusion import MOST_CLASSES
from recollect.runs.run import Plan, Row, Task

if TYPE_CHECKING:
    from recollect.learners.base import Learner
    from recollect.streams.stream import Stream

EVERYTHING = Plan()


@dataclass(frozen=True)
class Place:
    """Where a run stands after a row: the next batch of the stream, and the last section finished (-1: none)."""

    batch: int
    section: int


def iter_protocol(
    learner: Learner,
    stream: Stream,
    *,
    seed: int,
    plan: Plan = EVERYTHING,
    start: Place | None = None,
    test_batch: int | None = None,
    target: Target | str | None = None,
    examiner: Given | Function | None = None,
) -> Iterator[Row]:
    """Run the learner through the stream and give each row when it has been evaluated.

    The first row (after = -1) is the untrained learner's. `seed` decides the order of the stream's samples.
    `start` goes on from a place, with a learner that was restored to it; its row is not given again. `target`
    is what learners are scored by, of those that the stream's problem has. `examiner` is a function that is called with
    the learner and the number of a task and gives the score (or several by name), where it comes from elsewhere: from
    generated text, a robot, a simulator. `Given` says the units and directions of such scores.

    >>> import numpy as np
    >>> from recollect.learners import Setting, make_learner
    >>> from recollect.runs.seeds import derive
    >>> from recollect.streams import stream_from_arrays
    >>> x = np.arange(8, dtype=np.uint8).reshape(8, 1)
    >>> stream = stream_from_arrays(x, [0, 1] * 4, x, [0, 1] * 4, name="toy", tasks=2)
    >>> learner = make_learner("random", {}, Setting.of(stream), derive(0))
    >>> [(row.after, row.step, row.n) for row in iter_protocol(learner, stream, seed=0)]
    [(-1, 0, (4, 4)), (0, 4, (4, 4)), (1, 8, (4, 4))]
    """
    check_learner(learner, LEARNS, is_asked=examiner is None)
    plan, exam = fitting(plan, stream), exam_of(stream, target, examiner)
    refuse_items(plan, exam)
    refuse_silent(learner, exam)
    tracker, probes = tracker_of(exam, plan), Probes.of(plan, stream, learner)
    for row, _ in walk(learner, stream, exam.examiner, seed, plan, start, test_batch, Meter(), tracker, probes):
        yield row


@dataclass(frozen=True)
class Exam:
    """Who examines learners on a stream, and what the record says of it: the problem, the targets, the tasks."""

    examiner: Examiner
    problem: str
    target: Target
    beside: tuple[Target, ...]
    tasks: tuple[Task, ...]


def exam_of(stream: Stream, target: Target | str | None = None, examiner: Given | Function | None = None) -> Exam:
    """The exam of the stream's problem, or of an examiner of the user's."""
    if examiner is None:
        problem = problem_of(stream.problem)
        chosen = problem.target(target)
        beside = tuple(one for one in problem.targets if one.beside and one.name != chosen.name)
        return Exam(problem.examiner_of(stream, target), problem.name, chosen, beside, stream.record_tasks())
    given = given_of(examiner, target)
    # The number of classes and of test samples in a task says nothing of scores that come from elsewhere.
    tasks = tuple(Task(task.name, classes=task.original) for task in stream.tasks)
    asked = replace(given.target, function=given.function)  # whose code is a part of the run's identity
    return Exam(Asking(given, stream), GIVEN.name, asked, given.targets[1:], tasks)


def refuse_silent(learner: Learner, exam: Exam) -> None:
    """Raise UsageError if the target is of alarms and the learner raises none."""
    if exam.target.takes in ("alarms", "both") and not isinstance(learner, Flags):
        raise UsageError(
            f"The target {exam.target.name} is of alarms, and the learner {type(learner).__name__} sets no threshold."
            " Give it flagged(scores, task), which says whether each score is an alarm, or take a target of scores."
        )


def tracker_of(exam: Exam, plan: Plan) -> Tracker | None:
    """Who scores samples before they are learned, if the plan wants that."""
    if plan.online is None:
        return None
    if not isinstance(exam.examiner, Tracks):
        raise UsageError(
            f"The plan's online scores samples before they are learned, and that is not measured for {exam.problem}."
            " Leave it out; `every` evaluates inside tasks."
        )
    return exam.examiner.tracker(plan)


def spread(rows: int, sections: int) -> tuple[int, ...]:
    """The sections after which to evaluate if `rows` of them are to be: evenly, the last always among them.

    >>> spread(4, 10)
    (1, 4, 6, 9)
    >>> spread(99, 3)
    (0, 1, 2)
    """
    if rows < 1:
        raise UsageError(f"A plan has at least one row; got rows = {rows}.")
    count = min(rows, sections)
    return tuple(((i + 1) * sections) // count - 1 for i in range(count))


def fitting(plan: Plan, stream: Stream) -> Plan:
    """The plan as far as the stream can answer it: tasks to come cannot be asked where they cannot be seen."""
    return plan if stream.asks_future else replace(plan, columns="seen")


def refuse_items(plan: Plan, exam: Exam) -> None:
    """Raise UsageError if single items or classes are to be recorded where answers are not right, wrong or classes."""
    if plan.items and not isinstance(exam.examiner, MarksItems):
        raise UsageError(
            f"items: true records who was right on which test sample, and {exam.problem} is not marked right or wrong."
            " Leave it out."
        )
    if not plan.confusion:
        return
    if not isinstance(exam.examiner, CountsClasses):
        raise UsageError(
            f"confusion: true counts which class was answered for which, and {exam.problem} has no classes to answer."
            " Leave it out."
        )
    if exam.examiner.counted_classes > MOST_CLASSES:
        raise UsageError(
            f"confusion: true is for at most {MOST_CLASSES:,} classes; the stream has"
            f" {exam.examiner.counted_classes:,}. Leave it out."
        )


def planned(plan: Plan, stream: Stream) -> tuple[int, ...]:
    """The sections after which the plan wants an evaluation, in order."""
    count = stream.n_sections
    if plan.every and stream.learned_at != tuple(range(count)):
        raise UsageError(
            f"The rows of {stream.name} are its {count} batches or visits, and `every` would put others between them."
            " Leave it out; `rows` says after which of them to evaluate."
        )
    if plan.rows is None:
        return tuple(range(count))
    outside = [section for section in plan.rows if not 0 <= section < count]
    if outside or not plan.rows:
        raise UsageError(f"A plan's rows are tasks from 0 to {count - 1}, at least one; got {list(plan.rows)}.")
    return tuple(sorted(set(plan.rows)))


def walk(
    learner: Learner,
    stream: Stream,
    examiner: Examiner,
    seed: int,
    plan: Plan,
    place: Place | None,
    test_batch: int | None,
    meter: Meter,
    tracker: Tracker | None = None,
    probes: Probes | None = None,
) -> Iterator[tuple[Row, Place]]:
    """The loop itself: each row with the place to go on from after it."""
    settles = learner if isinstance(learner, Settles) else None
    wanted = frozenset(planned(plan, stream))
    told = len(learner.signals) if isinstance(learner, Signals) else 0
    views, sees = stream.views, learner if isinstance(learner, Sees) else None
    chooses = learner if isinstance(learner, SelectsWeights) and learner.selects_weights else None

    def show(section: int, *, training: bool) -> None:
        if views is None or sees is None or section >= stream.n_sections or (section < 0 and not views.future):
            return
        sees.see(views.training(section) if training else views.evaluation(section))

    def row(place: Place, step: int, section_end: bool) -> Row:
        after = stream.learned_by(place.section)
        visited = step == 0 or (section_end and not stream.sections_are_batches)
        task_end = step == 0 or (visited and place.section in stream.learned_at)  # not by a concept that comes again
        current = after if visited else min(after + 1, len(stream.tasks) - 1)
        meter.start("evaluate")
        show(place.section if visited else place.section + 1, training=False)
        made = examiner.row(learner, Moment(after, current, step, task_end), plan, test_batch)
        if tracker is not None and step:
            made = replace(made, online=tracker.taken())
        if isinstance(learner, Signals):
            nonlocal told
            made, told = replace(made, signals=learner.signals[told:]), len(learner.signals)
        if probes is not None and visited and after >= 0:
            meter.start("probe")
            made = probes.add(made, learner)
        meter.stop()
        return made

    if place is None:
        place = Place(0, -1)
        yield row(place, 0, True), place
    last = max(wanted)
    meter.start("train")
    show(place.section + 1, training=True)
    for batch in stream.batches(seed, start=place.batch):
        if place.section >= last:
            break
        if tracker is not None:
            if settles is not None:
                settles.settle()
            with meter.aside("online"):
                tracker.see(learner, batch)
        learner.learn(batch)
        if chooses is not None and (task := stream.task_passed(batch)) is not None:
            chooses.keep_if_best(validation_accuracy(learner, stream, task))
        ends = batch.ends
        if ends is not None:
            if stream.gives_boundaries:
                learner.end_task()
            place = Place(batch.number + 1, ends)
            if ends not in wanted:
                show(ends + 1, training=True)
                continue
        elif plan.every and batch.samples_seen % plan.every < len(batch.y):
            place = Place(batch.number + 1, place.section)
        else:
            continue
        if settles is not None:
            settles.settle()  # what a learner has put off is training, not evaluation
        meter.stop()
        yield row(place, batch.samples_seen, ends is not None), place
        meter.start("train")
        show(place.section + 1, training=True)
    meter.stop()
