"""The protocol: feed the stream to the learner batch by batch, evaluate when due, and give the rows.

`iter_protocol` is a generator without callbacks: the caller's loop is the hook. `iter_run` does the same and
saves every row to a run folder before it gives it; `run_protocol` runs it to the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect import checkpoint
from recollect.errors import UsageError
from recollect.evaluation import (
    BATCH,
    Counts,
    Question,
    evaluate,
    expected_sizes,
    question_of,
    standard_errors,
)
from recollect.meter import Meter
from recollect.runs import environment
from recollect.runs.run import Plan, Row, Run
from recollect.runs.seeds import derive
from recollect.runs.store import RunFolder

if TYPE_CHECKING:
    from recollect.learners.base import Learner
    from recollect.streams.stream import Stream

# Restricted counts are T x T a row: above this many tasks they would outweigh everything else.
MOST_RESTRICTED = 200
EVERYTHING = Plan()
_PACKAGES = ("recollect", "numpy", "scipy", "torch", "scikit-learn")


@dataclass(frozen=True)
class Place:
    """Where a run stands after a row: the next batch of the stream, and the last task learned (-1: none)."""

    batch: int
    after: int


def iter_protocol(
    learner: Learner,
    stream: Stream,
    *,
    seed: int,
    plan: Plan = EVERYTHING,
    start: Place | None = None,
    test_batch: int = BATCH,
) -> Iterator[Row]:
    """Run the learner through the stream and give each row when it has been evaluated.

    The first row (after = -1) is the untrained learner's. `seed` decides the order of the stream's samples.
    `start` goes on from a place, with a learner that was restored to it; its row is not given again.

    >>> from recollect.learners import Setting, make_learner
    >>> from recollect.runs.seeds import derive
    >>> from recollect.streams import stream_from_arrays
    >>> x = np.arange(8, dtype=np.uint8).reshape(8, 1)
    >>> stream = stream_from_arrays(x, [0, 1] * 4, x, [0, 1] * 4, name="toy", tasks=2)
    >>> learner = make_learner("random", {}, Setting.of(stream), derive(0))
    >>> [(row.after, row.step, row.n) for row in iter_protocol(learner, stream, seed=0)]
    [(-1, 0, (4, 4)), (0, 4, (4, 4)), (1, 8, (4, 4))]
    """
    for row, _ in _walk(learner, stream, seed, plan, start, test_batch, Meter()):
        yield row


def run_protocol(learner: Learner, stream: Stream, folder: Path | str, **options: Any) -> Run:
    """Run the learner through the stream, or what is left of it, and save all to a run folder.

    Takes the options of `iter_run`. The same call again goes on after the last row that was finished; on a
    finished run it does nothing.
    """
    for _ in iter_run(learner, stream, folder, **options):
        pass
    from recollect.runs.reading import read_run

    return read_run(Path(folder))


def iter_run(
    learner: Learner,
    stream: Stream,
    folder: Path | str,
    *,
    name: str,
    seed: int = 0,
    config: Mapping[str, Any] | None = None,
    plan: Plan = EVERYTHING,
    experiment: str | None = None,
    test_batch: int = BATCH,
) -> Iterator[Row]:
    """Run as `iter_protocol` does, and give each row when it is safe on disk.

    `name` and `config` are the learner's in the record, `seed` is the one that the run's four come from; the
    learner must be new, as `make_learner` gives it. A row is appended first, then the checkpoint replaced: of
    a kill in between remains a row without its checkpoint, which is dropped and made again, the same.
    """
    run = describe(stream, name=name, seed=seed, config=config, plan=plan, experiment=experiment)
    with RunFolder.open(folder, run) as saved:
        if saved.finished:
            saved.remove_checkpoints()  # a kill may have come between the last header and this
            return
        start, totals = _resume(saved, learner)
        # A learner that shares its process with others' runs has a clock of its own.
        meter = Meter(totals, getattr(learner, "clock", None))
        try:
            for row, place in _walk(learner, stream, derive(seed).stream, plan, start, test_batch, meter):
                meter.start("save")
                state = learner.state()
                signed = replace(row, extra={**row.extra, "state": checkpoint.digest(state)})
                saved.append(signed)
                content = {
                    "rows": len(saved.rows),
                    "batch": place.batch,
                    "after": place.after,
                    "state": state,
                }
                saved.write_checkpoint(checkpoint.encode({**content, "totals": meter.totals}))
                meter.stop()
                yield signed
        except Exception as error:
            saved.fail(f"{type(error).__name__}: {error}")
            raise
        seconds = {key: value for key, value in meter.totals.items() if key.endswith("_seconds")}
        peaks = {key: value for key, value in meter.totals.items() if key.endswith("_bytes")}
        kept = {"stored_samples": learner.stored_samples, "stored_bytes": learner.stored_bytes}
        saved.finish(timings=seconds, cost={**peaks, **kept})


def describe(
    stream: Stream,
    *,
    name: str,
    seed: int,
    config: Mapping[str, Any] | None = None,
    plan: Plan = EVERYTHING,
    experiment: str | None = None,
) -> Run:
    """The record of a run that has not begun."""
    return Run(
        learner=name,
        stream=stream.name,
        tasks=stream.record_tasks(),
        rows=(),
        seed=seed,
        learner_config=dict(config or {}),
        scenario=stream.scenario,
        online=stream.passes == 1,
        experiment=experiment,
        seeds=derive(seed),
        plan=plan,
        data_hash=stream.data_hash,
        status="running",
        versions=environment.versions(_PACKAGES),
        revision=environment.revision(),
        notes=stream.notes,
    )


def spread(rows: int, T: int) -> tuple[int, ...]:
    """The tasks after which to evaluate if `rows` of T are to be: spread evenly, the last always among them.

    >>> spread(4, 10)
    (1, 4, 6, 9)
    >>> spread(99, 3)
    (0, 1, 2)
    """
    if rows < 1:
        raise UsageError(f"A plan has at least one row; got rows = {rows}.")
    count = min(rows, T)
    return tuple(((i + 1) * T) // count - 1 for i in range(count))


def _walk(
    learner: Learner,
    stream: Stream,
    seed: int,
    plan: Plan,
    place: Place | None,
    test_batch: int,
    meter: Meter,
) -> Iterator[tuple[Row, Place]]:
    """The loop itself: each row with the place to go on from after it."""
    question = question_of(stream)
    settle = getattr(learner, "settle", None)
    planned = _planned(plan, question.T)

    def row(place: Place, step: int, task_end: bool) -> Row:
        current = place.after if task_end else min(place.after + 1, question.T - 1)
        # The untrained row is the reference of transfer: it has every column even where the others have not.
        columns = None if plan.columns == "all" or current < 0 else current + 1
        meter.start("evaluate")
        counts = evaluate(
            learner,
            stream,
            question,
            current=current,
            columns=columns,
            subsample=plan.subsample,
            restricted=task_end and current >= 0 and question.T <= MOST_RESTRICTED,
            batch=test_batch,
        )
        meter.stop()
        return _as_row(counts, place, step, task_end, stream, plan, question)

    if place is None:
        place = Place(0, -1)
        yield row(place, 0, True), place
    left = [task for task in planned if task > place.after]
    meter.start("train")
    for batch in stream.batches(seed, start=place.batch):
        if not left:
            break
        learner.learn(batch)
        ends = batch.ends
        if ends is not None:
            if stream.gives_boundaries:
                learner.end_task()
            place = Place(batch.number + 1, ends)
            if ends not in planned:
                continue
            left = [task for task in left if task > ends]
        elif plan.every and batch.samples_seen % plan.every < len(batch.y):
            place = Place(batch.number + 1, place.after)
        else:
            continue
        if settle is not None:
            settle()  # what a learner has put off is training, not evaluation
        meter.stop()
        yield row(place, batch.samples_seen, ends is not None), place
        meter.start("train")
    meter.stop()


def _as_row(
    counts: Counts | None,
    place: Place,
    step: int,
    task_end: bool,
    stream: Stream,
    plan: Plan,
    question: Question,
) -> Row:
    if counts is None:
        reason = "the learner gave no scores: every one is NaN"
        return Row(place.after, step=step, task_end=task_end, extra={"reason": reason})
    evaluated = counts.n > 0

    def cells(values: np.ndarray[Any, Any] | None) -> tuple[int | None, ...] | None:
        if values is None:
            return None
        return tuple(v if there else None for v, there in zip(values.tolist(), evaluated, strict=True))

    restricted = None
    if counts.restricted is not None:
        restricted = tuple(
            tuple(c if c >= 0 else None for c in line) if there else ()
            for line, there in zip(counts.restricted.tolist(), evaluated, strict=True)
        )
    extra: dict[str, Any] = {}
    if question.grows:
        extra["errors"] = {side: list(cells(getattr(counts, side)) or ()) for side in ("older", "own", "newer")}
    if plan.subsample is not None:
        sizes = expected_sizes(stream)
        extra["standard_error"] = standard_errors(counts.correct, counts.n, sizes)
    return Row(
        place.after,
        step=step,
        task_end=task_end,
        correct=cells(counts.correct),
        n=cells(counts.n),
        restricted=restricted,
        masked=cells(counts.masked),
        extra=extra,
    )


def _planned(plan: Plan, T: int) -> frozenset[int]:
    if plan.rows is None:
        return frozenset(range(T))
    outside = [task for task in plan.rows if not 0 <= task < T]
    if outside or not plan.rows:
        raise UsageError(f"A plan's rows are tasks from 0 to {T - 1}, at least one; got {list(plan.rows)}.")
    return frozenset(plan.rows)


def _resume(saved: RunFolder, learner: Learner) -> tuple[Place | None, dict[str, float]]:
    """Bring the folder and the learner to the last checkpoint; None is the beginning."""
    data = saved.read_checkpoint()
    if data is None:
        saved.keep_rows(0)
        return None, {}
    content = checkpoint.decode(data)
    try:
        place = Place(content["batch"], content["after"])
        rows, state, totals = content["rows"], content["state"], content["totals"]
    except KeyError as error:
        raise UsageError(
            f"The checkpoint in {saved.path} lacks {error}. Remove it, and the run starts from its first row."
        ) from None
    saved.keep_rows(rows)
    learner.restore(state)
    return place, totals
