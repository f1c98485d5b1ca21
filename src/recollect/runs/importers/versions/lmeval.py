"""lm-evaluation-harness: `results_<date>.json`, one file per evaluation of a version, with old and new keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect.runs.importers.build import whole
from recollect.runs.importers.files import cannot_read, in_words
from recollect.runs.importers.versions.evaluation import Evaluation, Measured, measured
from recollect.runs.importers.versions.json_tool import JsonTool, mapping
from recollect.runs.version_names import step_of

NAME = "lm-eval"
SUMMARY = "lm-evaluation-harness: results_<date>.json of one version or a folder of them, samples_*.jsonl beside"

# What a task's entry holds beside its scores.
_NO_SCORES = ("alias", "name", "sample_len", "sample_count", " ")
# What of the arguments of a model is no part of its name.
_DETAILS = (
    "dtype",
    "device",
    "load_in_8bit",
    "load_in_4bit",
    "parallelize",
    "attn_implementation",
    "trust_remote_code",
)


def _is_results(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and isinstance(data.get("results"), dict)
        and isinstance(data.get("config"), dict)
        and "config_general" not in data
    )


def _evaluation(path: Path, data: Any) -> Evaluation:
    config = data["config"]
    arguments = arguments_of(config.get("model_args"))
    pretrained = str(arguments.get("pretrained") or arguments.get("model") or arguments.get("path") or "")
    model = str(
        arguments.get("peft") or arguments.get("lora_local_path") or data.get("model_name") or pretrained or path.stem
    )
    revision = str(arguments.get("revision") or config.get("model_revision") or "")
    revision = "" if revision in ("main", "None") else revision
    tasks = {str(task): values for task, values in data["results"].items() if isinstance(values, dict)}
    counts = mapping(data.get("n-samples"))
    return Evaluation(
        path=path,
        model=in_words(model, 300),
        revision=in_words(revision, 100),
        step=step_of(revision, model),
        date=_date(data.get("date")),
        scores={
            task: found
            for task, values in tasks.items()
            if (found := _scores(path, task, values, _n(values, counts.get(task))))
        },
        higher={
            str(task): {name: way for name, way in ways.items() if isinstance(way, bool)}
            for task, ways in mapping(data.get("higher_is_better")).items()
            if isinstance(ways, dict)
        },
        conditions={task: _conditions(task, data, config, counts) for task in tasks},
        groups={
            str(group): tuple(map(str, members))
            for group, members in mapping(data.get("group_subtasks")).items()
            if isinstance(members, list) and members
        },
        details={name: str(arguments[name]) for name in _DETAILS if name in arguments},
    )


def arguments_of(given: Any) -> Mapping[str, Any]:
    """The arguments of a model: an object, or `a=1,b=2`.

    >>> arguments_of("pretrained=org/m,revision=step10"), arguments_of({"pretrained": "m"}), arguments_of(None)
    ({'pretrained': 'org/m', 'revision': 'step10'}, {'pretrained': 'm'}, {})
    """
    if isinstance(given, dict):
        return given
    if not isinstance(given, str):
        return {}
    pairs = (part.partition("=") for part in given.split(","))
    return {key.strip(): value.strip() for key, sign, value in pairs if sign}


def _scores(path: Path, task: str, values: Mapping[str, Any], n: int | None) -> dict[str, Measured]:
    found = {}
    for key, value in values.items():
        name, _, kind = key.partition(",")
        if key in _NO_SCORES or name.endswith("_stderr") or isinstance(value, str | dict | list | None):
            continue
        error = values.get(f"{name}_stderr,{kind}" if kind else f"{name}_stderr")
        try:
            score = measured(key, value, error, n)
        except ValueError as wrong:
            raise cannot_read(path, NAME, f"{in_words(task)} has {in_words(key)}: {wrong}.") from None
        if score is not None:
            found[key] = score
    return found


def _n(values: Mapping[str, Any], counts: Any) -> int | None:
    """The test items of a task, as the file counts them."""
    told = counts.get("effective") if isinstance(counts, dict) else None
    n = whole(told if told is not None else values.get("sample_len"))
    return n if n is not None and n > 0 else None


def _conditions(
    task: str, data: Mapping[str, Any], config: Mapping[str, Any], counts: Mapping[str, Any]
) -> dict[str, str]:
    shots = mapping(data.get("n-shot")).get(task, config.get("num_fewshot"))
    told = {
        "version": mapping(data.get("versions")).get(task),
        "shots": shots,
        "limit": config.get("limit", "unknown"),
        "chat template": data.get("chat_template_sha"),
        "prompt hash": mapping(data.get("task_hashes")).get(task),
        "test items": mapping(counts.get(task)).get("effective"),
    }
    found = {name: in_words(str(value)) for name, value in told.items() if value is not None and value != "unknown"}
    return found | ({"limit": "none"} if config.get("limit", "unknown") is None else {})


def _date(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


_TOOL = JsonTool(NAME, b'"results"', _is_results, _evaluation)
sniff, read, evaluations = _TOOL.sniff, _TOOL.read, _TOOL.evaluations
