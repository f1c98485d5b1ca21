"""The identity of a run, from its learner, its stream and its target."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from recollect.learners.abilities import Configured
from recollect.learners.wrap import ObjectLearner, SklearnLearner
from recollect.paths import import_path
from recollect.problems import Target, problem_of
from recollect.protocol import checkpoint
from recollect.runs.identity import Identity, parameters, plain
from recollect.runs.seeds import derive
from recollect.runs.sources import code_of, is_known

if TYPE_CHECKING:
    from recollect.learners.base import Learner
    from recollect.streams.stream import Stream

_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def identity_of(learner: Learner, stream: Stream, target: Target | str | None = None) -> Identity:
    """The identity of a run of this learner, which has learned nothing yet."""
    inner = _inside(learner)
    options = options_of(learner)
    chosen = parameters(inner) if options is None else options
    kind = type(inner)
    name = inner.__name__ if isinstance(inner, ModuleType) else f"{kind.__module__}:{kind.__qualname__}"
    made = identity(name, chosen, [inner], stream, target)
    return replace(made, later=later_defaults(learner.options)) if isinstance(learner, Configured) and options else made


def identity(
    learner: str, options: Mapping[str, Any], made_of: list[Any], stream: Stream, target: Target | str | None
) -> Identity:
    """The identity of a run; `made_of` are the learner's class or object, and what else its code is."""
    scored = target if isinstance(target, Target) else problem_of(stream.problem).target(target)
    parts = [*made_of, *_code_in(options), *([scored.function] if scored.function else [])]
    return Identity(
        learner=learner,
        options=plain(options),
        code=code_of(parts),
        training=stream.training_hash,
        feeding={
            "batch": stream.batch,
            "passes": stream.passes,
            "boundaries": stream.gives_boundaries,
            "task": stream.gives_task,
            "shuffle": stream.shuffle,
        },
        target=_scored_by(scored, problem_of(stream.problem).targets),
        order=stream.order_hash,
        start=_weights(options),
    )


def _scored_by(target: Target, known: Sequence[Target]) -> str:
    """The name of a target, and of its function where that is the user's."""
    own = getattr(target.function, "__qualname__", target.name)
    return target.name if target in known or own == target.name else f"{target.name} by {own}"


def _inside(learner: Any) -> Any:
    """The object or estimator of somebody else that a learner is made of, else the learner."""
    if isinstance(learner, ObjectLearner):
        return learner.wrapped
    return learner.estimator if isinstance(learner, SklearnLearner) else learner


def options_of(learner: object) -> dict[str, Any] | None:
    """The options of a learner of ours, with their defaults; None of another one's."""
    options = learner.options if isinstance(learner, Configured) else None
    return option_values(options) if is_dataclass(options) and not isinstance(options, type) else None


def option_values(options: Any) -> dict[str, Any]:
    """The values of a dataclass of options, as they are; options that came later only where they are used."""
    values = {one.name: getattr(options, one.name) for one in fields(options)}
    unused = {one.name for one in fields(options) if one.metadata.get("later") and values[one.name] == one.default}
    return {name: value for name, value in values.items() if name not in unused}


def later_defaults(options: Any) -> dict[str, Any]:
    """The defaults of the options that came after records were written."""
    return {one.name: plain(one.default) for one in fields(options) if one.metadata.get("later")}


def _code_in(value: Any) -> Iterator[Any]:
    """The classes, functions and objects among options, and those that are named by a path."""
    if isinstance(value, str):
        if _PATH.fullmatch(value) and not is_known(value.partition(":")[0]):
            yield import_path(value, "function")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _code_in(key)
            yield from _code_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _code_in(item)
    elif value is not None and not isinstance(value, bool | int | float | bytes):
        yield value


def _weights(options: Mapping[str, Any]) -> str:
    """The hash of the weights of networks that are given as they are; the learners' own come from the seed."""
    torch = sys.modules.get("torch")
    hashed = hashlib.sha256()
    file = options.get("weights")
    if isinstance(file, str) and os.path.isfile(file):
        with open(file, "rb") as read:
            return hashlib.file_digest(read, "sha256").hexdigest()[:20]
    given = [] if torch is None else [v for v in options.values() if isinstance(v, torch.nn.Module)]
    for module in given:
        for name, tensor in module.state_dict().items():
            hashed.update(name.encode())
            raw = tensor.detach().cpu().contiguous().reshape(-1)
            hashed.update(raw.view(torch.uint8).numpy().tobytes() if raw.numel() else b"")  # type: ignore[union-attr]
    return hashed.hexdigest()[:20] if given else ""


def made_for(learner: Learner, stream: Stream, seed: int) -> dict[str, Any]:
    """What checkpoints said of themselves before the record had an identity."""
    first = next(stream.batches(derive(seed).stream))
    facts: dict[str, Any] = {
        "batch": stream.batch,
        "passes": stream.passes,
        "number of batches": stream.n_batches,
        "boundaries": stream.gives_boundaries,
        "first batch of training samples": checkpoint.digest([first.x, first.y]),
        "learner's kind": type(learner).__name__,
    }
    return facts | {f"option {name}": _said(value) for name, value in (options_of(learner) or {}).items()}


def _said(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_said(one) for one in value]
    return getattr(value, "__qualname__", type(value).__qualname__)
