"""Concepts made of a table of labelled rows: the scenario generator of the lifelong anomaly detection papers.

Faber, Corizzo, Sniezynski and Japkowicz (IEEE Access 12, 2024) cluster the normal rows by k-means; a cluster is
a concept, anomalies are attached to it, 3/5 of its normal rows are for training, and the rest is tested together
with the anomalies. For concepts by kind of attack, Fuhrman, Gungor and Rosing (CND-IDS, DAC 2025) share the
normal rows out at random in equal parts and give each part one kind: what changes is the anomalies alone.
"""

from __future__ import annotations

import numpy as np

from recollect.errors import UsageError
from recollect.streams.concepts.checks import checked_names
from recollect.streams.concepts.clusters import attach, cluster, nearest_rows, unit_range
from recollect.streams.concepts.concepts import Concepts, Index
from recollect.streams.concepts.rows import Mask, Rows
from recollect.streams.concepts.spec import SourceSpec
from recollect.streams.order import permutation

SHARE_SEED = 20230906
TEST_FRACTION = 0.4
N_CONCEPTS = 5


def concepts_of_rows(rows: Rows, spec: SourceSpec, default: str = "clusters") -> Concepts:
    """The concepts of these rows: clusters, families, or groups that are concepts as they are.

    >>> rows = Rows(name="toy", x=np.array([[0.0], [1], [2], [8], [9], [7]]), y=np.array([0, 0, 0, 0, 0, 1]))
    >>> made = concepts_of_rows(rows, SourceSpec(n_concepts=2))
    >>> made.train, made.test  # the anomaly, row 5, is nearest to the second cluster
    ((array([0, 2]), array([3])), (array([1]), array([4, 5])))
    """
    how = spec.concepts or default
    if how != "clusters" and (spec.n_concepts or spec.per_concept or spec.anomalies != "spread"):
        raise UsageError(f"n_concepts, per_concept and anomalies belong to concepts = clusters; here it is {how}.")
    if rows.fixed and spec.per_concept:
        raise UsageError(f"per_concept chooses among rows without an order; those of {rows.name} are in time.")
    test = rows.test if rows.fixed or (spec.test_fraction is None and spec.per_concept is None) else None
    # Anomalies of the training part are of use only where training may hold anomalies.
    used = np.ones(len(rows.y), dtype=bool) if test is None else (rows.y == 0) | test | spec.contaminated
    said: tuple[str, ...] = ()
    if how == "clusters":
        names, where, said = _clusters(rows, spec, used, test)
    elif how == "families":
        names, where = _families(rows, used, test)
    else:
        names, where = _groups(rows)
    if test is None:
        test = _drawn_test(rows.y, where, spec)
    trained = ~test & ((rows.y == 0) | spec.contaminated)
    train = tuple(
        _with_share(np.flatnonzero((where == k) & trained), rows.y, spec.training_share, k, part=5)
        for k in range(len(names))
    )
    tested = tuple(
        _with_share(np.flatnonzero((where == k) & test), rows.y, spec.anomaly_share, k, part=4)
        for k in range(len(names))
    )
    x, notes = rows.x, (*rows.notes, *said)
    unused = int(np.count_nonzero((rows.y == 1) & ~test & ~trained))
    if unused:
        notes = (*notes, f"{unused:,} anomalies of the training part are neither trained on nor tested")
    if spec.unit_range:
        x = unit_range(x, (where >= 0) & ~test & (rows.y == 0))
        notes = (*notes, "features brought to 0 .. 1 by their range over all normal training rows")
    return Concepts(
        name=rows.name,
        names=checked_names(names),
        x_train=x,
        y_train=rows.y,
        x_test=x,
        y_test=rows.y,
        train=train,
        test=tested,
        columns=rows.columns,
        notes=notes,
    )


