"""Every Eval Ever: one JSON file per model, for results of any tool; read, and written."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from recollect._version import __version__
from recollect.inputs import plain_number
from recollect.runs.importers.build import whole
from recollect.runs.importers.files import cannot_read, in_words
from recollect.runs.importers.versions.evaluation import Evaluation, Measured, known_direction, mapping, measured
from recollect.runs.importers.versions.json_tool import JsonTool
from recollect.runs.run import Run
from recollect.runs.version_names import step_of

NAME = "every-eval-ever"
SUMMARY = "Every Eval Ever (schema 0.2, 0.3): one file per model, or a folder of them; written by `to_every_eval_ever`"

SCHEMA = "0.3.0"
_UNITS = {"proportion": "fraction", "fraction": "fraction", "percent": "percent", "percentage": "percent"}


def _is_its(data: Any) -> bool:
    return isinstance(data, dict) and "model_info" in data and isinstance(data.get("evaluation_results"), list)


def _evaluation(path: Path, data: Any) -> Evaluation:
    model = mapping(data["model_info"])
    name = in_words(str(model.get("id") or model.get("name") or path.stem), 300)
    details = mapping(model.get("additional_details"))
    revision = in_words(str(details.get("revision") or details.get("model_revision") or ""), 100)
    revision = "" if revision == "main" else revision
    scores: dict[str, dict[str, Measured]] = {}
    higher: dict[str, dict[str, bool]] = {}
    units: dict[str, str] = {}
    for place, entry in enumerate(map(mapping, data["evaluation_results"])):
        config = mapping(entry.get("metric_config"))
        source = mapping(entry.get("source_data"))
        task = in_words(str(entry.get("evaluation_name") or source.get("dataset_name") or f"result {place}"), 200)
        metric = _metric(config)
        cell = _cell(path, task, metric, mapping(entry.get("score_details")), source)
        if cell is None:
            continue
        if metric in scores.setdefault(task, {}):
            raise cannot_read(path, NAME, f"{task} has two results with {metric}; which one counts is not said.")
        scores[task][metric] = cell
        if isinstance(config.get("lower_is_better"), bool):
            higher.setdefault(task, {})[metric] = not config["lower_is_better"]
        if units.setdefault(metric, _unit(config)) != _unit(config):
            raise cannot_read(path, NAME, f"{metric} has the units {units[metric]} and {_unit(config)} in one file.")
    library = mapping(data.get("eval_library"))
    return Evaluation(
        path=path,
        model=name,
        revision=revision,
        step=step_of(revision, name),
        date=_stamp(data.get("evaluation_timestamp")) or _stamp(data.get("retrieved_timestamp")),
        scores=scores,
        higher=higher,
        units=units,
        groups=_groups(scores),
        conditions={task: {"library": in_words(str(library["name"]))} for task in scores}
        if library.get("name")
        else {},
    )


def _metric(config: dict[str, Any]) -> str:
    """The name of a score: of what the file calls it, the first that is a known one.

    >>> _metric({"metric_id": "mmlu/law", "metric_kind": "accuracy"})
    'accuracy'
    """
    told = [config.get(key) for key in ("metric_id", "metric_kind", "metric_name", "evaluation_description")]
    words = [re.split(r"[ (,]", in_words(text, 100))[0].lower() for text in told if isinstance(text, str) and text]
    known = [word for word in words if known_direction(word) is not None]
    return (known or [in_words(text, 100) for text in told[:1] if isinstance(text, str)] or ["score"])[0]


def _groups(tasks: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Averages are not marked in these files: one that is called overall stands for the others of its name.

    >>> _groups(["MMLU (law)", "MMLU (overall)", "GPQA"])
    {'MMLU (overall)': ('MMLU (law)',)}
    """
    found = {}
    for task in tasks:
        match = re.fullmatch(r"(.+?)[ /_-]*\(?(?:overall|average|avg|all)\)?", task, re.IGNORECASE)
        below = [other for other in tasks if match and other != task and other.startswith(match[1])]
        if below:
            found[task] = tuple(below)
    return found


