"""Runs: the record of one learner on one stream with one seed, on disk and in memory."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recollect.runs.run import Plan, Row, Run, Source, Task

if TYPE_CHECKING:
    from recollect.runs.export import to_csv, to_json, to_npz, to_pandas, to_xarray, write_file
    from recollect.runs.groups import Group, at_common_rows, attach_joint, group, stack
    from recollect.runs.loading import load, load_all
    from recollect.runs.recorder import Recorder
    from recollect.runs.saving import save
    from recollect.runs.seeds import Seeds, derive
    from recollect.runs.store import RunFolder
    from recollect.runs.tables import to_latex, to_markdown

# Reading one file should not cost the import of all that can be written.
_LATER = {
    **dict.fromkeys(("to_csv", "to_json", "to_npz", "to_pandas", "to_xarray", "write_file"), "export"),
    **dict.fromkeys(("Group", "at_common_rows", "attach_joint", "group", "stack"), "groups"),
    **dict.fromkeys(("load", "load_all"), "loading"),
    **dict.fromkeys(("Seeds", "derive"), "seeds"),
    **dict.fromkeys(("to_latex", "to_markdown"), "tables"),
    "Recorder": "recorder",
    "RunFolder": "store",
    "save": "saving",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'recollect.runs' has no attribute {name!r}")
    return getattr(import_module(f"recollect.runs.{_LATER[name]}"), name)


__all__ = [
    "Group",
    "Plan",
    "Recorder",
    "Row",
    "Run",
    "RunFolder",
    "Seeds",
    "Source",
    "Task",
    "at_common_rows",
    "attach_joint",
    "derive",
    "group",
    "load",
    "load_all",
    "save",
    "stack",
    "to_csv",
    "to_json",
    "to_latex",
    "to_markdown",
    "to_npz",
    "to_pandas",
    "to_xarray",
    "write_file",
]
