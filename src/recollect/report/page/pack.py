"""The contents of a report as JSON that is small, and safe inside a page.

Arrays are base64. Matrices are whole numbers of 16 bits, a quarter of their JSON: steps of 0.0001 for scores in
[0, 1], of a 65,000th of the range for others, and are shown with four digits. Curves are 32-bit floats, so that
they are rounded to three digits as the table is.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import fields
from math import isfinite
from typing import Any

import numpy as np

from recollect.matrix import Array
from recollect.stats import Estimate

MISSING = 65535
STEP = 1e-4
DIGITS = 9


def to_script(data: Any) -> str:
    r"""JSON for a `<script type="application/json">`: nothing in it can end the element.

    >>> print(to_script({"name": "</script>&\u2028"}))
    {"name":"\u003c/script\u003e\u0026\u2028"}
    """
    text = json.dumps(jsonable(data), separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def jsonable(data: Any) -> Any:
    """Plain containers for JSON: dataclasses by field, numbers rounded, NaN as null, bands packed.

    >>> jsonable(Estimate(.61, .58, .64, 5, "t", .02))
    [0.61, 0.58, 0.64, 5]
    """
    if data is None or isinstance(data, str | int):
        return data
    if isinstance(data, float):
        return _finite(data)
    if isinstance(data, Estimate):
        if isinstance(data.value, np.ndarray):
            return pack(data)
        made = [_finite(data.value), _finite(float(data.low)), _finite(float(data.high)), data.n]
        return [*made, data.reason] if data.reason else made
    if isinstance(data, np.ndarray):
        return [jsonable(value) for value in data.tolist()]
    if isinstance(data, Mapping):
        return {str(key): jsonable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [jsonable(value) for value in data]
    return {field.name: jsonable(getattr(data, field.name)) for field in fields(data)}


def _finite(value: float) -> float | None:
    return round(value, DIGITS) if isfinite(value) else None


def pack(band: Estimate) -> dict[str, Any]:
    """A band as three strings (value, low, high); the ends are left out if there are none.

    A step of 0 stands for 32-bit floats.
    """
    value, low, high = (np.asarray(part) for part in (band.value, band.low, band.high))
    offset, step = (0.0, 0.0) if value.ndim < 2 else _steps(band)
    packed = {
        "shape": list(value.shape),
        "offset": round(offset, 10),
        "step": step,
        "value": _encode(value, offset, step),
    }
    if np.isfinite(low).any():
        packed |= {"low": _encode(low, offset, step), "high": _encode(high, offset, step)}
    return packed


def unpack(packed: Mapping[str, Any], name: str = "value") -> Array:
    """What a page reads back from `pack`.

    >>> value = np.array([[.25, np.nan]])
    >>> unpack(pack(Estimate(value, value - .1, value + .1, 5, "t", value)))
    array([[0.25,  nan]])
    """
    raw = base64.b64decode(packed[name])
    if packed["step"] == 0:
        return np.round(np.frombuffer(raw, "<f4").astype(np.float64), 6).reshape(packed["shape"])
    whole = np.frombuffer(raw, "<u2").astype(np.float64)
    values = np.where(whole == MISSING, np.nan, packed["offset"] + whole * packed["step"])
    return np.round(values, 10).reshape(packed["shape"])


def _steps(band: Estimate) -> tuple[float, float]:
    """The smallest value and the step of the 16-bit numbers."""
    known = np.concatenate([a[np.isfinite(a)].ravel() for a in map(np.asarray, (band.value, band.low, band.high))])
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    offset = float(np.floor(low / STEP) * STEP)
    step = STEP if high - offset <= STEP * (MISSING - 1) else (high - offset) / (MISSING - 1)
    return offset, step


def _encode(values: Array, offset: float, step: float) -> str:
    if step == 0:
        return base64.b64encode(values.astype("<f4").tobytes()).decode()
    finite = np.isfinite(values)
    whole = np.where(finite, np.rint((np.where(finite, values, offset) - offset) / step), MISSING)
    return base64.b64encode(whole.astype("<u2").tobytes()).decode()
