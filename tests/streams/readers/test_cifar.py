import pickle

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams.readers.cifar import read_images, read_names
from tests.streams.files import write_cifar100


@pytest.mark.parametrize("text", [False, True])
def test_what_was_written_is_read(tmp_path, text):
    images = write_cifar100(tmp_path, text=text)
    x, y = read_images([tmp_path / "cifar-100-python" / "train"], "fine_labels")
    assert np.array_equal(x.reshape(-1, 3072), images)
    assert x.shape == (200, 3, 32, 32)
    assert y.tolist() == [*range(100)] * 2
    assert read_names(tmp_path / "cifar-100-python" / "meta", "fine_label_names")[99] == "thing 99"


def test_pickles_of_python_2_are_read(tmp_path):
    # As Python 2 wrote them: str keys and the pixels as a byte string, protocol 2.
    pixels = bytes(range(256)) * 12
    import struct

    content = (
        b"\x80\x02}q\x00(U\x04dataq\x01cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03"
        b"K\x00\x85U\x01b\x87Rq\x04(K\x01K\x01M\x00\x0c\x86cnumpy\ndtype\nq\x05U\x02u1K\x00K\x01\x87Rq\x06"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + struct.pack("<i", len(pixels))
        + pixels
        + b"tbU\x0bfine_labels]q\x07K\x05au."
    )
    (tmp_path / "train").write_bytes(content)
    x, y = read_images([tmp_path / "train"], "fine_labels")
    assert x.reshape(-1).tobytes() == pixels
    assert y.tolist() == [5]


def test_files_are_joined_in_order(tmp_path):
    for i in (1, 2):
        content = {"data": np.full((2, 3072), i, dtype=np.uint8), "labels": [i, i]}
        (tmp_path / str(i)).write_bytes(pickle.dumps(content))
    x, y = read_images([tmp_path / "1", tmp_path / "2"], "labels")
    assert x[:, 0, 0, 0].tolist() == y.tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ([1], "should hold a dictionary"),
        ({"labels": [0]}, "has no 'data'"),
        ({"data": np.zeros((1, 3072), dtype=np.uint8)}, "has no 'labels'"),
        ({"data": np.zeros((1, 100), dtype=np.uint8), "labels": [0]}, r"shape \(n, 3072\)"),
        ({"data": np.zeros((1, 3072)), "labels": [0]}, "should be bytes"),
        ({"data": "text", "labels": [0]}, "got str"),
        ({"data": np.zeros((1, 3072), dtype=np.uint8), "labels": [0, 1]}, "should be 1 numbers"),
        ({"data": np.zeros((1, 3072), dtype=np.uint8), "labels": ["a"]}, "should be 1 numbers"),
    ],
)
def test_other_pickles_are_refused(tmp_path, content, match):
    (tmp_path / "train").write_bytes(pickle.dumps(content))
    with pytest.raises(UsageError, match=match):
        read_images([tmp_path / "train"], "labels")


def test_nothing_in_the_file_is_run(tmp_path):
    (tmp_path / "train").write_bytes(b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR.")
    with pytest.raises(UsageError, match=r"os\.system"):
        read_images([tmp_path / "train"], "labels")
    assert not (tmp_path / "ran").exists()
