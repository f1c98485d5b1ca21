"""Labelled rows of a source, before they are concepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.streams.concepts.concepts import Index

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """Labelled rows of a source, before they are concepts.

    `test` says which are test rows, where the source does; `fixed` that nothing else may split them, because
    they are in the order of time. `group` is the place in `groups` of a row's concept, file or kind of attack;
    -1 where a row has none. `series` tells series apart that stand in one table.
    """

    name: str
    x: NDArray[Any]
    y: Index
    test: Mask | None = None
    fixed: bool = False
    group: Index | None = None
    series: Index | None = None
    groups: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
