"""Class labels that a user gives: numbers, names, or Python objects that are plainly one of the two."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError

_MOST = np.iinfo(np.int64).max


def class_labels(y: ArrayLike, what: str) -> NDArray[Any]:
    """The labels as whole numbers, truth values or text, one per sample; a table of one column will do.

    >>> class_labels([[1.0], [2.0]], "y")
    array([1, 2])
    >>> class_labels(np.array(["cat", "ant"], dtype=object), "y")
    array(['cat', 'ant'], dtype='<U3')
    >>> class_labels(["cat", None], "y")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: y has no label (None, NaN or NA) for 1 of 2 samples. Drop these samples, or give \
them a class.
    """
    labels = as_array(y, what)
    if labels.dtype.kind in "US" and isinstance(y, (list, tuple)):
        labels = np.asarray(y, dtype=object)  # numpy makes text of all that stands beside a text
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 1 and labels.dtype.kind in "OT":
        labels = _of_objects(labels, what)
    if labels.ndim != 1 or labels.dtype.kind not in "buifUS":
        raise UsageError(
            f"{what} is a list of class numbers or names, one per sample; got shape {labels.shape}"
            f" of type {labels.dtype}."
        )
    if labels.dtype.kind == "S":
        return as_text(labels, what)
    return _whole(labels, what) if labels.dtype.kind in "uif" else labels


def as_array(values: ArrayLike, what: str) -> NDArray[Any]:
    """The array that these values are."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what} cannot be made an array: {error}") from None


def as_text(raw: NDArray[Any], what: str) -> NDArray[np.str_]:
    """Bytes as the text that they are in UTF-8."""
    try:
        return np.char.decode(raw, "utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{what} holds bytes that are not UTF-8 text: {error}. Decode them first.") from None


def missing_type(kind: type) -> bool:
    """Whether objects of this type say that there is no value; a NaN is a float."""
    return kind is type(None) or kind.__name__ in ("NAType", "NaTType")  # those of pandas, which need not be there


def _of_objects(labels: NDArray[Any], what: str) -> NDArray[Any]:
    values = labels.tolist()
    missing = sum(missing_type(type(value)) or (isinstance(value, float) and value != value) for value in values)
    if missing:
        raise _without_label(missing, len(values), what)
    kinds = dict(_kind_of(kind) for kind in {type(value) for value in values})
    if len(kinds) > 1:
        raise UsageError(
            f"{what} has labels of several kinds: {', '.join(sorted(kinds))}. Make them all of one kind, such as"
            " [str(label) for label in y]."
        )
    dtype = next(iter(kinds.values()), None)
    if dtype is None:
        raise UsageError(
            f"{what} is a list of class numbers or names, one per sample; got objects of type"
            f" {', '.join(kinds) or '?'}."
        )
    try:
        return np.array(values, dtype=dtype)
    except OverflowError:
        raise _beyond(max(values, key=abs), what) from None


def _kind_of(kind: type) -> tuple[str, type | None]:
    """What objects of this type are called, and numpy's type for them."""
    if issubclass(kind, (bool, np.bool_)):
        return "true or false", np.bool_
    if issubclass(kind, (int, np.integer)):
        return "whole numbers", np.int64
    if issubclass(kind, (float, np.floating)):
        return "floats", np.float64
    if issubclass(kind, str):
        return "text", np.str_
    return ("bytes", np.bytes_) if issubclass(kind, bytes) else (kind.__name__, None)


def _whole(labels: NDArray[Any], what: str) -> NDArray[np.int64]:
    if labels.dtype.kind == "i":
        return labels.astype(np.int64, copy=False)
    if labels.dtype.kind == "f":
        labels = labels.astype(np.result_type(labels, np.float64), copy=False)
        missing = int(np.isnan(labels).sum())
        if missing:
            raise _without_label(missing, len(labels), what)
        broken = labels != np.floor(labels)
        if broken.any():
            raise UsageError(
                f"{what} is a list of class numbers or names, one per sample; {labels[broken][0].item()!r} is not a"
                " whole number. Number the classes, or name them."
            )
        beyond = (labels < -(2.0**63)) | (labels >= 2.0**63)
    else:
        beyond = labels > np.uint64(_MOST)
    if beyond.any():
        raise _beyond(labels[beyond][0].item(), what)
    return labels.astype(np.int64)


def _without_label(missing: int, n: int, what: str) -> UsageError:
    return UsageError(
        f"{what} has no label (None, NaN or NA) for {missing:,} of {n:,} samples. Drop these samples, or give them a"
        " class."
    )


def _beyond(label: float, what: str) -> UsageError:
    return UsageError(
        f"{what} has the class number {label!r}; class numbers are from -2**63 to 2**63 - 1. Number the classes from"
        " 0, or name them."
    )
