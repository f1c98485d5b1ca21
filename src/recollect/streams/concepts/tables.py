"""Streams from tables: a pandas DataFrame, a `.csv` or an `.npz` file with a concept and one label per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import MissingExtra, UsageError
from recollect.streams.concepts.build import build
from recollect.streams.concepts.checks import checked_features, checked_labels, flat_windows, there_are
from recollect.streams.concepts.concepts import Concepts
from recollect.streams.concepts.generate import TEST_FRACTION, concepts_of_rows
from recollect.streams.concepts.rows import Rows
from recollect.streams.concepts.spec import SourceSpec, read_options
from recollect.streams.concepts.times import times
from recollect.streams.concepts.windows import Windows, windowed
from recollect.streams.npz import in_small_letters, read_npz
from recollect.streams.stream import Stream

# The columns of pyCLAD's data frames beside `label`: the concept by name, and by a number that is no feature.
_PYCLAD = ("concept_name", "concept_id")


def stream_from_table(table: Any, *, name: str | None = None, **options: Any) -> Stream:
    """A stream over the rows of a DataFrame, or of a `.csv` or `.npz` file given by its path.

    The columns are named by `concept_column` (needed unless concepts = "clusters"), `label_column`,
    `time_column`, `split_column` and `features` (all others, if not given). Training rows are the normal ones,
    unless `contaminated`. Where `split_column` does not say "train" or "test", `test_fraction` (0.4) of each
    concept's normal rows is tested, with all its anomalies: the last rows where there is a time or a window, else a
    fixed draw. With a time the rows of a concept are in its order, and concepts by when they begin; without, as they
    stand. An `.npz` file holds X, and y and the concept as arrays. The other options are those of `ConceptSpec`
    and `SourceSpec`.

    >>> import pandas
    >>> table = pandas.DataFrame({"load": [1.0, 2, 3, 40, 5, 6], "plant": list("aaabbb"), "label": [0, 0, 1, 0, 0, 1]})
    >>> stream = stream_from_table(table, concept_column="plant", test_fraction=0.5)
    >>> [(task.name, len(task.train), len(task.test)) for task in stream.tasks]
    [('a', 1, 2), ('b', 1, 2)]
    """
    spec, source = read_options(options, "A stream of a table")
    return build(concepts_from_table(table, source, name=name), spec)


def concepts_from_table(table: Any, spec: SourceSpec, name: str | None = None) -> Concepts:
    """The concepts of a table (see `stream_from_table`)."""
    if spec.concepts in ("folders", "files", "families"):
        raise UsageError(f"The concepts of a table are a column or clusters; got concepts = {spec.concepts}.")
    if isinstance(table, str | Path):
        name = Path(table).stem if name is None else name
        table = _frame_of_npz(Path(table), spec) if str(table).endswith(".npz") else read_csv(table)
    elif not hasattr(table, "columns") or not hasattr(table, "to_numpy"):
        raise UsageError(f"A table is a pandas DataFrame or the path of a .csv or .npz file; got {type(table)}.")
    return concepts_of_rows(_rows(table, spec, "table" if name is None else name), spec, default="column")


def read_csv(path: Path | str, **options: Any) -> Any:
    """The DataFrame in a csv file; commas, semicolons or tabs, as its first line has them."""
    pandas = _pandas()
    try:
        if "sep" not in options:
            with open(path, encoding="utf-8-sig") as file:
                options["sep"] = max(",;\t", key=file.readline().count)
        table = pandas.read_csv(path, encoding="utf-8-sig", **options)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from None
    except pandas.errors.EmptyDataError:
        raise UsageError(f"{path} is empty; expected a table with a line of column names.") from None
    except (UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"Cannot read {path} as a csv table: {str(error).strip()}.") from None
    return table


def numbers(table: Any, columns: Sequence[str], what: str) -> NDArray[Any]:
    """These columns as an array of finite numbers, float32 if all of them are."""
    strange = [str(column) for column in columns if table[column].dtype.kind not in "buif"]
    if strange:
        shown = ", ".join(map(repr, strange[:5])) + (", ..." if len(strange) > 5 else "")
        values = (str(value) for value in table[strange[0]].dropna().tolist())
        first = next((value for value in values if not _is_number(value)), "nothing")
        raise UsageError(
            f"Features are numbers; {shown} of {what} hold something else ({first!r}). Name the columns that are"
            " features (features = [...]), or turn these into numbers first (one column per value, a point for a"
            " decimal comma)."
        )
    kind = np.float32 if all(table[column].dtype == np.float32 for column in columns) else np.float64
    return checked_features(table[list(columns)].to_numpy(dtype=kind), what, [str(column) for column in columns])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(table: Any, spec: SourceSpec, name: str) -> Rows:
    if not len(table):
        raise UsageError(f"{name} has no rows; a stream needs some of every concept.")
    by_column = spec.concepts != "clusters"
    concept = _concept_column(table, spec)
    special = {
        "concept_column": concept if by_column else None,
        "label_column": spec.label_column,
        "time_column": spec.time_column,
        "split_column": spec.split_column,
        "series_column": spec.series_column,
    }
    known = [str(column) for column in table.columns]
    asked = [(f"{option} =", column) for option, column in special.items() if column is not None]
    for option, column in [*asked, *(("the feature", column) for column in spec.features or ())]:
        if column not in known:
            raise UsageError(f"{name} has no column for {option} {column!r}; {there_are(column, known)}")
    table = table.set_axis(known, axis=1)
    twice = next((column for column in known if known.count(column) > 1), None)
    if twice is not None:
        raise UsageError(f"Columns of {name} have names of their own; {twice!r} comes twice.")
    taken = {*special.values(), concept, *_PYCLAD}
    features = [str(c) for c in spec.features or (column for column in known if column not in taken)]
    if spec.time_column is not None:
        table = table.iloc[np.argsort(times(table[spec.time_column], name), kind="stable")]
    x = numbers(table, features, name)
    y = checked_labels(table[spec.label_column].to_numpy(), len(x), f"the column {spec.label_column!r} of {name}")
    group, groups = _coded(table[concept], name) if by_column else (None, ())
    series = None if spec.series_column is None else _coded(table[spec.series_column], name)[0]
    test = None if spec.split_column is None else _split(table[spec.split_column], name)
    in_time = spec.split_column is None and (spec.window is not None or (spec.time_column is not None and by_column))
    if in_time:
        # Of rows in time the last part of each concept (or series) is tested.
        pieces = group if group is not None else series if series is not None else np.zeros(len(y), dtype=np.int64)
        test = _last(pieces, TEST_FRACTION if spec.test_fraction is None else spec.test_fraction)
    made = Rows(
        name=name,
        x=x,
        y=y,
        test=test,
        fixed=test is not None,
        group=group,
        groups=groups,
        series=series,
        columns=tuple(features),
    )
    made = windows_of(made, spec)
    return _tested_too(made) if in_time and not spec.contaminated else made


def windows_of(rows: Rows, spec: SourceSpec) -> Rows:
    """The rows as windows, where they are asked for."""
    if spec.window is None:
        if (spec.stride, spec.window_label) != (SourceSpec().stride, SourceSpec().window_label):
            raise UsageError("stride and window_label are about windows; say how many rows make one: window = 10.")
        return rows
    return windowed(rows, Windows(spec.window, spec.stride, spec.window_label), keep_mixed=spec.contaminated)


def _concept_column(table: Any, spec: SourceSpec) -> str:
    """The column that was named, or pyCLAD's `concept_name` where nothing was named and there is no other."""
    known = [str(column) for column in table.columns]
    named = spec.concept_column != SourceSpec().concept_column or spec.concept_column in known
    return _PYCLAD[0] if not named and _PYCLAD[0] in known else spec.concept_column


