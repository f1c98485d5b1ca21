"""lighteval: `results/<model>/results_<date>.json`, tasks named `suite|task|shots`."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

from recollect.runs.importers.files import cannot_read, in_words
from recollect.runs.importers.versions.evaluation import Evaluation, Measured, mapping, measured
from recollect.runs.importers.versions.json_tool import JsonTool
from recollect.runs.version_names import step_of

NAME = "lighteval"
SUMMARY = "lighteval: results_<date>.json of one model, or a folder of them"

_DATE = re.compile(r"results_(\d{4}-\d{2}-\d{2}T\d{2})-(\d{2})-(\d{2}(?:\.\d+)?)")


def _is_its(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("results"), dict) and "config_general" in data


def _evaluation(path: Path, data: Any) -> Evaluation:
    general = mapping(data["config_general"])
    config = mapping(general.get("model_config"))
    model = str(general.get("model_name") or config.get("model_name") or config.get("pretrained") or path.stem)
    revision = str(config.get("revision") or "")
    revision = "" if revision == "main" else revision
    scores: dict[str, dict[str, Measured]] = {}
    conditions: dict[str, dict[str, str]] = {}
    groups: dict[str, list[str]] = {}
    versions = mapping(data.get("versions"))
    for full, values in data["results"].items():
        # "all" and "suite|task:_average|shots" are averages over what stands beside them.
        if full == "all" or not isinstance(values, dict):
            continue
        task, shots = _task_and_shots(full)
        task = in_words(task, 200)
        if task in scores:
            raise cannot_read(path, NAME, f"{task} comes twice, with other shots; leave one of them in the file.")
        scores[task] = _scores(path, task, values)
        told = {"version": versions.get(full), "shots": shots, "samples": general.get("max_samples")}
        conditions[task] = {name: in_words(str(value)) for name, value in told.items() if value is not None}
        group, average, _ = task.partition(":_average")
        if average:
            groups.setdefault(task, []).extend(
                other
                for name in data["results"]
                if (other := _task_and_shots(name)[0]).startswith(f"{group}:") and other != task
            )
    return Evaluation(
        path=path,
        model=in_words(model, 300),
        revision=in_words(revision, 100),
        step=step_of(revision, model),
        date=_date(path.name),
        scores=scores,
        conditions=conditions,
        groups={group: tuple(members) for group, members in groups.items()},
    )


def _task_and_shots(full: str) -> tuple[str, str | None]:
    """Task and shots of a name.

    >>> _task_and_shots("leaderboard|arc:challenge|25"), _task_and_shots("gsm8k|0"), _task_and_shots("mmlu")
    (('leaderboard|arc:challenge', '25'), ('gsm8k', '0'), ('mmlu', None))
    """
    parts = full.split("|")
    if len(parts) == 4:  # the last tells whether shots may be left out
        parts = parts[:3]
    if len(parts) > 1 and parts[-1].isdigit():
        return "|".join(parts[:-1]), parts[-1]
    return full, None


def _scores(path: Path, task: str, values: dict[str, Any]) -> dict[str, Measured]:
    found = {}
    for name, value in values.items():
        if name.endswith("_stderr") or isinstance(value, str | dict | list | None):
            continue
        try:
            cell = measured(value, values.get(f"{name}_stderr"))
        except ValueError as wrong:
            raise cannot_read(path, NAME, f"{in_words(task)} has {in_words(name)}: {wrong}.") from None
        if cell is not None:
            found[in_words(name, 100)] = cell
    return found


def _date(name: str) -> float | None:
    match = _DATE.match(name)
    if match is None:
        return None
    try:
        return datetime.datetime.fromisoformat(f"{match[1]}:{match[2]}:{match[3]}").timestamp()
    except ValueError:
        return None


_TOOL = JsonTool(NAME, b'"config_general"', _is_its, _evaluation)
sniff, read, evaluations = _TOOL.sniff, _TOOL.read, _TOOL.evaluations
