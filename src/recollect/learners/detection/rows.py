"""What a detector is given: a table of finite numbers."""

from __future__ import annotations

import numpy as np

from recollect.errors import UsageError
from recollect.learners.base import Array


def as_rows(x: Array, n_features: int) -> Array:
    """The samples as rows of numbers, checked; not copied where they are that already.

    >>> as_rows(np.zeros((2, 3, 4)), 12).shape
    (2, 12)
    >>> as_rows(np.array([[1.0, np.nan]]), 2)
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: 1 of 2 values is NaN or infinite, the first in row 0, feature 1. ...
    """
    rows: Array = np.asarray(x)
    if rows.dtype.kind not in "fiub":
        raise UsageError(f"A detector takes numbers; got values of the type {rows.dtype}. Encode categories first.")
    rows = rows.reshape(len(rows), n_features if not rows.size else -1)
    if rows.shape[1] != n_features:
        raise UsageError(f"The stream has samples of {n_features} features; got samples of {rows.shape[1]}.")
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        bad = ~np.isfinite(rows)
        count, (row, feature) = int(bad.sum()), np.argwhere(bad)[0]
        raise UsageError(
            f"{count} of {rows.size} values {'is' if count == 1 else 'are'} NaN or infinite, the first in row {row},"
            f" feature {feature}. Detectors take finite numbers: drop these rows, or fill the gaps before the stream is"
            " made."
        )
    return rows
