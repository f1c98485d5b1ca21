"""Reader of CIC-IDS2017 and CSE-CIC-IDS2018 in their published csv form: one file per day, flows by CICFlowMeter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.concepts.rows import Rows
from recollect.streams.concepts.spec import SourceSpec
from recollect.streams.concepts.tables import read_csv

# Who talked to whom and when is no feature; the files of machine learning have none of it, the others all.
_NO_FEATURES = frozenset(
    ("flow id", "source ip", "src ip", "source port", "src port", "destination ip", "dst ip", "timestamp", "label")
)
_LABEL = "Label"
_FILES = ("*day*.csv", "*-2018*.csv")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DATE = re.compile(r"(\d{2})-(\d{2})-(\d{4})")
# The dash of "Web Attack - XSS" came as a byte of cp1252, which others have turned into what stands for no character.
_DASH = re.compile("[\u2010-\u2015\u0096\u0097\ufffd]|\u00ef\u00bf\u00bd|\u00e2\u20ac[\u201c\u201d]")


def read_cic_ids(folder: Path, spec: SourceSpec) -> Rows:
    """All csv files of the folder, in the order of their days; a group is a kind of attack, or a day (concepts: files).

    Spaces around names of columns, columns that come twice, headers that are repeated inside a file, lines without a
    label and bytes that are no UTF-8 are as published. Rows with a value that is missing or infinite, or without a
    label, are left out, and counted.
    """
    found = {path for pattern in _FILES for path in folder.glob(pattern)}
    files = sorted(found, key=lambda path: (_day(path.stem), path.name))
    tables = [_table(path) for path in files]
    columns = [name for name in tables[0].columns if name.lower() not in _NO_FEATURES]
    for path, table in zip(files, tables, strict=True):
        missing = [name for name in columns if name not in table.columns]
        if missing:
            raise UsageError(f"{path} has no column {missing[0]!r}, which {files[0].name} has: one release at a time.")
        more = [name for name in table.columns if name not in columns and name.lower() not in _NO_FEATURES]
        if more:
            raise UsageError(f"{path} has a column {more[0]!r}, which {files[0].name} has not: one release at a time.")
    x = np.concatenate([_values(table, columns) for table in tables])
    kinds = np.concatenate([_kinds(table[_LABEL]) for table in tables])
    day = np.repeat(np.arange(len(files)), [len(table) for table in tables])
    whole = np.isfinite(x).all(axis=1) & (kinds != "")
    left_out = int(np.count_nonzero(~whole))
    notes = (
        f"{left_out:,} of {len(whole):,} rows have a value that is missing or infinite, or no label, and are left out",
    )
    x, kinds, day = x[whole], kinds[whole], day[whole]
    y = (np.char.lower(kinds) != "benign").astype(np.int64)
    if not y.any() or y.all():
        held = "no rows that can be used" if not len(y) else "attacks only" if y.all() else "BENIGN flows only"
        raise UsageError(f"The files in {folder} hold {held}.")
    groups = tuple(str(kind) for kind in np.unique(kinds[y == 1]))
    group = np.where(y == 1, np.searchsorted(groups, kinds), -1)
    if spec.concepts == "files":
        groups, group = tuple(path.stem for path in files), day
    return Rows(
        name="cic-ids",
        x=x,
        y=y,
        group=group,
        groups=groups,
        columns=tuple(columns),
        notes=notes if left_out else (),
    )


def _table(path: Path) -> Any:
    """The rows of a file that are flows, or nothing at all, under names without spaces; of twins the first."""
    table = read_csv(path, sep=",", low_memory=False, encoding_errors="replace")
    names = [str(name).strip() for name in table.columns]
    names = [_LABEL if name.lower() == _LABEL.lower() else name for name in names]
    # pandas calls the second of two columns of one name "Fwd Header Length.1".
    first = [
        place
        for place, name in enumerate(names)
        if name not in names[:place] and not (name.endswith(".1") and name[:-2] in names)
    ]
    table = table.set_axis(names, axis=1).iloc[:, first]
    if _LABEL not in table.columns or len(table.columns) < 3:
        raise UsageError(f"{path} is no file of CIC-IDS: it has no column {_LABEL!r}, or no features.")
    return table[table[_LABEL].astype(str).str.strip().str.lower() != _LABEL.lower()]


def _kinds(column: Any) -> NDArray[Any]:
    """The label of each row, "" where it has none; whichever dash a release has, here it is "-".

    >>> import pandas
    >>> _kinds(pandas.Series(["BENIGN ", "Web Attack \ufffd XSS", "Web Attack \u2013 XSS", None])).tolist()
    ['BENIGN', 'Web Attack - XSS', 'Web Attack - XSS', '']
    """
    texts = column.astype(object).where(column.notna(), "").astype(str).str.strip()
    return np.asarray(texts.str.replace(_DASH, "-", regex=True).to_numpy(dtype=str))


def _values(table: Any, columns: list[str]) -> Any:
    import pandas

    return table[columns].apply(pandas.to_numeric, errors="coerce").to_numpy(dtype=np.float64)


def _day(name: str) -> tuple[int, ...]:
    """Where a file stands in time: by the date in its name, else by its weekday.

    The day comes first in published names, which begin with the weekday; copies without it have the month first.

    >>> _day("Thursday-15-02-2018_TrafficForML_CICFlowMeter"), _day("Friday-WorkingHours-Morning.pcap_ISCX")
    ((2018, 2, 15), (4,))
    >>> _day("03-02-2018")
    (2018, 3, 2)
    """
    if date := _DATE.search(name):
        day, month, year = map(int, date.groups())
        return (year, day, month) if date.start() == 0 else (year, month, day)
    weekday = name.lower().partition("-")[0]
    return (_DAYS.index(weekday) if weekday in _DAYS else len(_DAYS),)
