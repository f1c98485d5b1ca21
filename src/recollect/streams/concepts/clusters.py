"""k-means and distances to centres: the same concepts on every machine with the same scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import MissingExtra, UsageError
from recollect.streams.concepts.concepts import Index
from recollect.streams.order import permutation

CLUSTER_SEED = 42
DEAL_SEED = 20230907
_CHUNK = 1 << 13

Points = NDArray[Any]


def unit_range(x: Points, learned: NDArray[np.bool_]) -> Points:
    """Every feature minus its least value over some rows, divided by its range over them; one without is shifted.

    >>> unit_range(np.array([[2.0, 5], [4, 5], [8, 6]]), np.array([True, True, False])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [3.0, 1.0]]
    """
    rows = x[learned]
    if not len(rows):
        return x
    low = rows.min(axis=0)
    width = rows.max(axis=0) - low
    width[width == 0] = 1
    scaled: Points = (x - low) / width
    return scaled


def cluster(points: Points, k: int, what: str) -> Points:
    """The k centres that k-means finds, that of the largest cluster first.

    k-means++ with 10 starts and a constant seed, in one thread: threads add up in another order.

    >>> cluster(np.array([[0.0], [1], [9]]), 2, "the rows").tolist()
    [[0.5], [9.0]]
    """
    try:
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtra.of("scikit-learn", "anomaly") from None
    too_few = UsageError(f"{k} clusters need as many different rows; {what} are {len(points):,}, or fewer that differ.")
    if len(points) < k:
        raise too_few
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            found = KMeans(k, n_init=10, random_state=CLUSTER_SEED, algorithm="lloyd").fit(points)
        except ConvergenceWarning:
            raise too_few from None
    sizes = np.bincount(found.labels_, minlength=k)
    centres: Points = found.cluster_centers_[np.argsort(-sizes, kind="stable")]
    return centres


def nearest_rows(points: Points, centres: Points) -> Index:
    """The nearest centre of each point; of equally near ones the first.

    >>> nearest_rows(np.array([[0.0], [4], [7]]), np.array([[1.0], [7]]))
    array([0, 0, 1])
    """
    where = np.empty(len(points), dtype=np.int64)
    for low in range(0, len(points), _CHUNK):
        part = points[low : low + _CHUNK]
        distances = np.stack([((part - centre) ** 2).sum(axis=1) for centre in centres], axis=1)
        where[low : low + _CHUNK] = distances.argmin(axis=1)
    return where


def attach(anomalies: Points, centres: Points, how: str, name: str) -> Index:
    """Which concept each anomaly belongs to (see `SourceSpec.anomalies`).

    >>> attach(np.array([[1.0], [2], [9]]), np.array([[0.0], [8]]), "nearest", "toy")
    array([0, 0, 1])
    """
    k = len(centres)
    if how in ("nearest", "spread"):
        where = nearest_rows(anomalies, centres)
        return where if how == "nearest" else _spread(anomalies, centres, where)
    if how == "random":
        where = np.empty(len(anomalies), dtype=np.int64)
        for c, share in enumerate(np.array_split(permutation(len(anomalies), DEAL_SEED), k)):
            where[share] = c
        return where
    groups = cluster(anomalies, k, f"the anomalies of {name}")
    member = nearest_rows(anomalies, groups)
    if how == "shuffled":
        return permutation(k, DEAL_SEED)[member]
    # Each concept in turn takes the nearest group that is left, as in the papers' own code.
    taken = np.full(k, -1)
    for c, centre in enumerate(centres):
        distances = ((groups - centre) ** 2).sum(axis=1)
        distances[taken >= 0] = np.inf
        taken[int(distances.argmin())] = c
    concept_of: Index = taken[member]
    return concept_of


def _spread(anomalies: Points, centres: Points, where: Index) -> Index:
    """The nearest centre, but a centre without any takes those nearest to it from others that have enough.

    It takes a quarter of an equal share, at least one; a concept that gives keeps more than it gives to one other.

    >>> points, centres = np.array([[1.0], [2], [3], [4], [9]]), np.array([[0.0], [8], [20]])
    >>> _spread(points, centres, nearest_rows(points, centres))
    array([0, 0, 0, 2, 1])
    >>> _spread(points[:4], centres[:2], np.zeros(4, dtype=np.int64))
    array([0, 0, 0, 1])
    """
    made, k = where.copy(), len(centres)
    share = max(1, len(anomalies) // (4 * k))
    left = np.bincount(where, minlength=k)
    for c in np.flatnonzero(left == 0):
        distances = ((anomalies - centres[c]) ** 2).sum(axis=1)
        for place in np.argsort(distances, kind="stable"):
            if left[c] == share:
                break
            if made[place] == where[place] and left[where[place]] > share:
                left[where[place]] -= 1
                left[c] += 1
                made[place] = c
    return made
