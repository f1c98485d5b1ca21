"""Anomaly detection streams by name: which reader, which options, and what is kept of the work."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.cache import Decoded, content_key, decoded
from recollect.streams.catalogue import published
from recollect.streams.concepts.arrays import adbench_files, is_pyclad, read_adbench, read_pyclad
from recollect.streams.concepts.build import build
from recollect.streams.concepts.cic_ids import read_cic_ids
from recollect.streams.concepts.concepts import Concepts
from recollect.streams.concepts.generate import concepts_of_rows
from recollect.streams.concepts.intrusion import UNSW_TEST, read_nsl_kdd, read_unsw_nb15
from recollect.streams.concepts.rows import Rows
from recollect.streams.concepts.series import read_nab, read_skab
from recollect.streams.concepts.spec import OF_CONCEPTS, SourceSpec, concept_options, read_options
from recollect.streams.concepts.tables import concepts_from_table
from recollect.streams.locate import find_folder, present
from recollect.streams.published import Published
from recollect.streams.spec import Spec
from recollect.streams.stream import Stream

ADBENCH = "adbench:"
# Another number where the readers give other rows of the same files: what is kept of older ones is then made anew.
_READERS = 3
_MAKING = (
    *("concepts", "test_fraction", "anomaly_share", "contaminated", "training_share"),
    *("unit_range", "n_concepts", "anomalies"),
)


@dataclass(frozen=True)
class Source:
    """A data set with its reader, the ways in which it can be made concepts (the first is its own), its options."""

    read: Callable[[Path, SourceSpec], Rows]
    concepts: tuple[str, ...]
    takes: tuple[str, ...]
    unit_range: bool = False


SOURCES: dict[str, Source] = {
    "nsl-kdd": Source(
        lambda folder, _: read_nsl_kdd(folder), ("clusters", "families"), (*_MAKING, "per_concept"), unit_range=True
    ),
    "unsw-nb15": Source(
        lambda folder, _: read_unsw_nb15(folder), ("clusters", "families"), (*_MAKING, "per_concept"), unit_range=True
    ),
    **{
        f"cic-ids{year}": Source(
            read_cic_ids, ("clusters", "families", "files"), (*_MAKING, "per_concept"), unit_range=True
        )
        for year in (2017, 2018)
    },
    "skab": Source(read_skab, ("folders", "files", "clusters"), (*_MAKING, "window", "stride", "window_label")),
    "nab": Source(read_nab, ("folders", "files", "clusters"), (*_MAKING, "window", "stride", "window_label")),
}
PYCLAD = "pyclad-nsl-kdd"


def is_concept_source(name: str) -> bool:
    """Is this the name of an anomaly detection stream?

    >>> is_concept_source("adbench:shuttle"), is_concept_source("digits")
    (True, False)
    """
    return name in SOURCES or name in (PYCLAD, "adbench") or name.startswith(ADBENCH)


def holds_concepts(path: Path, options: Mapping[str, Any]) -> bool:
    """Is a stream of this file one of concepts? By its kind, its content, or what is asked of it."""
    shared = {field.name for field in fields(Spec)} | {"test_fraction"}
    asked = any(option in concept_options() and option not in shared for option in options)
    return path.suffix == ".csv" or asked or options.get("scenario") in OF_CONCEPTS or is_pyclad(path)


def stream_from_file(path: Path, options: Mapping[str, Any]) -> Stream:
    """The stream of a `.csv` or `.npz` file of a user."""
    spec, source = read_options(options, f"The stream of {path.name}")
    if is_pyclad(path):
        _refuse(path.name, (), source)
        return build(read_pyclad(path), spec)
    return build(concepts_from_table(path, source), spec)


def make_concept_stream(name: str, data: Path | str | None, options: Mapping[str, Any]) -> Stream:
    """The stream of this name; `options` are those of `ConceptSpec` and of `SourceSpec` as far as they apply."""
    spec, source = read_options(options, f"The stream {name}")
    entry = published(name if name in (*SOURCES, PYCLAD) else "adbench")
    if name == PYCLAD:
        _refuse(name, (), source)
        return build(read_pyclad(find_folder(entry, data) / entry.files[0].name, name), spec)
    of_adbench = Source(
        lambda folder, _: read_adbench(folder, name.removeprefix(ADBENCH)), ("clusters",), (*_MAKING, "per_concept")
    )
    chosen = SOURCES.get(name, of_adbench)
    _refuse(name, chosen.takes, source)
    if source.concepts not in (None, *chosen.concepts):
        raise UsageError(f"The concepts of {name} are {' or '.join(chosen.concepts)}; got {source.concepts}.")
    if source.unit_range is None:
        source = replace(source, unit_range=chosen.unit_range)
    folder = find_folder(entry, data)
    if name in ("adbench", ADBENCH):
        raise UsageError(
            f"Which table of ADBench? Here are {', '.join(ADBENCH + one for one in adbench_files(folder))}."
        )
    return build(_kept(name, entry, folder, chosen, source), spec)


def _kept(name: str, entry: Published, folder: Path, chosen: Source, spec: SourceSpec) -> Concepts:
    """The concepts, made once: reading text and clustering take many seconds, and an experiment has many runs."""

    def make() -> Decoded:
        rows = chosen.read(folder, spec)
        right, message = _right_count(entry, len(rows.y), rows)
        if not right:
            raise UsageError(f"{message} Unpack it again.")
        made = concepts_of_rows(rows, spec, default=chosen.concepts[0])
        arrays: dict[str, NDArray[Any]] = {}
        for part, of in (("train", made.train), ("test", made.test)):
            kept = np.concatenate(of)
            arrays[f"x_{part}"] = made.x_train[kept]
            arrays[f"y_{part}"] = made.y_train[kept]
            arrays[f"{part}_of"] = np.repeat(np.arange(len(of)), [len(rows) for rows in of])
        return Decoded(arrays, {"names": made.names, "columns": made.columns, "notes": made.notes})

    files = _files(name, entry, folder)
    title = name.replace(":", "-")
    found = decoded(f"{title}-concepts", content_key(folder, files, _READERS, name, repr(spec)), make)
    arrays, facts = found.arrays, found.facts
    ranks = range(len(facts["names"]))
    return Concepts(
        name=name,
        names=tuple(facts["names"]),
        x_train=arrays["x_train"],
        y_train=arrays["y_train"],
        x_test=arrays["x_test"],
        y_test=arrays["y_test"],
        train=tuple(np.flatnonzero(arrays["train_of"] == k) for k in ranks),
        test=tuple(np.flatnonzero(arrays["test_of"] == k) for k in ranks),
        columns=tuple(facts["columns"]),
        notes=tuple(facts["notes"]),
    )


def counted(entry: Published, folder: Path) -> tuple[bool, str]:
    """Whether the files hold as many rows as were published, and how many there are."""
    files = _files(entry.name, entry, folder)
    if entry.name == "adbench":
        return True, f"{len(adbench_files(folder))} tables; ADBench publishes 47 of this kind"
    if entry.name == PYCLAD:
        try:
            concepts = read_pyclad(files[0], PYCLAD)
        except UsageError as error:
            return False, str(error)
        sizes = len(concepts.y_train), len(concepts.y_test)
        return sizes == (
            entry.n_train,
            entry.n_test,
        ), f"{len(concepts.names)} concepts, {sizes[0]:,} + {sizes[1]:,} rows"
    rows = [_lines(path) - (".csv" in path.name) for path in files if ".json" not in path.name]
    if entry.name == "nsl-kdd":
        right = (rows[0], rows[1]) == (entry.n_train, entry.n_test)
        return right, f"{rows[0]:,} + {rows[1]:,} rows" + ("" if right else _published_rows(entry))
    return _right_count(entry, sum(rows), None)


def _right_count(entry: Published, n: int, rows: Rows | None) -> tuple[bool, str]:
    """Series may be of another release: their counts are not insisted on when they are read."""
    if entry.name == "unsw-nb15":
        right = n in (entry.n_train, entry.n_test, entry.n_train + entry.n_test)
    elif entry.name == "nsl-kdd" and rows is not None and rows.test is not None:
        right = (int((~rows.test).sum()), int(rows.test.sum())) == (entry.n_train, entry.n_test)
    else:
        right = rows is not None or n == entry.n_train
    return right, f"{n:,} rows" + ("" if right else _published_rows(entry))


def _published_rows(entry: Published) -> str:
    return f"; the published {entry.name} has {entry.n_train:,}" + (f" + {entry.n_test:,}." if entry.n_test else ".")


def _files(name: str, entry: Published, folder: Path) -> list[Path]:
    """All files that the rows come from: those that are needed, and the testing set that may be there."""
    if name.startswith(ADBENCH):
        known = {one.lower(): path for one, path in adbench_files(folder).items()}
        own = known.get(name.removeprefix(ADBENCH).lower())
        return [own] if own is not None else []
    found = [path for file in entry.files for path in sorted(folder.glob(file.name))]
    found += [path for file in entry.files if (path := present(folder, file.name)) is not None and path not in found]
    testing = present(folder, UNSW_TEST) if entry.name == "unsw-nb15" else None
    return [*found, *([testing] if testing is not None else [])]


def _lines(path: Path) -> int:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _refuse(name: str, takes: tuple[str, ...], source: SourceSpec) -> None:
    for field in fields(SourceSpec):
        if field.name not in takes and getattr(source, field.name) != field.default:
            has = f"it has {', '.join(takes)}" if takes else "its concepts are made already"
            raise UsageError(f"{name} does not take the option {field.name}; {has}.")
