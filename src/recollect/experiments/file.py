"""The experiment file: YAML in, a checked `Experiment` out; a mistake is named with its place."""

from __future__ import annotations

import inspect
import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    field_validator,
    model_validator,
)

from recollect.errors import MissingExtra, UsageError
from recollect.nearest import nearest

Whole = Annotated[StrictInt, Field(ge=1)]
MOST_SEEDS = 10_000
# What make_stream takes that an experiment file does not say: the folder of the data is the machine's matter.
_NOT_IN_FILE = frozenset({"name", "data"})
# What other tools call a key of ours that is spelt otherwise.
_ELSEWHERE = {"epochs": "passes", "n_epochs": "passes", "num_epochs": "passes", "batch_size": "batch"}
_LABELLED = {
    "learner": "{er: {memory: 200}, label: er-200}",
    "stream": "{name: digits, tasks: 2, label: digits-2}",
}


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StreamEntry(Model):
    """A stream: the name of a data set, the options of `make_stream`, and what the run folders call it."""

    name: StrictStr
    label: StrictStr
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _from_yaml(cls, given: Any) -> Any:
        if isinstance(given, str):
            given = {"name": given}
        if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
            raise ValueError(f"a stream is a name, or {{name: digits, tasks: 5}}; got {given!r}")
        options = {str(key): value for key, value in given.items() if key not in ("name", "label")}
        _refuse_unknown(options, _stream_options(), f"the stream {given['name']!r}", also=("name", "label"))
        return {"name": given["name"], "label": given.get("label", given["name"]), "options": options}


class PlanEntry(Model):
    """What is evaluated: which columns, after which tasks, how often inside tasks, how many samples of each task.

    `rows` is a list of tasks (from 0) or how many to spread over the stream; `every` counts stream samples. `online`:
    every batch is scored before it is learned, in a window of so many samples; `fading` as `Plan` has it. `probe` fits
    linear probes to the features after each row: true, or how many training samples of each task they see. `items`
    records who was right on which test sample, for `recollect items` and for intervals over test items; `confusion`
    counts which class was answered for which.
    """

    columns: Literal["all", "seen"] = "all"
    rows: StrictInt | list[StrictInt] | None = None
    every: Whole | None = None
    subsample: Whole | None = None
    online: Annotated[StrictInt, Field(ge=2)] | None = None
    fading: Annotated[StrictFloat, Field(gt=0, lt=1)] | None = None
    probe: StrictBool | Whole = False

    @field_validator("probe", mode="before")
    @classmethod
    def _probe(cls, given: Any) -> Any:
        if isinstance(given, bool) or _is_whole(given, 1):
            return given
        raise ValueError(f"true, false, or how many training samples of each task (at least 1); got {given!r}")

    items: StrictBool = False
    confusion: StrictBool = False

    @field_validator("rows", mode="before")
    @classmethod
    def _rows(cls, given: Any) -> Any:
        many, some = _is_whole(given, 1), isinstance(given, list) and given and all(_is_whole(row, 0) for row in given)
        if given is None or many or some:
            return given
        raise ValueError(f"how many evaluations (at least 1), or a list of tasks from 0, such as [4, 9]; got {given!r}")

    @model_validator(mode="after")
    def _fades(self) -> PlanEntry:
        if self.fading is not None and self.online is None:
            raise ValueError(f"fading belongs to online, which is not given; got fading = {self.fading}")
        return self


class LearnerEntry(Model):
    """A learner: its name in the registry, its options, and what the record and the folders call it.

    `plan` is its own where its evaluations cost more than the others'.
    """

    name: StrictStr
    label: StrictStr
    options: dict[str, Any] = {}
    plan: PlanEntry | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_yaml(cls, given: Any) -> Any:
        if isinstance(given, str):
            given = {given: {}}
        if not isinstance(given, Mapping):
            raise ValueError(f"a learner is a name, or {{er: {{memory: 200}}}}; got {given!r}")
        names = [key for key in given if key not in ("label", "plan")]
        if len(names) != 1 or not isinstance(names[0], str):
            raise ValueError(
                "a learner is one name with its options, {er: {memory: 200}}, and a label or a plan if wanted; got"
                f" {given!r}"
            )
        name, options = names[0], given[names[0]] or {}
        if not isinstance(options, Mapping):
            raise ValueError(f"the options of {name} are a mapping such as {{memory: 200}}; got {options!r}")
        _check_learner(name, options)
        label = given.get("label", _label(name, options))
        return {"name": name, "label": label, "options": dict(options), "plan": given.get("plan")}


