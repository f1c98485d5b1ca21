import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import stream_from_arrays
from recollect.streams.transforms import Permutation, Rotation


def toy(n_classes=10, per_class=20, **options):
    y = np.repeat(np.arange(n_classes), per_class)
    x = np.arange(len(y) * 16, dtype=np.int64).reshape(-1, 1, 4, 4).astype(np.uint8)
    return stream_from_arrays(x, y, x, y, name="toy", **options)


def test_unequal_tasks():
    stream = toy(classes_per_task=[5, 2, 2, 1])
    assert [len(task.classes) for task in stream.tasks] == [5, 2, 2, 1]
    assert [len(task.train) for task in stream.tasks] == [100, 40, 40, 20]
    assert sum((task.classes for task in stream.tasks), ()) == tuple(range(10))
    assert stream.n_classes == 10


@pytest.mark.parametrize("options", [{"tasks": 5}, {"classes_per_task": 2}, {"tasks": 5, "classes_per_task": 2}])
def test_equal_tasks(options):
    assert [len(task.classes) for task in toy(**options).tasks] == [2] * 5


def test_class_order_natural_given_and_seeded():
    assert toy(tasks=5, class_order="natural").tasks[1].original == (2, 3)
    assert toy(tasks=10, class_order=list(range(9, -1, -1))).tasks[0].original == (9,)
    orders = {tuple(t.original for t in toy(tasks=5, class_order_seed=s).tasks) for s in range(4)}
    assert len(orders) == 4


def test_options_may_be_numpy_s():
    order = np.arange(9, -1, -1)
    given = toy(tasks=np.int64(5), batch=np.uint8(4), class_order=order, subset={"train": np.int32(3)})
    same = toy(tasks=5, batch=4, class_order=order.tolist(), subset={"train": 3})
    assert given.fingerprint == same.fingerprint
    assert (given.n_batches, type(given.batch)) == (same.n_batches, int)
    assert toy(tasks=5, class_order=[*order]).fingerprint == toy(tasks=5, class_order=order).fingerprint
    assert toy(classes_per_task=np.array([6, 4])).fingerprint == toy(classes_per_task=[6, 4]).fingerprint
    turned = toy(angles=np.array([0, 90]), scenario="domain-incremental", domain="rotations")
    assert turned.tasks[1].transform == Rotation(90.0)


def test_scenarios_tell_what_they_tell():
    told = {}
    for scenario in ("class-incremental", "task-incremental", "domain-incremental"):
        stream = toy(tasks=2, scenario=scenario)
        told[scenario] = (stream.gives_task, stream.gives_boundaries, next(stream.batches(0)).task)
    assert told == {
        "class-incremental": (False, True, None),
        "task-incremental": (True, True, 0),
        "domain-incremental": (False, True, None),
    }
    assert toy(tasks=2, boundaries=False).gives_boundaries is False


def test_domains_have_all_classes_and_transform_train_and_test_alike():
    stream = toy(tasks=3, scenario="domain-incremental", batch=200)
    assert [task.classes for task in stream.tasks] == [tuple(range(10))] * 3
    assert [task.n_classes for task in stream.record_tasks()] == [10, 0, 0]
    raw = stream.data.x_train
    for k, batch in enumerate(stream.batches(seed=0)):
        transform = stream.tasks[k].transform
        mine = raw if transform is None else transform(raw)
        assert sorted(map(bytes, batch.x)) == sorted(map(bytes, mine))
    (test,) = stream.test_batches(1000)
    for k, task in enumerate(stream.tasks):
        mine = raw if task.transform is None else task.transform(raw)
        assert sorted(map(bytes, test.x[test.task == k])) == sorted(map(bytes, mine))


def test_the_tests_of_one_domain_are_transformed_as_in_the_mixed_test_set():
    x, y = (np.arange(120.0) ** 2 % 97).reshape(10, 3, 4), [0, 1] * 5
    for options in ({"tasks": 3}, {"domain": "rotations", "angles": [0, 45, 90]}, {"tasks": 2, "standardize": True}):
        stream = stream_from_arrays(x, y, x, y, scenario="domain-incremental", class_order="natural", **options)
        (mixed,) = stream.test_batches()
        for k in range(len(stream.tasks)):
            whole, labels = stream.test_of(k)
            assert sorted(map(bytes, whole)) == sorted(map(bytes, mixed.x[mixed.task == k]))
            assert labels.tolist() == y
            part, _ = stream.test_of(k, subsample=4)
            assert len(part) == 4
            assert {*map(bytes, part)} < {*map(bytes, whole)}
        assert not np.array_equal(stream.test_of(0)[0], stream.test_of(1)[0])


