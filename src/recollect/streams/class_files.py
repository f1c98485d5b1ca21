"""Class orders, task splits and names of classes in files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from recollect.errors import UsageError
from recollect.streams.data import Dataset


def with_files(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with `class_order` and `label_names` read where they name a file.

    A file of classes has one per line, or is a JSON list. An empty line, or a list in the list, begins another task:
    then it says `classes_per_task`, too. A file of names has the name of class 0, 1, ... on its lines, or is a JSON
    list or mapping.
    """
    made = dict(options)
    order, names = made.get("class_order"), made.get("label_names")
    if isinstance(order, str) and order != "natural":
        tasks = _groups(order)
        made["class_order"] = tuple(chain.from_iterable(tasks))
        sizes = tuple(map(len, tasks))
        if len(sizes) > 1:
            if made.get("classes_per_task", sizes) != sizes or made.get("tasks", len(sizes)) != len(sizes):
                raise UsageError(
                    f"{order} has {len(sizes)} tasks of {', '.join(map(str, sizes))} classes, and tasks or"
                    " classes_per_task say something else. Leave them out."
                )
            made["classes_per_task"] = sizes
    if isinstance(names, str):
        content = _content(names)
        made["label_names"] = (
            content if isinstance(content, dict) else tuple(chain.from_iterable(_lists(content, names)))
        )
    return made


def renamed(data: Dataset, names: Any) -> Dataset:
    """The data set with its classes called otherwise: by a list, for classes 0, 1, ..., or by a mapping."""
    listed = enumerate(names) if isinstance(names, tuple) else names.items()
    called: dict[str, Any] = {str(old): new for old, new in listed}
    missing = [c for c in data.classes if str(c) not in called]
    if missing:
        raise UsageError(f"label_names has no name for the class {missing[0]!r} of {data.name}.")
    new = tuple(called[str(c)] for c in data.classes)
    if len(set(new)) < len(new) or not all(isinstance(name, (int, str)) for name in new):
        twice = next((name for name in new if new.count(name) > 1), None)
        raise UsageError(f"label_names calls two classes of {data.name} {twice!r}; every class has a name of its own.")
    return replace(data, classes=new)


def _groups(path: str) -> list[list[Any]]:
    groups = _lists(_content(path), path)
    if not groups:
        raise UsageError(f"{path} names no classes; expected one per line, or a JSON list.")
    return groups


def _lists(content: Any, path: str) -> list[list[Any]]:
    """Lists of classes: one, or one per task."""
    listed = content if isinstance(content, list) else None
    if listed is not None and all(isinstance(part, list) for part in listed):
        groups = [part for part in listed if part]
    else:
        groups = [listed] if listed else []
    if listed is None or not all(isinstance(name, (str, int)) for group in groups for name in group):
        raise UsageError(f"{path} is a list of classes, or of lists of them, one per task; got something else.")
    return groups


def _content(path: str) -> Any:
    """What a file says: JSON, or groups of lines with empty ones between."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        if Path(path).suffix.lower() == ".json":
            return json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"Cannot read the classes in {path!r}: {why}. A list of all classes, 'natural', or a file with one class"
            " per line was expected."
        ) from None
    groups: list[list[str]] = [[]]
    for line in map(str.strip, text.splitlines()):
        if line:
            groups[-1].append(line)
        elif groups[-1]:
            groups.append([])
    return [group for group in groups if group]
