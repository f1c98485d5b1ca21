"""lm-evaluation-harness: `results_<date>.json`, one file per evaluation of a version, with old and new keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from recollect.runs.arrange import Choices
from recollect.runs.importers.build import whole
from recollect.runs.importers.files import cannot_read, find_files, guess_json, in_words, is_folder, load_json, mentions
from recollect.runs.importers.versions.assemble import runs_of
from recollect.runs.importers.versions.evaluation import Evaluation, Measured, measured
from recollect.runs.run import Run
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


def sniff(path: Path) -> bool:
    """A JSON object with `results`, `versions` and `config`; or a folder with such a file."""
    if is_folder(path):
        return any(sniff(file) for file, _ in zip(_files(path), range(20), strict=False))
    if path.suffix.lower() != ".json" or not mentions(path, b'"results"', b'"config"', b'"versions"'):
        return False
    data = guess_json(path)
    return (
        isinstance(data, dict)
        and isinstance(data.get("results"), dict)
        and isinstance(data.get("config"), dict)
        and isinstance(data.get("versions"), dict)
        and "config_general" not in data
    )


def read(path: Path) -> list[Run]:
    """The runs of a file or folder, as names and dates lay them out."""
    return runs_of(evaluations(path), path, NAME, Choices())


def evaluations(path: Path) -> list[Evaluation]:
    """Every results file at or below a path. Of those that are no results of this tool only a note is left."""
    if not is_folder(path):
        return [_evaluation(path, load_json(path, NAME))]
    return [_evaluation(file, data) for file in _files(path) if _is_results(data := load_json(file, NAME))]


def _files(folder: Path) -> Iterable[Path]:
    return find_files(folder, lambda name: name.endswith(".json"))


def _is_results(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("results"), dict) and isinstance(data.get("config"), dict)


def _evaluation(path: Path, data: Any) -> Evaluation:
    if not _is_results(data):
        raise cannot_read(path, NAME, "an object with results and config is expected.")
    config = data["config"]
    arguments = arguments_of(config.get("model_args"))
    pretrained = str(arguments.get("pretrained") or arguments.get("model") or arguments.get("path") or "")
    model = str(
        arguments.get("peft") or arguments.get("lora_local_path") or data.get("model_name") or pretrained or path.stem
    )
    revision = str(arguments.get("revision") or config.get("model_revision") or "")
    revision = "" if revision in ("main", "None") else revision
    tasks = {str(task): values for task, values in data["results"].items() if isinstance(values, dict)}
    counts = _mapping(data.get("n-samples"))
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
            for task, ways in _mapping(data.get("higher_is_better")).items()
            if isinstance(ways, dict)
        },
        conditions={task: _conditions(task, data, config, counts) for task in tasks},
        groups={
            str(group): tuple(map(str, members))
            for group, members in _mapping(data.get("group_subtasks")).items()
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
    shots = _mapping(data.get("n-shot")).get(task, config.get("num_fewshot"))
    told = {
        "version": _mapping(data.get("versions")).get(task),
        "shots": shots,
        "limit": config.get("limit", "unknown"),
        "chat template": data.get("chat_template_sha"),
        "prompt hash": _mapping(data.get("task_hashes")).get(task),
        "test items": _mapping(counts.get(task)).get("effective"),
    }
    found = {name: in_words(str(value)) for name, value in told.items() if value is not None and value != "unknown"}
    return found | ({"limit": "none"} if config.get("limit", "unknown") is None else {})


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _date(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def samples_beside(found: Sequence[Path]) -> list[Path]:
    """The files of single items beside results: `samples_<task>_<date>.jsonl` of the same folder."""
    folders = dict.fromkeys(path.parent for path in found)
    return [file for folder in folders for file in sorted(folder.glob("samples_*.jsonl"))]