def test_domains_are_drawn_from_their_own_seed():
    stream = toy(tasks=3, scenario="domain-incremental", domain_seed=7)
    assert [task.transform for task in stream.tasks] == [None, Permutation(7, 1), Permutation(7, 2)]
    turned = toy(angles=[0, 45, 90], scenario="domain-incremental", domain="rotations")
    assert [task.transform for task in turned.tasks] == [None, Rotation(45.0), Rotation(90.0)]
    drawn = [
        [t.transform for t in toy(tasks=5, scenario="domain-incremental", domain="rotations", domain_seed=s).tasks]
        for s in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


class TestBlurry:
    def test_a_part_of_each_class_moves_and_nothing_is_lost(self):
        stream = toy(tasks=5, blurry=0.25, batch=7)
        y = stream.data.y_train
        all_train = np.concatenate([task.train for task in stream.tasks])
        assert sorted(all_train) == list(range(200))
        for k, task in enumerate(stream.tasks):
            for c in task.original:
                inside = np.isin(np.flatnonzero(y == c), task.train).sum()
                assert inside == 15
            others = [j for j in range(5) if j != k]
            for c in task.original:
                moved = [(y[stream.tasks[j].train] == c).sum() for j in others]
                assert sorted(moved) == [1, 1, 1, 2]

    def test_disjoint_classes_stay(self):
        stream = toy(tasks=5, blurry=0.5, disjoint=0.4)
        y = stream.data.y_train
        staying = sum((y[task.train] == c).sum() == 20 for task in stream.tasks for c in task.original)
        assert staying == 4

    def test_batches_run_over_boundaries_and_tell_the_engine_when_a_task_ends(self):
        stream = toy(tasks=5, blurry=0.25, batch=7)
        batches = list(stream.batches(seed=3))
        assert [len(b.y) for b in batches] == [7] * 28 + [4]
        assert all(b.task is None for b in batches)
        assert stream.gives_boundaries is False
        ends = {b.ends: b.samples_seen for b in batches if b.ends is not None}
        assert list(ends) == [0, 1, 2, 3, 4]
        for k, last in enumerate(np.cumsum([len(task.train) for task in stream.tasks])):
            assert last <= ends[k] < last + 7
        rest = list(stream.batches(seed=3, start=20))
        assert all(np.array_equal(a.x, b.x) and a.ends == b.ends for a, b in zip(batches[20:], rest, strict=True))

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"passes": 2}, "passed once"),
            ({"scenario": "task-incremental"}, "Only class-incremental"),
            ({"blurry": 1.5}, "from 0 to 1"),
            ({"blurry": 0, "disjoint": 0.5}, "give blurry"),
            ({"tasks": 1}, "at least two tasks"),
            ({"batch": 100}, "must not hold a whole task"),
        ],
    )
    def test_wrong_requests(self, options, match):
        with pytest.raises(UsageError, match=match):
            toy(**{"tasks": 5, "blurry": 0.2, **options})


