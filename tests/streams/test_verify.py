import gzip
import hashlib

import pytest

from recollect.streams.catalogue import CATALOGUE, IDX_NAMES, File
from recollect.streams.verify import other_hashes, verify
from tests.streams.files import write_mnist, write_tiny


@pytest.fixture
def mnist(tmp_path, shrink):
    """A small MNIST whose hashes are known to the catalogue."""
    folder = tmp_path / "MNIST" / "raw"
    write_mnist(folder)
    files = tuple(File(n, (hashlib.md5((folder / n).read_bytes()).hexdigest(),)) for n in IDX_NAMES)
    shrink("mnist", n_train=40, n_test=20, files=files)
    return folder


def test_byte_for_byte(mnist, tmp_path):
    verdict = verify(CATALOGUE["mnist"], tmp_path)
    assert verdict.good
    assert verdict.identical is True
    assert verdict.message == "40 + 20 samples, 10 classes, byte for byte as published"


def test_packed_anew_is_still_the_same(mnist, tmp_path):
    for name in IDX_NAMES:
        (mnist / f"{name}.gz").write_bytes(gzip.compress((mnist / name).read_bytes(), 1))
        (mnist / name).unlink()
    assert other_hashes(CATALOGUE["mnist"], mnist) == ()
    assert verify(CATALOGUE["mnist"], tmp_path).good


def test_same_counts_other_hash(mnist, tmp_path):
    path = mnist / IDX_NAMES[2]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    verdict = verify(CATALOGUE["mnist"], tmp_path)
    assert (verdict.good, verdict.counts, verdict.identical) == (False, True, False)
    assert verdict.message.startswith(f"same counts, other hash: {IDX_NAMES[2]} (40 + 20 samples")


def test_wrong_counts_and_missing_files(mnist, tmp_path, shrink):
    shrink("mnist", n_train=50)
    verdict = verify(CATALOGUE["mnist"], tmp_path)
    assert not verdict.good
    assert "has 50 training samples; found 40" in verdict.message
    (mnist / IDX_NAMES[0]).unlink()
    verdict = verify(CATALOGUE["mnist"], tmp_path)
    assert not verdict.good
    assert "lacks train-images-idx3-ubyte" in verdict.message


def test_tiny_imagenet_has_no_hashes_of_files(tmp_path, shrink):
    shrink("tiny-imagenet", classes=4, n_train=12, n_test=8)
    write_tiny(tmp_path)
    verdict = verify(CATALOGUE["tiny-imagenet"], tmp_path)
    assert verdict.good
    assert verdict.identical is None
    assert "not published" in verdict.message


def test_digits():
    pytest.importorskip("sklearn")
    assert "1,438 + 359 samples" in verify(CATALOGUE["digits"]).message
