import gzip

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams.readers.idx import read_idx
from tests.streams.files import write_idx

IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("name", ["images", "images.gz"])
def test_what_was_written_is_read(tmp_path, name):
    write_idx(tmp_path / name, IMAGES)
    assert np.array_equal(read_idx(tmp_path / name, 3), IMAGES)


def test_a_plain_file_is_mapped_not_read(tmp_path):
    write_idx(tmp_path / "images", IMAGES)
    read = read_idx(tmp_path / "images", 3)
    assert not read.flags.owndata
    assert not read.flags.writeable


@pytest.mark.parametrize("cut", [0, 3, 15, 20, 39])
def test_a_cut_file_is_refused(tmp_path, cut):
    write_idx(tmp_path / "whole", IMAGES)
    (tmp_path / "cut").write_bytes((tmp_path / "whole").read_bytes()[:cut])
    with pytest.raises(UsageError, match=r"not an idx file|cut or damaged"):
        read_idx(tmp_path / "cut", 3)


def test_a_file_that_is_too_long_is_refused(tmp_path):
    write_idx(tmp_path / "long", IMAGES)
    with (tmp_path / "long").open("ab") as file:
        file.write(b"x")
    with pytest.raises(UsageError, match="announces 2 x 3 x 4 = 24 bytes and holds 25"):
        read_idx(tmp_path / "long", 3)


def test_labels_are_not_images(tmp_path):
    write_idx(tmp_path / "labels", np.zeros(5, dtype=np.uint8))
    with pytest.raises(UsageError, match="should start with 00 00 08 03, and starts with 00 00 08 01"):
        read_idx(tmp_path / "labels", 3)


def test_a_damaged_gz_is_refused(tmp_path):
    packed = bytearray(gzip.compress(bytes(1000)))
    (tmp_path / "cut.gz").write_bytes(packed[:-9])
    (tmp_path / "text.gz").write_bytes(b"no gzip")
    for name in ("cut.gz", "text.gz", "absent.gz"):
        with pytest.raises(UsageError, match="Cannot read"):
            read_idx(tmp_path / name, 3)