class TestTime:
    def make(self, times, y, tasks=2, test_times=None, y_test=None):
        x = np.arange(len(y), dtype=np.float32)[:, None]
        test_times = times if test_times is None else test_times
        y_test = y if y_test is None else y_test
        x_test = np.arange(len(y_test), dtype=np.float32)[:, None]
        options = {"scenario": "time-incremental", "time_train": times, "time_test": test_times, "batch": 2}
        return stream_from_arrays(x, y, x_test, y_test, tasks=tasks, **options)

    def test_samples_come_in_time_and_tests_go_to_their_period(self):
        stream = self.make([5, 1, 4, 2, 3, 6], ["b", "a", "b", "a", "a", "c"])
        assert np.concatenate([b.x[:, 0] for b in stream.batches(0)]).tolist() == [1, 3, 4, 2, 0, 5]
        assert [task.original for task in stream.tasks] == [("a",), ("b", "c")]
        assert [task.classes for task in stream.tasks] == [(0,), (1, 2)]
        assert [task.test.tolist() for task in stream.tasks] == [[1, 3, 4], [0, 2, 5]]

    def test_classes_may_return(self):
        stream = self.make([1, 2, 3, 4], ["a", "b", "b", "c"])
        assert [task.classes for task in stream.tasks] == [(0, 1), (1, 2)]
        tasks = stream.record_tasks()
        assert [task.n_classes for task in tasks] == [2, 1]
        assert tasks[1].class_counts is None

    def test_a_period_without_tests_is_refused(self):
        with pytest.raises(UsageError, match="no test samples"):
            self.make([1, 2, 3, 4], ["a", "a", "a", "a"], test_times=[1, 2, 1, 2])

    @pytest.mark.parametrize("unit", ["ms", "us", "ns"])
    def test_dates_keep_their_resolution(self, unit):
        times = np.datetime64("2024-05-01T12:00:00", unit) + np.array([500, 1, 400, 2, 3, 600])
        stream = self.make(times, ["b", "a", "b", "a", "a", "c"])
        assert np.concatenate([b.x[:, 0] for b in stream.batches(0)]).tolist() == [1, 3, 4, 2, 0, 5]
        assert [task.test.tolist() for task in stream.tasks] == [[1, 3, 4], [0, 2, 5]]
        assert [task.name for task in stream.tasks] == [f"from {times[1]}", f"from {times[2]}"]

    def test_large_whole_numbers_keep_their_last_digits(self):
        times = 2**60 + np.array([2, 1, 4, 3])
        stream = self.make(times, ["a", "a", "b", "b"])
        assert np.concatenate([b.x[:, 0] for b in stream.batches(0)]).tolist() == [1, 0, 3, 2]
        assert [task.test.tolist() for task in stream.tasks] == [[0, 1], [2, 3]]
        assert [task.name for task in stream.tasks] == [f"from {2**60 + 1}", f"from {2**60 + 3}"]

    def test_dates_of_two_units_are_compared_as_dates(self):
        days = np.array(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"], dtype="datetime64[D]")
        stream = self.make(days, ["a", "a", "b", "b"], test_times=days.astype("datetime64[ms]"))
        assert [task.test.tolist() for task in stream.tasks] == [[0, 1], [2, 3]]

    @pytest.mark.parametrize(
        ("times", "test_times", "match"),
        [
            (["2024-01-01", "NaT", "2024-01-03", "NaT"], None, "time_train has NaT, .* 2 samples, the first of them 1"),
            (["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"], [1, 2, 3, 4], "both numbers or both dates"),
            (["2024-01-01", "2024-01-02", "2024-01-03", "3024-01-04"], "ns", "time_train has dates that .* cannot"),
        ],
    )
    def test_wrong_dates(self, times, test_times, match):
        dates = np.array(times, dtype="datetime64[D]")
        if test_times == "ns":
            test_times = dates.clip(max=np.datetime64("2024-01-04")).astype("datetime64[ns]")
        with pytest.raises(UsageError, match=match):
            self.make(dates, ["a"] * 4, test_times=test_times)

    @pytest.mark.parametrize("y_test", [["a", "c", "b", "b", "c"], ["a", "b", "b", "c", "c"]])
    def test_a_class_that_is_tested_before_it_is_trained_is_refused(self, y_test):
        match = rf"class '{y_test[1]}' is tested in task 0 \(from 1\), test sample 1 .* task 1 \(from 3\)\. Drop"
        with pytest.raises(UsageError, match=match):
            self.make([1, 2, 3, 4], ["a", "a", "b", "c"], test_times=[1, 2, 3, 4, 5], y_test=y_test)

    def test_times_are_needed_and_belong_here(self):
        with pytest.raises(UsageError, match="time_train and time_test"):
            stream_from_arrays([[0.0]], [0], [[0.0]], [0], tasks=1, scenario="time-incremental")
        with pytest.raises(UsageError, match="belong to a time-incremental"):
            stream_from_arrays([[0.0]], [0], [[0.0]], [0], tasks=1, time_train=[1], time_test=[1])


def test_a_subset_is_the_same_draw_for_every_class_order():
    one, other = toy(tasks=5, subset=3), toy(tasks=5, subset=3, class_order_seed=9)
    used = [sorted(np.concatenate([task.train for task in s.tasks])) for s in (one, other)]
    assert used[0] == used[1]
    assert np.bincount(one.data.y_train[used[0]]).tolist() == [3] * 10
    assert all(len(task.test) == 40 for task in one.tasks)
    small = toy(tasks=5, subset={"train": 4, "test": 2})
    assert [(len(t.train), len(t.test)) for t in small.tasks] == [(8, 4)] * 5
    assert "at most 4 train and 2 test samples per class" in small.notes


def test_features_are_standardized_by_the_first_task_alone():
    x = np.array([[1, 5], [3, 5], [100, 7], [200, 9]], dtype=np.float64)
    y = [0, 0, 1, 1]
    stream = stream_from_arrays(x, y, x, y, tasks=2, class_order="natural", standardize=True, batch=4)
    first, second = stream.batches(0)
    assert sorted(first.x[:, 0]) == [-1, 1]
    assert first.x[:, 1].tolist() == [0, 0]
    assert sorted(map(tuple, second.x)) == [(98, 2), (198, 4)]
    assert stream.data.x_train[0].tolist() == [1, 5]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"tasks": 3}, "do not split evenly with tasks = 3; use one of 1, 2, 5, 10"),
        ({"classes_per_task": 4}, "do not split evenly"),
        ({"classes_per_task": [5, 4]}, "2 tasks with 9 classes"),
        ({"classes_per_task": [5, 5], "tasks": 3}, "agree with tasks"),
        ({"classes_per_task": 5, "tasks": 5}, "Give one of the two"),
        ({}, "How is toy to be split"),
        ({"tasks": 0}, "at least 1"),
        ({"tasks": 2.0}, "at least 1"),
        ({"tasks": True}, "at least 1"),
        ({"tasks": 5, "batch": 0}, "batch is a whole number of at least 1"),
        ({"tasks": 5, "passes": 0}, "passes is a whole number of at least 1"),
        ({"tasks": 5, "scenario": "class_incremental"}, "Did you mean 'class-incremental'"),
        ({"tasks": 5, "class_order": [0, 1]}, "names each of the 10 classes"),
        ({"tasks": 5, "class_order": [*range(9), 11]}, "11 is not one of them"),
        ({"tasks": 5, "class_order": [*range(9), 8]}, "got 9 of them"),
        ({"tasks": 5, "class_order": "random"}, "'natural', or a file with one class per line"),
        ({"tasks": 5, "class_order": 3}, "'natural' or a list"),
        ({"tasks": 5, "class_order": [[0], [1]]}, "'natural' or a list"),
        ({"tasks": 5, "boundaries": "no"}, "boundaries is true or false"),
        ({"tasks": 5, "standardize": 1}, "standardize is true or false"),
        ({"tasks": 5, "angles": 45}, "list of degrees"),
        ({"tasks": 5, "angles": ["45"]}, "list of degrees"),
        ({"tasks": 5, "class_order_seed": -1}, "at least 0"),
        ({"tasks": 5, "subset": 0}, "subset"),
        ({"tasks": 5, "subset": {"trian": 5}}, "'train' and 'test'"),
        ({"tasks": 5, "task_order": 1}, "has no option 'task_order'"),
        ({"tasks": 5, "standardize": True}, "uint8 images"),
        ({"tasks": 5, "domain": "rotations"}, "domain belongs to domain-incremental streams; this one is class-"),
        ({"tasks": 5, "domain": "permutations"}, "domain belongs to domain-incremental"),
        ({"tasks": 5, "domain_seed": 0}, "domain_seed belongs to domain-incremental"),
        ({"tasks": 5, "scenario": "task-incremental", "angles": [0, 1, 2, 3, 4]}, "angles belongs to .* task-incremen"),
        ({"scenario": "domain-incremental", "domain": "rotations", "angles": [0, np.nan]}, "finite numbers"),
        ({"scenario": "domain-incremental", "domain": "rotations", "angles": [np.inf]}, "finite numbers"),
        ({"tasks": 5, "class_order": np.arange(9)}, "names each of the 10 classes"),
        ({"tasks": 5, "class_order": np.array([[0, 1], [2, 3]])}, "'natural' or a list"),
        ({"tasks": np.float64(2.0)}, "at least 1"),
        ({"tasks": np.True_}, "at least 1"),
        ({"scenario": "domain-incremental"}, "How many domains"),
        ({"scenario": "domain-incremental", "classes_per_task": 5}, "all classes"),
        ({"scenario": "domain-incremental", "tasks": 2, "angles": [0, 1]}, "rotations"),
        (
            {"scenario": "domain-incremental", "domain": "rotations", "tasks": 2, "angles": [0]},
            "each of the 2",
        ),
        ({"scenario": "domain-incremental", "domain": "rotations", "tasks": 181}, "180 angles"),
    ],
)
def test_wrong_requests(options, match):
    with pytest.raises(UsageError, match=match):
        toy(**options)


def test_rotations_need_images():
    x = np.zeros((4, 3), dtype=np.float32)
    with pytest.raises(UsageError, match="Rotations need images"):
        stream_from_arrays(x, [0, 1, 0, 1], x, [0, 1, 0, 1], tasks=2, scenario="domain-incremental", domain="rotations")


def test_a_class_without_test_samples_is_refused():
    x = np.zeros((4, 3))
    with pytest.raises(UsageError, match="needs test samples; 1 of arrays has none"):
        stream_from_arrays(x, [0, 1, 0, 1], x, [0, 0, 0, 0], tasks=2)
