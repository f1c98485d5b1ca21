"""Data sets by name: found, counted, refused where they are not what was published."""

import inspect
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from recollect.errors import MissingExtra, NotComputable, UsageError
from recollect.streams import datasets, load_dataset, make_stream, stream_names
from recollect.streams.catalogue import CATALOGUE
from recollect.streams.datasets import STREAMS
from tests.streams.files import write_cifar100, write_mnist, write_tiny


@pytest.fixture
def small_mnist(shrink):
    shrink("mnist", n_train=40, n_test=20)


@pytest.fixture
def small_cifar(shrink):
    shrink("cifar100", n_train=200, n_test=100)


@pytest.fixture
def small_tiny(shrink):
    shrink("tiny-imagenet", classes=4, n_train=12, n_test=8)


class TestDigits:
    def test_they_are_always_there(self):
        pytest.importorskip("sklearn")
        data = load_dataset("digits")
        assert data.x_train.dtype == np.uint8
        assert (data.x_train.min(), data.x_train.max()) == (0, 255)
        assert len(np.unique(data.x_train)) == 17
        assert np.bincount(data.y_test).tolist() == [36, 36, 35, 37, 36, 36, 36, 36, 35, 36]
        assert len(data.y_train) + len(data.y_test) == 1797

    def test_named_streams(self):
        pytest.importorskip("sklearn")
        split = make_stream("split-digits")
        assert (len(split.tasks), split.scenario, split.name) == (5, "class-incremental", "split-digits")
        assert split.fingerprint == make_stream("digits", tasks=5).fingerprint
        assert len(make_stream("split-digits", classes_per_task=[4, 6]).tasks) == 2
        assert len(make_stream("permuted-digits", tasks=3).tasks) == 3
        assert len(make_stream("rotated-digits", angles=[0, 90]).tasks) == 2

    def test_each_domain_has_its_own_test_images(self):
        pytest.importorskip("sklearn")
        stream = make_stream("permuted-digits", tasks=3)
        images = [stream.test_of(k)[0] for k in range(3)]
        assert not np.array_equal(images[0], images[1])
        assert not np.array_equal(images[1], images[2])
        assert [np.sort(each, axis=None).tolist() for each in images[1:]] == [
            np.sort(images[0], axis=None).tolist()
        ] * 2


class TestMnist:
    @pytest.mark.parametrize("place", ["MNIST/raw", "mnist", "."])
    @pytest.mark.parametrize("suffix", ["", ".gz"])
    def test_layouts(self, tmp_path, small_mnist, place, suffix):
        x_train, y_train, _, _ = write_mnist(tmp_path / place, suffix=suffix)
        data = load_dataset("mnist", data=tmp_path)
        assert np.array_equal(data.x_train[:, 0], x_train)
        assert data.input_shape == (1, 28, 28)
        assert np.array_equal(data.y_train, y_train)
        assert "other hash" in data.notes[0]

    def test_the_environment_and_the_cache_are_searched(self, tmp_path, small_mnist, monkeypatch):
        write_mnist(tmp_path / "one" / "MNIST" / "raw")
        monkeypatch.setenv("RECOLLECT_DATA", str(tmp_path / "one"))
        assert len(make_stream("split-mnist").tasks) == 5
        monkeypatch.setenv("RECOLLECT_DATA", f"{tmp_path / 'nowhere'}:{tmp_path / 'one'}")
        assert len(make_stream("split-mnist").tasks) == 5
        monkeypatch.delenv("RECOLLECT_DATA")
        monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
        write_mnist(tmp_path / "cache" / "data" / "MNIST" / "raw")
        assert len(make_stream("split-mnist").tasks) == 5

    def test_what_is_given_comes_first(self, tmp_path, shrink, monkeypatch):
        shrink("mnist", n_train=60, n_test=20)
        write_mnist(tmp_path / "one" / "MNIST" / "raw", n_train=60)
        write_mnist(tmp_path / "two" / "MNIST" / "raw", n_train=40)
        monkeypatch.setenv("RECOLLECT_DATA", str(tmp_path / "two"))
        assert len(load_dataset("mnist", data=tmp_path / "one").y_train) == 60
        with pytest.raises(UsageError, match="has 60 training samples; found 40"):
            load_dataset("mnist")

    def test_a_missing_file_is_named_with_where_it_was_looked_for(self, tmp_path, small_mnist):
        write_mnist(tmp_path / "MNIST" / "raw")
        (tmp_path / "MNIST" / "raw" / "t10k-labels-idx1-ubyte").unlink()
        with pytest.raises(NotComputable) as caught:
            load_dataset("mnist", data=tmp_path)
        message = str(caught.value)
        assert f"{tmp_path / 'MNIST' / 'raw'} lacks t10k-labels-idx1-ubyte" in message
        assert str(tmp_path) in message
        assert "http://yann.lecun.com/exdb/mnist/" in message
        assert "recollect data get mnist" in message
        assert "\n" not in message

    def test_images_and_labels_must_be_as_many(self, tmp_path, small_mnist):
        folder = tmp_path / "MNIST" / "raw"
        write_mnist(folder, n_train=40)
        labels = (folder / "train-labels-idx1-ubyte").read_bytes()
        write_mnist(folder, n_train=30)
        (folder / "train-labels-idx1-ubyte").write_bytes(labels)
        with pytest.raises(UsageError, match="30 training images and 40 labels"):
            load_dataset("mnist", data=tmp_path)

    def test_a_data_folder_must_exist(self, tmp_path):
        with pytest.raises(UsageError, match="not a folder"):
            load_dataset("mnist", data=tmp_path / "absent")


