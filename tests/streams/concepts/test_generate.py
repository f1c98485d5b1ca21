"""The generator against the obvious loops."""

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import concept_stream
from recollect.streams.concepts import Rows, SourceSpec, concepts_of_rows
from recollect.streams.concepts.clusters import attach, cluster, nearest_rows, unit_range

pytest.importorskip("sklearn")


def rows(seed=0, n=120, **more):
    """Three clouds of normal rows, in other units a column, and anomalies between them."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [1000.0, 0.1], [0.0, 1.0]])
    which = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    x = centres[which] + rng.normal(size=(n, 2)) * [30, 0.03]
    y = (rng.random(n) < 0.25).astype(np.int64)
    x[y == 1] = rng.uniform([-100, -0.2], [1100, 1.2], ((y == 1).sum(), 2))
    return Rows(name="clouds", x=x, y=y, **more)


def slow_nearest(points, centres):
    found = []
    for point in points:
        distances = [sum((a - b) ** 2 for a, b in zip(point, centre, strict=True)) for centre in centres]
        found.append(distances.index(min(distances)))
    return found


def parts(made, k):
    return set(made.train[k].tolist()), set(made.test[k].tolist())


def test_unit_range_by_hand():
    x = np.array([[2.0, 5.0], [4.0, 5.0], [9.0, 7.0]])
    assert unit_range(x, np.array([True, True, False])).tolist() == [[0, 0], [1, 0], [3.5, 2]]


def test_nearest_rows_like_a_loop():
    rng = np.random.default_rng(1)
    points, centres = rng.normal(size=(50, 3)), rng.normal(size=(4, 3))
    assert nearest_rows(points, centres).tolist() == slow_nearest(points, centres)


def test_clusters_like_a_slow_loop():
    source = rows()
    made = concepts_of_rows(source, SourceSpec(n_concepts=3))
    normal = [i for i in range(len(source.y)) if source.y[i] == 0]
    low = [min(source.x[i][d] for i in normal) for d in range(2)]
    high = [max(source.x[i][d] for i in normal) for d in range(2)]
    scaled = np.array([[(row[d] - low[d]) / (high[d] - low[d]) for d in range(2)] for row in source.x])
    members = [[i for i in normal if i in made.train[k] or i in made.test[k]] for k in range(3)]
    centres = [np.mean(scaled[mine], axis=0) for mine in members]
    # At the optimum of k-means every row is in the cluster of its nearest mean: the normal ones and the anomalies.
    for i, k in enumerate(slow_nearest(scaled, centres)):
        assert i in made.train[k] or i in made.test[k]
    assert [len(mine) for mine in members] == sorted((len(mine) for mine in members), reverse=True)
    for k, mine in enumerate(members):
        tested = [i for i in made.test[k] if source.y[i] == 0]
        assert len(tested) == round(0.4 * len(mine))
        assert not source.y[made.train[k]].any()
    assert sum(len(t) for t in (*made.train, *made.test)) == len(source.y)


def test_scales_do_not_decide():
    source = rows()
    made = concepts_of_rows(source, SourceSpec(n_concepts=3))
    larger = concepts_of_rows(
        Rows(name="clouds", x=source.x * [1, 1e6], y=source.y), SourceSpec(n_concepts=3, unit_range=True)
    )
    assert all((a == b).all() for a, b in zip(made.train, larger.train, strict=True))
    used = larger.x_train[np.concatenate(larger.train)]
    assert (used.min(axis=0) == 0).all()
    assert (used.max(axis=0) == 1).all()


def test_the_same_every_time():
    one, other = (concepts_of_rows(rows(), SourceSpec(n_concepts=3)) for _ in range(2))
    assert one.digests == other.digests
    assert concept_stream(one).fingerprint == concept_stream(other).fingerprint
    assert one.digests != concepts_of_rows(rows(), SourceSpec(n_concepts=3, test_fraction=0.3)).digests


def test_anomalies_go_to_the_closest_group_left():
    centres = np.array([[0.0], [10.0], [20.0]])
    anomalies = np.array([[9.0], [9.0], [9.0], [11.0], [11.0], [30.0]])
    # Groups 9 (three rows), 11 (two), 30 (one). Concept 0 takes 9, concept 1 then 11, concept 2 what is left.
    assert attach(anomalies, centres, "closest", "toy").tolist() == [0, 0, 0, 1, 1, 2]
    assert attach(anomalies, centres, "nearest", "toy").tolist() == [1, 1, 1, 1, 1, 2]


def test_anomalies_dealt_out_at_random():
    where = attach(np.zeros((10, 1)), np.array([[0.0], [10.0], [20.0]]), "random", "toy")
    assert np.bincount(where).tolist() == [4, 3, 3]
    groups = attach(np.array([[1.0], [1.0], [5.0], [9.0]]), np.array([[0.0], [10.0], [20.0]]), "shuffled", "toy")
    assert groups[0] == groups[1]
    assert {*groups.tolist()} == {0, 1, 2}


def test_the_sources_own_split_is_kept():
    source = rows()
    test = np.arange(120) % 3 == 0
    made = concepts_of_rows(Rows(name="s", x=source.x, y=source.y, test=test), SourceSpec(n_concepts=3))
    trained, tested = np.concatenate(made.train), np.concatenate(made.test)
    assert {*trained.tolist()} == {i for i in range(120) if not test[i] and source.y[i] == 0}
    assert {*tested.tolist()} == {i for i in range(120) if test[i]}
    again = concepts_of_rows(Rows(name="s", x=source.x, y=source.y, test=test), SourceSpec(test_fraction=0.5))
    assert len(np.concatenate(again.test)) > test.sum()


def test_contaminated_training_rows():
    source = rows()
    made = concepts_of_rows(source, SourceSpec(n_concepts=2, contaminated=True, test_fraction=0.5))
    n_anomalies = source.y[np.concatenate(made.train)].sum()
    assert abs(n_anomalies - source.y.sum() / 2) <= 1
    assert source.y[np.concatenate(made.test)].sum() == source.y.sum() - n_anomalies


def test_the_core_of_each_cluster():
    source = rows()
    whole = concepts_of_rows(source, SourceSpec(n_concepts=3))
    core = concepts_of_rows(source, SourceSpec(n_concepts=3, per_concept=10, anomaly_share=0.5))
    for k in range(3):
        train, test = parts(core, k)
        assert (len(train), sum(source.y[i] == 0 for i in test)) == (6, 4)
        assert sum(source.y[i] for i in test) <= 4
        assert train | test <= set.union(*parts(whole, k))


def test_families_share_out_the_normal_rows():
    y = np.array([0] * 10 + [1] * 5)
    group = np.array([-1] * 10 + [0, 1, 0, 1, 1])
    source = Rows(name="f", x=np.arange(15.0)[:, None], y=y, group=group, groups=("dos", "probe"))
    made = concepts_of_rows(source, SourceSpec(concepts="families", test_fraction=0.4))
    assert made.names == ("dos", "probe")
    assert [len(train) for train in made.train] == [3, 3]
    assert [[i for i in test if y[i]] for test in made.test] == [[10, 12], [11, 13, 14]]
    assert sorted(i for part in (*made.train, *made.test) for i in part) == list(range(15))
    split = Rows(**{**vars(source), "test": np.arange(15) % 2 == 0})
    made = concepts_of_rows(split, SourceSpec(concepts="families"))
    assert sorted(np.concatenate(made.train)) == [1, 3, 5, 7, 9]
    assert [[i for i in test if y[i]] for test in made.test] == [[10, 12], [14]]


def test_a_share_of_anomalies():
    y = np.array([0] * 20 + [1] * 30)
    source = Rows(name="s", x=np.arange(50.0)[:, None], y=y, group=np.zeros(50, int), groups=("one",))
    made = concepts_of_rows(source, SourceSpec(concepts="column", anomaly_share=0.2))
    assert (len(made.test[0]), y[made.test[0]].sum()) == (10, 2)  # 8 normal test rows, 2 / (8 + 2) = 0.2


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (SourceSpec(n_concepts=200), "200 clusters need as many different rows"),
        (SourceSpec(concepts="families"), "does not say of which kind its anomalies are; use concepts = clusters"),
        (SourceSpec(concepts="column"), "does not say which concept a row belongs to"),
        (SourceSpec(concepts="families", n_concepts=3), "belong to concepts = clusters; here it is families"),
        (SourceSpec(concepts="column", anomalies="random"), "belong to concepts = clusters"),
    ],
)
def test_wrong_use(spec, message):
    with pytest.raises(UsageError, match=message):
        concepts_of_rows(rows(), spec)


def test_too_few_different_rows():
    with pytest.raises(UsageError, match="2 clusters need as many different rows"):
        cluster(np.zeros((10, 2)), 2, "the rows")


def test_rows_in_time_are_not_chosen_by_nearness():
    with pytest.raises(UsageError, match="in time"):
        concepts_of_rows(rows(fixed=True, test=np.arange(120) > 60), SourceSpec(per_concept=3))


def test_every_concept_gets_an_anomaly_where_that_is_possible() -> None:
    rng = np.random.default_rng(0)
    normal = np.concatenate([rng.normal(place, 0.1, (40, 2)) for place in (0, 5, 10)])
    anomalies = rng.normal(10, 0.5, (24, 2))
    rows = Rows(name="toy", x=np.concatenate([normal, anomalies]), y=np.repeat([0, 1], [120, 24]))
    nearest = concepts_of_rows(rows, SourceSpec(n_concepts=3, anomalies="nearest"))
    assert sorted(int(rows.y[test].sum()) for test in nearest.test) == [0, 0, 24]
    spread = concepts_of_rows(rows, SourceSpec(n_concepts=3))
    assert sorted(int(rows.y[test].sum()) for test in spread.test) == [2, 2, 20]
    assert "no anomaly is nearest to" in spread.notes[-1]
    few = Rows(name="toy", x=rows.x[:121], y=rows.y[:121])
    assert sorted(int(few.y[test].sum()) for test in concepts_of_rows(few, SourceSpec(n_concepts=3)).test) == [0, 0, 1]
