"""Readers of labelled time series: SKAB and NAB. A sample is a window of rows, and the past is trained on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.concepts.checks import checked_labels
from recollect.streams.concepts.rows import Mask, Rows
from recollect.streams.concepts.spec import SourceSpec
from recollect.streams.concepts.tables import numbers, read_csv
from recollect.streams.concepts.windows import Windows, windowed

SKAB_FOLDERS = ("valve1", "valve2", "other")
SKAB_TRAIN = 400
# The columns of its files that are no sensors; the first says what is an anomaly.
SKAB_LABELS = ("anomaly", "changepoint", "datetime")
NAB_WINDOW = 10
# NAB's probationary period: 15 % of a series, but never more than 15 % of 5,000 rows.
_PROBATION, _LONG = 0.15, 5000


@dataclass(frozen=True, eq=False)
class _Series:
    folder: str
    file: str
    x: NDArray[Any]
    y: NDArray[np.int64]
    n_train: int


def read_skab(folder: Path, spec: SourceSpec) -> Rows:
    """The Skoltech Anomaly Benchmark: 8 sensors of a water circuit, one folder per kind of experiment.

    The first 400 rows of an experiment are for training, as in the benchmark's own code, or those before
    test_fraction. The run without anomalies is no concept: nothing in it could be found.
    """
    found = []
    for name in SKAB_FOLDERS:
        for path in sorted((folder / name).glob("*.csv"), key=lambda path: (len(path.stem), path.stem)):
            table = read_csv(path, sep=";")
            sensors = [column for column in table.columns if column not in SKAB_LABELS]
            if SKAB_LABELS[0] not in table.columns or not sensors:
                raise UsageError(f"{path} is not a file of SKAB: it has no column 'anomaly', or no sensors.")
            y = checked_labels(table[SKAB_LABELS[0]].to_numpy(), len(table), f"'anomaly' in {path}")
            n_train = SKAB_TRAIN if spec.test_fraction is None else round((1 - spec.test_fraction) * len(y))
            found.append((sensors, _Series(name, path.stem, numbers(table, sensors, str(path)), y, n_train)))
    columns = found[0][0]
    if any(sensors != columns for sensors, _ in found):
        raise UsageError(f"The files of SKAB have the same sensors; those in {folder} differ.")
    return _rows("skab", [series for _, series in found], columns, spec, spec.window or 1)


def read_nab(folder: Path, spec: SourceSpec) -> Rows:
    """The Numenta Anomaly Benchmark: 58 series of one value, those with anomalies, one folder per kind of series.

    A sample is the last 10 values (`window`); it is an anomaly if the last lies in a window of
    labels/combined_windows.json. NAB's probationary period, the first 15 %, is for training, or what is before
    test_fraction.
    """
    labels = folder / "labels" / "combined_windows.json"
    try:
        windows = json.loads(labels.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"Cannot read the label windows {labels}: {error}.") from None
    found = []
    for path in sorted((folder / "data").glob("*/*.csv")):
        key = f"{path.parent.name}/{path.name}"
        if not isinstance(windows, dict) or not windows.get(key):
            continue
        table = read_csv(path)
        if not {"timestamp", "value"} <= {*table.columns}:
            raise UsageError(f"{path} is not a series of NAB: it needs the columns timestamp and value.")
        y = _in_windows(table["timestamp"].to_numpy(dtype="datetime64[us]"), windows[key])
        part = _PROBATION * min(len(y), _LONG) if spec.test_fraction is None else (1 - spec.test_fraction) * len(y)
        found.append(_Series(path.parent.name, path.stem, numbers(table, ["value"], str(path)), y, int(part)))
    return _rows("nab", found, ["value"], spec, spec.window or NAB_WINDOW)


def _rows(name: str, found: Sequence[_Series], columns: Sequence[str], spec: SourceSpec, window: int) -> Rows:
    if not found:
        raise UsageError(f"No labelled series of {name} were found in the folder. Unpack it again.")
    by_file = spec.concepts == "files"
    groups = tuple(dict.fromkeys(_concept(series, by_file) for series in found))
    for series in found:
        if len(series.y) < window + 1 or series.n_train < window:
            raise UsageError(
                f"window = {window} rows make a sample; {series.folder}/{series.file} has {len(series.y)} rows,"
                f" of which {series.n_train} are for training. Give a smaller window."
            )
    lengths = [len(series.y) for series in found]
    rows = Rows(
        name=name,
        x=np.concatenate([series.x for series in found]),
        y=np.concatenate([series.y for series in found]),
        test=np.concatenate([np.arange(len(series.y)) >= series.n_train for series in found]),
        fixed=True,
        group=np.repeat([groups.index(_concept(series, by_file)) for series in found], lengths),
        groups=groups,
        series=np.repeat(np.arange(len(found)), lengths),
        columns=tuple(columns),
    )
    if window == 1 and spec.stride == 1:
        return rows
    return windowed(rows, Windows(window, spec.stride, spec.window_label), keep_mixed=spec.contaminated)


def _concept(series: _Series, by_file: bool) -> str:
    return f"{series.folder}/{series.file}" if by_file else series.folder


def _in_windows(time: NDArray[np.datetime64], windows: Iterable[Sequence[str]]) -> NDArray[np.int64]:
    inside: Mask = np.zeros(len(time), dtype=bool)
    for first, last in windows:
        inside |= (time >= np.datetime64(first)) & (time <= np.datetime64(last))
    return inside.astype(np.int64)
