"""lm-evaluation-harness: `results_<date>.json`, one file per evaluation of a version, with old and new keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from recollect.runs.importers.build import whole
from recollect.runs.importers.files import cannot_read, in_words
from recollect.runs.importers.versions.evaluation import (
    Evaluation,
    Measured,
    NamedScores,
    TaskScores,
    mapping,
    measured,
)
from recollect.runs.importers.versions.json_tool import JsonTool
from recollect.runs.version_names import step_of

NAME = "lm-eval"
SUMMARY = "lm-evaluation-harness: results_<date>.json of one version or a folder of them, samples_*.jsonl beside"

# What a task's entry holds beside its scores.
_NO_SCORES = ("alias", "name", "sample_len", "sample_count", " ")
# What stands where there is no value.
_ABSENT = ("N/A", "")
_NO_NUMBERS = (str, dict, list, type(None))
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
    return Evaluation(
        path=path,
        model=in_words(model, 300),
        revision=in_words(revision, 100),
        step=step_of(revision, model),
        date=_date(data.get("date")),
        scores=Entries(path, data["results"], mapping(data.get("n-samples"))),
        higher={
            str(task): {name: way for name, way in ways.items() if isinstance(way, bool)}
            for task, ways in mapping(data.get("higher_is_better")).items()
            if isinstance(ways, dict)
        },
        conditions=Conditions(data, config),
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


@lru_cache(maxsize=4096)
def metrics_of(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of a task's entry that are scores.

    >>> metrics_of(("alias", "acc,none", "acc_stderr,none", "acc_norm", "acc_norm_stderr"))
    ('acc,none', 'acc_norm')
    """
    return tuple(key for key in keys if key not in _NO_SCORES and not key.partition(",")[0].endswith("_stderr"))


@lru_cache(maxsize=4096)
def _error_of(key: str) -> str:
    name, comma, kind = key.partition(",")
    return f"{name}_stderr{comma}{kind}"


class Entries(TaskScores):
    """The tasks of a file; an entry is made when it is asked for: of a thousand files most never are."""

    __slots__ = ("counts", "path", "results")

    def __init__(self, path: Path, results: Mapping[str, Any], counts: Mapping[str, Any]) -> None:
        self.path, self.results, self.counts = path, results, counts
        self.names = {
            task: names
            for task, values in results.items()
            if isinstance(values, dict) and (names := metrics_of(tuple(values)))
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, task: object) -> bool:
        return task in self.names

    def __getitem__(self, task: str) -> Entry:
        return Entry(self.path, task, self.results[task], self.names[task], self.counts.get(task))

    def cells(self, wanted: Sequence[tuple[str, str]]) -> list[Measured | None]:
        """The scores of these tasks and names, without an entry between."""
        names, results, counts, path = self.names, self.results, self.counts, self.path
        return [
            _cell(path, task, results[task], counts.get(task), metric) if task in names else None
            for task, metric in wanted
        ]


class Entry(NamedScores):
    """The scores of one task, read when they are asked for."""

    __slots__ = ("counts", "path", "task", "values_")

    def __init__(self, path: Path, task: str, values: dict[str, Any], names: tuple[str, ...], counts: Any) -> None:
        self.path, self.task, self.values_, self.names, self.counts = path, task, values, names, counts

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, key: object) -> bool:
        return key in self.names

    def __getitem__(self, key: str) -> Measured:
        cell: Measured | None = self.get(key)
        if cell is None:
            raise KeyError(key)
        return cell

    def get(self, key: str, default: Any = None) -> Any:
        """The score of that name, or the default where there is none."""
        cell = _cell(self.path, self.task, self.values_, self.counts, key)
        return default if cell is None else cell


def _cell(path: Path, task: str, values: Mapping[str, Any], counts: Any, key: str) -> Measured | None:
    value, error = values.get(key), values.get(_error_of(key))
    if type(value) is not float and isinstance(value, _NO_NUMBERS):
        if isinstance(value, str) and value not in _ABSENT:
            raise cannot_read(path, NAME, f"{in_words(task)} has {in_words(key)} {value[:40]!r}: a text, not a number.")
        return None
    n = None if counts is None and "sample_len" not in values else _n(values, counts)
    try:
        return measured(value, error, n)
    except ValueError as wrong:
        raise cannot_read(path, NAME, f"{in_words(task)} has {in_words(key)}: {wrong}.") from None


def _n(values: Mapping[str, Any], counts: Any) -> int | None:
    """The test items of a task, as the file counts them."""
    told = counts.get("effective") if isinstance(counts, dict) else values.get("sample_len")
    n = None if told is None else whole(told)
    return n if n is not None and n > 0 else None


class Conditions(Mapping[str, Mapping[str, str]]):
    """Under what each task was evaluated, put into words when it is asked for; `same_as` compares all of it at once."""

    __slots__ = ("told",)

    def __init__(self, data: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        get = data.get
        self.told = (
            mapping(get("versions")),
            mapping(get("n-shot")),
            mapping(get("task_hashes")),
            mapping(get("n-samples")),
            config.get("num_fewshot"),
            config.get("limit", "unknown"),
            # No template is one of them; a file that does not say is not.
            (data["chat_template_sha"] or "none") if "chat_template_sha" in data else None,
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.told[0])

    def __len__(self) -> int:
        return len(self.told[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conditions) and self.told == other.told

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, task: str) -> Mapping[str, str]:
        versions, shots, hashes, counts, default_shots, limit, chat = self.told
        told = {
            "version": versions.get(task),
            "shots": shots.get(task, default_shots),
            "limit": "none" if limit is None else limit,
            "chat template": chat,
            "prompt hash": hashes.get(task),
            "test items": mapping(counts.get(task)).get("effective"),
        }
        return {name: in_words(str(value)) for name, value in told.items() if value is not None and value != "unknown"}


def _date(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e18 else None


_TOOL = JsonTool(NAME, b'"results"', _is_results, _evaluation)
sniff, read, evaluations = _TOOL.sniff, _TOOL.read, _TOOL.evaluations
