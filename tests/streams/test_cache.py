import os

import numpy as np
import pytest

from recollect.streams.cache import Decoded, content_key, decoded
from recollect.streams.locate import cache_dir


def make():
    return Decoded({"x": np.arange(6, dtype=np.uint8).reshape(2, 3)}, {"classes": ["a", "b"]})


def refuse():
    raise AssertionError("the cache should have had it")


def test_the_second_time_it_is_mapped():
    first = decoded("toy", "key", make)
    second = decoded("toy", "key", refuse)
    assert np.array_equal(first.arrays["x"], second.arrays["x"])
    assert second.facts == {"classes": ["a", "b"]}
    assert not second.arrays["x"].flags.writeable
    assert type(second.arrays["x"]) is np.ndarray


@pytest.mark.parametrize("damage", ["cut", "index", "missing"])
def test_a_damaged_entry_is_made_again(damage):
    decoded("toy", "key", make)
    (entry,) = (cache_dir() / "decoded").iterdir()
    if damage == "cut":
        (entry / "x.npy").write_bytes((entry / "x.npy").read_bytes()[:-2])
    elif damage == "index":
        (entry / "index.json").write_text("{")
    else:
        (entry / "x.npy").unlink()
    assert decoded("toy", "key", make).arrays["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert decoded("toy", "key", refuse).arrays["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert len(list((cache_dir() / "decoded").iterdir())) == 1


def test_where_nothing_can_be_written_the_arrays_are_kept(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "file"))
    assert decoded("toy", "key", make).arrays["x"].shape == (2, 3)


def test_the_key_knows_names_sizes_times_and_options(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"1")
    os.utime(file, ns=(0, 10**9))
    keys = [
        content_key(tmp_path, [file]),
        content_key(tmp_path, [file], 32),
        content_key(tmp_path, [str(file)]),
    ]
    assert keys[0] == keys[2] != keys[1]
    os.utime(file, ns=(0, 2 * 10**9))
    assert content_key(tmp_path, [file]) != keys[0]
    file.write_bytes(b"12")
    os.utime(file, ns=(0, 10**9))
    assert content_key(tmp_path, [file]) != keys[0]
