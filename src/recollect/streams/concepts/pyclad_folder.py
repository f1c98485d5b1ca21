"""Reader of the folders in which pyCLAD's authors publish their concepts: energy plants, wind energy, and others.

Two forms, as the loaders of pyCLAD's main branch (August 2026) take them. One has files of training and of test rows
with the columns `concept_id`, `concept_name` and `label`: energy, wind, NSL-KDD and UNSW. The other is `data.csv` with
`task_id`, `task_name`, `task_split` and `label`, beside an `orderings.json` of named orders: CAD and MCAD. All other
columns are features; concepts come in the order of their numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.streams.concepts.build import build
from recollect.streams.concepts.checks import checked_labels, there_are
from recollect.streams.concepts.generate import concepts_of_rows
from recollect.streams.concepts.rows import Rows
from recollect.streams.concepts.spec import ORDERS, SourceSpec, read_options
from recollect.streams.concepts.tables import numbers, read_csv, windows_of
from recollect.streams.stream import Stream

_WHOLE, _ORDERINGS = "data.csv", "orderings.json"
_PARTS = ("train", "test")
_TABLES = (".csv", ".csv.gz", ".parquet")
_SPECIAL = ("concept_id", "concept_name", "label")
_TAKES = ("window", "stride", "window_label", "contaminated", "training_share", "anomaly_share", "unit_range")


def holds_pyclad_tables(folder: Path) -> bool:
    """Is this a folder of one of the two forms? By the names of its files."""
    return (folder / _ORDERINGS).is_file() or all(_files(folder, part) for part in _PARTS)


def stream_from_pyclad_folder(folder: Path, options: Mapping[str, Any]) -> Stream:
    """The stream of a folder; `order` may be the name of one of its orderings, too."""
    order = options.get("order")
    if isinstance(order, str) and order not in ORDERS and (folder / _ORDERINGS).is_file():
        options = {**options, "order": _ordering(folder, order)}
    spec, source = read_options(options, f"The stream of {folder.name}")
    for option in (name for name in vars(source) if name not in _TAKES):
        if getattr(source, option) != getattr(SourceSpec(), option):
            raise UsageError(f"The concepts of {folder} are made already: it does not take the option {option}.")
    return build(concepts_of_rows(read_pyclad_folder(folder, source), source, default="column"), spec)


def read_pyclad_folder(folder: Path, spec: SourceSpec) -> Rows:
    """All rows, those of a concept together, training rows first; windows if they are asked for."""
    train, test = _whole(folder / _WHOLE) if (folder / _ORDERINGS).is_file() else map(_joined, _part(folder))
    for table, part in ((train, "training"), (test, "test")):
        missing = [column for column in _SPECIAL if column not in table.columns]
        if missing:
            raise UsageError(
                f"The {part} rows in {folder} have no column {missing[0]!r}; pyCLAD's tables have concept_id,"
                " concept_name and label (or task_id, task_name, task_split and label) beside the features."
            )
    features = [column for column in train.columns if column not in _SPECIAL]
    if set(features) != set(test.columns) - {*_SPECIAL} or not features:
        raise UsageError(f"Training and test rows in {folder} have the same features; got {features} and others.")
    names = _names(train, test, folder)
    x = np.concatenate([numbers(table, features, f"{folder.name}, {part}") for table, part in _both(train, test)])
    y = np.concatenate([checked_labels(table["label"], len(table), f"'label' in {folder}") for table in (train, test)])
    number = np.concatenate([table["concept_id"].to_numpy() for table in (train, test)])
    group = np.searchsorted(np.asarray(list(names)), number)
    is_test = np.repeat([False, True], [len(train), len(test)])
    order = np.lexsort((np.arange(len(y)), is_test, group))
    rows = Rows(
        name=folder.name,
        x=x[order],
        y=y[order],
        test=is_test[order],
        fixed=True,
        group=group[order],
        groups=tuple(names.values()),
        columns=tuple(map(str, features)),
    )
    return windows_of(rows, spec)


def _both(train: Any, test: Any) -> tuple[tuple[Any, str], tuple[Any, str]]:
    return (train, "training"), (test, "test")


def _names(train: Any, test: Any, folder: Path) -> dict[int, str]:
    """The name of each concept by its number, in the order of numbers."""
    names: dict[int, str] = {}
    for table in (train, test):
        pairs = table[["concept_id", "concept_name"]].drop_duplicates()
        if pairs.isna().to_numpy().any() or pairs["concept_id"].dtype.kind not in "iu":
            raise UsageError(f"Every row in {folder} has a concept_id, a whole number, and a concept_name.")
        for number, name in pairs.itertuples(index=False):
            if names.setdefault(int(number), str(name)) != str(name):
                raise UsageError(
                    f"A concept_id in {folder} stands for one concept; {number} is both {names[int(number)]!r} and"
                    f" {str(name)!r}."
                )
    return dict(sorted(names.items()))


def _files(folder: Path, part: str) -> list[Path]:
    """The tables of a part: train.csv, train-00000-of-00002.parquet, energy_train.csv, train/0.csv, ..."""
    found = [path for path in folder.glob("*") if path.name.endswith(_TABLES) and part in _words(path.name)]
    return sorted(found) or sorted(path for path in (folder / part).glob("*") if path.name.endswith(_TABLES))


def _words(name: str) -> list[str]:
    """What a file's name is made of, as the library that publishes these sets takes it apart.

    >>> _words("wind_train-00000-of-00001.parquet")
    ['wind', 'train', '00000', 'of', '00001', 'parquet']
    """
    return re.split(r"[-._ ]+", name.lower())


def _part(folder: Path) -> tuple[list[Path], list[Path]]:
    return _files(folder, "train"), _files(folder, "test")


def _joined(paths: list[Path]) -> Any:
    import pandas

    tables = [_parquet(path) if path.suffix == ".parquet" else read_csv(path) for path in paths]
    for path, table in zip(paths, tables, strict=True):
        if list(table.columns) != list(tables[0].columns):
            raise UsageError(f"{path} has other columns than {paths[0].name}; they are parts of one table.")
    return pandas.concat(tables, ignore_index=True)


def _parquet(path: Path) -> Any:
    import pandas

    try:
        return pandas.read_parquet(path)
    except ImportError:
        raise UsageError(f"Reading {path} needs pyarrow: pip install pyarrow, or give the same table as csv.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"Cannot read {path} as a parquet table: {str(error).strip()}") from None


def _whole(path: Path) -> tuple[Any, Any]:
    table = read_csv(path).rename(columns={"task_id": "concept_id", "task_name": "concept_name"})
    if "task_split" not in table.columns or not table["task_split"].isin(_PARTS).all():
        raise UsageError(f"{path} says 'train' or 'test' in the column 'task_split' of every row; it does not.")
    train, test = (table[table["task_split"] == part].drop(columns="task_split") for part in _PARTS)
    return train, test


def _ordering(folder: Path, name: str) -> list[str]:
    path = folder / _ORDERINGS
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))["orderings"]
        known = {str(one["name"]): [str(concept) for concept in one["task_sequence"]] for one in listed}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise UsageError(
            f"Cannot read {path}: expected {{'orderings': [{{'name': ..., 'task_sequence': [...]}}]}}."
        ) from None
    if name not in known:
        raise UsageError(
            f"order is {', '.join(ORDERS)}, a list of concepts, or an ordering of {path.name}; {name!r}?"
            f" {there_are(name, list(known))}"
        )
    return known[name]
