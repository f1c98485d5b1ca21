"""`.json` files: nested lists with null where not evaluated, or an object with `R` and its companions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect.runs.importers.files import guess_json, load_json
from recollect.runs.importers.matrices import ALIASES, Parts, pick, runs_of, to_array
from recollect.runs.importers.table import is_long, runs_of_table
from recollect.runs.run import Run

NAME = "json"
SUMMARY = "JSON: nested lists (null: not evaluated), an object with R and companions, or a list of records"


def sniff(path: Path) -> bool:
    """Nested lists of numbers, records with `after`, `on` and `score`, or an object with a matrix in it."""
    value = guess_json(path)
    if isinstance(value, dict):
        return any(isinstance(value.get(name), list) for name in ALIASES["R"])
    if not isinstance(value, list) or not value:
        return False
    return _records(value) is not None or isinstance(value[0], list)


def read(path: Path, *, rows: str | None = None) -> list[Run]:
    """A run for each matrix (`rows`: time or tasks), or for each run that the records name."""
    value = load_json(path, NAME)
    records = _records(value)
    if records is not None:
        return runs_of_table(path, NAME, records)
    found: dict[str, Any] = pick(path, NAME, value) if isinstance(value, dict) else {"R": value}
    R = to_array(path, NAME, "R", found.pop("R"))
    return runs_of(path, NAME, Parts(R, found), rows=rows)


def _records(value: Any) -> list[Mapping[str, Any]] | None:
    if isinstance(value, list) and value and all(isinstance(v, dict) for v in value) and is_long(value[0]):
        return value
    return None