def _clusters(
    rows: Rows, spec: SourceSpec, used: Mask, test: Mask | None
) -> tuple[tuple[str, ...], Index, tuple[str, ...]]:
    """Normal rows by the nearest centre, the largest cluster first; anomalies as the spec says, and what was done."""
    k = spec.n_concepts or N_CONCEPTS
    normal = rows.y == 0
    learned = normal if test is None else normal & ~test
    points = unit_range(rows.x, learned)
    centres = cluster(points[learned], k, f"the normal rows of {rows.name}")
    where = np.full(len(rows.y), -1, dtype=np.int64)
    where[normal] = nearest_rows(points[normal], centres)
    if spec.per_concept is not None:
        for c in range(k):
            mine = np.flatnonzero(where == c)
            far = np.argsort(((points[mine] - centres[c]) ** 2).sum(axis=1), kind="stable")[spec.per_concept :]
            where[mine[far]] = -1
    anomalies = np.flatnonzero(~normal & used)
    names = tuple(f"cluster {c}" for c in range(k))
    if not len(anomalies):
        return names, where, ()
    where[anomalies] = attach(points[anomalies], centres, spec.anomalies, rows.name)
    if spec.anomalies != "spread":
        return names, where, ()
    nearest = np.bincount(nearest_rows(points[anomalies], centres), minlength=k)
    given = np.bincount(where[anomalies], minlength=k)
    moved = [f"{names[c]} ({given[c]:,})" for c in range(k) if not nearest[c] and given[c]]
    said = f"no anomaly is nearest to {', '.join(moved)}: so many of those nearest to its centre were given to it"
    return names, where, (said,) if moved else ()


def _families(rows: Rows, used: Mask, test: Mask | None) -> tuple[tuple[str, ...], Index]:
    """A concept a kind of attack; training and test rows that are normal are each dealt out in equal parts."""
    if rows.group is None or not (rows.group[rows.y == 1] >= 0).any():
        raise UsageError(f"{rows.name} does not say of which kind its anomalies are; use concepts = clusters.")
    where = np.where(rows.y == 1, rows.group, -1)
    for part, mask in enumerate((np.ones(len(where), dtype=bool),) if test is None else (~test, test)):
        normal = np.flatnonzero((rows.y == 0) & mask)
        shares = np.array_split(permutation(len(normal), SHARE_SEED, part), len(rows.groups))
        for k, share in enumerate(shares):
            where[normal[share]] = k
    return rows.groups, np.where(used, where, -1)


def _groups(rows: Rows) -> tuple[tuple[str, ...], Index]:
    if rows.group is None:
        raise UsageError(f"{rows.name} does not say which concept a row belongs to; use concepts = clusters.")
    return rows.groups, rows.group


def _drawn_test(y: Index, where: Index, spec: SourceSpec) -> Mask:
    """A random draw of each concept's normal rows, always the same, and its anomalies.

    Where training rows may be anomalies only the same part of the anomalies is tested.
    """
    fraction = TEST_FRACTION if spec.test_fraction is None else spec.test_fraction
    test = np.zeros(len(y), dtype=bool)
    for k in range(int(where.max()) + 1):
        for label in (0, 1):
            mine = np.flatnonzero((where == k) & (y == label))
            if label == 1 and not spec.contaminated:
                test[mine] = True
            elif len(mine) > 1:
                count = min(max(1, round(fraction * len(mine))), len(mine) - 1)
                test[mine[permutation(len(mine), SHARE_SEED, 2 + label, k)[:count]]] = True
    return test


def _with_share(rows: Index, y: Index, share: float | None, k: int, part: int) -> Index:
    """The rows with no more anomalies than this share of them."""
    if share is None:
        return rows
    anomalies = rows[y[rows] == 1]
    most = round((len(rows) - len(anomalies)) * share / (1 - share))
    drawn = anomalies[permutation(len(anomalies), SHARE_SEED, part, k)[:most]]
    return np.sort(np.concatenate([rows[y[rows] == 0], drawn]))
