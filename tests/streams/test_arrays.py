import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import dataset_from_arrays, make_stream, stream_from_arrays, stream_from_npz
from recollect.streams.arrays import dataset_from_npz, stratified_test

X = np.arange(20, dtype=np.float64).reshape(10, 2)
Y = np.array([0, 1] * 5)
FIRST_FOUR = np.arange(10) < 4


def test_images_are_not_copied():
    images = np.zeros((4, 1, 2, 2), dtype=np.uint8)
    data = dataset_from_arrays("x", images, [0, 1, 0, 1], images, [0, 1, 0, 1])
    assert data.x_train is images


def test_tables_become_float32():
    assert stream_from_arrays(X.astype(np.uint8), Y, X.astype(np.uint8), Y, tasks=2).data.x_train.dtype == np.float32


@pytest.mark.parametrize(
    "labels", [Y, Y.astype(float), Y[:, None], np.array(["a", "b"] * 5), np.array([b"a", b"b"] * 5)]
)
def test_labels_of_many_kinds(labels):
    stream = stream_from_arrays(X, labels, X, labels, tasks=2, class_order="natural")
    assert stream.data.y_train.tolist() == Y.tolist()
    assert stream.tasks[0].original[0] in (0, "a")


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ((X, Y[:5], X, Y), "10 inputs and 5 labels"),
        ((X, Y, X[:, :1], Y), "one shape"),
        ((X.astype(np.uint8).reshape(10, 1, 2), Y, X.reshape(10, 1, 2), Y), "one type"),
        ((X[:, 0], Y, X, Y), "shape"),
        ((X[:0], Y[:0], X, Y), "not empty"),
        ((X * np.nan, Y, X, Y), "not finite"),
        ((X.astype(str), Y, X, Y), "numbers"),
        ((X, Y, X, Y + 1), "2 does not"),
        ((X, Y + 0.5, X, Y), "class numbers or names"),
    ],
)
def test_wrong_arrays(arrays, match):
    with pytest.raises(UsageError, match=match):
        stream_from_arrays(*arrays, tasks=2)


def test_npz_with_four_arrays(tmp_path):
    np.savez(tmp_path / "four.npz", x_train=X, y_train=Y, x_test=X[:4], y_test=Y[:4])
    stream = stream_from_npz(tmp_path / "four.npz", tasks=2)
    assert (stream.name, stream.n_train, sum(len(t.test) for t in stream.tasks)) == ("four", 10, 4)


@pytest.mark.parametrize("split", [FIRST_FOUR, FIRST_FOUR.astype(int), np.where(FIRST_FOUR, "test", "train")])
def test_npz_with_a_split(tmp_path, split):
    np.savez(tmp_path / "two.npz", X=X, y=Y, split=split)
    data = dataset_from_npz(tmp_path / "two.npz")
    assert np.array_equal(data.x_test, X[:4])


def test_npz_without_a_split_draws_the_same_one_every_time(tmp_path):
    np.savez(tmp_path / "two.npz", X=X, y=Y, class_names=np.array(["a", "b"]))
    one = make_stream("two.npz", data=tmp_path, tasks=2, test_fraction=0.4)
    two = make_stream(str(tmp_path / "two.npz"), tasks=2, test_fraction=0.4)
    assert one.fingerprint == two.fingerprint
    assert [len(t.test) for t in one.tasks] == [2, 2]


def test_stratified_parts():
    y = np.repeat([3, 5], [100, 10])
    test = stratified_test(y, 0.2)
    assert (test[:100].sum(), test[100:].sum()) == (20, 2)
    assert stratified_test(np.array([0, 0]), 0.01).sum() == 1
    with pytest.raises(UsageError, match="one sample"):
        stratified_test(np.array([0, 0, 1]), 0.5)
    with pytest.raises(UsageError, match="between 0 and 1"):
        stratified_test(y, 1.0)


def test_wrong_npz_files(tmp_path):
    def refused(match, name="bad.npz"):
        with pytest.raises(UsageError, match=match):
            stream_from_npz(tmp_path / name, tasks=2)

    refused("Cannot read", "absent.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK not really")
    refused("Cannot read")
    np.savez(tmp_path / "bad.npz", a=X)
    refused("expected x_train")
    np.savez(tmp_path / "bad.npz", X=X, y=Y[:3])
    refused("a row a sample")
    np.savez(tmp_path / "bad.npz", X=X, y=Y, split=np.full(10, 7))
    refused("split")
    np.savez(tmp_path / "bad.npz", X=X, y=np.array([{}] * 10, dtype=object))
    refused("plain arrays")