def _cell(path: Path, task: str, metric: str, details: dict[str, Any], source: dict[str, Any]) -> Measured | None:
    uncertain = mapping(details.get("uncertainty"))
    n = whole(uncertain.get("num_samples")) or whole(source.get("samples_number"))
    error = _float(mapping(uncertain.get("standard_error")).get("value"))
    try:
        return measured(_float(details.get("score")), error, n)
    except ValueError as wrong:
        raise cannot_read(path, NAME, f"{task}: {wrong}.") from None


def _float(value: Any) -> Any:
    """A number, also where it is written as text; infinite ones are none."""
    if isinstance(value, str):
        try:
            value = plain_number(value)
        except ValueError:
            return value
    return None if isinstance(value, float) and value in (float("inf"), float("-inf")) else value


def _unit(config: dict[str, Any]) -> str:
    told = _UNITS.get(str(config.get("metric_unit")).lower())
    bounds = _float(config.get("min_score")), _float(config.get("max_score"))
    by_bounds = "fraction" if bounds == (0, 1) else "percent" if bounds == (0, 100) else None
    return told or by_bounds or "raw"


def _stamp(value: Any) -> float | None:
    number = _float(value)
    if isinstance(number, int | float) and not isinstance(number, bool):
        return float(number) if abs(number) < 1e18 else None
    try:
        return datetime.datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return None


_TOOL = JsonTool(NAME, b'"evaluation_results"', _is_its, _evaluation)
sniff, read, evaluations = _TOOL.sniff, _TOOL.read, _TOOL.evaluations


def to_every_eval_ever(run: Run, organisation: str = "unknown") -> list[dict[str, Any]]:
    """The run as documents of Every Eval Ever, one per row: scores with direction, bounds, unit, error and count."""
    stamp = f"{datetime.datetime.now(datetime.UTC).timestamp():.0f}"
    return [document for place in range(len(run.rows)) if (document := _document(run, place, stamp, organisation))]


def _document(run: Run, place: int, stamp: str, organisation: str) -> dict[str, Any] | None:
    row = run.rows[place]
    name = row.name or f"{run.learner} after {run.tasks[row.after].name if row.after >= 0 else 'nothing'}"
    results = [_result(run, place, j) for j in range(run.T)]
    kept = [result for result in results if result is not None]
    if not kept:
        return None
    library = run.source.tool if run.source is not None else "recollect"
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{run.stream}/{name}/{stamp}",
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": run.stream,
            "source_type": "evaluation_run",
            "source_organization_name": organisation,
            "evaluator_relationship": "first_party",
        },
        "eval_library": {"name": library, "version": "unknown" if library != "recollect" else __version__},
        "model_info": {
            "name": name,
            "id": f"{run.learner}@{name}",
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                "written_by": f"recollect {__version__}",
            },
        },
        "evaluation_results": kept,
    }


def _result(run: Run, place: int, column: int) -> dict[str, Any] | None:
    row, task = run.rows[place], run.tasks[column]
    score = _at(row.scores.get(run.metric), column)
    correct, n = _at(row.correct, column), _at(row.n, column) or task.n_samples
    if score is None and correct is not None and n:
        score = correct / n * (100 if run.unit == "percent" else 1)
    if score is None:
        return None
    bounds = {"fraction": (0.0, 1.0), "percent": (0.0, 100.0)}.get(run.unit)
    config: dict[str, Any] = {
        "metric_id": run.metric,
        "metric_name": run.metric,
        "metric_unit": {"fraction": "proportion", "percent": "percent"}.get(run.unit, "raw"),
        "lower_is_better": not run.higher_is_better,
        "score_type": "continuous",
    }
    low, high = bounds or ("-Infinity", "Infinity")
    config |= {"min_score": low, "max_score": high}
    error = _at(row.standard_error, column)
    uncertain: dict[str, Any] = {} if error is None else {"standard_error": {"value": error, "method": "analytic"}}
    uncertain |= {} if not n else {"num_samples": int(n)}
    return {
        "evaluation_name": task.name,
        "source_data": {"dataset_name": task.name, "source_type": "other"},
        "metric_config": config,
        "score_details": {"score": score} | ({"uncertainty": uncertain} if uncertain else {}),
    }


def _at(values: tuple[Any, ...] | None, column: int) -> Any:
    return values[column] if values is not None and column < len(values) else None
