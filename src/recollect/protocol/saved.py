"""The loop with a record: every row is on disk before it is given, and a killed run goes on where it was.

`iter_run` does what `iter_protocol` does and saves; `run_protocol` runs it to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import UsageError
from recollect.learners.abilities import RESUMES, UNSAVED, LearnsUnits, Noted, Signals, check_learner
from recollect.learners.keeping import holds_program
from recollect.learners.registry import role_of
from recollect.problems.given import Function, Given
from recollect.problems.probing import Probes
from recollect.protocol import checkpoint
from recollect.protocol.identifying import identity_of, made_for
from recollect.protocol.loop import (
    EVERYTHING,
    Exam,
    Place,
    exam_of,
    fitting,
    planned,
    refuse_items,
    refuse_silent,
    tracker_of,
    walk,
)
from recollect.protocol.meter import Meter
from recollect.protocol.signing import is_own, sign
from recollect.runs import environment
from recollect.runs.assemble import PROBE
from recollect.runs.drifts import found_drifts
from recollect.runs.identity import Identity
from recollect.runs.run import Measure, Plan, Row, Run
from recollect.runs.seeds import derive
from recollect.runs.store import RunFolder
from recollect.runs.timeline import RowFacts, learned_after

if TYPE_CHECKING:
    from recollect.learners.base import Learner
    from recollect.problems import Target
    from recollect.problems.base import Tracker
    from recollect.streams.stream import Stream

_PACKAGES = ("recollect", "numpy", "scipy", "torch", "scikit-learn")


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
    test_batch: int | None = None,
    target: Target | str | None = None,
    role: str | None = None,
    identity: Identity | None = None,
    examiner: Given | Function | None = None,
    planned_seeds: Sequence[int] = (),
    checkpoints: bool = True,
    tuning: Mapping[str, Any] | None = None,
    until: int | None = None,
) -> Iterator[Row]:
    """Run as `iter_protocol` does, and give each row when it is safe on disk.

    `name` and `config` are the learner's in the record, `seed` is the one that the run's four come from; the
    learner must be new, as `make_learner` gives it; its `role` in comparisons is that of its card. A row is appended
    first, then the checkpoint replaced: of a kill in between remains a row without its checkpoint, which is dropped
    and made again, the same. A folder that holds another run, by its `identity`, is refused. With an `examiner` of the
    user's (see `iter_protocol`) the problem of the run is "given". Without `checkpoints` the learner need not have a
    state, and a run that is killed starts anew. `tuning` is how the learner's options were chosen. With `until` the run
    pauses after the row of this section, as if it had been killed there: the same call goes on.
    """
    check_learner(learner, RESUMES if checkpoints else UNSAVED, is_asked=examiner is None)
    exam = exam_of(stream, target, examiner)
    refuse_silent(learner, exam)
    refuse_items(plan, exam)
    run = describe(
        stream,
        name=name,
        seed=seed,
        config=config,
        plan=plan,
        experiment=experiment,
        exam=exam,
        role=role or role_of(learner),
        identity=identity or identity_of(learner, stream, exam.target),
        planned_seeds=planned_seeds,
        tuning=tuning,
    )
    plan, tracker = run.plan, tracker_of(exam, run.plan)
    probes = Probes.of(plan, stream, learner)
    with RunFolder.open(folder, run) as saved:
        if saved.finished:
            saved.remove_checkpoints()  # a kill may have come between the last header and this
            return
        last = max(planned(plan, stream))

        def pauses(place: Place) -> bool:
            return until is not None and until <= place.section < last

        start, meter = _resume(saved, learner, tracker, lambda: made_for(learner, stream, seed))
        if start is not None and pauses(start):
            return
        try:
            order, asked = derive(seed).stream, exam.examiner
            for row, place in walk(learner, stream, asked, order, plan, start, test_batch, meter, tracker, probes):
                meter.end_lap()
                meter.start("save")
                if checkpoints:
                    row = _save(saved, row, place, learner, tracker, meter)
                else:
                    saved.append(row)
                meter.stop()
                yield row
                if pauses(place):
                    saved.update(timings=_seconds(meter))
                    return
        except Exception as error:
            saved.fail(f"{type(error).__name__}: {error}")
            raise
        peaks = {key: value for key, value in meter.totals.items() if key.endswith(("_bytes", "_joules"))}
        kept: dict[str, float] = {"stored_samples": learner.stored_samples, "stored_bytes": learner.stored_bytes}
        if isinstance(learner, Signals) and run.visits:
            kept |= found_drifts(run.visits, learner.signals).as_cost
        if probes is not None:
            kept["probe_samples"] = probes.kept
        if len(meter.laps) == len(saved.rows):  # not of a run that an earlier version began
            saved.update(row_costs=tuple(meter.laps))
        saved.finish(timings=_seconds(meter), cost={**peaks, **kept}, notes=_notes(learner, plan))


def _seconds(meter: Meter) -> dict[str, float]:
    return {key: value for key, value in meter.totals.items() if key.endswith("_seconds")}


def _notes(learner: Learner, plan: Plan) -> tuple[str, ...]:
    """What the learner has to say, and that rows inside tasks repeat those before where it learns at their ends."""
    repeated = plan.every is not None and isinstance(learner, LearnsUnits) and learner.learns_at_ends
    said = "units fit only at concept ends: rows inside a concept (`every`) repeat the row before"
    return (*(learner.notes if isinstance(learner, Noted) else ()), *((said,) if repeated else ()))


def _save(saved: RunFolder, row: Row, place: Place, learner: Learner, tracker: Tracker | None, meter: Meter) -> Row:
    """Put a row on disk, then the checkpoint to go on from; the row says the digest of the state."""
    state = learner.state()
    digest = checkpoint.digest(state)
    made = replace(row, state=digest)
    saved.append(made)
    content = {
        "rows": len(saved.rows),
        "batch": place.batch,
        "section": place.section,
        "state": state,
        **({"signature": sign(digest)} if holds_program(state) else {}),
        **({} if tracker is None else {"online": tracker.state()}),
    }
    saved.write_checkpoint(checkpoint.encode({**content, "totals": meter.totals, "laps": meter.laps}))
    return made


def record_failure(folder: Path | str, run: Run, error: Exception) -> None:
    """Leave a record of a run that failed before its first row, so that whoever reads the runs hears of it."""
    with RunFolder.open(folder, run) as saved:
        saved.fail(f"{type(error).__name__}: {error}")


def describe(
    stream: Stream,
    *,
    name: str,
    seed: int,
    config: Mapping[str, Any] | None = None,
    plan: Plan = EVERYTHING,
    experiment: str | None = None,
    target: Target | str | None = None,
    role: str = "contestant",
    identity: Identity | None = None,
    exam: Exam | None = None,
    planned_seeds: Sequence[int] = (),
    tuning: Mapping[str, Any] | None = None,
) -> Run:
    """The record of a run that has not begun."""
    exam = exam or exam_of(stream, target)
    for what, text in (("name of the learner", name), ("name of the stream", stream.name)):
        if not isinstance(text, str) or not text:
            raise UsageError(f"The {what} in a record is a text; got {text!r}.")
    plan = fitting(plan, stream)
    return Run(
        learner=name,
        stream=stream.name,
        tasks=exam.tasks,
        rows=(),
        seed=seed,
        learner_config=dict(config or {}),
        identity=identity,
        role=role,
        problem=exam.problem,
        scenario=stream.scenario,
        online=stream.passes == 1,
        experiment=experiment,
        planned_seeds=tuple(planned_seeds),
        tuning=dict(tuning or {}),
        seeds=derive(seed),
        plan=plan,
        **_rows_of(stream, plan),
        visits=stream.starts if stream.visits else (),
        metric=exam.target.name,
        unit=exam.target.unit,
        higher_is_better=exam.target.higher_is_better,
        targets=(
            *(Measure(one.name, one.unit, one.higher_is_better) for one in exam.beside),
            *([] if plan.probe is None else [Measure(PROBE)]),
        ),
        data_hash=stream.data_hash,
        status="running",
        versions=environment.versions(_PACKAGES),
        revision=environment.revision(),
        notes=(*stream.notes, *((f"{exam.target.label}: {exam.target.warning}",) if exam.target.warning else ())),
    )


def _rows_of(stream: Stream, plan: Plan) -> dict[str, Any]:
    """Where rows are not simply the ends of the tasks: the row after which each has been learned, and whose is own."""
    if stream.learned_at == tuple(range(stream.n_sections)):
        return {}
    rows = planned(plan, stream)
    own = tuple(task for task, section in enumerate(stream.learned_at) if section in rows)
    facts = {} if plan.rows is None else {"row_facts": RowFacts(own)}
    return {"learned_at": learned_after(stream.learned_at, rows), **facts}


def _resume(
    saved: RunFolder, learner: Learner, tracker: Tracker | None, facts: Callable[[], Mapping[str, Any]]
) -> tuple[Place | None, Meter]:
    """Bring the folder and the learner to the last checkpoint, with what it has cost; None is the beginning."""
    data = saved.read_checkpoint()
    if data is None:
        saved.keep_rows(0)
        return None, Meter()
    try:
        content = checkpoint.decode(data)
        place = Place(content["batch"], content["section"])
        rows, state, meter = content["rows"], content["state"], Meter(content["totals"], content.get("laps", ()))
        if tracker is not None:
            tracker.restore(content["online"])
    except (UsageError, KeyError, TypeError) as error:
        raise UsageError(
            f"The checkpoint in {saved.path} is damaged ({error}). Remove it, and the run starts from its first row."
        ) from None
    there = content.get("made_for")  # of a record without an identity
    if there is not None:
        _refuse_other(saved.path, there, facts())
    if rows > len(saved.rows):
        raise UsageError(
            f"{saved.path} has {len(saved.rows)} rows and its checkpoint was made after {rows}: rows were taken away."
            " Remove the checkpoint, and the run starts from its first row."
        )
    if holds_program(state) and not is_own(checkpoint.digest(state), content.get("signature")):
        raise UsageError(
            f"The checkpoint in {saved.path} brings its learner back by running a program that is in it, and you have"
            " not signed it: it was written by somebody else, on another machine, or was changed. Nothing of it was"
            " run. Start the run over (--anew, or remove the folder)."
        )
    saved.keep_rows(rows)
    learner.restore(state)
    return place, meter


def _refuse_other(path: Path, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    what = next((what for what in wanted if what in there and there[what] != wanted[what]), None)
    if what is not None:
        raise UsageError(
            f"The run in {path} was begun with another {what}: {there[what]!r}, and {wanted[what]!r} was asked for."
            " Nothing was changed. Go on with the same, choose another folder, or remove that one to start again."
        )
