"""Choosing options on validation data: every setting is a run like any other, on a stream without test samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Annotated, Any

from pydantic import Field, StrictInt, StrictStr, ValidationError, field_validator

from recollect.errors import NotComputable, UsageError
from recollect.experiments.file import Experiment, LearnerEntry, Model, Whole, explain, load_yaml, read_text
from recollect.experiments.running import run_experiment
from recollect.metrics import score
from recollect.metrics.registry import get
from recollect.runs import group, load
from recollect.runs.files import write_atomic
from recollect.stats import Estimate, estimate
from recollect.streams.validation import PART

# Seeds that no experiment has by default: what was chosen on them has not seen the seeds that are compared.
FIRST_SEED = 1000
MOST_SETTINGS = 1000


class Search(Model):
    """The part `tune` of an experiment file: which options of which learners, on what, by what.

    `over` names learners by their labels, each with options and the values to try; `trials` draws so many of all
    combinations at random; `validation` is as in `validation_of`. With `keep`, only this part of a learner's settings
    goes on after each seed, the best so far: successive halving.
    """

    over: dict[StrictStr, dict[StrictStr, list[Any]]] = Field(min_length=1)
    trials: Whole | None = None
    validation: float | dict[StrictStr, Any] = PART
    metric: StrictStr = "acc.average"
    keep: Annotated[float, Field(gt=0, le=1)] = 1.0
    seeds: tuple[StrictInt, ...] = (FIRST_SEED, FIRST_SEED + 1)

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds(cls, given: Any) -> Any:
        if isinstance(given, int) and not isinstance(given, bool) and given >= 1:
            return tuple(range(FIRST_SEED, FIRST_SEED + given))
        return given


@dataclass(frozen=True)
class Trial:
    """One setting of one learner, and what it reached on the validation samples of so many seeds."""

    learner: str
    options: Mapping[str, Any]
    label: str
    value: Estimate | None = None
    seconds: float = 0.0
    seeds: int = 0


@dataclass(frozen=True)
class Tuned:
    """What was tried, which setting each learner has now, and the file of the experiment with them."""

    trials: tuple[Trial, ...]
    chosen: Mapping[str, Trial]
    file: Path
    folder: Path
    metric: str
    said: str = field(default="")


def read_search(path: Path) -> tuple[Experiment, Search]:
    """The experiment of a file and its part `tune`."""
    content = load_yaml(read_text(path), str(path))
    if not isinstance(content, dict) or "tune" not in content:
        raise UsageError(
            f"{path} has no part `tune`, which says what to try, such as tune: {{over: {{er: {{lr: [0.01, 0.1]}}}}}}."
        )
    searched = content.pop("tune")
    try:
        experiment = Experiment.model_validate(content)
    except ValidationError as error:
        raise UsageError(f"{path}: {explain(error)}") from None
    try:
        search = Search.model_validate(searched)
    except ValidationError as error:
        raise UsageError(f"{path}, tune: {explain(error, Search)}") from None
    get(search.metric)
    shared = sorted(set(search.seeds) & set(experiment.seeds))
    if shared:
        raise UsageError(
            f"{path}: tune.seeds and seeds share {shared}; what is chosen on a seed must not be compared on it. Give"
            " others."
        )
    return experiment, search


def settings(experiment: Experiment, search: Search) -> list[Trial]:
    """Every setting that is tried; the learner as the file has it comes first.

    Of more combinations than `trials` a fixed random draw is taken.
    """
    made: list[Trial] = []
    known = {entry.label: entry for entry in experiment.learners}
    for learner, over in search.over.items():
        if learner not in known:
            raise UsageError(f"tune.over names {learner!r}; the learners of the file are {', '.join(known)}.")
        empty = next((name for name, values in over.items() if not values), None)
        if empty is not None or not over:
            raise UsageError(
                f"tune.over.{learner} gives each option a list of values to try; {empty or 'it'} is empty."
            )
        combined = [dict(zip(over, values, strict=True)) for values in product(*over.values())]
        if search.trials is not None and search.trials < len(combined):
            combined = Random(0).sample(combined, search.trials)
        own = {name: known[learner].options[name] for name in over if name in known[learner].options}
        if own not in combined:
            combined.insert(0, own)
        made += [Trial(learner, options, _label(learner, options)) for options in combined]
    if len(made) > MOST_SETTINGS:
        raise UsageError(f"tune.over gives {len(made):,} settings; at most {MOST_SETTINGS:,} are tried. Give trials.")
    return made


def tune(
    experiment: Experiment,
    search: Search,
    out: Path | str = "runs",
    *,
    data: Path | None = None,
    workers: int | None = None,
) -> Tuned:
    """Run every setting on validation samples and write the experiment with the best ones.

    The runs are in `<out>/<name>-tuning`, and the experiment in `tuned.yaml` there; the same call again goes on.
    """
    trials = settings(experiment, search)
    known = {entry.label: entry for entry in experiment.learners}
    trying = experiment.model_copy(
        update={
            "name": f"{experiment.name}-tuning",
            "seeds": search.seeds,
            "learners": tuple(_entry(known[trial.learner], trial) for trial in trials),
            "streams": tuple(
                entry.model_copy(update={"options": {**entry.options, "validation": search.validation}})
                for entry in experiment.streams
            ),
        }
    )
    scored, folder = list(trials), Path()
    going = {trial.label for trial in trials}
    for count in range(1, len(search.seeds) + 1) if search.keep < 1 else (len(search.seeds),):
        entries = tuple(entry for entry in trying.learners if entry.label in going)
        part = trying.model_copy(update={"seeds": search.seeds[:count], "learners": entries})
        outcome = run_experiment(part, out, data=data, workers=workers)
        if outcome.failures:
            first = outcome.failures[0]
            raise NotComputable(
                f"{len(outcome.failures)} settings failed, the first was {first.job.name}: {first.message}"
            )
        folder = outcome.folder
        tried = [trial for trial in trials if trial.label in going]
        known_so_far = {trial.label: trial for trial in _scored(tried, part.seeds, folder, search)}
        scored = [known_so_far.get(trial.label, trial) for trial in scored]
        if count < len(search.seeds):
            going = {label for learner in search.over for label in _going_on(learner, known_so_far.values(), search)}
    finalists = [trial for trial in scored if trial.seeds == len(search.seeds)]
    chosen = {learner: _best(learner, finalists, search.metric) for learner in search.over}
    said = _said(search, trials, scored)
    file = folder / "tuned.yaml"
    write_atomic(file, _as_yaml(experiment, chosen, said).encode())
    return Tuned(tuple(scored), chosen, file, folder, search.metric, said)


def _going_on(learner: str, scored: Iterable[Trial], search: Search) -> list[str]:
    """The settings of a learner that are tried on another seed: the best part of them, at least one."""
    own = [trial for trial in scored if trial.learner == learner and trial.value is not None]
    own.sort(key=lambda trial: _rank(trial, search.metric), reverse=True)
    return [trial.label for trial in own[: max(1, math.ceil(search.keep * len(own)))]]


def _entry(entry: LearnerEntry, trial: Trial) -> LearnerEntry:
    given = {entry.name: {**entry.options, **trial.options}, "label": trial.label}
    try:
        checked = LearnerEntry.model_validate(given)
    except ValidationError as error:
        raise UsageError(f"tune.over.{trial.learner}: {explain(error)}") from None
    return checked.model_copy(update={"plan": entry.plan})


def _scored(trials: Sequence[Trial], seeds: Sequence[int], folder: Path, search: Search) -> list[Trial]:
    """The trials with their values: the mean over streams of each seed's score."""
    by_label: dict[str, list[Any]] = {}
    seconds: dict[str, float] = {}
    wanted = {trial.label for trial in trials}
    for one in group(run for run in load(folder) if run.learner in wanted and run.seed in seeds):
        by_label.setdefault(one.learner, []).append(score(one.matrix, search.metric))
        seconds[one.learner] = seconds.get(one.learner, 0.0) + sum(
            run.timings.get("train_cpu_seconds", 0.0) + run.timings.get("evaluate_cpu_seconds", 0.0) for run in one.runs
        )
    made = []
    for trial in trials:
        values = sum(by_label[trial.label]) / len(by_label[trial.label])
        made.append(replace(trial, value=estimate(values), seconds=seconds[trial.label], seeds=len(values)))
    return made


