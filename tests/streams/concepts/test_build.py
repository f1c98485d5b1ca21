"""Hand-worked streams. Concept a has training rows 0 .. 5, b 10 .. 13, c 20 .. 22; the last column is noise."""

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import stream_from_concepts
from recollect.streams.concepts.build import chain

SIZES = {"a": (0, 6), "b": (10, 4), "c": (20, 3)}


def parts(names="abc", kind=np.float64):
    made = []
    for name in names:
        first, n = SIZES[name]
        train = np.array([[first + i, i % 2] for i in range(n)], kind)
        test = np.array([[first, 0], [99, 1]], kind)
        made.append((name, train, test, [0, 1]))
    return made


def make(names="abc", **options):
    return stream_from_concepts(parts(names), **options)


def met(stream, seed=0, start=0):
    return [(b.x[:, 0].astype(int).tolist(), b.task, b.ends, b.samples_seen) for b in stream.batches(seed, start=start)]


def test_concept_incremental_a_visit_is_a_batch():
    stream = make()
    assert met(stream) == [
        ([0, 1, 2, 3, 4, 5], None, 0, 6),
        ([10, 11, 12, 13], None, 1, 10),
        ([20, 21, 22], None, 2, 13),
    ]
    assert (stream.problem, stream.gives_task, stream.gives_boundaries) == ("detection", False, True)
    assert (stream.n_sections, stream.learned_at) == (3, (0, 1, 2))


def test_concept_aware_gives_the_concept():
    stream = make(scenario="concept-aware", batch=4)
    assert met(stream) == [
        ([0, 1, 2, 3], 0, None, 4),
        ([4, 5], 0, 0, 6),
        ([10, 11, 12, 13], 1, 1, 10),
        ([20, 21, 22], 2, 2, 13),
    ]
    assert stream.gives_task


def test_concept_agnostic_a_concept_spans_batches_and_a_batch_holds_concepts():
    stream = make(scenario="concept-agnostic", batch=5)
    # Batch 1 ends a and begins b; batch 2 ends b and holds all of c.
    assert met(stream) == [
        ([0, 1, 2, 3, 4], None, 0, 5),
        ([5, 10, 11, 12, 13], None, 1, 10),
        ([20, 21, 22], None, 2, 13),
    ]
    assert (stream.n_sections, stream.learned_at) == (3, (1, 1, 2))
    wide = make(scenario="concept-agnostic", batch=12)
    assert met(wide) == [([0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 20, 21], None, 0, 12), ([22], None, 1, 13)]
    assert wide.learned_at == (0, 0, 1)
    fine = make(scenario="concept-agnostic", batch=2)
    assert (fine.n_sections, fine.learned_at) == (7, (2, 4, 6))
    assert not stream.gives_task
    assert not stream.gives_boundaries


def test_labels_of_training_are_hidden():
    assert {label for b in make().batches(0) for label in b.y.tolist()} == {-1}


def test_test_sets_are_concept_by_concept():
    stream = make(order=["c", "a", "b"])
    x, y = stream.test_of(0)
    assert (x[:, 0].tolist(), y.tolist()) == ([20, 99], [0, 1])


def test_rounds_share_out_the_training_rows():
    stream = make(visits=2)
    # 6 rows are 3 + 3, 4 are 2 + 2, 3 are 2 + 1.
    assert [rows for rows, *_ in met(stream)] == [[0, 1, 2], [10, 11], [20, 21], [3, 4, 5], [12, 13], [22]]
    assert (stream.n_sections, stream.learned_at, stream.n_samples) == (6, (0, 1, 2), 13)
    assert [ends for *_, ends, _ in met(stream)] == [0, 1, 2, 3, 4, 5]


def test_visits_by_name_are_an_order_by_themselves():
    stream = make(visits=["b", "a", "b", "c", "a"], scenario="concept-aware")
    assert [task.name for task in stream.tasks] == ["b", "a", "c"]
    assert [(rows, task) for rows, task, *_ in met(stream)] == [
        ([10, 11], 0),
        ([0, 1, 2], 1),
        ([12, 13], 0),
        ([20, 21, 22], 2),
        ([3, 4, 5], 1),
    ]
    assert stream.learned_at == (0, 1, 3)


def test_visits_by_place_follow_the_order():
    stream = make(order=["c", "a", "b"], visits=[1, 0, 1, 2])
    assert [rows for rows, *_ in met(stream)] == [[0, 1, 2], [20, 21, 22], [3, 4, 5], [10, 11, 12, 13]]
    assert [task.name for task in stream.tasks] == ["a", "c", "b"]