class TestCifar:
    def test_it_is_read_once_and_mapped_then(self, tmp_path, small_cifar, monkeypatch):
        images = write_cifar100(tmp_path)
        first = make_stream("split-cifar100", data=tmp_path)
        assert [len(task.classes) for task in first.tasks] == [10] * 10
        assert "train, test, meta" in first.notes[0]
        monkeypatch.setattr("recollect.streams.readers.cifar.read_images", None)
        second = make_stream("split-cifar100", data=tmp_path)
        assert np.array_equal(second.data.x_train.reshape(-1, 3072), images)
        assert not second.data.x_train.flags.owndata
        assert second.fingerprint == first.fingerprint
        assert second.notes == first.notes

    def test_a_changed_file_is_read_again(self, tmp_path, small_cifar):
        write_cifar100(tmp_path)
        one = load_dataset("cifar100", data=tmp_path)
        test = tmp_path / "cifar-100-python" / "test"
        content = bytearray(test.read_bytes())
        content[len(content) // 3] ^= 1
        test.write_bytes(content)
        other = load_dataset("cifar100", data=tmp_path)
        assert not np.array_equal(one.x_test, other.x_test)

    def test_counts_must_be_the_published_ones(self, tmp_path):
        write_cifar100(tmp_path)
        with pytest.raises(UsageError, match=r"has 50,000 training samples; found 200 \(2 a class\)"):
            load_dataset("cifar100", data=tmp_path)

    def test_counts_of_each_class_too(self, tmp_path, shrink):
        shrink("cifar100", n_train=250, n_test=100)
        write_cifar100(tmp_path, n_train=250)
        with pytest.raises(UsageError, match=r"found 250 \(2 to 3 a class\)"):
            load_dataset("cifar100", data=tmp_path)


class TestTinyImageNet:
    def test_the_validation_images_are_the_test_set(self, tmp_path, small_tiny):
        write_tiny(tmp_path)
        stream = make_stream("split-tiny-imagenet", data=tmp_path, tasks=2)
        assert (stream.input_shape, stream.n_train, stream.notes) == ((3, 64, 64), 12, ())
        assert stream.data.x_test.mean() > 199

    def test_the_second_load_decodes_nothing(self, tmp_path, small_tiny, monkeypatch):
        write_tiny(tmp_path)
        first = make_stream("tiny-imagenet", data=tmp_path, tasks=2, size=8)
        monkeypatch.setattr("recollect.streams.readers.tiny_imagenet.decode", None)
        second = make_stream("tiny-imagenet", data=tmp_path, tasks=2, size=8)
        assert first.fingerprint == second.fingerprint
        assert second.name == "tiny-imagenet 8x8"
        assert "8 x 8" in second.notes[0]

    def test_a_part_of_the_training_images_must_be_asked_for(self, tmp_path, small_tiny):
        write_tiny(tmp_path, train=2)
        with pytest.raises(UsageError, match=r"has 12 training samples; found 8 \(2 a class\).* partial = True"):
            make_stream("tiny-imagenet", data=tmp_path, tasks=2)
        stream = make_stream("tiny-imagenet", data=tmp_path, tasks=2, partial=True)
        assert stream.name == "tiny-imagenet (partial)"
        assert stream.notes == ("partial: 8 of 12 training images",)

    def test_a_part_of_the_test_images_is_never_enough(self, tmp_path, small_tiny):
        write_tiny(tmp_path, test=1)
        with pytest.raises(UsageError, match="has 8 test samples; found 4"):
            make_stream("tiny-imagenet", data=tmp_path, tasks=2, partial=True)

    def test_a_listed_image_must_be_there(self, tmp_path, small_tiny):
        folder = write_tiny(tmp_path)
        (folder / "val" / "images" / "val_3.JPEG").unlink()
        with pytest.raises(UsageError, match=r"val_3\.JPEG is listed and not there"):
            make_stream("tiny-imagenet", data=tmp_path, tasks=2)

    @pytest.mark.parametrize("size", [0, 65, 32.0, True])
    def test_sizes(self, size):
        with pytest.raises(UsageError, match="1 to 64"):
            load_dataset("tiny-imagenet", size=size)


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("split-cifar", {}, "did you mean 'split-cifar10'"),
        ("zzz", {}, "there are digits, mnist"),
        ("digits", {"tasks": 5, "size": 32}, "belongs to tiny-imagenet and folders of images"),
        ("digits", {"tasks": 5, "partial": True}, "belongs to tiny-imagenet"),
        ("digits", {"tasks": 5, "test_fraction": 0.5}, "belongs to an .npz file"),
        ("absent.npz", {"tasks": 5}, r"no file absent\.npz"),
        ("digits", {"tasks": 3}, "do not split evenly"),
        (None, {"tasks": 5}, "the path of an .npz or .csv file; got None"),
        (5, {"tasks": 5}, "the path of an .npz or .csv file; got 5"),
        ("", {"tasks": 5}, "There is no stream ''"),
        ("digits", {"tasks": 5, "domain": "rotations"}, "belongs to domain-incremental"),
        ("permuted-digits", {"scenario": "class-incremental"}, "domain-incremental by its name; .* take 'digits'"),
    ],
)
def test_wrong_requests(name, options, match):
    with pytest.raises(UsageError, match=match):
        make_stream(name, **options)