def _best(learner: str, scored: Sequence[Trial], metric: str) -> Trial:
    own = [trial for trial in scored if trial.learner == learner]
    if not any(_rank(trial, metric) > -math.inf for trial in own):
        raise NotComputable(f"No setting of {learner} has a value of {metric} on the validation samples.")
    return max(own, key=lambda trial: _rank(trial, metric))


def _rank(trial: Trial, metric: str) -> float:
    """The higher the better; a setting without a value comes last."""
    value = math.nan if trial.value is None else float(trial.value.value)
    sign = 1 if get(metric).card.better == "higher" else -1
    return -math.inf if math.isnan(value) else sign * value


def _label(learner: str, options: Mapping[str, Any]) -> str:
    """What a setting is called.

    >>> _label("er", {"lr": 0.1, "memory_batch": 64}), _label("er", {})
    ('er lr=0.1 memory_batch=64', 'er as given')
    """
    return (
        " ".join([learner, *(f"{name}={value}" for name, value in options.items())])
        if options
        else f"{learner} as given"
    )


def _said(search: Search, trials: Sequence[Trial], scored: Sequence[Trial]) -> str:
    spent = sum(trial.seconds for trial in scored)
    on = (
        f"{search.validation:g} of the training samples"
        if isinstance(search.validation, float)
        else str(search.validation)
    )
    seeds = ", ".join(map(str, search.seeds))
    halved = f", the best {search.keep:g} of them kept after each seed" if search.keep < 1 else ""
    how = f"{len(trials)} settings by {search.metric}{halved}, {spent:.0f} CPU seconds"
    return f"options tuned on {on}, seeds {seeds}: {how}"


def _as_yaml(experiment: Experiment, chosen: Mapping[str, Trial], said: str) -> str:
    """The experiment with the chosen options, as a file."""
    import yaml

    learners = []
    for entry in experiment.learners:
        options = {**entry.options, **(chosen[entry.label].options if entry.label in chosen else {})}
        one: dict[str, Any] = {entry.name: options, "label": entry.label}
        if entry.plan is not None:
            one["plan"] = entry.plan.model_dump(exclude_none=True)
        learners.append(one)
    content: dict[str, Any] = {
        "name": f"{experiment.name}-tuned",
        "streams": [{"name": entry.name, "label": entry.label, **entry.options} for entry in experiment.streams],
        "learners": learners,
        "seeds": list(experiment.seeds),
        "plan": experiment.plan.model_dump(exclude_none=True),
        "note": said,
    }
    if experiment.target is not None:
        content["target"] = experiment.target
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