def test_recurring_concepts_without_boundaries():
    stream = make(names="ab", visits=[0, 1, 0], scenario="concept-agnostic", batch=4)
    # a's first visit (3 rows) ends in batch 0; b's (4 rows) in batch 1.
    assert [rows for rows, *_ in met(stream)] == [[0, 1, 2, 10], [11, 12, 13, 3], [4, 5]]
    assert stream.learned_at == (0, 1)


def test_a_stream_is_entered_at_any_batch():
    for stream in (make(batch=2), make(scenario="concept-agnostic", batch=4, visits=2), make(shuffle=True, batch=3)):
        whole = met(stream, seed=5)
        for start in range(stream.n_batches + 1):
            assert met(stream, seed=5, start=start) == whole[start:]


def test_shuffle_is_inside_a_visit_and_the_seeds():
    stream = make(shuffle=True)
    one, other = met(stream, seed=1), met(stream, seed=2)
    assert one != other
    assert sorted(one[0][0]) == sorted(other[0][0]) == [0, 1, 2, 3, 4, 5]
    assert met(make(), seed=1) == met(make(), seed=2)


def test_orders():
    assert [task.name for task in make(order=["b", "c", "a"]).tasks] == ["b", "c", "a"]
    orders = {tuple(t.name for t in make(order="random", class_order_seed=s).tasks) for s in range(20)}
    assert len(orders) > 3
    again = make(order="random", class_order_seed=4), make(order="random", class_order_seed=4)
    assert again[0].fingerprint == again[1].fingerprint
    assert [task.name for task in make(names="acb", order="similarity").tasks] == ["a", "b", "c"]


def test_a_chain_counts_features_by_their_range():
    # In the first feature's unit 1 is nearest to 0; by range, in which the second counts as much, 2 is.
    centres = np.array([[0.0, 0.0], [100.0, 0.001], [150.0, 0.0], [1000.0, 0.001]])
    assert chain(centres) == [0, 2, 1, 3]


def test_an_order_may_leave_concepts_out():
    stream = make(order=["c", "a"])
    assert [task.name for task in stream.tasks] == ["c", "a"]
    assert "2 of 3 concepts are used" in stream.notes
    assert stream.fingerprint != make(order=["c", "b"]).fingerprint


def test_a_subset_is_one_draw_in_order():
    stream = make(subset={"train": 3, "test": 1})
    sizes = [(len(task.train), len(task.test)) for task in stream.tasks]
    assert sizes == [(3, 1)] * 3
    rows = [rows for rows, *_ in met(stream)]
    assert all(row == sorted(row) for row in rows)
    assert rows == [rows for rows, *_ in met(make(subset={"train": 3, "test": 1}))]
    turned = {tuple(row) for row, *_ in met(make(subset=3, order=["c", "a", "b"]))}
    assert turned == {tuple(row) for row in rows}
    assert make(subset=1000).fingerprint == make().fingerprint


def test_standardize_looks_at_the_first_visit_alone():
    stream = make(visits=2, standardize=True)
    first = np.array([0.0, 1, 2])
    scaled = np.concatenate([b.x for b in stream.batches(0)])
    assert scaled.dtype == np.float64
    expected = (np.array([0, 1, 2, 10, 11, 20, 21, 3, 4, 5, 12, 13, 22.0]) - first.mean()) / first.std()
    assert np.abs(scaled[:, 0] - expected).max() < 1e-14
    assert np.abs(stream.test_of(2)[0][:, 0] - (np.array([20, 99]) - 1) / first.std()).max() < 1e-13
    single = stream_from_concepts(parts(kind=np.float32), standardize=True)
    assert next(single.batches(0)).x.dtype == np.float32


def test_a_feature_that_does_not_vary_first_is_only_shifted():
    flat = ("flat", [[1.0, 3.0], [2.0, 3.0]], [[1.0, 7.0], [0.0, 3.0]], [1, 0])
    assert stream_from_concepts([flat], standardize=True).test_of(0)[0][:, 1].tolist() == [4.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": 14}, "batch = 14 is more than the whole stream: concepts has 13 training rows in 3 visits"),
        ({"batch": 14, "scenario": "concept-agnostic"}, "more than the whole stream"),
        ({"order": ["a", "d"]}, "order names concepts of concepts; 'd'. there are 'a', 'b', 'c'"),
        ({"order": ["a", "a"]}, "'a' comes twice. For recurring concepts use visits"),
        ({"visits": ["a", "bb", "c"]}, "visits names concepts of concepts; 'bb'"),
        ({"visits": ["a", "b"]}, "visits goes to every concept at least once; 'c' is missing"),
        ({"visits": [0, 1, 3]}, "0 to 2; got 3"),
        ({"visits": [0, 1, -1]}, "got -1"),
        ({"visits": ["a", "b", "c"], "order": "random"}, "an order by themselves"),
        ({"visits": 4}, "'c' is visited 4 times and has 3 training rows"),
        ({"n_concepts": 3}, "n_concepts says how concepts are made; these are made already"),
        ({"bach": 3}, "did you mean 'batch'"),
    ],
)
def test_wrong_use(options, message):
    with pytest.raises(UsageError, match=message):
        make(**options)