def test_the_paper_s_streams():
    assert STREAMS["split-cifar100"].options == {"tasks": 10}
    assert STREAMS["split-tiny-imagenet"].options == {"tasks": 100}
    assert CATALOGUE["tiny-imagenet"].classes == 200
    assert set(stream_names()) >= {"digits", "split-mnist", "split-digits", "permuted-mnist"}


def test_the_signature_names_every_option():
    options = inspect.signature(make_stream).parameters
    assert {"data", "size", "partial", "tasks", "batch", "passes", "blurry", "class_order_seed"} <= set(options)
    assert "options" not in options


def test_digits_are_those_of_scikit_learn_without_its_import(monkeypatch):
    sklearn = pytest.importorskip("sklearn.datasets")
    x, y = sklearn.load_digits(return_X_y=True)
    table = datasets._digits_table()
    assert np.array_equal(table[:, :-1], x)
    assert np.array_equal(table[:, -1], y)
    monkeypatch.setattr(datasets, "find_spec", lambda name: SimpleNamespace(submodule_search_locations=["nowhere"]))
    assert np.array_equal(datasets._digits_table(), table)
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="scikit-learn"):
        datasets._digits_table()
    code = "import sys; from recollect.streams import make_stream; make_stream('digits', tasks=5);"
    subprocess.run([sys.executable, "-c", code + "assert not {'sklearn', 'pandas'} & {*sys.modules}"], check=True)
