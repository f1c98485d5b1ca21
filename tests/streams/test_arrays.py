import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import (
    Spec,
    build_stream,
    dataset_from_arrays,
    make_stream,
    stream_from_arrays,
    stream_from_npz,
)
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


@pytest.mark.parametrize(
    "split",
    [
        FIRST_FOUR,
        FIRST_FOUR.astype(int),
        np.where(FIRST_FOUR, "test", "train"),
        FIRST_FOUR.astype(float),
        np.where(FIRST_FOUR, b"test", b"train"),
        FIRST_FOUR[:, None],
    ],
)
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


def test_npz_with_labels_in_a_column(tmp_path):
    np.savez(tmp_path / "column.npz", X=X, y=Y[:, None])
    np.savez(tmp_path / "flat.npz", X=X, y=Y)
    column, flat = (stream_from_npz(tmp_path / f"{name}.npz", tasks=2) for name in ("column", "flat"))
    assert column.fingerprint == flat.fingerprint


def test_npz_by_a_path(tmp_path):
    np.savez(tmp_path / "two.npz", X=X, y=Y)
    assert (
        make_stream(tmp_path / "two.npz", tasks=2).fingerprint
        == stream_from_npz(str(tmp_path / "two.npz"), tasks=2).fingerprint
    )


@pytest.mark.parametrize("name", ["", " ", None, 3])
def test_a_name_is_needed(tmp_path, name):
    with pytest.raises(UsageError, match="name is a text, not empty"):
        stream_from_arrays(X, Y, X, Y, name=name, tasks=2)
    np.savez(tmp_path / "two.npz", X=X, y=Y)
    data = dataset_from_npz(tmp_path / "two.npz")
    if name is None:
        assert build_stream(data, Spec(tasks=2), name=name).name == "two"
        return
    with pytest.raises(UsageError, match="name is a text, not empty"):
        stream_from_npz(tmp_path / "two.npz", name=name, tasks=2)
    with pytest.raises(UsageError, match="name is a text, not empty"):
        build_stream(data, Spec(tasks=2), name=name)


@pytest.mark.parametrize("fraction", ["x", None, True, np.nan, 0, [0.2]])
def test_wrong_fractions(tmp_path, fraction):
    np.savez(tmp_path / "two.npz", X=X, y=Y)
    with pytest.raises(UsageError, match="test_fraction is a fraction between 0 and 1"):
        stream_from_npz(tmp_path / "two.npz", tasks=2, test_fraction=fraction)
    np.savez(tmp_path / "four.npz", x_train=X, y_train=Y, x_test=X, y_test=Y)
    with pytest.raises(UsageError, match="test_fraction is a fraction between 0 and 1"):
        stream_from_npz(tmp_path / "four.npz", tasks=2, test_fraction=fraction)


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
    refused("one row per sample")
    np.savez(tmp_path / "bad.npz", X=X, y=Y, split=np.full(10, 7))
    refused("split")
    np.savez(tmp_path / "bad.npz", X=X, y=np.array([{}] * 10, dtype=object))
    refused("plain arrays")
    refused(r"y in .* Python objects, .* Save text as y\.astype\(str\)")
    np.savez(tmp_path / "bad.npz", foo=X, bar=Y)
    refused("has foo, bar; expected x_train")
    np.savez(tmp_path / "bad.npz", X=X, y=np.where(FIRST_FOUR, np.nan, Y))
    refused(r"y in .* has no label \(None, NaN or NA\) for 4 of 10")
    np.savez(tmp_path / "bad.npz", X=X, x=X, y=Y)
    refused("has both X and x; .* Keep one")
    np.savez(tmp_path / "bad.npz", X=X, y=Y, split=np.where(FIRST_FOUR, 0.5, 1))
    refused(r"split in .* got float64 of shape \(10,\) with 0\.5")
    np.savez(tmp_path / "bad.npz", X=X, y=Y, split=np.where(FIRST_FOUR, b"Test", b"train"))
    refused("split in .* with 'Test'")
    with open(tmp_path / "bad.npz", "wb") as file:
        np.save(file, X)
    refused(r"is an \.npy file, whatever its name: one array, of shape \(10, 2\)")
    np.savez_compressed(tmp_path / "bad.npz", X=X, y=Y)
    content = bytearray((tmp_path / "bad.npz").read_bytes())
    content[60:80] = bytes(20)
    (tmp_path / "bad.npz").write_bytes(content)
    refused("Cannot read")


@pytest.mark.parametrize(("shape", "dtype"), [((6, 32, 32, 3), "u1"), ((6, 28, 28, 1), "f4"), ((6, 24, 32, 3), "u1")])
def test_images_with_the_channels_last_are_refused(shape, dtype):
    x, y = np.zeros(shape, dtype), [0, 1, 2, 0, 1, 2]
    with pytest.raises(UsageError, match="channels last"):
        stream_from_arrays(x, y, x, y, tasks=3)
    first = x.transpose(0, 3, 1, 2)
    assert len(stream_from_arrays(first, y, first, y, tasks=3).tasks) == 3


def test_maps_of_features_are_no_images():
    x, y = np.zeros((6, 64, 3, 3), "f4"), [0, 1, 2, 0, 1, 2]
    assert len(stream_from_arrays(x, y, x, y, tasks=3).tasks) == 3