class TestFingerprints:
    def test_seeds_that_differ_in_order_share_the_family(self):
        for more in ({}, {"visits": [0, 1, 0, 2]}, {"scenario": "concept-agnostic", "batch": 4}, {"subset": 2}):
            streams = [make(order="random", class_order_seed=seed, **more) for seed in range(6)]
            assert len({stream.family for stream in streams}) == 1
            orders = {tuple(task.name for task in stream.tasks) for stream in streams}
            assert len({stream.fingerprint for stream in streams}) == len(orders) > 1

    def test_whatever_changes_the_data_changes_both(self):
        other = parts()
        other[1][1][0, 0] += 1e-9
        moved = parts()
        moved[0], moved[1] = ("a", *moved[1][1:]), ("b", *moved[0][1:])
        streams = [
            make(),
            make(scenario="concept-aware"),
            make(scenario="concept-agnostic", batch=4),
            make(scenario="concept-agnostic", batch=5),
            make(visits=2),
            make(visits=[0, 1, 0, 2]),
            make(visits=[0, 1, 2, 0]),
            make(standardize=True),
            make(subset=2),
            make(subset={"test": 1}),
            make(order=["a", "b"]),
            stream_from_concepts(other),
            stream_from_concepts(moved),
            stream_from_concepts(parts(kind=np.float32)),
        ]
        assert len({stream.fingerprint for stream in streams}) == len(streams)
        assert len({stream.family for stream in streams}) == len(streams)

    def test_how_it_is_fed_does_not(self):
        assert len({make(**o).fingerprint for o in ({}, {"batch": 2}, {"shuffle": True}, {"class_order_seed": 3})}) == 1


def test_batches_that_end_with_concepts_are_pyclads_and_another_stream():
    parts = [
        (name, [[float(k)] for k in range(n)], [[0.0], [9.0]], [0, 1]) for name, n in (("a", 5), ("b", 4), ("c", 7))
    ]

    def stream(**more):
        return stream_from_concepts(parts, scenario="concept-agnostic", batch=3, visits=[0, 1, 0, 2], **more)

    cut, anywhere = stream(cut="visits"), stream()
    sizes = [len(batch.x) for batch in cut.batches(seed=0)]
    assert sizes == [3, 3, 1, 2, 3, 3, 1]  # a's five rows come in visits of three and two
    assert [batch.ends for batch in cut.batches(seed=0)] == list(range(7))
    assert (cut.n_sections, cut.learned_at) == (7, (0, 2, 6))
    assert [len(batch.x) for batch in anywhere.batches(seed=0)] == [3, 3, 3, 3, 3, 1]
    assert [batch.number for batch in cut.batches(seed=0, start=4)] == [4, 5, 6]
    assert cut.fingerprint != anywhere.fingerprint
    assert stream(cut="anywhere").fingerprint == anywhere.fingerprint
    with pytest.raises(UsageError, match="cut says where"):
        stream_from_concepts(parts, cut="visits")


def test_rows_inside_a_visit_say_that_they_repeat(tmp_path):
    from recollect.learners import Setting, make_learner
    from recollect.protocol import run_protocol
    from recollect.runs.run import Plan
    from recollect.runs.seeds import derive

    rng = np.random.default_rng(0)
    parts = [(name, rng.normal(size=(40, 2)), rng.normal(size=(9, 2)), [0] * 6 + [1] * 3) for name in "ab"]
    stream = stream_from_concepts(parts, batch=10)
    for every, said in ((10, True), (None, False)):
        learner = make_learner("naive", {"detector": "EllipticEnvelope"}, Setting.of(stream), derive(0))
        run = run_protocol(learner, stream, tmp_path / str(every), name="naive", plan=Plan(every=every))
        assert any("units fit only at concept ends" in note for note in run.notes) == said