def _tested_too(rows: Rows) -> Rows:
    """Anomalies of the training period are tested with the later ones: nothing could be learned from them."""
    early = (rows.y == 1) & ~(np.zeros(len(rows.y), bool) if rows.test is None else rows.test)
    if rows.test is None or not early.any():
        return rows
    note = (
        f"{int(early.sum()):,} of {int((rows.y == 1).sum()):,} anomalies lie in the training period: they are tested"
        " with the others"
    )
    return replace(rows, test=rows.test | early, notes=(*rows.notes, note))


def _coded(column: Any, name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The concept of each row as a number, in the order of first rows."""
    if column.isna().any():
        raise UsageError(
            f"Every row has a concept; {column.isna().sum():,} rows of {name} have none in {column.name!r}."
        )
    codes, values = _pandas().factorize(column)
    return codes.astype(np.int64), tuple(str(value) for value in values)


def _split(column: Any, name: str) -> NDArray[np.bool_]:
    if column.isna().any():
        raise UsageError(
            f"{column.name!r} of {name} says 'train' or 'test' in every row; {column.isna().sum():,} rows have neither."
        )
    values = column.to_numpy()
    if not np.isin(values, ("train", "test")).all():
        strange = next(value for value in values.tolist() if value not in ("train", "test"))
        raise UsageError(f"{column.name!r} of {name} says 'train' or 'test'; got {strange!r}.")
    return np.asarray(values == "test")


def _last(group: NDArray[np.int64], fraction: float) -> NDArray[np.bool_]:
    """The last part of each group's rows."""
    test = np.zeros(len(group), dtype=bool)
    for k in range(int(group.max()) + 1):
        mine = np.flatnonzero(group == k)
        test[mine[len(mine) - round(fraction * len(mine)) :]] = True
    return test


def _frame_of_npz(path: Path, spec: SourceSpec) -> Any:
    """X one column per feature, named by number, and the arrays that the spec names; y may stand for the label."""
    arrays = read_npz(path)
    x = in_small_letters({key: arrays[key] for key in ("X", "x") if key in arrays}, path).get("x")
    if x is not None and x.ndim == 3 and spec.window is not None:
        raise UsageError(f"X in {path} holds windows, {x.shape}; leave out window, or give the rows in their order.")
    if x is None or x.ndim not in (2, 3) or 0 in x.shape:
        raise UsageError(
            f"{path} holds X, one row per sample and one column per feature (or samples x rows x features); it has"
            f" {', '.join(f'{key} {value.shape}' for key, value in arrays.items()) or 'nothing'}."
        )
    x = x if x.ndim == 2 else flat_windows(x)
    if spec.label_column not in arrays and "y" in arrays:
        arrays[spec.label_column] = arrays["y"]
    single = {key: value for key, value in arrays.items() if key not in ("X", "x", "y") and value.shape == (len(x),)}
    if spec.concepts is None and spec.concept_column not in single:
        raise UsageError(
            f"{path} has no array {spec.concept_column!r} with one concept per row; give it, or concepts = clusters to"
            " make concepts of the normal rows."
        )
    frame = _pandas().DataFrame({str(k): column for k, column in enumerate(x.T)})
    wanted = (spec.concept_column, spec.label_column, spec.time_column, spec.split_column, spec.series_column)
    return frame.assign(**{key: value for key, value in single.items() if key in wanted})


def _pandas() -> ModuleType:
    try:
        import pandas
    except ImportError:
        raise MissingExtra.of("pandas", "anomaly") from None
    module: ModuleType = pandas
    return module
