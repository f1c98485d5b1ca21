"""What the importers of pickled results share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.runs.importers.build import is_numeric
from recollect.runs.importers.files import cannot_read, head, in_words, mentions
from recollect.runs.safe_pickle import load

# A dictionary's pickle in protocols 2 to 5, then in 0 and 1, then of an OrderedDict in protocol 0.
_STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"(dp", b"}q", b"ccollections\n")


def may_hold(path: Path, *keys: str) -> bool:
    """Whether the file is a pickle that mentions these keys; nothing is loaded. Never raises."""
    return head(path, 16).startswith(_STARTS) and mentions(path, *(k.encode() for k in keys), size=2**29)


def load_any(path: Path, tool: str) -> Any:
    """What a pickle file holds, read without running it."""
    try:
        return load(path)
    except UsageError as error:
        raise UsageError(f"{error} (read as {tool})") from None


def load_dict(path: Path, tool: str) -> Mapping[str, Any]:
    """The dictionary of a pickle file, read without running it."""
    value = load_any(path, tool)
    if not isinstance(value, dict):
        raise cannot_read(path, tool, f"the pickle holds {in_words(value)}, not a dictionary of results.")
    return value


def array_of(path: Path, tool: str, results: Mapping[str, Any], key: str) -> np.ndarray[Any, Any]:
    """The array of numbers under a key."""
    if key not in results:
        have = ", ".join(in_words(k, 30) for k in list(results)[:10]) or "nothing"
        raise cannot_read(path, tool, f"the pickle has no '{key}'; it has: {have}.")
    array = results[key]
    if not is_numeric(array):
        kind = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else in_words(array)
        raise cannot_read(path, tool, f"'{key}' is {kind}, not an array of numbers.")
    return np.asarray(array)
