"""The guard of every comparison: were the learners run on the same stream?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from recollect.errors import NotComputable

Fingerprints = Mapping[Hashable, str | None] | Iterable[str | None] | str | None


def require_same_stream(a: Fingerprints, b: Fingerprints, allow: bool = False) -> str | None:
    """Refuse to compare runs of different streams, unless allowed; return what should be noted.

    Given by seed, the fingerprints are compared seed by seed: with a class order drawn from the seed every
    seed has its own stream. Otherwise the sets of fingerprints must be the same.

    >>> require_same_stream({1: "ab", 2: "cd"}, {1: "ab", 2: "cd"})
    >>> require_same_stream(["ab"], ["cd"], allow=True)
    'compared although the streams differ'
    """
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        pairs = [(a[seed], b[seed]) for seed in a if seed in b]
        unknown = any(not x or not y for x, y in pairs)
        wrong = [(x, y) for x, y in pairs if x and y and x != y]
    else:
        first, second = _distinct(a), _distinct(b)
        unknown = None in first or None in second
        wrong = [] if unknown or first == second else [(x, y) for x in first for y in second if x != y]
    if wrong and not allow:
        raise NotComputable(
            f"The learners were run on different streams: expected one fingerprint, got {wrong[0][0]} and "
            f"{wrong[0][1]}. Their scores answer different questions. Run both on one stream, or say that "
            "they are to be compared all the same."
        )
    if wrong:
        return "compared although the streams differ"
    return "some runs carry no fingerprint, so the streams could not be checked" if unknown else None


def _distinct(fingerprints: Fingerprints) -> set[str | None]:
    if fingerprints is None or isinstance(fingerprints, str):
        return {fingerprints or None}
    values = fingerprints.values() if isinstance(fingerprints, Mapping) else fingerprints
    return {value or None for value in values}
