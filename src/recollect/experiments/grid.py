"""The grid of an experiment: one job per run, what it is made of, and what it costs in samples."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import UsageError
from recollect.experiments.file import Experiment, LearnerEntry, PlanEntry, StreamEntry
from recollect.problems import problem_of
from recollect.protocol import spread
from recollect.protocol.loop import exam_of, refuse_items, tracker_of
from recollect.runs.files import folder_name
from recollect.runs.run import Plan
from recollect.runs.seeds import derive

if TYPE_CHECKING:
    from recollect.streams.stream import Stream

_KEPT = 4
_ALWAYS = ("rows", "columns", "every", "subsample")
# Of more seeds a record does not list all that were planned.
_MOST_LISTED = 1000


@dataclass(frozen=True)
class Job:
    """One run of an experiment: plain data, so that it can be sent to a worker process.

    `samples` are those that the stream presents, `test_samples` those that the plan's evaluations score; `seeds` are
    all of the experiment. `remote` is the address of a run on object storage, whose mirror `folder` is.
    With `until` it pauses after the row of this one of its `sections`.
    """

    experiment: str
    learner: str
    learner_label: str
    learner_options: Mapping[str, Any]
    role: str
    stream: str
    stream_label: str
    stream_options: Mapping[str, Any]
    seed: int
    plan: Plan
    device: str
    folder: Path
    target: str | None = None
    data: Path | None = None
    samples: int = 0
    test_samples: int = 0
    tasks: int = 0
    word: str = "task"
    metric: str = "accuracy"
    note: str | None = None
    seeds: tuple[int, ...] = ()
    checkpoints: bool = True
    remote: str | None = None
    sections: int = 0
    until: int | None = None
    tuning: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def config(self) -> dict[str, Any]:
        """What the experiment file says of it, in plain values."""
        learner = {"name": self.learner, "options": dict(self.learner_options)}
        stream = {"name": self.stream, "options": dict(self.stream_options)}
        # Records of earlier versions do not say what was not asked for then.
        plan = {key: value for key, value in asdict(self.plan).items() if value is not None or key in _ALWAYS}
        decides = {"learner": learner, "stream": stream, "seed": self.seed, "plan": plan}
        if self.target is not None:
            decides["target"] = self.target
        made: dict[str, Any] = json.loads(json.dumps(decides, default=str))
        return made


class Streams:
    """The streams of an experiment, each made once; the last few are kept, seeds come one after the other."""

    def __init__(self, data: Path | str | None = None) -> None:
        self.data = None if data is None else Path(data)
        self._known: dict[str, Stream] = {}

    def of(self, name: str, options: Mapping[str, Any], seed: int) -> Stream:
        """The stream of this name, with these options, for this seed."""
        key = repr((name, sorted(options.items(), key=repr), seed))
        if key not in self._known:
            while len(self._known) >= _KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[key] = build_stream(name, options, seed, self.data)
        return self._known[key]


def grid(
    experiment: Experiment,
    out: Path | str = "runs",
    data: Path | str | None = None,
    streams: Streams | None = None,
) -> list[Job]:
    """All runs of an experiment, seed by seed, so that what is finished first can be compared first."""
    place = Path(out) / folder_name(experiment.name)
    file = next((path for path in (Path(out), place) if path.exists() and not path.is_dir()), None)
    if file is not None:
        raise UsageError(f"The runs go into the folder {place}, and {file} is a file. Give another folder (-o).")
    known = streams or Streams(data)
    sizes = {entry.label: known.of(entry.name, entry.options, experiment.seeds[0]) for entry in experiment.streams}
    jobs = [
        _job(experiment, learner, entry, seed, place, sizes[entry.label], known.data)
        for seed in experiment.seeds
        for entry in experiment.streams
        for learner in experiment.learners
    ]
    names = Counter(job.folder for job in jobs)
    twice = next((folder for folder, count in names.items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"Two runs would have the folder {twice}. Give learners or streams other labels.")
    return jobs


def absolute(job: Job) -> Job:
    """The job as a process with another working folder needs it."""
    data = None if job.data is None else Path(os.path.abspath(job.data))
    return replace(job, folder=Path(os.path.abspath(job.folder)), data=data)


def build_stream(name: str, options: Mapping[str, Any], seed: int, data: Path | None) -> Stream:
    """The stream of a run: the class order belongs to the seed, unless the file fixes it."""
    from recollect.streams import make_stream
    from recollect.streams.validation import validation_of

    given = dict(options)
    held_back = given.pop("validation", None)
    if "class_order" not in given and "class_order_seed" not in given:
        given["class_order_seed"] = derive(seed).class_order
    try:
        stream = make_stream(name, data=data, **given)
    except TypeError as error:
        raise UsageError(f"The stream {name!r} cannot be made with {given}: {error}.") from None
    return stream if held_back is None else validation_of(stream, held_back)


def _job(
    experiment: Experiment,
    learner: LearnerEntry,
    entry: StreamEntry,
    seed: int,
    place: Path,
    stream: Stream,
    data: Path | None,
) -> Job:
    from recollect.learners import LEARNERS

    problem = problem_of(stream.problem)
    plan = _plan(learner.plan or experiment.plan, learner, stream.n_sections)
    _refuse_misfits(experiment, learner, stream, plan)
    return Job(
        experiment=experiment.name,
        learner=learner.name,
        learner_label=learner.label,
        learner_options=learner.options,
        role=LEARNERS[learner.name].role if learner.name in LEARNERS else "contestant",
        stream=entry.name,
        stream_label=entry.label,
        note=experiment.note,
        checkpoints=experiment.checkpoints,
        stream_options=entry.options,
        seed=seed,
        plan=plan,
        device=experiment.device,
        folder=place / folder_name(learner.label, entry.label, f"s{seed}"),
        target=experiment.target,
        data=data,
        samples=stream.n_samples,
        test_samples=_test_samples(stream, plan),
        tasks=len(stream.tasks),
        word=problem.task,
        metric=problem.target(experiment.target).name,
        sections=stream.n_sections,
        tuning=(experiment.tuned or {}).get(learner.label),
        seeds=experiment.seeds if len(experiment.seeds) <= _MOST_LISTED else (),
    )


def _refuse_misfits(experiment: Experiment, learner: LearnerEntry, stream: Stream, plan: Plan) -> None:
    """Find a target or a learner that is not for this kind of stream now, not when its turn comes."""
    from recollect.learners import LEARNERS
    from recollect.learners.registry import refuse_misfit

    exam = exam_of(stream, experiment.target)
    tracker_of(exam, plan)
    refuse_items(plan, exam)
    if learner.name in LEARNERS:
        refuse_misfit(
            LEARNERS[learner.name],
            stream.problem,
            gives_boundaries=stream.gives_boundaries,
            gives_task=stream.gives_task,
            samples=stream.samples,
        )


def _plan(entry: PlanEntry, learner: LearnerEntry, sections: int) -> Plan:
    from recollect.learners import LEARNERS
    from recollect.problems.probing import SAMPLES

    rows = entry.rows
    planned = spread(rows, sections) if isinstance(rows, int) else None if rows is None else tuple(sorted(set(rows)))
    if planned and planned[-1] >= sections:
        raise UsageError(f"plan.rows names the task {planned[-1]}; the stream has tasks 0 to {sections - 1}.")
    every, probe = entry.every, SAMPLES if entry.probe is True else entry.probe or None
    card = LEARNERS.get(learner.name)
    if card is not None and card.evaluated == "end":
        planned, every = (sections - 1,), None
    single = {"items": entry.items or None, "confusion": entry.confusion or None}
    return Plan(planned, entry.columns, every, entry.subsample, entry.online, entry.fading, probe, **single)


def _test_samples(stream: Stream, plan: Plan) -> int:
    from recollect.problems.counting import expected_sizes

    sizes = expected_sizes(stream, subsample=plan.subsample)
    rows = range(stream.n_sections) if plan.rows is None else plan.rows
    inside = stream.n_samples // plan.every if plan.every else 0
    if plan.columns == "all":
        return int(sizes.sum()) * (1 + len(rows) + inside)
    return (
        int(sizes.sum())
        + sum(int(sizes[: stream.learned_by(k) + 1].sum()) for k in rows)
        + inside * int(sizes.sum()) // 2
    )
