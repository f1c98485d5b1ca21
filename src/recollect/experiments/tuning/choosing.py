"""The search itself, what was chosen, and the experiment with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recollect.errors import NotComputable
from recollect.experiments.file import Experiment
from recollect.experiments.tuning.drawing import draw_and_try, import_optuna
from recollect.experiments.tuning.search import Search
from recollect.experiments.tuning.settings import Trial, rank_of, settings
from recollect.experiments.tuning.trying import Trying
from recollect.runs.files import write_atomic


@dataclass(frozen=True)
class Tuned:
    """What was tried, which setting each learner has now, and the file of the experiment with them.

    `said` has a sentence per learner, which stands in the record and on the page of every run of that file.
    """

    trials: tuple[Trial, ...]
    chosen: Mapping[str, Trial]
    file: Path
    folder: Path
    metric: str
    said: Mapping[str, str]


def tune(
    experiment: Experiment,
    search: Search,
    out: Path | str = "runs",
    *,
    data: Path | None = None,
    workers: int | None = None,
    ray: str | None = None,
) -> Tuned:
    """Run every setting on validation samples and write the experiment with the best ones.

    The runs are in `<out>/<name>-tuning`, and the experiment in `tuned.yaml` there; the same call again goes on.
    """
    first = settings(experiment, search)
    if search.search != "grid":
        import_optuna()  # before anything is run
    with Trying(experiment, search, out, data, workers, ray) as trying:
        if search.search == "grid":
            trials = _halved(first, search, trying)
        else:
            trials = trying.upto(first, len(search.seeds))
            given = {trial.label for trial in trials}
            trials += [trial for trial in draw_and_try(search, trying) if trial.label not in given]
    chosen = {learner: _best(learner, trials, search) for learner in search.over}
    told = {learner: _told(learner, chosen[learner], trials, search) for learner in search.over}
    file = trying.folder / "tuned.yaml"
    write_atomic(file, _as_yaml(experiment, chosen, told).encode())
    said = {learner: str(one["said"]) for learner, one in told.items()}
    return Tuned(tuple(trials), chosen, file, trying.folder, search.metric, said)


def _halved(trials: Sequence[Trial], search: Search, trying: Trying) -> list[Trial]:
    """A grid: all settings on all seeds, or only the best part of a learner's after each seed."""
    whole = len(search.seeds)
    known, going = {trial.label: trial for trial in trials}, list(trials)
    for count in range(1, whole + 1) if search.keep < 1 else (whole,):
        if not going:
            break
        reached = trying.upto(going, count)
        known |= {trial.label: trial for trial in reached}
        going = [trial for learner in search.over for trial in _going_on(learner, reached, search)]
        if count < whole:
            left = {trial.label for trial in going}
            known |= {t.label: replace(t, state="stopped") for t in reached if t.label not in left and not t.message}
    return list(known.values())


def _going_on(learner: str, reached: Sequence[Trial], search: Search) -> list[Trial]:
    """The settings of a learner that are tried on another seed: the best part of them, at least one."""
    own = [trial for trial in reached if trial.learner == learner and trial.state != "failed"]
    own.sort(key=rank_of, reverse=True)
    return own[: max(1, math.ceil(search.keep * len(own)))]


def _best(learner: str, trials: Sequence[Trial], search: Search) -> Trial:
    own = [trial for trial in trials if trial.learner == learner]
    ended = [trial for trial in own if trial.state == "finished" and rank_of(trial) > -math.inf]
    if not ended:
        failed = [trial for trial in own if trial.state == "failed"]
        why = f" {len(failed)} failed, the first with: {failed[0].message}" if failed else ""
        raise NotComputable(f"No setting of {learner} has a value of {search.metric} on the validation samples.{why}")
    return max(ended, key=rank_of)


def _told(learner: str, best: Trial, trials: Sequence[Trial], search: Search) -> dict[str, Any]:
    """How a learner's options were chosen: for the record of every later run."""
    own = [trial for trial in trials if trial.learner == learner]
    spent = sum(trial.seconds for trial in own)
    made: dict[str, Any] = {
        "tuned_on": search.said_of,
        "seeds": list(search.seeds),
        "metric": search.metric,
        "search": search.search,
        "over": search.model_dump()["over"][learner],
        "chosen": dict(best.options),
        "value": None if best.value is None else round(float(best.value.value), 6),
        "cpu_seconds": round(spent, 1),
        "tried": [_row(trial) for trial in own],
    }
    if search.keep < 1:
        made["keep"] = search.keep
    if search.asha:
        made["asha"] = search.asha
    if search.search != "grid":
        made["optuna"] = str(import_optuna().__version__)
    return {"said": _said(learner, best, own, search, spent), **made}


def _row(trial: Trial) -> dict[str, Any]:
    value = math.nan if trial.value is None else float(trial.value.value)
    row: dict[str, Any] = {"options": dict(trial.options), "state": trial.state, "seeds": trial.seeds}
    row["value"] = None if math.isnan(value) else round(value, 6)
    row["cpu_seconds"] = round(trial.seconds, 1)
    return {**row, "message": trial.message} if trial.message else row


def _said(learner: str, best: Trial, own: Sequence[Trial], search: Search, spent: float) -> str:
    seeds = ", ".join(map(str, search.seeds))
    how = {"grid": "", "random": ", drawn at random", "tpe": ", drawn by TPE (Optuna)"}[search.search]
    if search.keep < 1:
        how += f", the best {search.keep:g} of them kept after each seed"
    if search.asha:
        how += f", stopped early by ASHA (one of {search.asha} goes on)"
    counts = {state: sum(trial.state == state for trial in own) for state in ("stopped", "failed")}
    ends = "".join(f", {count} {state}" for state, count in counts.items() if count)
    chosen = ", ".join(f"{name} = {value}" for name, value in best.options.items()) or "as given"
    return (
        f"options of {learner} tuned on {search.said_of}, seeds {seeds}: {len(own)} settings by {search.metric}{how}"
        f"{ends}, {spent:.0f} CPU seconds; chosen: {chosen}"
    )


def _as_yaml(experiment: Experiment, chosen: Mapping[str, Trial], told: Mapping[str, Any]) -> str:
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
    }
    rest = experiment.model_dump(exclude_defaults=True, include={"target", "device", "note", "checkpoints"})
    return str(yaml.safe_dump({**content, **rest, "tuned": dict(told)}, sort_keys=False, allow_unicode=True))
