"""Did you mean: the nearest of the names that there are."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.values import shown


def nearest(name: object, known: Iterable[object], cutoff: float = 0.0) -> str | None:
    """The known name that is most like what was typed, in any case of letters; None if none is near enough.

    >>> nearest("gdump", ["er", "gdumb"]), nearest("xyz", ["er"], cutoff=0.6)
    ('gdumb', None)
    """
    from difflib import get_close_matches  # needed when something was mistyped, and only then

    by_lower = {str(one).lower(): str(one) for one in known}
    found = get_close_matches((name if isinstance(name, str) else shown(name)).lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[found[0]] if found else None
