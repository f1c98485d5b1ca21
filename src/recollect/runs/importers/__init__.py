"""Results of other tools, read as they are.

A module a tool: `NAME`, `SUMMARY`, `sniff(path)` (is this file its?) and `read(path, ...)`, which gives
runs or raises UsageError. What an importer had to assume is in the notes of its runs; a cell that was not
evaluated is None there, never 0.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from recollect.errors import UsageError
from recollect.nearest import nearest
from recollect.runs.importers.build import whole
from recollect.runs.importers.files import head_lines, in_words, is_folder
from recollect.runs.run import UNITS, Run

if TYPE_CHECKING:
    from recollect.runs.importers.versions.evaluation import Evaluation

    IMPORTERS: Mapping[str, Importer]
    TOOLS: Mapping[str, str]

__all__ = ["IMPORTERS", "TOOLS", "Importer", "ReadsVersions", "detect", "named", "options_of", "read"]


class Importer(Protocol):
    """What a module of this package offers."""

    @property
    def NAME(self) -> str: ...
    @property
    def SUMMARY(self) -> str: ...
    @property
    def sniff(self) -> Callable[[Path], bool]: ...
    @property
    def read(self) -> Callable[..., list[Run]]: ...


@runtime_checkable
class ReadsVersions(Importer, Protocol):
    """An importer whose files are evaluations of one version of a model each: a run is made of several."""

    @property
    def evaluations(self) -> Callable[[Path], Sequence[Evaluation]]: ...


# In the order in which they are asked whether a file is theirs.
_MODULES = (
    "avalanche",
    "mammoth",
    "pycil",
    "pyclad",
    "begin",
    "cglb",
    "raptormai",
    "michel",
    "gem",
    "agem",
    "vandeven",
    "l2metrics",
    "facil",
    "libcontinual",
    "clarena",
    "versions.lmeval",
    "versions.hf_trainer",
    "versions.inspect_ai",
    "versions.every_eval_ever",
    "versions.lighteval",
    "versions.lerobot",
    "versions.trace",
    "versions.mcitlib",
    "versions.opencompass",
    "continual_world",
    "libero",
    "npy",
    "npz",
    "json_file",
    "versions.wide_csv",
    "csv_file",
)
_COMMON = ("learner", "stream", "seed", "unit")
# Tools that write another one's format.
_ALIASES = {"pilot": "pycil", "online-continual-learning": "raptormai", "l2logger": "l2metrics", "lm_eval": "lm-eval"}

# Two lines of nothing but numbers and separators: no tool but a csv writer leaves that.
_BARE = re.compile(r"[-+\d.eE,;\s]*\d[-+\d.eE,;\s]*")


def _module(name: str) -> Importer:
    return cast(Importer, import_module(f"recollect.runs.importers.{name}"))


@cache
def _importers() -> dict[str, Importer]:
    return {module.NAME: module for module in map(_module, _MODULES)}


def _tools() -> dict[str, str]:
    own = {tool: module.SUMMARY for tool, module in _importers().items()}
    return own | {alias: f"as {tool}" for alias, tool in _ALIASES.items()}


def __getattr__(name: str) -> Any:
    # Reading one plain file should not cost the import of every reader.
    if name == "IMPORTERS":
        return _importers()
    if name == "TOOLS":
        return _tools()
    raise AttributeError(f"module 'recollect.runs.importers' has no attribute {name!r}")


def detect(path: Path | str) -> Importer | None:
    """The importer that knows this file or folder by what is in it, or None. Never raises.

    >>> detect("no/such/file") is None
    True
    """
    there = Path(path)
    if _is_bare_table(there):
        return _module("csv_file")
    return next((module for module in map(_module, _MODULES) if module.sniff(there)), None)


def _is_bare_table(path: Path) -> bool:
    if is_folder(path) or path.suffix.lower() != ".csv":
        return False
    lines = [line for line in head_lines(path, 2**16) if line.strip()][:2]
    return bool(lines) and all(_BARE.fullmatch(line) for line in lines)


def options_of(tool: str) -> tuple[str, ...]:
    """What an importer can be told beside the path.

    >>> options_of("pycil")
    ('learner', 'stream', 'seed', 'unit', 'classifier')
    """
    return _options(named(tool))


def _options(importer: Importer) -> tuple[str, ...]:
    own = inspect.signature(importer.read).parameters
    return (*_COMMON, *(name for name in own if name != "path"))


def read(path: Path | str, tool: str | None = None, **options: Any) -> list[Run]:
    """The runs in a file or folder, by the importer named or by detection.

    `learner`, `stream`, `seed` and `unit` replace what the file says or leaves open; other options belong to
    the importer (see `options_of`).
    """
    there = Path(path)
    importer = detect(there) if tool is None else named(tool)
    if importer is None:
        raise UsageError(
            f"{in_words(str(path), 200)} is not a file that any importer knows by its content. Name the"
            f" tool ({', '.join(_tools())}), or write the scores as a .csv, .npy or .json matrix."
        )
    allowed = _options(importer)
    for name in options:
        if name not in allowed:
            raise UsageError(
                f"The importer {importer.NAME} has no option '{in_words(name)}'; it takes {', '.join(allowed)}."
            )
    given = {name: value for name, value in options.items() if value is not None}
    own = {name: value for name, value in given.items() if name not in _COMMON}
    common = {name: value for name, value in given.items() if name in _COMMON}
    return [_override(run, common) for run in importer.read(there, **own)]


def named(tool: str) -> Importer:
    """The importer of a tool's name or alias; an unknown one is an error that suggests the nearest."""
    name = _ALIASES.get(tool.lower(), tool.lower())
    if name not in _importers():
        tools = _tools()
        near = nearest(name, tools, cutoff=0.6)
        hint = "" if near is None else f" Did you mean {near}?"
        raise UsageError(f"There is no importer '{in_words(tool)}'.{hint} There are: {', '.join(tools)}.")
    return _importers()[name]


def _override(run: Run, common: Mapping[str, Any]) -> Run:
    changes = dict(common)
    if not changes:
        return run
    if "seed" in changes:
        seed = whole(changes["seed"])
        if seed is None:
            raise UsageError(f"The seed is a whole number; got {in_words(changes['seed'])}.")
        changes["seed"] = seed
    if "unit" in changes and changes["unit"] not in UNITS:
        raise UsageError(f"The unit is one of {', '.join(UNITS)}; got {in_words(changes['unit'])}.")
    return dataclasses.replace(run, **changes)