class Experiment(Model):
    """Learners x streams x seeds; `target` is what detectors are scored by, `note` a sentence for the records.

    `tuned` is what `recollect tune` writes: by label, how a learner's options were chosen.

    `checkpoints: off` is for learners whose state cannot be saved: a run that is killed starts anew.
    """

    name: StrictStr
    streams: Annotated[tuple[StreamEntry, ...], Field(min_length=1)]
    learners: Annotated[tuple[LearnerEntry, ...], Field(min_length=1)]
    seeds: tuple[StrictInt, ...]
    plan: PlanEntry = PlanEntry()
    target: StrictStr | None = None
    device: StrictStr = "auto"
    note: StrictStr | None = None
    tuned: dict[StrictStr, dict[StrictStr, Any]] | None = None
    checkpoints: StrictBool = True

    @field_validator("streams", "learners", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        if isinstance(given, list | tuple):
            return given
        raise ValueError(f"a list, such as [{given if isinstance(given, str) else '...'}]; got {given!r}")

    @field_validator("plan", mode="before")
    @classmethod
    def _mapping(cls, given: Any) -> Any:
        if isinstance(given, Mapping | PlanEntry):
            return given
        raise ValueError(f"a mapping, such as {{rows: 5, columns: seen}}; got {given!r}")

    @field_validator("device")
    @classmethod
    def _device(cls, given: str) -> str:
        if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", given):
            raise ValueError(f"one of auto, cpu, cuda, cuda:N, mps; got {given!r}")
        return given

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds(cls, given: Any) -> Any:
        if _is_whole(given, 1) and given <= MOST_SEEDS:
            return tuple(range(given))
        negative = isinstance(given, list | tuple) and any(isinstance(seed, int) and seed < 0 for seed in given)
        if not isinstance(given, list | tuple) or not given or negative:
            raise ValueError(
                f"seeds is how many (at least 1, at most {MOST_SEEDS:,}), or a list such as [41, 42], from 0 on;"
                f" got {given!r}"
            )
        if len(set(map(repr, given))) < len(given):
            raise ValueError(f"a seed counts once; got {list(given)}")
        return tuple(given)

    @model_validator(mode="after")
    def _labels(self) -> Experiment:
        for what, entries in (("learner", self.learners), ("stream", self.streams)):
            labels = [entry.label for entry in entries]
            twice = next((label for label in labels if labels.count(label) > 1), None)
            if twice is not None:
                example = _LABELLED[what]
                raise ValueError(f"two {what}s are called {twice!r}; tell them apart by a label, such as {example}")
        return self


def read(path: Path | str) -> Experiment:
    """The experiment in a YAML file."""
    return parse(read_text(path), str(path))


def read_text(path: Path | str) -> str:
    """The text of an experiment file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot read the experiment {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"The experiment {path} is not a text file in UTF-8.") from None


def parse(text: str, source: str = "the experiment") -> Experiment:
    """The experiment in a YAML text; `source` is what messages call it.

    >>> experiment = parse("{name: demo, streams: [digits], learners: [random], seeds: 2}")
    >>> experiment.seeds, experiment.learners[0].label
    ((0, 1), 'random')
    >>> parse("{name: demo, streams: [digits], learner: [random], seeds: 2}")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: the experiment: unknown key 'learner'; did you mean 'learners'? There are: \
name, streams, learners, seeds, plan, target, device, note, tuned, checkpoints.
    """
    content = load_yaml(text, source)
    if not isinstance(content, dict):
        raise UsageError(f"{source}: an experiment is a mapping with name, streams, learners and seeds.")
    try:
        return Experiment.model_validate(content)
    except ValidationError as error:
        raise UsageError(f"{source}: {explain(error)}") from None


def load_yaml(text: str, source: str) -> Any:
    """The content of a YAML text; a key that comes twice is a mistake, not the last one."""
    try:
        yaml: Any = import_module("yaml")
    except ImportError:
        raise MissingExtra.of("PyYAML", "run") from None

    def mapping(loader: Any, node: Any) -> dict[Any, Any]:
        loader.flatten_mapping(node)
        made: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(None, None, "a key is a text", key_node.start_mark)
            if key in made:
                message = f"the key {key!r} comes twice"
                raise yaml.constructor.ConstructorError(None, None, message, key_node.start_mark)
            made[key] = loader.construct_object(value_node, deep=True)
        return made

    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)  # type: ignore[attr-defined]
    try:
        return yaml.load(text, loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise UsageError(f"{source} is not YAML{where}: {getattr(error, 'problem', error)}.") from None
    except RecursionError:
        raise UsageError(f"{source} is nested too deeply to be an experiment.") from None
    except (ValueError, TypeError, AttributeError, OverflowError) as error:  # of a date or a number that is none
        raise UsageError(f"{source} has a value that YAML cannot read: {error}.") from None


def explain(error: ValidationError, model: type[Model] | None = None) -> str:
    """One mistake in one sentence, with its place in the file; a misspelt key before what it leaves missing.

    `model` is what was read, the experiment if not given.
    """
    first = min(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    if first["type"] == "extra_forbidden":
        inside_plan = "plan" in first["loc"][:-1]
        known = PlanEntry if inside_plan else model or Experiment
        inside = " in plan" if inside_plan else ""
        return _unknown(str(first["loc"][-1]), known.model_fields, inside)
    if first["type"] == "missing":
        return f"{place} is missing."
    message = first["msg"].removeprefix("Value error, ").rstrip(".")
    got = "" if first["type"] == "value_error" else f"; got {first['input']!r}"
    return f"{place}: {message}{got}." if place else f"{message}{got}."


def _is_whole(value: Any, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= low


def _refuse_unknown(given: Iterable[str], known: Iterable[str], inside: str, also: tuple[str, ...] = ()) -> None:
    names = [*also, *known]
    for key in given:
        if key not in names:
            raise ValueError(_unknown(key, names, f" in {inside}"))


def _unknown(key: str, known: Iterable[str], inside: str = "") -> str:
    names = list(known)
    meant = _ELSEWHERE.get(key.lower())
    near = meant if meant in names else nearest(key, names)
    return f"unknown key {key!r}{inside}; did you mean {near!r}? There are: {', '.join(names)}."


def _stream_options() -> list[str]:
    """The options of `make_stream`: those in its signature, and those of a stream of classes or of concepts."""
    from recollect.streams import Spec, make_stream
    from recollect.streams.concepts import concept_options
    from recollect.streams.graphs.spec import graph_options

    own = inspect.signature(make_stream).parameters.values()
    named = [p.name for p in own if p.kind is not p.VAR_KEYWORD and p.name not in _NOT_IN_FILE]
    of_class = [field.name for field in fields(Spec)]
    return list(dict.fromkeys([*of_class, *named, *concept_options(), *graph_options(), "validation"]))


def _label(name: str, options: Mapping[str, Any]) -> str:
    """What a learner is called: a strategy by its detector too, for a table has several of each.

    >>> _label("er", {"memory": 200}), _label("naive", {"detector": {"IForest": {"n_estimators": 50}}})
    ('er', 'naive-iforest')
    """
    detector = options.get("detector")
    chosen = next(iter(detector), None) if isinstance(detector, Mapping) else detector
    return f"{name}-{chosen.lower()}" if isinstance(chosen, str) else name


def _check_learner(name: str, options: Mapping[str, Any]) -> None:
    """Find a wrong name or option now, not after an hour of other runs."""
    from recollect.learners import LEARNERS
    from recollect.learners import options as learner_options
    from recollect.paths import refuse_missing

    for what, path in (("learner", name), ("network", options.get("network"))):
        if isinstance(path, str) and ":" in path:
            try:
                refuse_missing(path, what)
            except UsageError as error:
                raise ValueError(str(error)) from None
    if ":" in name:
        return
    if name not in LEARNERS:
        raise ValueError(
            f"there is no learner named {name!r}; the nearest is {nearest(name, LEARNERS)!r}. There are:"
            f" {', '.join(LEARNERS)}; one of your own is named 'package.module:Class'"
        )
    try:
        learner_options.read(LEARNERS[name].options, name, options)
    except UsageError as error:
        raise ValueError(str(error)) from None
